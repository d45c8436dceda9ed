// Sliders for what can change while a run lasts. Each has a field beside it that takes any value with its unit; what the core
// refuses is said below it, in its own words.

import type { About, Declared, Field, Json } from "./protocol";
import { parse, written } from "./units";

export interface Control {
  key: string;
  label: string;
  help: string;
  kind: string;
  value: unknown;
  low: number;
  high: number;
  logarithmic: boolean;
}

/** Parameters that have sliders, in this order; all others of a discipline are under "more". */
const FIRST = ["min_th", "max_th", "candidates", "target", "interval", "q_ref", "bandwidth", "limit", "max_p"];

/** The sliders of the traffic and the link. */
export function trafficControls(about: About): Control[] {
  const { network, flows } = about.scenario;
  const controls: Control[] = [];
  const rate = parse(network.rate);
  if (rate !== null && !("links" in network)) controls.push(spread("network.rate", "Link rate", "The bottleneck's rate.", "rate", network.rate, rate));
  flows.forEach((flow, at) => {
    const name = about.groups[at] ?? String(flow.kind);
    // Those that rest, too.
    const count = about.group_of_flow.filter((group) => group === at).length;
    const endless = flow.size === undefined || flow.size === null;
    if (count > 1 && ["tcp", "telnet", "udp", "poisson", "on_off"].includes(String(flow.kind)) && endless) {
      controls.push({
        key: `flows.${at}.count`, label: `${name}: flows`, help: "How many of them send; the others rest.",
        kind: "integer", value: flow.count, low: 1, high: count, logarithmic: false,
      });
    }
    const sends = parse(flow.rate);
    if (sends !== null) controls.push(spread(`flows.${at}.rate`, `${name}: rate`, "The rate at which each of them sends.", "rate", flow.rate, sends));
  });
  return controls;
}

function spread(key: string, label: string, help: string, kind: string, value: unknown, number: number): Control {
  return { key, label, help, kind, value, low: number / 20, high: number * 20, logarithmic: true };
}

/** The sliders of a discipline: those that matter most, and the others. */
export function disciplineControls(about: About, declared: Declared): [Control[], Control[]] {
  const values = about.scenario.queue as Json;
  const controls = declared.fields.flatMap((field): Control[] => {
    const value = values[field.name];
    const number = parse(value);
    if (field.fixed || number === null || !["integer", "size", "number", "time", "rate", "real"].includes(field.kind)) return [];
    return [control(declared.name, field, value, number)];
  });
  const rank = (each: Control) => (FIRST.indexOf(last(each.key)) + 1 || 100);
  controls.sort((a, b) => rank(a) - rank(b));
  return [controls.filter((each) => rank(each) < 100), controls.filter((each) => rank(each) === 100)];
}

export const last = (key: string) => key.slice(key.lastIndexOf(".") + 1);

function control(discipline: string, field: Field, value: unknown, number: number): Control {
  // What a file may have for any discipline counts less than this.
  const key = `queue.${discipline}.${field.name}`;
  const help = `${field.doc} ${field.source}`;
  const base = { key, label: field.name, help, kind: field.kind, value };
  if (field.name === "candidates") return { ...base, low: 1, high: 16, logarithmic: false };
  if (number === 0) return { ...base, low: 0, high: field.kind === "integer" ? 16 : 1, logarithmic: false };
  if (field.kind === "integer" || field.kind === "size") return { ...base, low: 1, high: Math.max(number * 5, 20), logarithmic: number > 200 };
  return { ...base, low: number / 20, high: number * 20, logarithmic: true };
}

/** Draws a slider; `change` gets the key and the value as a scenario writes it, and rejects with why it cannot be. */
export function slider(control: Control, change: (key: string, value: string) => Promise<void>): HTMLElement {
  const row = document.createElement("div");
  row.className = "control";
  row.title = control.help;
  const id = `c-${control.key}-${Math.random().toString(36).slice(2, 7)}`;
  const label = document.createElement("label");
  label.htmlFor = id;
  label.textContent = control.label;
  const range = document.createElement("input");
  range.type = "range";
  range.id = id;
  range.min = "0";
  range.max = "1000";
  range.dataset.key = control.key;
  const field = document.createElement("input");
  field.type = "text";
  field.value = String(control.value);
  field.setAttribute("aria-label", `${control.label}, value`);
  field.dataset.key = control.key;
  const fault = document.createElement("p");
  fault.className = "fault";
  fault.setAttribute("role", "alert");
  const { low, high, logarithmic } = control;
  const toNumber = (at: number) => (logarithmic ? low * (high / low) ** at : low + (high - low) * at);
  const toPlace = (x: number) => (logarithmic ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low));
  const place = (x: number) => {
    range.value = String(Math.round(1000 * Math.min(1, Math.max(0, toPlace(x)))));
    range.setAttribute("aria-valuetext", field.value);
  };
  const number = parse(control.value);
  if (number !== null) place(number);
  let wanted: string | null = null;
  let busy = false;
  const apply = async (value: string) => {
    wanted = value;
    if (busy) return;
    busy = true;
    while (wanted !== null) {
      const next: string = wanted;
      wanted = null;
      try {
        await change(control.key, next);
        fault.textContent = "";
      } catch (error) {
        fault.textContent = (error as Error).message;
      }
    }
    busy = false;
  };
  range.addEventListener("input", () => {
    field.value = written(control.kind, toNumber(Number(range.value) / 1000));
    range.setAttribute("aria-valuetext", field.value);
    void apply(field.value);
  });
  field.addEventListener("change", () => {
    const x = parse(field.value);
    if (x !== null) place(x);
    void apply(field.value.trim());
  });
  row.append(label, range, field, fault);
  return row;
}
