// Values with units as scenarios write them, for sliders.

const FACTORS: Record<string, number> = {
  "": 1, "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9,
  ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
};

/** The number in bit/s, seconds or as it stands; null for what is no number with such a unit. */
export function parse(value: unknown): number | null {
  if (typeof value === "number") return value;
  const found = /^\s*([-+0-9.eE_]+)\s*(\S*)\s*$/.exec(String(value));
  if (!found) return null;
  const factor = FACTORS[found[2]!];
  const number = Number(found[1]!.replaceAll("_", ""));
  return factor === undefined || !Number.isFinite(number) ? null : number * factor;
}

/** A number of this kind (rate, time, or a plain one) as a scenario writes it, with three significant digits. */
export function written(kind: string, value: number): string {
  const units: [number, string][] =
    kind === "rate"
      ? [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]
      : kind === "time"
        ? [[1, "s"], [1e-3, "ms"], [1e-6, "us"]]
        : [[0, ""]];
  const [factor, unit] = units.find(([factor]) => value >= factor) ?? units.at(-1)!;
  if (unit === "") return String(kind === "integer" || kind === "size" ? Math.round(value) : Number(value.toPrecision(3)));
  return `${Number((value / factor).toPrecision(3))} ${unit}`;
}
