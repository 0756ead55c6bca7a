// What `ask/…` answers, and which map over the picture the visitor has chosen.

import { mean, slice, unpack, unpackExact, type Matrix, type Packed, type Tensor } from "../tensor.ts";

export type Task = "questions" | "captions" | "labels";

export interface SeeAnswer {
  model: string;
  task: Task;
  picture: string;
  height: number;
  width: number;
  original: [number, number];
  /** With the one answer that is true of the scene; none for a file. */
  questions: { text: string; answer: string; kind: string }[];
  suggestions: string[];
  truth: string | null;
}

export interface SayAnswer {
  task: Task;
  says: string;
  chances: { name: string; probability: number }[];
  words: string[];
  word_probabilities: number[] | null;
  unknown: string[];
  cut: number;
  finished: boolean;
  looks: Packed | null;
  places: { name: string; limit: number; signed: boolean; weights: Packed }[];
}

export interface Said extends Omit<SayAnswer, "looks" | "places"> {
  /** Layers, heads, words, rows, columns. */
  looks: Tensor | null;
  places: { name: string; limit: number; signed: boolean; weights: Matrix }[];
}

export interface ChecksAnswer {
  covered: Packed;
  gradient: Packed;
  uniform: number[] | null;
}

export interface Checks {
  covered: Tensor;
  gradient: Tensor;
  uniform: number[] | null;
}

export async function readSaid(answer: SayAnswer): Promise<Said> {
  return {
    ...answer, looks: answer.looks ? await unpack(answer.looks) : null,
    places: answer.places.map((one) => ({ ...one, weights: slice(unpackExact(one.weights)) })),
  };
}

export function readChecks(answer: ChecksAnswer): Checks {
  return { covered: unpackExact(answer.covered), gradient: unpackExact(answer.gradient), uniform: answer.uniform };
}

export interface Choice {
  /** −1: the mean, for each of these. */
  word: number;
  layer: number;
  head: number;
}

/** The weights over places of a word, or the mean over words; likewise for layers and heads. */
export function wordMap(looks: Tensor, { word, layer, head }: Choice): Matrix {
  const [layers, heads, words] = looks.shape as [number, number, number];
  const all = (chosen: number, count: number) => (chosen < 0 ? Array.from({ length: count }, (_, one) => one) : [Math.min(chosen, count - 1)]);
  return mean(all(layer, layers).flatMap((one) => all(head, heads).flatMap((two) => all(word, words).map((three) => slice(looks, one, two, three)))));
}

/** A check's map: of the word where it has one for each, else the mean over what it has. */
export function checkMap(check: Tensor, word: number): Matrix | null {
  const [words] = check.shape as [number];
  if (!words) return null;
  return word >= 0 && words > 1 ? slice(check, Math.min(word, words - 1)) : mean(Array.from({ length: words }, (_, one) => slice(check, one)));
}
