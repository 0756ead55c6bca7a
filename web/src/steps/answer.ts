// What `steps/apart` answers as numbers, and the same computed once more here.

import type { ApartAnswer, HeadMaps, NormalizerInfo, Packed, PathAnswer, ScoreInfo } from "../api.ts";
import { work, type Pair } from "../equations.ts";
import { at, rowOf, slice, unpackExact, type Matrix } from "../tensor.ts";
import { weigh, type Weighed } from "../weighing.ts";

/** What lies before and after attention. */
export interface Path extends Pick<PathAnswer, "words" | "taken" | "lens"> {
  queryInput: Float32Array | null;
  keyInputs: Matrix | null;
  mixed: Float32Array | null;
  before: Float32Array | null;
  after: Float32Array | null;
}

/** Everything as numbers. */
export interface Apart {
  score: ScoreInfo;
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
  code: ApartAnswer["code"];
  weighed: Weighed | null;
  path: Path;
  pair(key: number): Pair;
}

/** A linear map of one head. */
export interface Map {
  name: string;
  matrix: Matrix;
  bias: Float32Array | null;
}

export type Maps = Record<keyof HeadMaps, Map | null>;

const list = (packed: Packed) => unpackExact(packed).data;
const maybe = (packed: Packed | null) => (packed ? list(packed) : null);
const table = (packed: Packed) => slice(unpackExact(packed));

export function readMaps(answer: HeadMaps): Maps {
  const read = (one: HeadMaps["query"]) =>
    one ? { name: one.name, matrix: table(one.matrix), bias: maybe(one.bias) } : null;
  return { query: read(answer.query), key: read(answer.key), value: read(answer.value), output: read(answer.output) };
}

export function readApart(answer: ApartAnswer): Apart {
  const query = list(answer.query),
    keys = table(answer.keys),
    mask = maybe(answer.mask),
    scores = list(answer.scores);
  const allowed = (key: number) => mask === null || mask[key] === 1,
    { unturned, path } = answer;
  return {
    score: answer.score,
    normalizer: answer.normalizer,
    position: answer.position,
    queryLabel: answer.query_label,
    keyLabels: answer.key_labels,
    query,
    keys,
    values: table(answer.values),
    unturned: unturned ? [list(unturned[0]), table(unturned[1])] : null,
    compared: list(answer.compared),
    bias: maybe(answer.bias),
    added: maybe(answer.added),
    scores,
    allowed,
    normalized: list(answer.normalized),
    factors: maybe(answer.factors),
    weights: list(answer.weights),
    extra: maybe(answer.extra),
    context: list(answer.context),
    output: list(answer.output),
    code: answer.code,
    weighed: weigh(answer.normalizer, Array.from(scores), allowed),
    path: {
      words: path.words,
      taken: path.taken,
      lens: path.lens,
      queryInput: maybe(path.query_input),
      keyInputs: path.key_inputs ? table(path.key_inputs) : null,
      mixed: maybe(path.mixed),
      before: maybe(path.before),
      after: maybe(path.after),
    },
    pair: pairs(answer.score, query, keys),
  };
}

/** Lay out for each key what its score is computed from. */
export function pairs(score: ScoreInfo, query: ArrayLike<number>, keys: Matrix): (key: number) => Pair {
  const { projected_query, projected_keys, columns, vector, ...plain } = score;
  const asked = projected_query ? list(projected_query) : query,
    compared = projected_keys ? table(projected_keys) : keys;
  const positions = columns ? table(columns) : null,
    weighing = vector ? list(vector) : undefined;
  return (key) => ({
    ...plain,
    query: asked,
    key: rowOf(compared, key),
    vector: weighing,
    column: positions ? rowOf(positions, key) : undefined,
  });
}

/** A linear map applied once more, in double precision. */
export function applied({ matrix, bias }: Map, input: ArrayLike<number>): number[] {
  return Array.from({ length: matrix.rows }, (_, row) => {
    let sum = bias ? bias[row]! : 0;
    for (let column = 0; column < matrix.columns; column++) sum += at(matrix, row, column) * input[column]!;
    return sum;
  });
}

/** The largest differences between what the model's layer has and what is computed here from its vectors. */
export function check(apart: Apart, maps: Maps | null): { name: string; difference: number | null }[] {
  const far = (first: ArrayLike<number>, second: (i: number) => number) => {
    let most = 0;
    for (let i = 0; i < first.length; i++) most = Math.max(most, Math.abs(first[i]! - second(i)));
    return most;
  };
  const worked = apart.keyLabels.map((_, key) => work(apart.pair(key)));
  const weights = apart.weighed?.weights.map((weight, key) => weight * (apart.factors?.[key] ?? 1));
  const used = weights ?? Array.from(apart.weights);
  const mixed = Array.from(apart.context, (_, feature) =>
    used.reduce((sum, weight, key) => sum + weight * at(apart.values, key, feature), apart.extra?.[feature] ?? 0),
  );
  const { queryInput } = apart.path,
    query = apart.unturned?.[0] ?? apart.query;
  const projected = maps?.query && queryInput ? applied(maps.query, queryInput) : null;
  return [
    ...(projected ? [{ name: "query", difference: far(query, (i) => projected[i]!) }] : []),
    { name: "scores", difference: worked[0] ? far(apart.compared, (key) => worked[key]!.score) : null },
    { name: "weights", difference: weights ? far(apart.weights, (key) => weights[key]!) : null },
    { name: "context", difference: far(apart.output, (feature) => mixed[feature]!) },
  ];
}
