// Maps of attention: weights over layers, heads, rows and columns, and which matrix of them the visitor has chosen.

import type { AttentionAnswer, MapAnswer, Side } from "./api.ts";
import { visible } from "./dom.ts";
import {
  at,
  build,
  entropy,
  mean,
  normalized,
  rowOf,
  slice,
  unpack,
  unpackExact,
  type Matrix,
  type Tensor,
} from "./tensor.ts";

export type MapName = MapAnswer["id"];

/** What the rows or the columns of a map are. */
export interface Axis {
  title: string;
  tokens: string[];
  words: string[];
  /** For each token the index of its word. */
  wordOf: number[];
  /** Words that the model does not know. */
  unknown: Set<number>;
  /** Whether the last is `</s>`, which is no word. */
  end: boolean;
}

/** All layers and heads of one kind of attention. */
export interface AttentionMap {
  id: MapName;
  layers: string[];
  weights: Tensor;
  /** 1 where a row could attend to a column; null where all could. */
  mask: Matrix | null;
  rows: Axis;
  columns: Axis;
  /** The rows when a word is the model's newest input, one step after it was output; only of cross-attention. */
  inputs: Axis | null;
  norms: Tensor | null;
  rollout: Matrix | null;
  /** The head that was trained on word links, in the usual layer, if one was. */
  guidedHead?: number | null;
}

export interface Choice {
  layer: number;
  /** −1: the mean over heads. */
  head: number;
  measure: "weights" | "norms" | "rollout";
  /** Which word a row is of: the one that is output, or the one that is input. */
  when: "output" | "input";
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
  /** Of each token, the row it became. */
  rowOfToken: number[];
  /** Of each row and each column, the positions in the model's own tensor. */
  rowPositions: number[][];
  columnPositions: number[][];
  rowTitle: string;
  columnTitle: string;
}

export const MAP_TITLES: Record<MapName, { title: string; about: string }> = {
  cross: { title: "Cross-attention", about: "which source words each output word attends to" },
  source: { title: "Self-attention of the source", about: "which source words each source word attends to" },
  target: { title: "Self-attention of the output", about: "which earlier output words each word attends to" },
  text: { title: "Self-attention", about: "which words each word attends to" },
  pooling: { title: "Pooling attention", about: "which words the summary of the text attends to" },
};

export function axisOf(
  side: Pick<Side, "tokens" | "words" | "word_of" | "unknown">,
  title: string,
  end = false,
): Axis {
  return { title, tokens: side.tokens, words: side.words, wordOf: side.word_of, unknown: new Set(side.unknown), end };
}

/** What the decoder has read, a token for each row: `<s>`, then the output but for what no row follows. */
function inputsOf({ target, candidates }: AttentionAnswer): Axis {
  const count = candidates.length - 1,
    wordOf = target.word_of.slice(0, count);
  return {
    title: "output so far",
    tokens: ["<s>", ...target.tokens.slice(0, count)],
    words: ["<s>", ...target.words.slice(0, Math.max(-1, ...wordOf) + 1)],
    wordOf: [0, ...wordOf.map((word) => word + 1)],
    unknown: new Set(),
    end: false,
  };
}

/** The maps of a translation. */
export async function readMaps(answer: AttentionAnswer): Promise<AttentionMap[]> {
  const source = axisOf(answer.source, "source", true),
    inputs = inputsOf(answer),
    target = axisOf(answer.target, "output");
  const axes: Partial<Record<MapName, [Axis, Axis]>> = {
    cross: [target, source],
    source: [source, source],
    target: [inputs, inputs],
  };
  return Promise.all(
    answer.maps.map(async (one) => {
      const [rows, columns] = axes[one.id]!,
        cross = one.id === "cross";
      return {
        id: one.id,
        layers: one.layers,
        weights: await unpack(one.weights),
        mask: one.mask ? slice(unpackExact(one.mask)) : null,
        rows,
        columns,
        inputs: cross ? after(inputs) : null,
        norms: cross && answer.norms ? unpackExact(answer.norms) : null,
        rollout: cross && answer.rollout ? slice(unpackExact(answer.rollout)) : null,
        guidedHead: one.guided_head ?? null,
      };
    }),
  );
}

/** The inputs but the first, of which each row is one step later. */
function after(inputs: Axis): Axis {
  return {
    ...inputs,
    title: "input",
    tokens: inputs.tokens.slice(1),
    words: inputs.words.slice(1),
    wordOf: inputs.wordOf.slice(1).map((word) => word - 1),
  };
}

/**
 * The layer an alignment is read from: the only one, or the last but one (`inspection/alignment.py`); else the last.
 */
export function usualLayer(map: AttentionMap): number {
  return Math.max(map.layers.length - (map.id === "cross" ? 2 : 1), 0);
}

/** What the address has for the mean over heads where another one is usual. */
export const MEAN = "mean";

/** The head of a layer that is shown where none is chosen: one that was trained on word links; else −1, the mean. */
export function usualHead(map: AttentionMap, layer: number): number {
  return layer === usualLayer(map) ? (map.guidedHead ?? -1) : -1;
}

export function measuresOf(map: AttentionMap): { value: Choice["measure"]; text: string }[] {
  return [
    { value: "weights", text: "weights" },
    ...(map.norms ? [{ value: "norms" as const, text: "weight × value norm" }] : []),
    ...(map.rollout ? [{ value: "rollout" as const, text: "rollout of all layers" }] : []),
  ];
}

