// From scores to weights once more, in double precision, with the numbers on the way: what a normalizer does to a row.

import type { NormalizerInfo } from "./api.ts";
export interface Weighed {
  /** What the columns between score and weight are. */
  heads: string[];
  /** For each key the numbers of those columns; null where it is masked. */
  rows: (number[] | null)[];
  /** For each key its weight; zero where it is masked. */
  weights: number[];
  /** What holds for the row as a whole. */
  notes: { name: string; value: number }[];
}

/** Null where the normalizer is not known here. A row without a key that is allowed has zero weights. */
export function weigh(
  normalizer: NormalizerInfo,
  scores: number[],
  allowed: (key: number) => boolean,
): Weighed | null {
  const open = scores.flatMap((_, key) => (allowed(key) ? [key] : []));
  const inside = open.map((key) => scores[key]!);
  const spread = (heads: string[], columns: number[][], weights: number[], notes: Weighed["notes"]): Weighed => {
    const position = new Map(open.map((key, index) => [key, index]));
    const at = (key: number) => position.get(key);
    return {
      heads,
      notes,
      rows: scores.map((_, key) => (at(key) === undefined ? null : columns.map((column) => column[at(key)!]!))),
      weights: scores.map((_, key) => (at(key) === undefined ? 0 : weights[at(key)!]!)),
    };
  };
  if (!open.length) return spread([], [], [], []);
  const most = Math.max(...inside);
  switch (normalizer.kind) {
    case "Softmax": {
      const below = inside.map((score) => score - most),
        powers = below.map(Math.exp);
      const sum = powers.reduce((all, one) => all + one, 0);
      return spread(
        ["e − max", "exp(e − max)"],
        [below, powers],
        powers.map((one) => one / sum),
        [
          { name: "max", value: most },
          { name: "sum of exp", value: sum },
        ],
      );
    }
    case "Sink": {
      if (normalizer.score === undefined) return null;
      const top = Math.max(most, normalizer.score!),
        powers = inside.map((score) => Math.exp(score - top));
      const sink = Math.exp(normalizer.score! - top),
        sum = powers.reduce((all, one) => all + one, sink);
      return spread(
        ["exp(e − max)"],
        [powers],
        powers.map((one) => one / sum),
        [
          { name: "max", value: top },
          { name: "exp(s − max)", value: sink },
          { name: "sum of exp", value: sum },
        ],
      );
    }
    case "Sparsemax": {
      const threshold = sparsemaxThreshold(inside),
        above = inside.map((score) => score - threshold);
      return spread(
        ["e − τ"],
        [above],
        above.map((one) => Math.max(one, 0)),
        [{ name: "τ", value: threshold }],
      );
    }
    case "Entmax": {
      const alpha = normalizer.alpha!;
      if (alpha === 2) return weigh({ kind: "Sparsemax" }, scores, allowed);
      const scaled = inside.map((score) => score * (alpha - 1)),
        power = 1 / (alpha - 1);
      const threshold = entmaxThreshold(scaled, power),
        above = scaled.map((score) => score - threshold);
      return spread(
        ["(α − 1)e", "(α − 1)e − τ"],
        [scaled, above],
        above.map((one) => Math.max(one, 0) ** power),
        [
          { name: "α", value: alpha },
          { name: "τ", value: threshold },
        ],
      );
    }
    case "Sigmoid": {
      const moved = inside.map((score) => score + normalizer.bias!);
      return spread(
        ["e + b"],
        [moved],
        moved.map((score) => 1 / (1 + Math.exp(-score))),
        [{ name: "b", value: normalizer.bias! }],
      );
    }
    case "Hard": {
      const best = inside.indexOf(most);
      return spread(
        ["e − max"],
        [inside.map((score) => score - most)],
        inside.map((_, index) => (index === best ? 1 : 0)),
        [{ name: "max", value: most }],
      );
    }
    case "Mean":
      return spread(
        [],
        [],
        inside.map(() => 1 / open.length),
        [{ name: "n", value: open.length }],
      );
    default:
      return null;
  }
}

/** τ such that what is above it sums to one (Martins and Astudillo 2016, algorithm 1). */
function sparsemaxThreshold(scores: number[]): number {
  const ordered = [...scores].sort((a, b) => b - a);
  let sum = 0,
    threshold = 0;
  ordered.forEach((score, index) => {
    sum += score;
    if (1 + (index + 1) * score > sum) threshold = (sum - 1) / (index + 1);
  });
  return threshold;
}

/** τ by bisection: the sum falls as τ grows. */
function entmaxThreshold(scaled: number[], power: number): number {
  let low = Math.max(...scaled) - 1,
    high = Math.max(...scaled);
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (scaled.reduce((sum, one) => sum + Math.max(one - middle, 0) ** power, 0) >= 1) low = middle;
    else high = middle;
  }
  return low;
}
