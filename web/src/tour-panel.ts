// A tour as it is taken: one step at a time, with the theory's curve beside what is measured where a step has it.

import uPlot from "uplot";
import THEORY from "../core/choke-theory.json";
import { groupColour, themed } from "./colours";
import { button, element } from "./dom";
import type { Told } from "./protocol";
import type { State } from "./state";
import type { Tour } from "./tours";
import { parse } from "./units";

export interface TourHooks {
  open(state: State, speed: number): Promise<void>;
  set(side: number | null, key: string, value: string): Promise<void>;
  /** What would change the measurement: UDP's rate, and the discipline with its parameters. */
  udpRate(): string;
  setting(): string;
}

/** How long a queue is given to settle after a change, and how much is then averaged, in simulated seconds. */
const SETTLE = 40;
const AVERAGE = 100;

export class TourPanel {
  readonly element = element("section", "panel tour");
  private tour: Tour | null = null;
  private at = 0;
  private theory: TheoryChart | null = null;

  constructor(private readonly hooks: TourHooks) {
    this.element.hidden = true;
    this.element.setAttribute("aria-live", "polite");
  }

  async begin(tour: Tour) {
    this.tour = tour;
    this.at = -1;
    await this.go(0);
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Where the tour is: its name, the step from 1, and how many there are. */
  get place(): [string, number, number] | null {
    return this.tour && this.at >= 0 ? [this.tour.name, this.at + 1, this.tour.steps.length] : null;
  }

  /** What has been measured beside the theory, and what that says of a load with one candidate: for tests. */
  measured(): Point[] {
    return this.theory?.points ?? [];
  }

  predicted(load: number): number | null {
    const { load: loads, share } = THEORY;
    const at = loads.findIndex((each) => Math.abs(each / load - 1) < 1e-3);
    return (share as Record<string, (number | null)[]>)["1"]![at] ?? null;
  }

  async next() {
    if (this.tour && this.at + 1 < this.tour.steps.length) await this.go(this.at + 1);
    else this.end();
  }

  private end() {
    this.tour = null;
    this.theory?.destroy();
    this.theory = null;
    this.element.hidden = true;
  }

  private async go(at: number) {
    const tour = this.tour!;
    const back = at < this.at;
    const step = tour.steps[at]!;
    if (step.begin) await this.hooks.open({ ...structuredClone(step.begin.state) }, step.begin.speed);
    else if (back) {
      // What this step changes stands on the run of one before it.
      const from = tour.steps.slice(0, at).findLast((each) => each.begin)!.begin!;
      await this.hooks.open(structuredClone(from.state), from.speed);
    }
    for (const [side, key, value] of step.set ?? []) await this.hooks.set(side, key, value);
    this.at = at;
    this.show();
  }

  private show() {
    const tour = this.tour!;
    const step = tour.steps[this.at]!;
    this.element.hidden = false;
    const title = element("h2", "");
    title.textContent = `${tour.title} (${this.at + 1} of ${tour.steps.length}): ${step.title}`;
    const parts: HTMLElement[] = [title];
    for (const text of step.text) parts.push(Object.assign(element("p", ""), { textContent: text }));
    if (step.question) parts.push(Object.assign(element("p", "question"), { textContent: `A question to try: ${step.question}` }));
    const chart = element("div", "theory");
    const buttons = element("div", "buttons");
    buttons.append(
      ...(this.at > 0 ? [button("Back", () => this.go(this.at - 1)), " "] : []),
      button(this.at + 1 < tour.steps.length ? "Next" : "End the tour", () => this.next(), "main"),
      " ",
      ...(this.at + 1 < tour.steps.length ? [button("Leave", () => this.end())] : []),
    );
    this.element.replaceChildren(...parts, chart, buttons);
    const kept = step.theory && !step.begin ? this.theory?.points : undefined;
    this.theory?.destroy();
    this.theory = step.theory ? new TheoryChart(chart, this.hooks, kept) : null;
  }

  told(told: Told) {
    this.theory?.told(told);
  }
}

type Point = [load: number, share: number];

/** UDP's part of the throughput over its rate: by the model for some numbers of candidates, and as it is measured. */
class TheoryChart {
  readonly points: Point[];
  private plot: uPlot;
  private setting = "";
  private since = 0;
  private sums: [number, number] = [0, 0];

