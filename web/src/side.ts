// One discipline on the page: its name, its queue, its sliders, what it shows of itself, and its charts.

import { Charts } from "./charts";
import { flowColour, groupColour, themed } from "./colours";
import { disciplineControls, last, slider } from "./controls";
import type { About, Declarations, Frame, LinkFrame } from "./protocol";
import { type Marks, QueueView, digits } from "./queue-view";
import { parse } from "./units";

export interface SideHooks {
  /** Another discipline is chosen. */
  choose(side: number, discipline: string): void;
  /** A parameter of the discipline changes. */
  set(side: number, key: string, value: string): Promise<void>;
}

export class Side {
  readonly element = document.createElement("section");
  about!: About;
  private view!: QueueView;
  private charts: Charts | null = null;
  private table = document.createElement("div");
  private legend = document.createElement("p");
  private params = document.createElement("div");
  private numbers = document.createElement("p");
  private chartBox = document.createElement("div");
  private select = document.createElement("select");
  private summary = document.createElement("p");
  /** Which of the links under study is shown. */
  private linkAt = 0;
  private linkSelect = document.createElement("select");
  private values: Record<string, unknown> = {};
  colouring: "group" | "flow" = "group";

  constructor(
    private readonly at: number,
    private readonly declarations: Declarations,
    hooks: SideHooks,
  ) {
    this.hooks = hooks;
    this.element.className = "side";
    const title = document.createElement("h2");
    const label = document.createElement("label");
    label.textContent = at === 0 ? "Discipline " : "Beside it ";
    for (const { name, title } of declarations.disciplines) this.select.append(new Option(`${title} (${name})`, name));
    this.select.addEventListener("change", () => hooks.choose(at, this.select.value));
    label.append(this.select);
    this.linkSelect.setAttribute("aria-label", "Link");
    this.linkSelect.hidden = true;
    this.linkSelect.addEventListener("change", () => {
      this.linkAt = Number(this.linkSelect.value);
      this.empty();
    });
    title.append(label, " ", this.linkSelect);
    const canvas = document.createElement("canvas");
    canvas.className = "queue";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The queue: packets enter at the left and leave at the right; dropped packets fall out.");
    this.view = new QueueView(canvas, (flow) => this.colour(flow), { thresholds: [], limit: null, target_ms: null });
    this.summary.className = "summary";
    this.legend.className = "legend";
    this.params.className = "controls";
    this.numbers.className = "numbers";
    this.table.className = "state";
    this.chartBox.className = "charts";
    this.element.append(title, this.summary, canvas, this.legend, this.numbers, this.params, this.table, this.chartBox);
  }

  private readonly hooks: SideHooks;

  private colour(flow: number): string {
    if (flow < 0) return themed("ink-soft"); // acknowledgements
    if (this.colouring === "flow") return flowColour(flow);
    return groupColour(this.about.group_of_flow[flow - 1] ?? 0);
  }

  /** A run begins anew: charts and queue are empty. */
  begin(about: About) {
    this.about = about;
    this.linkAt = 0;
    this.linkSelect.replaceChildren();
    this.empty();
    this.describe();
  }

  private empty() {
    this.view.clear();
    this.charts?.destroy();
    this.chartBox.replaceChildren();
    this.charts = new Charts(this.chartBox, this.about.groups, () => this.marks().target_ms);
  }

  /** The discipline or its parameters are others now. */
  describe() {
    const { discipline } = this.about.scenario.queue;
    this.values = { ...this.about.scenario.queue };
    const declared = this.declarations.disciplines.find((each) => each.name === discipline);
    this.select.value = discipline;
    this.summary.textContent = declared ? `${declared.summary.split("\n\n")[0]!.replaceAll("`", "")} (${declared.source})` : "";
    this.params.replaceChildren();
    if (declared) {
      const change = async (key: string, value: string) => {
        await this.hooks.set(this.at, key, value);
        this.values[last(key)] = value;
        this.view.setMarks(this.marks());
      };
      const [first, others] = disciplineControls(this.about, declared);
      this.params.append(...first.map((control) => slider(control, change)));
      if (others.length > 0) {
        const more = document.createElement("details");
        const word = document.createElement("summary");
        word.textContent = `More parameters of ${discipline} (${others.length})`;
        more.append(word, ...others.map((control) => slider(control, change)));
        this.params.append(more);
      }
    }
    this.view.setMarks(this.marks());
    this.explain();
  }

