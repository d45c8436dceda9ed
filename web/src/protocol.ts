// What crosses between the page and its worker, and what a moment of a network looks like: crates/lab/src/watch.rs says it.

/** Time in µs, what happened, packet, flow, bytes, packets in the queue. */
export type PacketEvent = [number, string, number, number, number, number];

export interface LinkFrame {
  name: string;
  discipline: string;
  rate_bps: number;
  throughput_bps: number;
  queue_packets: number;
  queue_bytes: number;
  average_packets: number | null;
  delay_p50_ms: number | null;
  delay_p99_ms: number | null;
  arrivals: number;
  drops: Record<string, number>;
  marked: number;
  lost: number;
  /** From the head to the tail, three numbers for each packet: packet, flow, time in the queue in µs. */
  waiting?: number[];
  state?: Record<string, number>;
  flow_state?: [number, string, number][];
  events?: PacketEvent[];
}

export interface GroupFrame {
  name: string;
  throughput_bps: number;
  sent_packets: number;
  drops: number;
  marked: number;
  delay_p50_ms: number | null;
  delay_p99_ms: number | null;
}

export interface Frame {
  time_s: number;
  links: LinkFrame[];
  groups: GroupFrame[];
}

export interface Json {
  [key: string]: unknown;
}

/** A scenario as the core has read it. */
export interface About {
  given: Json;
  scenario: Json & { queue: Json & { discipline: string }; flows: Json[]; network: Json; run: Json };
  groups: string[];
  group_of_flow: number[];
  duration_s: number;
}

export interface Field {
  name: string;
  kind: string;
  unit: string;
  default: unknown;
  doc: string;
  source: string;
  range: string;
  choices: { name: string }[] | string[] | null;
  fixed: boolean;
}

export interface Declared {
  name: string;
  class_name: string;
  title: string;
  summary: string;
  source: string;
  fields: Field[];
}

export interface Declarations {
  version: string;
  disciplines: Declared[];
  drop_reasons: { name: string; doc: string }[];
}

/** What the page asks of the worker; each is answered with its `id`. */
export type Request =
  | { op: "start"; wasm: ArrayBuffer }
  | { op: "open"; text: string; sides: string[][] }
  | { op: "set"; side: number | null; key: string; value: string }
  | { op: "pace"; speed: number; playing: boolean }
  | { op: "look" }
  | { op: "step" }
  | { op: "about"; side: number }
  | { op: "changes"; side: number }
  | { op: "measure"; text: string; sets: string[] };

export type Answer = { id: number; done: unknown } | { id: number; error: string };

/** What the worker tells by itself while it runs: of each side the present frame, and the samples that have fallen due. */
export interface Told {
  frames: Frame[];
  samples: Frame[][];
  done: boolean;
  /** Simulated seconds per second, over the last second or so. */
  reached: number;
}
