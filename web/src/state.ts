// What the page is about: a scenario, its overrides, and the discipline of each side; and all that as a link.

export interface State {
  text: string;
  /** Overrides of both sides, key by key, in the order in which they were made. */
  sets: Record<string, string>;
  /** The discipline of each side, one or two; a side without one has the scenario's. */
  disciplines: (string | null)[];
  /** Overrides of each side alone. */
  own: Record<string, string>[];
  seed: string;
}

export function stateOf(text: string): State {
  return { text, sets: {}, disciplines: [null], own: [{}], seed: "" };
}

/** How many flows of a group send: a change at the start, so that those that rest are there and can go on. */
export const isCount = (key: string) => /^flows\.\d+\.count$/.test(key);

/** The overrides of a side as the core takes them. */
export function setsOf(state: State, side: number): string[] {
  const discipline = state.disciplines[side];
  return [
    ...Object.entries(state.sets).filter(([key]) => !isCount(key)),
    ...(discipline ? [["queue.discipline", JSON.stringify(discipline)] as const] : []),
    ...Object.entries(state.own[side] ?? {}),
    ...(state.seed ? [["run.seed", state.seed] as const] : []),
  ].map(([key, value]) => `${key}=${value}`);
}

async function through(bytes: Uint8Array<ArrayBuffer>, transform: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer());
}

/** The state as a URL's fragment: compressed, in base64url. */
export async function fragment(state: State): Promise<string> {
  const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return `s=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The state of a fragment; null when it has none. Throws on one that is damaged. */
export async function stateFrom(hash: string): Promise<State | null> {
  const found = /^#?s=([-_A-Za-z0-9]+)$/.exec(hash);
  if (!found) return null;
  try {
    const binary = atob(found[1]!.replaceAll("-", "+").replaceAll("_", "/"));
    const unpacked = await through(Uint8Array.from(binary, (c) => c.charCodeAt(0)), new DecompressionStream("deflate-raw"));
    const given = JSON.parse(new TextDecoder().decode(unpacked)) as Partial<State>;
    if (typeof given.text !== "string") throw new Error("no scenario");
    return { ...stateOf(given.text), ...given };
  } catch {
    throw new Error("the link is damaged: it has no scenario that can be read; copy it again, whole");
  }
}