  private marks(): Marks {
    const packets = (name: string) => {
      const value = this.values[name];
      return typeof value === "number" ? value : typeof value === "string" && /^\s*[0-9.]+\s*$/.test(value) ? Number(value) : null;
    };
    const thresholds = ["min_th", "max_th", "q_ref"].flatMap((name): [string, number][] => {
      const at = packets(name);
      return at === null ? [] : [[name, at]];
    });
    const target = parse(this.values.target);
    return { thresholds, limit: packets("limit"), target_ms: typeof this.values.target === "string" && target !== null ? target * 1000 : null };
  }

  private explain() {
    this.legend.replaceChildren();
    const chip = (word: string, colour: string) => {
      const mark = document.createElement("span");
      mark.className = "chip";
      mark.style.background = colour;
      const box = document.createElement("span");
      box.append(mark, ` ${word}  `);
      return box;
    };
    if (this.colouring === "group") this.legend.append(...this.about.groups.map((name, at) => chip(name, groupColour(at))));
    else this.legend.append("one colour for each flow  ");
    this.legend.append("· struck out: dropped or lost · framed: compared with an arrival · bar above a packet: how long it has waited");
  }

  setColouring(colouring: "group" | "flow") {
    this.colouring = colouring;
    this.explain();
  }

  /** The theme is another one. */
  repaint() {
    this.explain();
    this.charts?.repaint();
  }

  sample(frame: Frame) {
    const link = frame.links[this.linkAt];
    if (link) this.charts?.push(frame, link);
  }

  show(frame: Frame) {
    if (this.linkSelect.options.length !== frame.links.length) {
      this.linkSelect.replaceChildren(...frame.links.map(({ name }, at) => new Option(`at the link ${name}`, String(at))));
      this.linkSelect.hidden = frame.links.length < 2;
    }
    const link = frame.links[this.linkAt];
    if (!link) return;
    this.view.show(link);
    const dropped = Object.values(link.drops).reduce((sum, count) => sum + count, 0);
    this.numbers.textContent =
      `${link.queue_packets} packets queued · ${link.arrivals} arrived · ` +
      `${dropped} dropped${dropped > 0 ? ` (${Object.entries(link.drops).map(([reason, count]) => `${count} ${reason}`).join(", ")})` : ""}` +
      `${link.marked > 0 ? ` · ${link.marked} marked` : ""} · link at ${digits(link.rate_bps / 1e6)} Mbit/s`;
    this.showState(link);
  }

  /** What the discipline shows of itself: its values, and a row for each flow that it remembers. */
  private showState(link: LinkFrame) {
    const state = Object.entries(link.state ?? {});
    const rows = new Map<number, Record<string, number>>();
    for (const [flow, name, value] of link.flow_state ?? []) rows.set(flow, { ...rows.get(flow), [name]: value });
    const columns = [...new Set((link.flow_state ?? []).map(([, name]) => name))];
    const worth = (row: Record<string, number>) => Math.max(...Object.values(row));
    const shown = [...rows].sort((a, b) => worth(b[1]) - worth(a[1])).slice(0, 10);
    const parts: Node[] = [];
    if (state.length > 0) {
      const line = document.createElement("p");
      line.textContent = state.map(([name, value]) => `${name} ${digits(value)}`).join(" · ");
      parts.push(line);
    }
    if (shown.length > 0) {
      const table = document.createElement("table");
      const head = table.createTHead().insertRow();
      const groupOf = (flow: number) => this.about.groups[this.about.group_of_flow[Math.abs(flow) - 1] ?? -1];
      // Of connections that come and go the flow is the connection's own number.
      const grouped = shown.every(([flow]) => groupOf(flow) !== undefined);
      for (const word of ["flow", ...(grouped ? ["group"] : []), ...columns]) head.append(Object.assign(document.createElement("th"), { textContent: word }));
      const body = table.createTBody();
      for (const [flow, row] of shown) {
        const line = body.insertRow();
        line.insertCell().textContent = String(flow);
        if (grouped) line.insertCell().textContent = groupOf(flow)!;
        for (const name of columns) line.insertCell().textContent = row[name] === undefined ? "" : digits(row[name]);
      }
      if (rows.size > shown.length) {
        const note = document.createElement("caption");
        note.textContent = `${shown.length} of ${rows.size} flows that it remembers`;
        table.append(note);
      }
      parts.push(table);
    }
    this.table.replaceChildren(...parts);
  }

  /** Draws the queue. */
  draw() {
    this.view.draw();
  }

  drawCharts() {
    this.charts?.draw();
  }

  /** The mean throughput of each group in Mbit/s, from a time on. */
  throughput(since: number) {
    return this.charts?.throughput(since) ?? [];
  }

  destroy() {
    this.charts?.destroy();
    this.element.remove();
  }
}
