// Colours of groups and flows, which the colour-blind can tell apart (Okabe & Ito 2008), and those of the theme.

const GROUPS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#8c6bb1"];
const GROUPS_DARK = ["#56b4e9", "#ff8c42", "#3ddc97", "#e59ac3", "#f2b134", "#8ecdf2", "#f6ee78", "#b39ddb"];

export function dark(): boolean {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function groupColour(group: number): string {
  const colours = dark() ? GROUPS_DARK : GROUPS;
  return colours[group % colours.length]!;
}

/** A colour for a flow: neighbours are far apart on the colour circle. */
export function flowColour(flow: number): string {
  const hue = (flow * 137.508) % 360;
  return `hsl(${hue.toFixed(1)} 65% ${dark() ? 62 : 45}%)`;
}

export function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
