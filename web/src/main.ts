// The page: the scenario, the clock, one discipline or two beside each other on the same traffic.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { slider, trafficControls } from "./controls";
import { button, copied, element, show } from "./dom";
import { Engine } from "./engine";
import { beginLive } from "./live";
import type { About, Declarations, Told } from "./protocol";
import { python } from "./python";
import { SCENARIOS, FIRST } from "./scenarios";
import { Side } from "./side";
import { type State, fragment, isCount, setsOf, stateFrom, stateOf } from "./state";
import { TourPanel } from "./tour-panel";
import { TOURS } from "./tours";

/** Simulated seconds per second: what the slider's ends stand for. */
const SLOWEST = 0.001;
const FASTEST = 1000;

class Page {
  private state: State = stateOf(FIRST);
  private sides: Side[] = [];
  private abouts: About[] = [];
  private playing = false;
  private speed = 1;
  private colouring: "group" | "flow" = "group";
  private engine: Engine;
  private declarations!: Declarations;
  private version = "";
  private latest: Told | null = null;
  private now = 0;
  private chartsDue = false;
  private drawn: number[] = [];

  private play = button("▶ Run", () => this.setPlaying(!this.playing), "main");
  private clock = element("output", "");
  private rate = element("output", "");
  private speedSlider = element("input", "");
  private seed = element("input", "");
  private scenarioSelect = element("select", "");
  private traffic = element("div", "controls");
  private fault = element("p", "fault");
  private sidesBox = element("div", "sides");
  private second = element("select", "");
  private tour: TourPanel;

  constructor(private readonly root: HTMLElement) {
    this.engine = new Engine((told) => this.told(told));
    this.tour = new TourPanel({
      open: (state, speed) => this.openTour(state, speed),
      set: async (side, key, value) => {
        await this.change(side, key, value);
        this.controls();
      },
      setting: () => JSON.stringify([this.state.sets, this.state.own, this.state.disciplines]),
      udpRate: () => this.state.sets["flows.1.rate"] ?? String(this.abouts[0]?.scenario.flows[1]?.rate ?? ""),
    });
  }

  async begin() {
    const { declarations, version } = await this.engine.start();
    this.declarations = declarations;
    this.version = version;
    this.build();
    window.addEventListener("hashchange", () => void this.openLink());
    if (!(await this.openLink())) {
      const said = this.fault.textContent;
      await this.open(stateOf(FIRST));
      this.fault.textContent = said;
    }
    requestAnimationFrame(() => this.frame());
  }

  /** Opens the tour or the scenario of the link, if it has one. */
  private async openLink(): Promise<boolean> {
    try {
      const name = /^#tour=(.*)$/.exec(location.hash)?.[1];
      if (name !== undefined) {
        const tour = TOURS.find((each) => each.name === name);
        if (!tour) throw new Error(`no tour "${name}"; there are ${TOURS.map((each) => each.name).join(", ")}`);
        await this.tour.begin(tour);
        return true;
      }
      const state = await stateFrom(location.hash);
      if (state === null) return false;
      return await this.open(state);
    } catch (error) {
      this.fault.textContent = (error as Error).message;
      return false;
    }
  }

