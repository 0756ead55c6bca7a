// What the verbs of What if answer, and what is done to a step.

import type { AttentionAnswer, Side } from "../attention.ts";
import type { State } from "../state.ts";
import { at, build, slice, unpackExact, type Matrix, type Packed } from "../tensor.ts";

export interface Begun {
  attention: AttentionAnswer;
  tokens: number[];
  text: string;
  cut: number;
}

export interface Candidate {
  id: number;
  token: string;
  before: number;
  after: number;
}

export interface Output {
  tokens: string[];
  ids: number[];
  text: string;
}

export interface Changed {
  source: Side;
  candidates: Candidate[];
  change: number;
  own: Packed;
  weights: Packed;
  before: Output;
  after: Output;
}

export interface Another {
  layer: number;
  own: Packed;
  other: Packed;
  steps: number;
  caveat: string;
  candidates: Candidate[];
  divergence: number;
  change: number;
  tolerance: number;
  within_tolerance: boolean;
  uniform: { divergence: number; change: number; within_tolerance: boolean };
}

/** What the visitor has done; it stands in the address. */
export interface Meddling {
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
export function only(own: Meddling, change: Partial<Meddling> = {}): Meddling {
  return { ...own, pinned: new Map(), hidden: new Set(), replaced: new Map(), ...change };
}

function copied(own: Meddling): Meddling {
  return { ...own, pinned: new Map(own.pinned), hidden: new Set(own.hidden), replaced: new Map(own.replaced) };
}

/** What would be done then; null where it is not `known`. A file has changes one at a time: the others are let go. */
export function tried(own: Meddling, change: (own: Meddling) => void, known: (own: Meddling) => boolean): Meddling | null {
  for (const one of [copied(own), only(own)]) {
    change(one);
    if (known(one)) return one;
  }
  return null;
}

/** Read it from the address; positions that the sentence does not have are left out. */
export function readMeddling(state: State, { steps, layers, heads, positions: indices }: { steps: number; layers: number; heads: number; positions: number }): Meddling {
  const entries = (name: string) => state.get(name).split(",").filter(Boolean).map((one) => one.split(/:(.*)/s) as [string, string | undefined]);
  const inside = (position: number, most: number) => Number.isInteger(position) && position >= 0 && position < most;
  const whole = (name: string, most: number) => {
    const value = state.number(name, -1);
    return inside(value, most) ? value : -1;
  };
  const pinned = new Map<number, number>(), hidden = new Set<number>(), replaced = new Map<number, string>();
  for (const [position, share] of entries("pin")) {
    if (inside(Number(position), indices) && Number(share) >= 0 && Number(share) <= 1) pinned.set(Number(position), Number(share));
  }
  for (const [position] of entries("mask")) if (inside(Number(position), indices)) hidden.add(Number(position));
  for (const [position, text] of entries("swap")) if (inside(Number(position), indices - 1) && text) replaced.set(Number(position), decodeURIComponent(text));
  return {
    step: Math.max(0, whole("step", steps)), layer: layers > 1 ? whole("layer", layers) : -1, head: heads > 1 ? whole("head", heads) : -1,
    pinned, hidden, replaced, onward: state.get("when") === "onward",
  };
}

/** Write it into the address. */
export function writeMeddling(state: State, own: Meddling): void {
  state.set({
    step: own.step, layer: own.layer < 0 ? null : own.layer, head: own.head < 0 ? null : own.head, when: own.onward ? "onward" : null,
    pin: [...own.pinned].map(([position, share]) => `${position}:${Number(share.toFixed(4))}`).join(","),
    mask: [...own.hidden].join(","),
    swap: [...own.replaced].map(([position, text]) => `${position}:${encodeURIComponent(text)}`).join(","),
  });
}

/** The same as the server wants it. */
export function requests(own: Meddling): object {
  return {
    step: own.step, layer: own.layer, head: own.head, onward: own.onward, hidden: [...own.hidden],
    pinned: [...own.pinned].map(([position, share]) => ({ position: position, share })),
    replaced: [...own.replaced].map(([position, text]) => ({ position: position, text })),
  };
}

/** The row that is to be expected before the model has answered: the others share what is left. */
export function expected(row: number[], pinned: Map<number, number>): number[] {
  const taken = Math.min([...pinned.values()].reduce((sum, one) => sum + one, 0), 1);
  const rest = row.reduce((sum, weight, position) => (pinned.has(position) ? sum : sum + weight), 0);
  return row.map((weight, position) => pinned.get(position) ?? (rest > 0 ? (weight / rest) * (1 - taken) : 0));
}

/** The row of the chosen layers and heads: their mean, where there are several. `packed` is (layers, heads, source). */
export function meanRow(packed: Packed, layer: number, head: number): number[] {
  const tensor = unpackExact(packed);
  const [layers, heads, positions] = tensor.shape as [number, number, number];
  const all = (most: number, chosen: number) => (chosen < 0 ? Array.from({ length: most }, (_, index) => index) : [Math.min(chosen, most - 1)]);
  const rows: Matrix[] = all(layers, layer).map((one) => {
    const own = slice(tensor, one);
    return build(1, positions, (_, position) => all(heads, head).reduce((sum, index) => sum + at(own, index, position), 0) / all(heads, head).length);
  });
  return Array.from({ length: positions }, (_, position) => rows.reduce((sum, row) => sum + at(row, 0, position), 0) / rows.length);
}
