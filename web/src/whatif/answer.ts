// What is done to a step: it stands in the address, and goes to the server.

import type { ChangeRequest, Packed } from "../api.ts";
import type { State } from "../state.ts";
import { slice, unpackExact } from "../tensor.ts";

/** What the visitor has done. */
export interface Change {
  step: number;
  /** −1: all. */
  layer: number;
  head: number;
  pinned: Map<number, number>;
  hidden: Set<number>;
  replaced: Map<number, string>;
  onward: boolean;
}

/** The same step, undisturbed or with one thing done to it. */
export function only(own: Change, change: Partial<Change> = {}): Change {
  return { ...own, pinned: new Map(), hidden: new Set(), replaced: new Map(), ...change };
}

function copied(own: Change): Change {
  return { ...own, pinned: new Map(own.pinned), hidden: new Set(own.hidden), replaced: new Map(own.replaced) };
}

/** What would be done then; null where it is not `known`. A file has changes one at a time: the others are released. */
export function tried(own: Change, change: (own: Change) => void, known: (own: Change) => boolean): Change | null {
  for (const one of [copied(own), only(own)]) {
    change(one);
    if (known(one)) return one;
  }
  return null;
}

/** Read it from the address; positions that the sentence does not have are left out. */
export function readChange(
  state: State,
  {
    steps,
    layers,
    heads,
    positions,
    last = false,
  }: { steps: number; layers: number; heads: number; positions: number; last?: boolean },
): Change {
  const entries = (name: string) =>
    state
      .get(name)
      .split(",")
      .filter(Boolean)
      .map((one) => one.split(/:(.*)/s) as [string, string | undefined]);
  const index = (text: string, most: number) =>
    Number.isInteger(Number(text)) && Number(text) >= 1 && Number(text) <= most ? Number(text) - 1 : null;
  const pinned = new Map<number, number>(),
    hidden = new Set<number>(),
    replaced = new Map<number, string>();
  for (const [text, share] of entries("pin")) {
    const position = index(text, positions);
    if (position !== null && Number(share) >= 0 && Number(share) <= 1) pinned.set(position, Number(share));
  }
  for (const [text] of entries("mask")) if (index(text, positions) !== null) hidden.add(index(text, positions)!);
  for (const [text, other] of entries("swap"))
    if (index(text, positions - 1) !== null && other)
      replaced.set(index(text, positions)!, decodeURIComponent(other));
  return {
    step: state.index("query", steps, last ? steps - 1 : 0),
    layer: layers > 1 ? state.index("layer", layers) : -1,
    head: heads > 1 ? state.index("head", heads) : -1,
    pinned,
    hidden,
    replaced,
    onward: state.get("hold") === "onward",
  };
}

/** Write it into the address, counted from one. */
export function writeChange(state: State, own: Change): void {
  state.set({
    query: own.step + 1,
    layer: own.layer < 0 ? null : own.layer + 1,
    head: own.head < 0 ? null : own.head + 1,
    hold: own.onward ? "onward" : null,
    pin: [...own.pinned].map(([position, share]) => `${position + 1}:${Number(share.toFixed(4))}`).join(","),
    mask: [...own.hidden].map((position) => position + 1).join(","),
    swap: [...own.replaced].map(([position, text]) => `${position + 1}:${encodeURIComponent(text)}`).join(","),
  });
}

/** The same as the server wants it. */
export function requestOf(own: Change): Omit<ChangeRequest, "model" | "text" | "tokens"> {
  return {
    step: own.step,
    layer: own.layer,
    head: own.head,
    onward: own.onward,
    hidden: [...own.hidden],
    pinned: [...own.pinned].map(([position, share]) => ({ position, share })),
    replaced: [...own.replaced].map(([position, text]) => ({ position, text })),
  };
}

/** The row that is to be expected before the model has answered: the others share what is left. */
export function expected(row: number[], pinned: Map<number, number>): number[] {
  const taken = Math.min(
    [...pinned.values()].reduce((sum, one) => sum + one, 0),
    1,
  );
  const rest = row.reduce((sum, weight, position) => (pinned.has(position) ? sum : sum + weight), 0);
  return row.map((weight, position) => pinned.get(position) ?? (rest > 0 ? (weight / rest) * (1 - taken) : 0));
}

/** The row of the chosen layers and heads: their mean, where there are several. `packed` is (layers, heads, source). */
export function meanRow(packed: Packed, layer: number, head: number): number[] {
  const tensor = unpackExact(packed),
    [layers, heads, positions] = tensor.shape as [number, number, number];
  const all = (most: number, chosen: number) =>
    chosen < 0 ? Array.from({ length: most }, (_, index) => index) : [Math.min(chosen, most - 1)];
  const rows = all(layers, layer).map((one) => slice(tensor, one)),
    chosen = all(heads, head);
  return Array.from(
    { length: positions },
    (_, position) =>
      rows.reduce(
        (sum, own) => sum + chosen.reduce((all, index) => all + own.data[index * positions + position]!, 0),
        0,
      ) /
      (rows.length * chosen.length),
  );
}
