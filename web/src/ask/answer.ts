// What `ask/…` answers, and which map over the picture the visitor has chosen.

import type { PictureChecks, VisionAnswer } from "../api.ts";
import { mean, slice, unpack, unpackExact, type Matrix, type Tensor } from "../tensor.ts";

export type Task = "questions" | "captions" | "labels";

export interface Answer extends Omit<VisionAnswer, "weights" | "maps"> {
  /** Layers, heads, words, rows, columns. */
  weights: Tensor | null;
  maps: { name: string; limit: number; signed: boolean; weights: Matrix }[];
}

export interface Checks {
  occlusion: Tensor;
  gradient: Tensor;
  uniform: number[] | null;
}

export async function readAnswer(answer: VisionAnswer): Promise<Answer> {
  return {
    ...answer,
    weights: answer.weights ? await unpack(answer.weights) : null,
    maps: answer.maps.map((one) => ({ ...one, weights: slice(unpackExact(one.weights)) })),
  };
}

export function readChecks(answer: PictureChecks): Checks {
  return {
    occlusion: unpackExact(answer.occlusion),
    gradient: unpackExact(answer.gradient),
    uniform: answer.uniform,
  };
}

export interface Choice {
  /** −1: the mean, for each of these. */
  word: number;
  layer: number;
  head: number;
}

/** The weights over places of a word, or the mean over words; likewise for layers and heads. */
export function wordMap(weights: Tensor, { word, layer, head }: Choice): Matrix {
  const [layers, heads, words] = weights.shape as [number, number, number];
  const all = (chosen: number, count: number) =>
    chosen < 0 ? Array.from({ length: count }, (_, one) => one) : [Math.min(chosen, count - 1)];
  return mean(
    all(layer, layers).flatMap((one) =>
      all(head, heads).flatMap((two) => all(word, words).map((three) => slice(weights, one, two, three))),
    ),
  );
}

/** A check's map: of the word where it has one for each, else the mean over what it has. */
export function checkMap(check: Tensor, word: number): Matrix | null {
  const [words] = check.shape as [number];
  if (!words) return null;
  return word >= 0 && words > 1
    ? slice(check, Math.min(word, words - 1))
    : mean(Array.from({ length: words }, (_, one) => slice(check, one)));
}
