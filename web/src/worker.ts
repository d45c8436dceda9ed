// The worker: simulations side by side on the same traffic, run in slices, so that what the page asks is heard at once.

import { Run, declarations, initSync, version } from "../core/sluicegate_web.js";
import type { About, Answer, Frame, Request, Told } from "./protocol";

/** How long a slice may take, in ms: what a frame of the screen leaves. */
const SLICE = 10;
/** Events of packets in a frame, at most: what comes beyond is too fast to be seen. */
const EVENTS = 1500;
/** How many packets of 1000 bytes the link can send between two samples of the charts, at least. */
const BIN_PACKETS = 40;
/** Events of the simulator between two looks at the clock. */
const BUDGET = 4000;

interface Side {
  run: Run;
  samples: Frame[];
}

let sides: Side[] = [];
let bin = 0.1;
let nextSample = bin;
let speed = 1;
let playing = false;
let clock = { wall: 0, simulated: 0 };
let recent: [number, number][] = [];
let waitingForFrame = false;

const now = () => sides[0]?.run.now() ?? 0;
const done = () => sides.every((side) => side.run.done());

/** Runs all sides to a time, or until the slice is over; false when the slice is over first. */
function advance(until: number, deadline: number): boolean {
  for (;;) {
    const target = Math.min(until, nextSample);
    for (const side of sides) {
      while (side.run.now() < target && side.run.advance(target, BUDGET)) {
        if (performance.now() > deadline) return false;
      }
    }
    if (target >= nextSample) {
      for (const side of sides) side.samples.push(JSON.parse(side.run.sample()));
      nextSample = Math.round(nextSample / bin + 1) * bin;
    }
    if (target >= until || done()) return true;
  }
}

function tell() {
  const wall = performance.now();
  recent.push([wall, now()]);
  while (recent.length > 2 && wall - recent[0]![0] > 1000) recent.shift();
  const [then, simulated] = recent[0]!;
  const told: Told = {
    frames: sides.map((side) => JSON.parse(side.run.frame(EVENTS))),
    samples: sides.map((side) => side.samples.splice(0)),
    done: done(),
    reached: wall > then ? (1000 * (now() - simulated)) / (wall - then) : 0,
  };
  postMessage(told);
}

function turn() {
  if (!playing || sides.length === 0) return;
  const wall = performance.now();
  // A frame that has not been drawn yet is not overtaken.
  if (!waitingForFrame) {
    const wanted = clock.simulated + ((wall - clock.wall) / 1000) * speed;
    const reached = advance(wanted, wall + SLICE);
    if (!reached || wanted - now() > speed) clock = { wall: performance.now(), simulated: now() };
    waitingForFrame = true;
    tell();
    if (done()) playing = false;
  }
  setTimeout(turn, 1);
}

function setPace(message: { speed: number; playing: boolean }) {
  const idle = !playing;
  ({ speed, playing } = message);
  clock = { wall: performance.now(), simulated: now() };
  recent = [];
  if (playing && idle) turn();
}

/** Goes on until something happens to a packet at a link. */
function step() {
  const look = () => sides.map((side) => JSON.parse(side.run.frame(EVENTS)) as Frame);
  let frames = look();
  for (let tries = 0; tries < 100_000 && !done(); tries++) {
    sides.forEach((side, at) => {
      if (at === 0) side.run.advance(1e9, 1);
      else side.run.advance(now(), 1e6);
    });
    frames = look();
    if (frames.some((frame) => frame.links.some((link) => link.events!.length > 0))) break;
  }
  clock = { wall: performance.now(), simulated: now() };
  postMessage({ frames, samples: sides.map(() => []), done: done(), reached: 0 } satisfies Told);
}

function open(text: string, allSets: string[][]): About[] {
  const runs: Run[] = [];
  try {
    for (const sets of allSets) runs.push(new Run(text, "scenario.toml", sets, true));
  } catch (error) {
    runs.forEach((run) => run.free());
    throw error;
  }
  sides.forEach((side) => side.run.free());
  sides = runs.map((run) => ({ run, samples: [] }));
  const abouts: About[] = runs.map((run) => JSON.parse(run.about()));
  const first: Frame = JSON.parse(runs[0]!.sample());
  bin = Math.max(abouts[0]!.duration_s / 1000, (BIN_PACKETS * 8000) / Math.max(first.links[0]?.rate_bps ?? 1e6, 1));
  nextSample = bin;
  recent = [];
  waitingForFrame = false;
  clock = { wall: performance.now(), simulated: 0 };
  return abouts;
}

/** Runs a scenario to its end as fast as it goes: the digest of its tables, and events and seconds. */
async function measure(text: string, sets: string[]) {
  const run = new Run(text, "scenario.toml", sets, false);
  const begun = performance.now();
  while (run.advance(1e9, 1_000_000));
  const seconds = (performance.now() - begun) / 1000;
  const measured = { events: run.events(), seconds, digest: await digest(JSON.parse(run.tables())) };
  run.free();
  return measured;
}

/** The digest of names, types and bytes of every column, as tests/test_determinism.py has it. */
async function digest(tables: { name: string; columns: [string, string, string[]][] }[]): Promise<string> {
  const parts: Uint8Array[] = [];
  const encoder = new TextEncoder();
  for (const { name, columns } of tables) {
    if (columns.every(([, , rows]) => rows.length === 0)) continue;
    for (const [column, dtype, rows] of columns) {
      const text = dtype === "str";
      const bytes = text ? encoder.encode(rows.join("\n")) : Uint8Array.from(rows.join("").match(/../g) ?? [], (hex) => parseInt(hex, 16));
      parts.push(encoder.encode(`${name}.${column}:${dtype}:${text ? rows.length : bytes.length}\n`), bytes);
    }
  }
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function answer(message: Request): Promise<unknown> {
  switch (message.op) {
    case "start":
      initSync({ module: message.wasm });
      return { declarations: JSON.parse(declarations()), version: version() };
    case "open":
      return open(message.text, message.sides);
    case "set":
      sides.forEach((side, at) => {
        if (message.side === null || message.side === at) side.run.set(message.key, message.value);
      });
      if (!playing) tell();
      return null;
    case "look":
      return tell();
    case "pace":
      return setPace(message);
    case "step":
      return step();
    case "about":
      return JSON.parse(sides[message.side]!.run.about());
    case "changes":
      return JSON.parse(sides[message.side]!.run.changes());
    case "measure":
      return measure(message.text, message.sets);
  }
}

onmessage = async ({ data }: MessageEvent<(Request & { id: number }) | "drawn">) => {
  if (data === "drawn") {
    waitingForFrame = false;
    return;
  }
  const { id } = data;
  try {
    postMessage({ id, done: await answer(data) } satisfies Answer);
  } catch (error) {
    const text = error instanceof Error ? `internal error: ${error.message}` : String(error);
    postMessage({ id, error: text } satisfies Answer);
  }
};