  private build() {
    const { root } = this;
    const header = element("header", "");
    const title = element("h1", "");
    title.textContent = "Sluicegate: a congested link, live";
    this.scenarioSelect.append(new Option("your own", ""), ...Object.keys(SCENARIOS).map((name) => new Option(name, name)));
    this.scenarioSelect.setAttribute("aria-label", "Scenario");
    this.scenarioSelect.addEventListener("change", () => {
      const text = SCENARIOS[this.scenarioSelect.value];
      if (text !== undefined) void this.open(stateOf(text));
    });
    const tours = element("select", "");
    tours.setAttribute("aria-label", "Tours");
    tours.append(new Option("Tours …", ""), ...TOURS.map((tour) => new Option(tour.title, tour.name)));
    tours.addEventListener("change", () => {
      const tour = TOURS.find((each) => each.name === tours.value);
      tours.value = "";
      if (tour) void this.tour.begin(tour);
    });
    header.append(
      title, element("span", "grow"), tours, labelled("Scenario ", this.scenarioSelect),
      button("Edit", () => this.edit()), button("Share", () => void this.share()), button("Python", () => this.showPython()),
      button("◐", () => this.toggleTheme(), "", "Dark or light"),
    );
    const bar = element("div", "bar");
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "The run");
    Object.assign(this.speedSlider, { type: "range", min: "0", max: "600", step: "1" });
    this.speedSlider.setAttribute("aria-label", "Speed");
    this.speedSlider.addEventListener("input", () => this.setSpeed(SLOWEST * (FASTEST / SLOWEST) ** (Number(this.speedSlider.value) / 600)));
    Object.assign(this.seed, { type: "number", min: "0", step: "1", placeholder: "file's" });
    this.seed.setAttribute("aria-label", "Seed");
    this.seed.addEventListener("change", () => void this.open({ ...this.state, seed: this.seed.value }));
    const colour = element("select", "");
    colour.append(new Option("by group", "group"), new Option("by flow", "flow"));
    colour.addEventListener("change", () => {
      this.colouring = colour.value as "group" | "flow";
      this.sides.forEach((side) => side.setColouring(this.colouring));
    });
    this.second.append(new Option("nothing", ""), ...this.declarations.disciplines.map(({ name, title }) => new Option(title, name)));
    this.second.addEventListener("change", () => void this.setSecond(this.second.value));
    bar.append(
      this.play, button("Step", () => void this.step(), "", "To the next event of a packet (key: .)"),
      button("Restart", () => void this.open(this.state), "", "From the start (key: r)"),
      labelled("Speed ", this.speedSlider), this.rate, this.clock, labelled("Seed ", this.seed),
      labelled("Colours ", colour), labelled("Compare with ", this.second),
    );
    const traffic = element("section", "panel");
    const word = element("h2", "");
    word.textContent = "Link and traffic";
    traffic.append(word, this.traffic);
    this.fault.setAttribute("role", "alert");
    const footer = element("p", "hint");
    footer.textContent =
      `Sluicegate ${this.version}. Results equal the command line's to the last bit. Keys: space runs and pauses, . steps, r restarts, + and − change the speed. ` +
      "Drop a scenario's TOML file anywhere, or paste its text.";
    root.replaceChildren(header, bar, this.fault, this.tour.element, traffic, this.sidesBox, footer);
    this.listen();
    this.setSpeed(1);
  }

  private listen() {
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|TEXTAREA|SELECT|BUTTON)$/.test(target.tagName) || target.closest("dialog")) return;
      const act: Record<string, () => void> = {
        " ": () => this.setPlaying(!this.playing), ".": () => void this.step(), r: () => void this.open(this.state),
        "+": () => this.setSpeed(this.speed * 2), "-": () => this.setSpeed(this.speed / 2),
      };
      const wanted = act[event.key];
      if (wanted) {
        event.preventDefault();
        wanted();
      }
    });
    const files = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    document.addEventListener("dragover", (event) => {
      if (files(event)) event.preventDefault();
      document.body.classList.toggle("dropping", files(event));
    });
    document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    document.addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text") ?? "";
      const inField = /^(INPUT|TEXTAREA)$/.test((event.target as HTMLElement).tagName);
      if (!inField && text.includes("[")) void this.open(stateOf(text));
    });
    document.addEventListener("drop", (event) => {
      document.body.classList.remove("dropping");
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      void file.text().then((text) => this.open(stateOf(text)));
    });
  }

  /** Begins a scenario anew; if it has a mistake that is told, and what runs goes on. */
  async open(state: State): Promise<boolean> {
    let abouts: About[];
    try {
      const sets = state.disciplines.map((_, side) => setsOf(state, side));
      abouts = await this.engine.open(state.text, sets);
    } catch (error) {
      this.fault.textContent = (error as Error).message;
      return false;
    }
    this.fault.textContent = "";
    for (const [key, value] of Object.entries(state.sets).filter(([key]) => isCount(key))) {
      await this.engine.set(null, key, value).catch((error: Error) => (this.fault.textContent = error.message));
    }
    this.state = { ...state, disciplines: abouts.map((about) => about.scenario.queue.discipline) };
    this.abouts = abouts;
    this.latest = null;
    this.now = 0;
    this.scenarioSelect.value = Object.entries(SCENARIOS).find(([, text]) => text === state.text)?.[0] ?? "";
    this.seed.value = state.seed;
    this.second.value = this.state.disciplines[1] ?? "";
    while (this.sides.length > abouts.length) this.sides.pop()!.destroy();
    while (this.sides.length < abouts.length) {
      const side = new Side(this.sides.length, this.declarations, {
        choose: (at, discipline) => void this.choose(at, discipline),
        set: (at, key, value) => this.change(at, key, value),
      });
      side.colouring = this.colouring;
      this.sides.push(side);
      this.sidesBox.append(side.element);
    }
    this.sides.forEach((side, at) => side.begin(abouts[at]!));
    this.controls();
    await this.engine.look();
    await this.pace();
    return true;
  }

  private async openTour(state: State, speed: number) {
    await this.open(state);
    this.setSpeed(speed);
    this.setPlaying(true);
  }

  /** Draws the sliders of link and traffic with what holds now. */
  private controls() {
    const about = this.abouts[0]!;
    const controls = trafficControls(about).map((control) => ({ ...control, value: this.state.sets[control.key] ?? control.value }));
    this.traffic.replaceChildren(...controls.map((control) => slider(control, (key, value) => this.change(null, key, value))));
    if (controls.length === 0) this.traffic.textContent = "This network's traffic cannot change while it runs.";
  }

  /** Makes a change in mid-run, and remembers it for restarts and links. */
  private async change(side: number | null, key: string, value: string): Promise<void> {
    const written = /^[-+0-9.]+$/.test(value) || value === "true" || value === "false" ? value : JSON.stringify(value);
    await this.engine.set(side, key, written);
    if (side === null) this.state.sets[key] = value;
    else (this.state.own[side] ??= {})[key] = value;
  }

  private async choose(side: number, discipline: string) {
    try {
      await this.engine.set(side, "queue.discipline", JSON.stringify(discipline));
    } catch (error) {
      this.fault.textContent = (error as Error).message;
      this.sides[side]!.describe();
      return;
    }
    this.fault.textContent = "";
    this.state.disciplines[side] = discipline;
    this.state.own[side] = {};
    // Its parameters, as the core has filled them in.
    this.abouts[side] = await this.engine.about(side);
    this.sides[side]!.about = this.abouts[side]!;
    this.sides[side]!.describe();
  }

  private async setSecond(discipline: string) {
    const disciplines = discipline === "" ? [this.state.disciplines[0]!] : [this.state.disciplines[0]!, discipline];
    await this.open({ ...this.state, disciplines, own: [this.state.own[0] ?? {}, {}] });
  }

  private setPlaying(playing: boolean) {
    this.playing = playing;
    this.play.textContent = playing ? "❚❚ Pause" : "▶ Run";
    void this.pace();
  }

  private setSpeed(speed: number) {
    this.speed = Math.min(FASTEST, Math.max(SLOWEST, speed));
    this.speedSlider.value = String(Math.round((600 * Math.log(this.speed / SLOWEST)) / Math.log(FASTEST / SLOWEST)));
    this.speedSlider.setAttribute("aria-valuetext", `${this.speedWord()} of real time`);
    void this.pace();
    this.showRate(null);
  }

  private speedWord(): string {
    return `${this.speed >= 100 ? this.speed.toFixed(0) : Number(this.speed.toPrecision(2))}×`;
  }

  private pace() {
    return this.engine.pace(this.speed, this.playing);
  }

  private async step() {
    this.setPlaying(false);
    await this.engine.step();
  }

  private showRate(reached: number | null) {
    const slow = reached !== null && this.playing && reached < 0.8 * this.speed;
    this.rate.textContent = this.speedWord() + (slow ? ` (reaches ${reached >= 10 ? reached.toFixed(0) : reached.toPrecision(2)}×)` : "");
  }

  private told(told: Told) {
    told.samples.forEach((samples, side) => samples.forEach((sample) => this.sides[side]?.sample(sample)));
    this.chartsDue ||= told.samples.some((samples) => samples.length > 0);
    this.latest = told;
    if (told.done && this.playing) this.setPlaying(false);
    this.tour.told(told);
  }

  /** Sixty times a second: the queues; the charts where something is new, and not more often than one can look. */
  private frame() {
    requestAnimationFrame(() => this.frame());
    const now = performance.now();
    this.drawn.push(now);
    while (this.drawn[0]! < now - 1000) this.drawn.shift();
    if (this.latest) {
      const { frames, reached } = this.latest;
      this.now = frames[0]?.time_s ?? 0;
      frames.forEach((frame, side) => this.sides[side]?.show(frame));
      this.clock.textContent = `${frames[0]?.time_s.toFixed(this.speed < 0.05 ? 4 : 2)} s of ${this.abouts[0]?.duration_s} s`;
      this.showRate(reached);
      this.latest = null;
      this.engine.drawn();
    }
    this.sides.forEach((side) => side.draw());
    if (this.chartsDue && this.drawn.length % 6 === 0) {
      this.sides.forEach((side) => side.drawCharts());
      this.chartsDue = false;
    }
  }

  private edit() {
    const text = element("textarea", "");
    text.value = this.state.text;
    text.spellcheck = false;
    text.setAttribute("aria-label", "The scenario as TOML");
    const fault = element("p", "fault");
    fault.setAttribute("role", "alert");
    const dialog = show("The scenario", [text, fault], [
      button("Run it", async () => {
        if (await this.open(stateOf(text.value))) dialog.close();
        else {
          fault.textContent = this.fault.textContent;
          this.fault.textContent = "";
        }
      }, "main"),
    ]);
  }

  private async share() {
    const url = new URL(location.href);
    url.hash = await fragment(this.state);
    history.replaceState(null, "", url);
    const text = element("textarea", "");
    text.readOnly = true;
    text.value = url.href;
    text.style.height = "7em";
    text.setAttribute("aria-label", "The link");
    const note = element("p", "hint");
    note.textContent = "The link contains the whole scenario and all changes so far, which then hold from the start. Nothing is sent to a server.";
    show("A link to this scenario", [text, note], [button("Copy", () => copied(url.href))]);
  }

  private showPython() {
    void Promise.all(this.sides.map((_, side) => this.engine.about(side))).then((abouts) => {
      const code = python(this.state.text, abouts, this.declarations);
      const text = element("pre", "");
      text.textContent = code;
      text.tabIndex = 0;
      show("The same in Python", [text], [button("Copy", () => copied(code))]);
    });
  }

  private toggleTheme() {
    const root = document.documentElement;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme ?? (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    this.sides.forEach((side) => side.repaint());
  }

  /** For tests, and for whoever is curious. */
  get inside() {
    return {
      engine: this.engine,
      now: () => this.now,
      framesPerSecond: () => this.drawn.length,
      open: (text: string, sets: Record<string, string> = {}, disciplines: (string | null)[] = [null]) =>
        this.open({ ...stateOf(text), sets, disciplines, own: disciplines.map(() => ({})) }),
      play: (playing: boolean, speed = this.speed) => {
        this.setSpeed(speed);
        this.setPlaying(playing);
      },
      throughput: (since: number) => this.sides.map((side) => side.throughput(since)),
      tour: this.tour,
    };
  }
}

function labelled(text: string, control: HTMLElement): HTMLLabelElement {
  const label = element("label", "");
  label.append(text, control);
  return label;
}

const root = document.getElementById("app")!;
if (!(await beginLive(root))) {
  const page = new Page(root);
  Object.assign(window, { sluicegate: page.inside });
  await page.begin();
}
document.documentElement.dataset.ready = "true";
