// What `steps/read` and `steps/apart` answer, and the same computed once more here.

import type { ReadAs } from "../respelled.ts";
import { work, type Pair } from "../equations.ts";
import { at, rowOf, slice, unpackExact, type Matrix, type Packed } from "../tensor.ts";
import { weigh, type NormalizerInfo, type Weighed } from "../weighing.ts";

export interface Reading {
  model: string;
  /** Whether it says something that can be forced. */
  generates: boolean;
  text: string;
  read_as: ReadAs;
  target: string | null;
  layer: string;
  layers: { name: string; heads: number; queries: string[]; keys: string[] }[];
}

export interface ScoreAnswer {
  kind: string;
  scale?: number;
  bandwidth?: number;
  temperature?: number;
  activation?: string;
  vector?: Packed;
  projected_query?: Packed;
  projected_keys?: Packed;
  columns?: Packed;
}

export interface ApartAnswer {
  score: ScoreAnswer;
  normalizer: NormalizerInfo;
  position: string | null;
  query_label: string;
  key_labels: string[];
  query: Packed;
  keys: Packed;
  values: Packed;
  unturned: [Packed, Packed] | null;
  compared: Packed;
  bias: Packed | null;
  added: Packed | null;
  scores: Packed;
  mask: Packed | null;
  normalized: Packed;
  factors: Packed | null;
  weights: Packed;
  extra: Packed | null;
  context: Packed;
  output: Packed;
  code: { find: string; again: string };
}

/** Everything as numbers. */
export interface Apart {
  score: ScoreAnswer;
  normalizer: NormalizerInfo;
  position: string | null;
  queryLabel: string;
  keyLabels: string[];
  query: Float32Array;
  keys: Matrix;
  values: Matrix;
  unturned: [Float32Array, Matrix] | null;
  compared: Float32Array;
  bias: Float32Array | null;
  added: Float32Array | null;
  scores: Float32Array;
  allowed: (key: number) => boolean;
  normalized: Float32Array;
  factors: Float32Array | null;
  weights: Float32Array;
  extra: Float32Array | null;
  context: Float32Array;
  output: Float32Array;
  code: { find: string; again: string };
  weighed: Weighed | null;
  pair(key: number): Pair;
}

const list = (packed: Packed) => unpackExact(packed).data;
const maybe = (packed: Packed | null) => (packed ? list(packed) : null);
const table = (packed: Packed) => slice(unpackExact(packed));

export function readApart(answer: ApartAnswer): Apart {
  const query = list(answer.query), keys = table(answer.keys), mask = maybe(answer.mask), scores = list(answer.scores);
  const allowed = (key: number) => mask === null || mask[key] === 1;
  const unturned = answer.unturned;
  return {
    score: answer.score, normalizer: answer.normalizer, position: answer.position, queryLabel: answer.query_label, keyLabels: answer.key_labels,
    query, keys, values: table(answer.values), unturned: unturned ? [list(unturned[0]), table(unturned[1])] : null,
    compared: list(answer.compared), bias: maybe(answer.bias), added: maybe(answer.added), scores, allowed,
    normalized: list(answer.normalized), factors: maybe(answer.factors), weights: list(answer.weights),
    extra: maybe(answer.extra), context: list(answer.context), output: list(answer.output), code: answer.code,
    weighed: weigh(answer.normalizer, Array.from(scores), allowed),
    pair: pairs(answer.score, query, keys),
  };
}

/** Lay out for each key what its score is computed from. */
export function pairs(score: ScoreAnswer, query: ArrayLike<number>, keys: Matrix): (key: number) => Pair {
  const { projected_query, projected_keys, columns, vector, ...plain } = score;
  const request = projected_query ? list(projected_query) : query, text = projected_keys ? table(projected_keys) : keys;
  const positions = columns ? table(columns) : null, weighing = vector ? list(vector) : undefined;
  return (key) => ({ ...plain, query: request, key: rowOf(text, key), vector: weighing, column: positions ? rowOf(positions, key) : undefined });
}

/** The largest differences between what the model's layer has and what is computed here from its vectors. */
export function check(apart: Apart): { name: string; difference: number | null }[] {
  const far = (first: ArrayLike<number>, second: (i: number) => number) => {
    let most = 0;
    for (let i = 0; i < first.length; i++) most = Math.max(most, Math.abs(first[i]! - second(i)));
    return most;
  };
  const worked = apart.keyLabels.map((_, key) => work(apart.pair(key)));
  const normalized = apart.weighed?.weights;
  const weights = normalized?.map((weight, key) => weight * (apart.factors?.[key] ?? 1));
  const mixed = Array.from(apart.context, (_, feature) => (weights ?? Array.from(apart.weights)).reduce((sum, weight, key) => sum + weight * at(apart.values, key, feature), apart.extra?.[feature] ?? 0));
  return [
    { name: "scores", difference: worked[0] ? far(apart.compared, (key) => worked[key]!.score) : null },
    { name: "weights", difference: weights ? far(apart.weights, (key) => weights[key]!) : null },
    { name: "context", difference: far(apart.output, (feature) => mixed[feature]!) },
  ];
}
