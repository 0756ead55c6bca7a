// What weights over positions are checked against, for the panel of checks.

import { h } from "../dom.ts";
import { paintOver } from "../draw/overlay.ts";
import { factsPanel, uniformFacts, type Fact } from "../facts.ts";
import { notRecorded } from "../recording.ts";
import { kendall, number, rowOf, type Matrix } from "../tensor.ts";
import { checkMap, type Checks, type Choice, type Answer } from "./answer.ts";

export interface Checked {
  output: Answer;
  choice: Choice;
  matrix: Matrix;
  /** Weights that sum to one; gates and evidence do not. */
  sums: boolean;
  picture: HTMLImageElement;
  checks: Checks | null;
  coming: boolean;
  /** The same map in other open models of the kind. */
  others: { name: string; matrix: Matrix }[];
}

export function checksPanel({ output: sentence, choice, matrix, sums, picture, checks, coming, others }: Checked): HTMLElement {
  const own = flat(matrix), facts: Fact[] = sums && own.length > 1 ? uniformFacts(own) : [];
  const rest = 1 - own.reduce((sum, one) => sum + one, 0);
  if (sums && rest > 1e-3) facts.push({ name: "Weight on itself", value: number(rest), note: "by the token that the label is read from; the positions share what is left" });
  if (own.length === 1) facts.push({ name: "Places", value: "1", note: "this model sees the mean of the picture: there is nothing to choose from" });
  if (!checks) return factsPanel(facts, coming ? h("p", { class: "dim", role: "status" }, "Covering positions, one by one…") : h("p", { class: "dim small" }, notRecorded("ask/checks")));
  const word = choice.word, words = sentence.task === "captions" ? sentence.words[word] ?? "" : sentence.output;
  if (checks.uniform?.length && sentence.task === "questions") {
    facts.push({
      name: "If all weights were uniform", value: number(Math.exp(checks.uniform[0]!)),
      note: `probability of “${sentence.output}”; with its own weights ${number(sentence.probabilities[0]!.probability)}`,
    });
  } else if (checks.uniform?.length && sentence.word_probabilities && word >= 0) {
    facts.push({
      name: "If all weights were uniform", value: number(Math.exp(checks.uniform[word]!)),
      note: `probability of “${words}”; with its own weights ${number(sentence.word_probabilities[word]!)}`,
    });
  }
  const maps: [string, string, Matrix | null][] = [
    ["Rank correlation with covering", "covered", checkMap(checks.occlusion, word)],
    ["Rank correlation with gradient × input", "gradient", checkMap(checks.gradient, word)],
  ];
  for (const [name, , check] of maps) {
    if (!check || own.length === 1) continue;
    const same = check.rows === matrix.rows && check.columns === matrix.columns;
    const tau = same ? kendall(own, flat(check)) : NaN;
    facts.push({ name, value: Number.isFinite(tau) ? `τ ${number(tau, 2)}` : "none", note: same ? `over ${own.length} positions` : "this map has positions of another size" });
  }
  facts.push(seeds(own, others, sums));
  return factsPanel(facts, h("div", { class: "check-maps" }, maps.map(([, name, check]) => check ? thumb(picture, check, name) : null)),
    h("p", { class: "dim small" }, "Covering: how far the prediction moves (total variation) when a position is painted over in the picture's mean color. Gradient: the same to first order. Each drawn up to its own largest."));
}

function thumb(picture: HTMLImageElement, check: Matrix, name: string): HTMLElement {
  const most = Math.max(...flat(check)), largest = flat(check).indexOf(most);
  const title = name === "covered" ? "Covered" : "Gradient";
  return h("figure", null, h("div", { class: "picture-frame", role: "img", "aria-label": `${title}: largest ${number(most)} at row ${Math.floor(largest / check.columns) + 1}, column ${(largest % check.columns) + 1}` },
    paintOver({ picture, matrix: check, maximum: most || 1 }, 160)), h("figcaption", { class: "dim small" }, `${title}, up to ${number(most)}`));
}

function seeds(own: number[], others: Checked["others"], sums: boolean): Fact {
  const same = others.filter((one) => one.matrix.rows * one.matrix.columns === own.length);
  if (!same.length || !sums) return { name: "Seed-to-seed band", value: "none", note: sums ? "one such model is open; open several: regard studio A B C" : "shown for weights that sum to one" };
  const heaviest = own.indexOf(Math.max(...own)), values = [own[heaviest]!, ...same.map((one) => one.matrix.data[heaviest]!)];
  return { name: "Seed-to-seed band", value: `${number(Math.min(...values), 2)} to ${number(Math.max(...values), 2)}`, note: `weight on the heaviest position in ${values.length} models` };
}

function flat(matrix: Matrix): number[] {
  return Array.from({ length: matrix.rows }, (_, row) => rowOf(matrix, row)).flat();
}
