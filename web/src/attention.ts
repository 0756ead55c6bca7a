// What `translate/attention` answers, and which matrix of it the visitor has chosen.

import { visible } from "./dom.ts";
import type { ReadAs } from "./respelled.ts";
import { at, build, mean, normalized, slice, unpack, unpackExact, type Matrix, type Packed, type Tensor } from "./tensor.ts";

export interface Side {
  ids: number[];
  tokens: string[];
  words: string[];
  /** For each token the index of its word; `</s>` is a word of its own. */
  word_of: number[];
  /** Words typed without their accents or case, and how they are read. */
  read_as?: ReadAs;
}

export interface AttentionAnswer {
  source: Side;
  target: Side;
  finished: boolean;
  log_probabilities: number[];
  candidates: { token: string; id: number; probability: number }[][];
  maps: { id: MapName; layers: string[]; weights: Packed; mask: Packed | null }[];
  norms: Packed | null;
  rollout: Packed | null;
}

export type MapName = "cross" | "source" | "target";

export interface Weights {
  id: MapName;
  layers: string[];
  weights: Tensor;
  mask: Matrix | null;
}

export interface Attention extends Omit<AttentionAnswer, "maps" | "norms" | "rollout"> {
  maps: Weights[];
  norms: Tensor | null;
  rollout: Matrix | null;
}

export interface Choice {
  map: MapName;
  layer: number;
  /** −1: the mean over heads. */
  head: number;
  measure: "weights" | "norms" | "rollout";
  when: "produced" | "read";
  unit: "words" | "tokens";
  hideEnd: boolean;
}

/** A matrix with what its rows and columns are. */
export interface Chosen {
  matrix: Matrix;
  rows: string[];
  columns: string[];
  masked?: (row: number, column: number) => boolean;
  /** The column of `</s>`, if it is shown. */
  end: number | null;
  /** Of each row of tokens, the row it became. */
  rowOfToken: number[];
  /** Of each row and each column, the positions in the model's own tensor. */
  rowPositions: number[][];
  columnPositions: number[][];
  rowTitle: string;
  columnTitle: string;
}

export async function readAttention(answer: AttentionAnswer): Promise<Attention> {
  const maps = await Promise.all(answer.maps.map(async (one) => ({
    id: one.id, layers: one.layers, weights: await unpack(one.weights), mask: one.mask ? slice(unpackExact(one.mask)) : null,
  })));
  return {
    ...answer, maps, norms: answer.norms ? unpackExact(answer.norms) : null,
    rollout: answer.rollout ? slice(unpackExact(answer.rollout)) : null,
  };
}

/** The layer an alignment is read from: the only one, or the last but one (`inspection/alignment.py`). */
export function usualLayer(weights: Weights): number {
  return Math.max(weights.layers.length - 2, 0);
}

/** The chosen weights over tokens as the model has them: a row for each step. */
export function stepMatrix(attention: Attention, choice: Choice): Matrix {
  const own = attention.maps.find((one) => one.id === choice.map)!;
  if (choice.measure === "rollout" && choice.map === "cross" && attention.rollout) return attention.rollout;
  const heads = own.weights.shape[1]!;
  const layer = Math.min(choice.layer, own.layers.length - 1);
  const scale = choice.measure === "norms" && choice.map === "cross" ? attention.norms : null;
  const wanted = choice.head < 0 ? Array.from({ length: heads }, (_, head) => head) : [Math.min(choice.head, heads - 1)];
  const matrices = wanted.map((head) => {
    const plain = slice(own.weights, layer, head);
    if (!scale) return plain;
    const [, , length] = scale.shape as [number, number, number];
    const offset = (layer * heads + head) * length;
    return build(plain.rows, plain.columns, (row, column) => at(plain, row, column) * scale.data[offset + column]!);
  });
  return scale ? normalized(mean(matrices)) : mean(matrices);
}

