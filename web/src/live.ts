// The view of real packets: `sluicegate shell --live` and `bridge --live` serve this page and feed it with events.

import { Charts } from "./charts";
import { flowColour, themed } from "./colours";
import { element } from "./dom";
import type { Frame, LinkFrame, PacketEvent } from "./protocol";
import { QueueView, digits } from "./queue-view";

/** What the program tells: crates/live/src/status.rs. */
interface Status {
  time_s: number;
  links: LinkFrame[];
  flows: { name: string; link: string | null; throughput_bps: number; drops: number }[];
  active_flows: number;
  lost_outside: number;
  late_packets: number;
}

/** Seconds between two samples of the charts. */
const SAMPLE = 0.5;

class LinkPanel {
  readonly element = element("section", "side");
  private view: QueueView;
  private charts: Charts | null = null;
  private numbers = element("p", "numbers");
  private state = element("p", "state");
  private title = element("h2", "");
  private chartBox = element("div", "charts");
  private before = new Map<number, number>();
  private sampled = { time: 0, sum: 0, count: 0 };

  constructor(name: string) {
    const canvas = element("canvas", "queue");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `The queue of the link ${name}`);
    this.view = new QueueView(canvas, (flow) => (flow < 0 ? themed("ink-soft") : flowColour(flow)), {
      thresholds: [], limit: null, target_ms: null,
    });
    const legend = element("p", "legend");
    legend.textContent =
      "One colour for each flow, grey for packets back to its sender · the bar above a packet shows how long it has waited · " +
      "what passes between two looks, 50 ms apart, is in the numbers alone";
    this.element.append(this.title, canvas, legend, this.numbers, this.state, this.chartBox);
    this.charts = new Charts(this.chartBox, ["link"], () => null);
  }

  show(link: LinkFrame, time_s: number) {
    this.title.textContent = `${link.name}: ${link.discipline} at ${digits(link.rate_bps / 1e6)} Mbit/s`;
    this.view.show({ ...link, events: this.changes(link, time_s) });
    const dropped = Object.entries(link.drops);
    this.numbers.textContent =
      `${link.queue_packets} packets queued · ${link.arrivals} arrived · ` +
      `${dropped.length > 0 ? dropped.map(([reason, count]) => `${count} dropped: ${reason}`).join(", ") : "none dropped"}` +
      `${link.lost > 0 ? ` · ${link.lost} lost on the wire` : ""}${link.marked > 0 ? ` · ${link.marked} marked` : ""}`;
    this.state.textContent = Object.entries(link.state ?? {}).map(([name, value]) => `${name} ${digits(value)}`).join(" · ");
    this.sample(link, time_s);
  }

  /** Who has come and who has gone since the last look. */
  private changes(link: LinkFrame, time_s: number): PacketEvent[] {
    const waiting = link.waiting ?? [];
    const now = new Map<number, number>();
    for (let at = 0; at < waiting.length; at += 3) now.set(waiting[at]!, waiting[at + 1]!);
    const events: PacketEvent[] = [];
    let place = 0;
    for (const [packet, flow] of now) {
      if (this.before.get(packet) !== flow) events.push([time_s * 1e6, "arrival", packet, flow, 0, place]);
      place++;
    }
    for (const [packet, flow] of this.before)
      if (now.get(packet) !== flow) events.push([time_s * 1e6, "departure", packet, flow, 0, now.size]);
    this.before = now;
    return events;
  }

  private sample(link: LinkFrame, time_s: number) {
    const { sampled } = this;
    sampled.sum += link.throughput_bps;
    sampled.count++;
    if (time_s - sampled.time < SAMPLE) return;
    const group = { name: "link", throughput_bps: sampled.sum / sampled.count, sent_packets: 0, drops: 0, marked: 0, delay_p50_ms: null, delay_p99_ms: null };
    const frame: Frame = { time_s, links: [link], groups: [group] };
    this.charts?.push(frame, link);
    this.charts?.draw();
    this.sampled = { time: time_s, sum: 0, count: 0 };
  }

  draw() {
    this.view.draw();
  }
}

/** Shows real packets, if the address says so; true then. */
export async function beginLive(root: HTMLElement): Promise<boolean> {
  if (location.hash !== "#live") return false;
  const title = element("h1", "");
  title.textContent = "Sluicegate: real packets, live";
  const clock = element("p", "numbers");
  const sides = element("div", "sides");
  const flows = element("section", "panel state");
  root.replaceChildren(title, clock, sides, flows);
  const panels = new Map<string, LinkPanel>();
  const source = new EventSource("events");
  let over = false;
  source.addEventListener("end", () => {
    over = true;
    source.close();
    clock.textContent += " · it has ended";
  });
  source.addEventListener("error", () => {
    if (!over) clock.textContent = "The program does not answer any more.";
  });
  source.addEventListener("message", ({ data }) => {
    const status = JSON.parse(data) as Status;
    if (!status.links) return;
    const late = status.late_packets > 0 ? ` · ${status.late_packets} packets more than 1 ms late` : "";
    const lost = status.lost_outside > 0 ? ` · ${status.lost_outside} lost by devices` : "";
    clock.textContent = `${status.time_s.toFixed(1)} s · ${status.active_flows} active flows${late}${lost}`;
    for (const link of status.links) {
      let panel = panels.get(link.name);
      if (!panel) {
        panel = new LinkPanel(link.name);
        panels.set(link.name, panel);
        sides.append(panel.element);
      }
      panel.show(link, status.time_s);
    }
    showFlows(flows, status);
  });
  const frame = () => {
    requestAnimationFrame(frame);
    for (const panel of panels.values()) panel.draw();
  };
  frame();
  return true;
}

function showFlows(parent: HTMLElement, status: Status) {
  const table = element("table", "");
  const head = table.createTHead().insertRow();
  for (const word of ["heaviest flows", "link", "throughput (Mbit/s)", "dropped"]) head.append(Object.assign(element("th", ""), { textContent: word }));
  for (const flow of status.flows) {
    const row = table.insertRow();
    for (const text of [flow.name, flow.link ?? "", digits(flow.throughput_bps / 1e6), String(flow.drops)]) row.insertCell().textContent = text;
  }
  parent.replaceChildren(table);
}
