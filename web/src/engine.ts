// The worker as the page sees it: requests that are answered, and what it tells by itself.

import wasmUrl from "../core/sluicegate_web_bg.wasm.gz?url";
import type { About, Answer, Declarations, Request, Told } from "./protocol";
import EngineWorker from "./worker?worker&inline";

export interface Measured {
  events: number;
  seconds: number;
  digest: string;
}

export class Engine {
  private worker = new EngineWorker();
  private pending = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  private last = 0;

  constructor(told: (told: Told) => void) {
    this.worker.onmessage = ({ data }: MessageEvent<Answer | Told>) => {
      if (!("id" in data)) {
        told(data);
        return;
      }
      const waiting = this.pending.get(data.id);
      this.pending.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.done as never);
    };
  }

  private ask<T>(request: Request, transfer: Transferable[] = []): Promise<T> {
    const id = ++this.last;
    return new Promise<T>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ ...request, id }, transfer);
    });
  }

  /** Loads the core; the page has it compressed. */
  async start(): Promise<{ declarations: Declarations; version: string }> {
    const packed = await fetch(wasmUrl);
    const wasm = await new Response(packed.body!.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    return this.ask({ op: "start", wasm }, [wasm]);
  }

  /** Begins runs of a scenario side by side, each with overrides; rejects with the scenario's mistake, and nothing changes. */
  open(text: string, sides: string[][]): Promise<About[]> {
    return this.ask({ op: "open", text, sides });
  }

  /** Makes a change at the present time, on one side or on all. */
  set(side: number | null, key: string, value: string): Promise<void> {
    return this.ask({ op: "set", side, key, value });
  }

  /** Simulated seconds per second. */
  pace(speed: number, playing: boolean): Promise<void> {
    return this.ask({ op: "pace", speed, playing });
  }

  /** Has the present frame told. */
  look(): Promise<void> {
    return this.ask({ op: "look" });
  }

  step(): Promise<void> {
    return this.ask({ op: "step" });
  }

  /** What a side is now, after what has been changed. */
  about(side: number): Promise<About> {
    return this.ask({ op: "about", side });
  }

  changes(side: number): Promise<{ time: string; key: string; value: unknown }[]> {
    return this.ask({ op: "changes", side });
  }

  measure(text: string, sets: string[]): Promise<Measured> {
    return this.ask({ op: "measure", text, sets });
  }

  /** A frame has been drawn, and the next one may come. */
  drawn() {
    this.worker.postMessage("drawn");
  }
}