/** False where the numbers shown were rounded on the way; a rollout never is. */
export function isExact(attention: Attention, choice: Choice): boolean {
  return choice.measure === "rollout" || attention.maps.find((one) => one.id === choice.map)!.weights.exact;
}

/** Whether a step could not attend to a position. A rollout goes through all layers, so that no single mask holds for it. */
export function isMasked(attention: Attention, choice: Choice, row: number, position: number): boolean {
  const { mask } = attention.maps.find((one) => one.id === choice.map)!;
  return mask !== null && choice.measure !== "rollout" && at(mask, row, position) === 0;
}

/** What is to be drawn: rows for tokens or words, at the chosen moment. */
export function choose(attention: Attention, choice: Choice): Chosen {
  const own = attention.maps.find((one) => one.id === choice.map)!;
  const steps = stepMatrix(attention, choice);
  const inputs = inputsOf(attention);
  const read = choice.when === "read";
  const target: Side = read
    ? { ids: [], tokens: inputs.tokens.slice(1), words: inputs.words.slice(1), word_of: inputs.word_of.slice(1).map((word) => word - 1) }
    : attention.target;
  const rows = choice.map === "cross" ? target : choice.map === "source" ? attention.source : inputs;
  const columns = choice.map === "target" ? inputs : attention.source;
  const shift = choice.map === "cross" && read ? 1 : 0;
  const tokens = build(rows.tokens.length, columns.tokens.length, (row, column) => at(steps, row + shift, column));
  const hidden = (row: number, column: number) => own.mask !== null && at(own.mask, row + shift, column) === 0;
  const byWords = choice.unit === "words";
  const groups = (side: Side) => byWords ? side.words.map((_, word) => positions(side.word_of, word)) : side.tokens.map((_, token) => [token]);
  const rowGroups = groups(rows), columnGroups = groups(columns);
  let matrix = build(rowGroups.length, columnGroups.length, (row, column) => {
    let sum = 0;
    for (const token of rowGroups[row]!) for (const other of columnGroups[column]!) sum += at(tokens, token, other);
    return sum / Math.max(1, rowGroups[row]!.length);
  });
  const hasEnd = choice.map !== "target";
  if (choice.hideEnd && hasEnd) {
    const whole = matrix;
    matrix = normalized(build(whole.rows, whole.columns - 1, (row, column) => at(whole, row, column)));
    columnGroups.pop();
  }
  const names = (side: Side, count: number) => (byWords ? side.words : side.tokens).slice(0, count).map(visible);
  const titles = { cross: ["translation", "source"], source: ["source", "source"], target: ["translation so far", "translation so far"] }[choice.map];
  return {
    matrix, rows: names(rows, rowGroups.length), columns: names(columns, columnGroups.length),
    masked: own.mask ? (row, column) => rowGroups[row]!.every((token) => columnGroups[column]!.every((other) => hidden(token, other))) : undefined,
    end: hasEnd && !choice.hideEnd ? columnGroups.length - 1 : null,
    rowOfToken: rows.tokens.map((_, token) => (byWords ? rows.word_of[token]! : token)),
    rowPositions: rowGroups.map((tokens) => tokens.map((token) => token + shift)), columnPositions: columnGroups, rowTitle: titles[0]!, columnTitle: titles[1]!,
  };
}

/** What the decoder has read, a token for each row: `<s>`, then the output but for what no row follows. */
function inputsOf(attention: Attention): Side {
  const count = attention.candidates.length - 1;
  const wordOf = attention.target.word_of.slice(0, count);
  return {
    ids: [], tokens: ["<s>", ...attention.target.tokens.slice(0, count)],
    words: ["<s>", ...attention.target.words.slice(0, Math.max(-1, ...wordOf) + 1)], word_of: [0, ...wordOf.map((word) => word + 1)],
  };
}

function positions(list: number[], wanted: number): number[] {
  return list.flatMap((one, position) => (one === wanted ? [position] : []));
}
