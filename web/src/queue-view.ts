// A queue before one's eyes: packets enter at the left, wait, leave at the right, and fall out when they are dropped. Above
// each packet stands how long it has waited. Marks on the axis are the discipline's own: thresholds, average, limit.

import { themed } from "./colours";
import type { LinkFrame } from "./protocol";

export interface Marks {
  /** Positions on the axis, in packets. */
  thresholds: [string, number][];
  limit: number | null;
  /** The wait that the discipline aims at, in ms. */
  target_ms: number | null;
}

interface Sprite {
  x: number;
  y: number;
  toX: number;
  toY: number;
  begun: number;
  colour: string;
  hollow: boolean;
  word: string;
}

/** How long a packet flies on the screen, in ms. */
const FLIGHT = 350;
const MOST_SPRITES = 900;
/** Of more comparisons between two frames nobody could follow any. */
const MOST_COMPARED = 10;

export class QueueView {
  private readonly context: CanvasRenderingContext2D;
  private sprites: Sprite[] = [];
  /** Of each packet in the queue where it is drawn, as a fraction of its place. */
  private places = new Map<number, number>();
  private flashes = new Map<number, number>();
  private link: LinkFrame | null = null;
  private scale = 20;
  private wait = 1;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly colour: (flow: number) => string,
    private marks: Marks,
  ) {
    this.context = canvas.getContext("2d")!;
  }

  setMarks(marks: Marks) {
    this.marks = marks;
  }

  clear() {
    this.sprites = [];
    this.places.clear();
    this.flashes.clear();
    this.link = null;
  }

  private get width() {
    return this.canvas.clientWidth;
  }

  private get height() {
    return this.canvas.clientHeight;
  }

  /** From where the head of the queue is to where its tail would enter. */
  private get lane() {
    return { head: this.width - 64, tail: 56, y: this.height - 42, top: 14 };
  }

  private x(place: number): number {
    const { head, tail } = this.lane;
    return head - (place / this.scale) * (head - tail);
  }

  /** A new frame of the link; its events become flights. */
  show(link: LinkFrame) {
    const before = new Map(this.places);
    this.link = link;
    const waiting = link.waiting ?? [];
    const count = waiting.length / 3;
    const { thresholds, limit } = this.marks;
    const held = Math.max(12, count * 1.15, (link.average_packets ?? 0) * 1.1);
    // Thresholds that are far beyond the queue would make it too small to be seen.
    const wanted = Math.max(held, ...thresholds.map(([, at]) => at * 1.15).filter((at) => at < 4 * held));
    const bounded = limit === null ? wanted : Math.min(wanted, Math.max(limit * 1.02, count));
    this.scale += (Math.max(bounded, 1) - this.scale) * (bounded > this.scale ? 0.5 : 0.04);
    this.fly(link, before);
    this.places.clear();
    for (let at = 0; at < count; at++) {
      const packet = waiting[3 * at]!;
      this.places.set(packet, before.get(packet) ?? at);
    }
  }

  private fly(link: LinkFrame, places: Map<number, number>) {
    const { head, tail, y } = this.lane;
    const now = performance.now();
    let last = this.places.size;
    const start = (x: number, fromY: number, toX: number, toY: number, flow: number, word = "") => {
      if (this.sprites.length < MOST_SPRITES)
        this.sprites.push({ x, y: fromY, toX, toY, begun: now, colour: this.colour(flow), hollow: word !== "", word });
    };
    const events = link.events ?? [];
    const followed = events.filter(([, what]) => what === "compared").length <= MOST_COMPARED;
    for (const [, what, packet, flow, , queue] of events) {
      if (what === "arrival") {
        last = queue;
        places.set(packet, queue);
        start(6, y, Math.max(tail, this.x(queue)), y, flow);
      } else if (what === "departure") {
        start(head + 18, y, this.width - 6, y, flow);
      } else if (what === "compared") {
        if (followed) this.flashes.set(packet, now);
      } else if (what === "lost") {
        start(this.width - 30, y, this.width - 10, this.height - 4, flow, "lost");
      } else {
        const place = places.get(packet) ?? last;
        const x = Math.max(tail - 24, this.x(place));
        start(x, y, x - 8, this.height + 6, flow, what);
        places.delete(packet);
      }
    }
  }

  /** Draws the present moment; the canvas follows its size on the page. */
  draw() {
    const { canvas, context, width, height } = this;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.drawAxis();
    this.drawQueue();
    this.drawFlights();
  }

  private drawAxis() {
    const { context, link } = this;
    const { head, tail, y, top } = this.lane;
    const ink = themed("ink-soft");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillStyle = ink;
    context.strokeStyle = themed("line");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(tail, y + 10.5);
    context.lineTo(head + 26, y + 10.5);
    context.stroke();
    const step = niceStep(this.scale / Math.max(2, (head - tail) / 70));
    for (let at = 0; at <= this.scale; at += step) context.fillText(String(at), this.x(at), y + 24);
    context.textAlign = "left";
    context.fillText("packets", 4, y + 24);
    context.textAlign = "center";
    // The transmitter, at the right of the head.
    context.strokeStyle = ink;
    context.strokeRect(head + 8.5, y - 8.5, 18, 17);
    const mark = (at: number, word: string, colour: string, dash: number[], level: number) => {
      if (at > this.scale * 1.02) return;
      const x = this.x(at);
      context.strokeStyle = colour;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x, top + 10 + 11 * level);
      context.lineTo(x, y + 10);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = colour;
      context.fillText(word, Math.min(Math.max(x, 24), head), top + 6 + 11 * level);
    };
    this.marks.thresholds.forEach(([word, at]) => mark(at, word, themed("mark"), [5, 4], 0));
    if (this.marks.limit !== null) mark(this.marks.limit, "limit", ink, [1, 3], 0);
    const average = link?.average_packets ?? null;
    if (average !== null) mark(average, `average ${average.toFixed(1)}`, themed("accent"), [], 1);
  }

  private drawQueue() {
    const { context, link } = this;
    if (!link?.waiting) return;
    const { y, top, head, tail } = this.lane;
    const waiting = link.waiting;
    const size = Math.min(14, Math.max(1, ((head - tail) / this.scale) * 0.86));
    const longest = waiting.length > 0 ? waiting[2]! / 1000 : 0;
    const target = this.marks.target_ms;
    const wanted = Math.max(longest, (target ?? 0) * 1.6, 1e-3) * 1.1;
    this.wait += (wanted - this.wait) * (wanted > this.wait ? 0.5 : 0.03);
    const room = y - 14 - (top + 26);
    const bar = (ms: number) => (ms / this.wait) * room;
    const now = performance.now();
    for (let at = 0; at < waiting.length; at += 3) {
      const packet = waiting[at]!;
      // Each moves up to its place, from where it is seen to be near it.
      const place = this.places.get(packet) ?? at / 3;
      const near = Math.min(at / 3 + 2, Math.max(at / 3 - 2, place));
      const nearer = near + (at / 3 - near) * 0.3;
      this.places.set(packet, nearer);
      const x = this.x(nearer);
      context.fillStyle = this.colour(waiting[at + 1]!);
      context.fillRect(x - size / 2, y - 7, size, 14);
      context.globalAlpha = 0.35;
      const tall = bar(waiting[at + 2]! / 1000);
      context.fillRect(x - size / 2, y - 10 - tall, size, tall);
      context.globalAlpha = 1;
      const flash = this.flashes.get(packet);
      if (flash !== undefined && now - flash < 300) {
        context.strokeStyle = themed("ink");
        context.lineWidth = 2;
        context.strokeRect(x - size / 2 - 2, y - 9, size + 4, 18);
        context.lineWidth = 1;
      }
    }
    for (const [packet, flash] of this.flashes) if (now - flash > 300) this.flashes.delete(packet);
    context.textAlign = "left";
    context.fillStyle = themed("ink-soft");
    if (longest > 0) context.fillText(`the head has waited ${digits(longest)} ms`, 4, top + 28);
    if (target !== null) {
      const level = y - 10 - bar(target);
      context.strokeStyle = themed("mark");
      context.setLineDash([5, 4]);
      context.beginPath();
      context.moveTo(tail, level);
      context.lineTo(head + 8, level);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = themed("mark");
      context.fillText(`target ${digits(target)} ms`, tail, level - 3);
    }
    context.textAlign = "center";
  }

  private drawFlights() {
    const { context } = this;
    const now = performance.now();
    this.sprites = this.sprites.filter((sprite) => now - sprite.begun < FLIGHT * (sprite.word ? 2 : 1));
    for (const sprite of this.sprites) {
      const part = Math.min(1, (now - sprite.begun) / (FLIGHT * (sprite.word ? 2 : 1)));
      const x = sprite.x + (sprite.toX - sprite.x) * part;
      const y = sprite.y + (sprite.toY - sprite.y) * part * (sprite.word ? part : 1);
      context.globalAlpha = sprite.word ? 1 - part * 0.7 : 0.9;
      if (sprite.hollow) {
        context.strokeStyle = sprite.colour;
        context.lineWidth = 2;
        context.strokeRect(x - 5, y - 5, 10, 10);
        context.beginPath();
        context.moveTo(x - 5, y - 5);
        context.lineTo(x + 5, y + 5);
        context.stroke();
        context.lineWidth = 1;
      } else {
        context.fillStyle = sprite.colour;
        context.fillRect(x - 4, y - 5, 8, 10);
      }
    }
    context.globalAlpha = 1;
  }
}

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least) ?? power;
}

/** A number with three significant digits. */
export function digits(x: number): string {
  if (x === 0) return "0";
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))));
  return x.toFixed(Math.min(places, 6));
}
