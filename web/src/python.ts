// The scenario as Python, for the next step: objects where it is a dumbbell, else its text.

import type { About, Declarations, Json } from "./protocol";

const literal = (value: unknown): string => {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return JSON.stringify(value);
};

const call = (name: string, positional: string[], named: Json) =>
  `${name}(${[...positional, ...Object.entries(named).map(([key, value]) => `${key}=${literal(value)}`)].join(", ")})`;

/** The class of a source. */
const classOf = (kind: string) =>
  kind.split("_").map((part) => part[0]!.toUpperCase() + part.slice(1)).join("");

/** Code that runs the scenario as it is written now, with the discipline of each side. */
export function python(text: string, abouts: About[], declarations: Declarations): string {
  const about = abouts[0]!;
  const { network, queue, flows, run, changes } = about.given as { [key: string]: Json } & { flows: Json[] };
  const simple = network && !("links" in network) && !Object.values(network).some((value) => typeof value === "object");
  const ours = abouts.map((each) => queueCode(each, declarations));
  const classes = queue && "classes" in queue;
  const head = "import sluicegate as sg\n\n";
  const shown = "print(run.flows)\nprint(run.links)\n";
  if (!simple || classes || changes || flows.some((flow) => Object.values(flow).some((value) => typeof value === "object"))) {
    const sets = about.scenario.queue.discipline === (queue?.discipline ?? "") ? "" : `, sets={"queue.discipline": ${literal(about.scenario.queue.discipline)}}`;
    return `${head}scenario = """\\\n${text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"""')}"""\n\nrun = sg.simulate(scenario${sets})\n${shown}`;
  }
  const lines = flows.map(({ kind, count, algorithm, ...rest }) => {
    const positional = count === undefined ? [] : [literal(count)];
    const named = algorithm === undefined ? rest : { algorithm, ...rest };
    return `    sg.${call(classOf(String(kind)), positional, named)},\n`;
  });
  const settings = Object.fromEntries(Object.entries(run ?? {}));
  const queues = ours.length > 1 ? `for queue in (${ours.join(", ")}):\n    ` : "";
  const net = call("sg.dumbbell", [], network!).replace(/\)$/, `, queue=${ours.length > 1 ? "queue" : ours[0]})`);
  const body = `run = ${call("sg.simulate", ["net", "flows"], settings)}`;
  if (ours.length > 1) {
    return `${head}flows = [\n${lines.join("")}]\n\n${queues}net = ${net}\n    ${body}\n    print(queue)\n    print(run.flows)\n    print(run.links)\n`;
  }
  return `${head}net = ${net}\nflows = [\n${lines.join("")}]\n\n${body}\n${shown}`;
}

function queueCode(about: About, declarations: Declarations): string {
  const { discipline, ...resolved } = about.scenario.queue;
  const declared = declarations.disciplines.find((each) => each.name === discipline);
  const given = (about.given.queue ?? {}) as Json;
  const own = (given[discipline] ?? {}) as Json;
  const names = new Set(declared?.fields.map((field) => field.name));
  const values: Json = {};
  for (const key of Object.keys(resolved)) {
    const value = own[key] ?? given[key];
    if (names.has(key) && value !== undefined && typeof value !== "object") values[key] = value;
  }
  return call(`sg.${declared?.class_name ?? discipline}`, [], values);
}