/** The chosen weights over tokens as the model has them: a row for each query. */
export function stepMatrix(map: AttentionMap, choice: Choice): Matrix {
  if (choice.measure === "rollout" && map.rollout) return map.rollout;
  const heads = map.weights.shape[1]!,
    layer = Math.min(choice.layer, map.layers.length - 1);
  const wanted =
    choice.head < 0 ? Array.from({ length: heads }, (_, head) => head) : [Math.min(choice.head, heads - 1)];
  const scale = choice.measure === "norms" ? map.norms : null;
  const matrices = wanted.map((head) => {
    const plain = slice(map.weights, layer, head);
    if (!scale) return plain;
    const offset = (layer * heads + head) * scale.shape[2]!;
    return build(plain.rows, plain.columns, (row, column) => at(plain, row, column) * scale.data[offset + column]!);
  });
  return scale ? normalized(mean(matrices)) : mean(matrices);
}

/** Whether the head is shown that was trained on word links. */
function isGuided(map: AttentionMap, choice: Choice): boolean {
  return choice.head >= 0 && choice.head === usualHead(map, choice.layer);
}

/** Whether the mean over several heads is shown. */
export function isMean(map: AttentionMap, choice: Choice): boolean {
  return choice.head < 0 && map.weights.shape[1]! > 1 && choice.measure !== "rollout";
}

/** False where the numbers shown were rounded on the way; a rollout never is. */
export function isExact(map: AttentionMap, choice: Choice): boolean {
  return choice.measure === "rollout" || map.weights.exact;
}

/** Whether a query could not attend to a position. A rollout goes through all layers, so that no single mask holds. */
export function isMasked(map: AttentionMap, choice: Choice, row: number, position: number): boolean {
  return map.mask !== null && choice.measure !== "rollout" && at(map.mask, row, position) === 0;
}

/** The shift between the rows that are shown and the model's queries. */
export function shiftOf(map: AttentionMap, choice: Choice): number {
  return map.inputs && choice.when === "input" ? 1 : 0;
}

/** What is to be drawn: rows for tokens or words, of the word that is output or input. */
export function choose(map: AttentionMap, choice: Choice): Chosen {
  const steps = stepMatrix(map, choice),
    shift = shiftOf(map, choice),
    byWords = choice.unit === "words";
  const rows = shift ? map.inputs! : map.rows,
    columns = map.columns;
  const rowGroups = groups(rows, byWords),
    columnGroups = groups(columns, byWords);
  const hidesEnd = choice.hideEnd && columns.end;
  if (hidesEnd) columnGroups.pop();
  let matrix = grouped(
    steps,
    rowGroups.map((tokens) => tokens.map((token) => token + shift)),
    columnGroups,
  );
  if (hidesEnd) matrix = normalized(matrix);
  const { mask } = map,
    hidden = mask && choice.measure !== "rollout" ? mask : null;
  return {
    matrix,
    rows: namesOf(rows, byWords),
    columns: namesOf(columns, byWords).slice(0, columnGroups.length),
    masked: hidden
      ? (row, column) =>
          rowGroups[row]!.every((token) =>
            columnGroups[column]!.every((other) => at(hidden, token + shift, other) === 0),
          )
      : undefined,
    end: columns.end && !choice.hideEnd ? columnGroups.length - 1 : null,
    rowOfToken: byWords ? rows.wordOf : rows.tokens.map((_, token) => token),
    rowPositions: rowGroups.map((tokens) => tokens.map((token) => token + shift)),
    columnPositions: columnGroups,
    rowTitle: rows.title,
    columnTitle: columns.title,
  };
}

function groups(axis: Axis, byWords: boolean): number[][] {
  if (!byWords) return axis.tokens.map((_, token) => [token]);
  const made: number[][] = axis.words.map(() => []);
  axis.wordOf.forEach((word, token) => made[word]?.push(token));
  return made;
}

/** Names as they are shown: a word that the model does not know stands in ⟨ ⟩, as an unknown token does. */
export function namesOf(axis: Axis, byWords: boolean): string[] {
  if (!byWords) return axis.tokens.map(visible);
  return axis.words.map((word, index) => (axis.unknown.has(index) ? `⟨${visible(word)}⟩` : visible(word)));
}

/** Means over the tokens of a row, sums over those of a column. */
function grouped(matrix: Matrix, rows: number[][], columns: number[][]): Matrix {
  const plain = rows.length === matrix.rows && columns.length === matrix.columns;
  if (
    plain &&
    rows.every((one, i) => one[0] === i && one.length === 1) &&
    columns.every((one, i) => one[0] === i && one.length === 1)
  ) {
    return matrix;
  }
  const data = new Float64Array(rows.length * columns.length);
  rows.forEach((tokens, row) =>
    columns.forEach((others, column) => {
      let sum = 0;
      for (const token of tokens) for (const other of others) sum += matrix.data[token * matrix.columns + other]!;
      data[row * columns.length + column] = sum / Math.max(1, tokens.length);
    }),
  );
  return { rows: rows.length, columns: columns.length, data };
}

/** The mean over rows of their entropy, in nats. */
export function meanEntropy(matrix: Matrix): number {
  let sum = 0;
  for (let row = 0; row < matrix.rows; row++) sum += entropy(rowOf(matrix, row));
  return sum / Math.max(1, matrix.rows);
}

/** "layer 2 of 4, head 3 of 8": as layers and heads are counted everywhere. */
export function placeOf(map: AttentionMap, choice: Choice): string {
  if (choice.measure === "rollout") return "all layers";
  const [layers, heads] = map.weights.shape as [number, number];
  const layer = layers > 1 ? `layer ${choice.layer + 1} of ${layers}` : "";
  const head = heads < 2 ? "" : choice.head < 0 ? `mean of ${heads} heads` : `head ${choice.head + 1} of ${heads}`;
  return [layer, head, isGuided(map, choice) ? "trained on word links" : ""].filter(Boolean).join(", ");
}