  constructor(
    private readonly parent: HTMLElement,
    private readonly hooks: TourHooks,
    points: Point[] = [],
  ) {
    this.points = points;
    const counts = Object.keys(THEORY.share);
    const axis = { stroke: () => themed("ink-soft"), grid: { stroke: () => themed("line") }, ticks: { stroke: () => themed("line") } };
    this.plot = new uPlot(
      {
        title: "UDP's part of the throughput, by theory and measured",
        width: this.width(),
        height: 240,
        scales: { x: { time: false, distr: 3, range: [THEORY.load[0]!, THEORY.load.at(-1)!] }, y: { range: [0, 0.4] } },
        axes: [
          { ...axis, label: "rate of UDP / rate of the link", labelSize: 16, size: 34 },
          { ...axis, label: "part of the throughput", labelSize: 16, size: 52 },
        ],
        series: [
          { label: "load" },
          ...counts.map((count, at) => ({
            label: count === "1" ? "theory, 1 candidate" : `${count} candidates`,
            stroke: () => groupColour(at),
            width: 1.8,
            points: { show: false },
          })),
          { label: "measured", stroke: () => themed("accent"), width: 0, paths: () => null, points: { show: true, size: 9, fill: () => themed("accent") } },
        ],
      },
      [[], ...counts.map(() => []), []] as uPlot.AlignedData,
      parent,
    );
    this.draw();
  }

  private width() {
    return Math.max(200, this.parent.clientWidth);
  }

  private draw() {
    const { load, share } = THEORY;
    const xs = [...new Set([...load, ...this.points.map(([x]) => x)])].sort((a, b) => a - b);
    const on = (curve: (number | null)[]) =>
      xs.map((x) => {
        const at = load.indexOf(x);
        if (at >= 0) return curve[at] ?? null;
        const above = load.findIndex((each) => each > x);
        const [low, high] = [curve[above - 1], curve[above]];
        if (above < 1 || low == null || high == null) return null;
        return low + ((high - low) * (x - load[above - 1]!)) / (load[above]! - load[above - 1]!);
      });
    const measured = xs.map((x) => this.points.find(([load]) => load === x)?.[1] ?? null);
    this.plot.setData([xs, ...Object.values(share).map(on), measured] as uPlot.AlignedData, false);
    this.plot.redraw(true, true);
    this.plot.setScale("x", { min: load[0]!, max: load.at(-1)! });
  }

  told(told: Told) {
    if (Math.abs(this.width() - this.plot.width) > 1) this.plot.setSize({ width: this.width(), height: 240 });
    for (const sample of told.samples[0] ?? []) {
      const [rate, setting] = [this.hooks.udpRate(), this.hooks.setting()];
      if (setting !== this.setting || sample.time_s < this.since) [this.setting, this.since, this.sums] = [setting, sample.time_s, [0, 0]];
      if (sample.time_s - this.since < SETTLE) continue;
      const [tcp, udp] = sample.groups.map((group) => group.throughput_bps);
      this.sums[0] += udp ?? 0;
      this.sums[1] += (udp ?? 0) + (tcp ?? 0);
      if (sample.time_s - this.since < SETTLE + AVERAGE || this.sums[1] === 0) continue;
      this.points.push([(parse(rate) ?? 0) / THEORY.rate_bps, this.sums[0] / this.sums[1]]);
      if (this.points.length > 40) this.points.shift();
      [this.since, this.sums] = [sample.time_s - SETTLE, [0, 0]];
      this.draw();
    }
  }

  destroy() {
    this.plot.destroy();
  }
}
