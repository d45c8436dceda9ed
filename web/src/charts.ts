// Live charts of one side: throughput of the groups, delay in the queue, its length, drops by reason; all against simulated
// time.

import uPlot from "uplot";
import { groupColour, themed } from "./colours";
import type { Frame, LinkFrame } from "./protocol";

/** How many samples stay on a chart; beyond them every second one goes. */
const MOST = 1200;

export const REASONS = ["tail", "early", "forced", "match", "policed", "reconfigured", "lost", "marked"];
const REASON_COLOURS = [1, 0, 3, 2, 4, 5, 6, 7];

interface Series {
  label: string;
  colour: () => string;
  dash?: number[];
}

class Chart {
  private plot: uPlot;
  private columns: (number | null)[][];

  constructor(
    private readonly parent: HTMLElement,
    private readonly title: string,
    private readonly unit: string,
    private readonly series: Series[],
  ) {
    this.columns = [[], ...series.map(() => [])];
    this.plot = this.made();
  }

  private made(): uPlot {
    const { parent, title, unit, series } = this;
    const axis = { stroke: () => themed("ink-soft"), grid: { stroke: () => themed("line") }, ticks: { stroke: () => themed("line") } };
    return new uPlot(
      {
        title,
        width: Math.max(parent.clientWidth, 200),
        height: 190,
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        legend: { live: true },
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
        axes: [
          { ...axis, label: "time (s)", labelSize: 16, size: 34 },
          { ...axis, label: unit, labelSize: 16, size: 52 },
        ],
        series: [
          { label: "time", value: (_, time) => (time == null ? "–" : `${time.toFixed(2)} s`) },
          ...series.map(({ label, colour, dash }) => ({
            label,
            stroke: colour,
            width: 1.6,
            spanGaps: true,
            points: { show: false },
            ...(dash ? { dash } : {}),
            value: (_: uPlot, y: number | null) => (y == null ? "–" : rounded(y)),
          })),
        ],
      },
      this.columns as uPlot.AlignedData,
      parent,
    );
  }

  push(time: number, values: (number | null)[]) {
    this.columns[0]!.push(time);
    values.forEach((value, at) => this.columns[at + 1]!.push(value));
    if (this.columns[0]!.length > MOST) this.columns = this.columns.map((column) => column.filter((_, at) => at % 2 === 0));
  }

  draw() {
    const width = this.parent.clientWidth;
    if (width > 0 && Math.abs(width - this.plot.width) > 1) this.plot.setSize({ width, height: 190 });
    this.plot.setData(this.columns as uPlot.AlignedData);
    // Without a pointer on the chart the legend has the latest values.
    const last = this.columns[0]!.length - 1;
    if (last < 0) return;
    if (this.plot.cursor.left === undefined || this.plot.cursor.left < 0) this.plot.setLegend({ idx: last });
  }

  /** The series whose values are all zero or missing are left out of the legend. */
  hideEmpty() {
    this.columns.slice(1).forEach((column, at) => {
      const row = this.plot.root.querySelectorAll<HTMLElement>(".u-series")[at + 1];
      if (row) row.hidden = !column.some((value) => value);
    });
  }

  /** The mean of a series over the samples that began at a time or later; null without one. */
  mean(series: number, since: number): number | null {
    const times = this.columns[0]!;
    const values = this.columns[series + 1]!.filter((value, at): value is number => value !== null && (times[at - 1] ?? 0) >= since);
    return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  }

  /** The colours of the theme are others: the legend keeps those that it was made with. */
  repaint() {
    this.plot.destroy();
    this.plot = this.made();
  }

  destroy() {
    this.plot.destroy();
  }
}

function rounded(y: number): string {
  return y === 0 ? "0" : Math.abs(y) >= 100 ? y.toFixed(0) : Math.abs(y) >= 1 ? y.toFixed(2) : y.toPrecision(2);
}

export class Charts {
  private charts: Chart[];
  private before: Record<string, number> = {};
  private lastTime = 0;

  constructor(
    parent: HTMLElement,
    private readonly groups: string[],
    private readonly delayTarget_ms: () => number | null,
  ) {
    const box = (title: string, unit: string, series: Series[]) => {
      const element = document.createElement("div");
      element.className = "chart";
      parent.append(element);
      return new Chart(element, title, unit, series);
    };
    this.charts = [
      box("Throughput by group", "Mbit/s", [
        ...groups.map((label, at) => ({ label, colour: () => groupColour(at) })),
        { label: "link rate", colour: () => themed("ink-soft"), dash: [4, 4] },
      ]),
      box("Delay in the queue", "ms", [
        { label: "median", colour: () => groupColour(0) },
        { label: "p99", colour: () => groupColour(1) },
        { label: "target", colour: () => themed("ink-soft"), dash: [4, 4] },
      ]),
      box("Queue", "packets", [
        { label: "queue", colour: () => groupColour(0) },
        { label: "average", colour: () => groupColour(1) },
      ]),
      box(
        "Drops, losses and marks by reason",
        "packets/s",
        REASONS.map((label, at) => ({ label, colour: () => groupColour(REASON_COLOURS[at]!) })),
      ),
    ];
  }

  /** A sample of the run and of one of its links: what has happened since the last one. */
  push(frame: Frame, link: LinkFrame) {
    const time = frame.time_s;
    const seconds = time - this.lastTime;
    this.lastTime = time;
    const [throughput, delay, queue, drops] = this.charts as [Chart, Chart, Chart, Chart];
    throughput.push(time, [...frame.groups.map((group) => group.throughput_bps / 1e6), link.rate_bps / 1e6]);
    delay.push(time, [link.delay_p50_ms, link.delay_p99_ms, this.delayTarget_ms()]);
    queue.push(time, [link.queue_packets, link.average_packets]);
    const counts = counted(link);
    drops.push(
      time,
      REASONS.map((reason) => {
        const more = (counts[reason] ?? 0) - (this.before[reason] ?? 0);
        return seconds > 0 ? (more < 0 ? (counts[reason] ?? 0) : more) / seconds : 0;
      }),
    );
    this.before = counts;
  }

  repaint() {
    for (const chart of this.charts) chart.repaint();
    this.draw();
  }

  draw() {
    for (const chart of this.charts) chart.draw();
    this.charts[1]!.hideEmpty();
    this.charts[2]!.hideEmpty();
    this.charts[3]!.hideEmpty();
  }

  /** The mean throughput of each group in Mbit/s, from a time on. */
  throughput(since: number): (number | null)[] {
    return this.groups.map((_, at) => this.charts[0]!.mean(at, since));
  }

  destroy() {
    for (const chart of this.charts) chart.destroy();
  }
}

function counted(link: LinkFrame): Record<string, number> {
  return { ...link.drops, lost: link.lost, marked: link.marked };
}
