// The bundled scenarios that a page can show while it runs: those of the package, which are written once.

const files = import.meta.glob<string>(
  [
    "../../python/sluicegate/scenarios/*.toml",
    // Two links in a row, and a number of connections that a page cannot show.
    "!../../python/sluicegate/scenarios/{topology,dcn2004,dcn2004_tcp,red1993_fig11}.toml",
  ],
  { query: "?raw", import: "default", eager: true },
);

/** Text by name. */
export const SCENARIOS: Record<string, string> = Object.fromEntries(
  Object.entries(files).map(([path, text]) => [/([^/]+)\.toml$/.exec(path)![1]!, text]),
);

/** The one that the page begins with. */
export const FIRST = SCENARIOS.unresponsive!;
