// What weights over positions are checked against.

import { h } from "../dom.ts";
import { paintOver } from "../draw/overlay.ts";
import { checks as badgesAndFacts, uniformFacts, type Badge, type Fact } from "../facts.ts";
import { kendall, number, type Matrix } from "../tensor.ts";
import { checkMap, type Answer, type Checks, type Choice } from "./answer.ts";

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
  open: boolean;
  toggled: (open: boolean) => void;
}

export function checksOf({
  output,
  choice,
  matrix,
  sums,
  picture,
  checks,
  coming,
  others,
  open,
  toggled,
}: Checked): HTMLElement {
  const own = Array.from(matrix.data),
    facts: Fact[] = sums && own.length > 1 ? uniformFacts(own) : [],
    rest = 1 - own.reduce((sum, one) => sum + one, 0);
  if (sums && rest > 1e-3)
    facts.push({
      name: "Weight on itself",
      value: number(rest),
      note: "by the token that the label is read from; the positions share what is left",
    });
  if (own.length === 1)
    facts.push({
      name: "Positions",
      value: "1",
      note: "this model reads the mean of the picture: there is nothing to choose from",
    });
  const waiting = checks ? "none" : coming ? null : "not in this file";
  const badges: Badge[] = [
    { name: "uniform", value: waiting },
    { name: "covering", value: waiting },
    { name: "gradient", value: waiting },
  ];
  if (!checks) return badgesAndFacts(badges, facts, { open, toggled });
  const { word } = choice,
    asks = output.task === "questions",
    step = asks ? 0 : word;
  const chance = asks ? output.probabilities[0]?.probability : output.word_probabilities?.[word];
  if (checks.uniform?.[step] !== undefined && chance !== undefined) {
    badges[0]!.value = `p ${number(Math.exp(checks.uniform[step]!), 2)}`;
    facts.push({
      name: "If all weights were uniform",
      value: number(Math.exp(checks.uniform[step]!)),
      note: `probability of “${asks ? output.output : output.words[word]}”; with its own weights ${number(chance)}`,
      term: "uniform",
    });
  }
  const maps: [string, string, Matrix | null][] = [
    ["Rank correlation with covering", "Covered", checkMap(checks.occlusion, word)],
    ["Rank correlation with gradient × input", "Gradient", checkMap(checks.gradient, word)],
  ];
  maps.forEach(([name, , check], index) => {
    if (!check || own.length === 1) return;
    const same = check.rows === matrix.rows && check.columns === matrix.columns,
      tau = same ? kendall(own, Array.from(check.data)) : NaN;
    badges[index + 1]!.value = Number.isFinite(tau) ? `τ ${number(tau, 2)}` : "none";
    facts.push({
      name,
      value: badges[index + 1]!.value!,
      note: same ? `over ${own.length} positions` : "this map has positions of another size",
      term: index ? "gradient" : "occlusion",
    });
  });
  facts.push(seeds(own, others, sums));
  return badgesAndFacts(
    badges,
    facts,
    { open, toggled },
    h(
      "div",
      { class: "check-maps" },
      maps.map(([, name, check]) => (check ? thumb(picture, check, name) : null)),
    ),
    h(
      "p",
      { class: "dim small" },
      "Covering: how far the prediction moves (total variation) when a position is painted over in the picture's " +
        "mean color (Zeiler and Fergus 2014). Gradient: the same to first order. Each drawn up to its own largest.",
    ),
  );
}

function thumb(picture: HTMLImageElement, check: Matrix, title: string): HTMLElement {
  const values = Array.from(check.data),
    most = Math.max(...values),
    at = values.indexOf(most);
  return h(
    "figure",
    null,
    h(
      "div",
      {
        class: "picture-frame",
        role: "img",
        "aria-label":
          `${title}: largest ${number(most)} at row ${Math.floor(at / check.columns) + 1}, column ` +
          `${(at % check.columns) + 1}`,
      },
      paintOver({ picture, matrix: check, maximum: most || 1 }, 160),
    ),
    h("figcaption", { class: "dim small" }, `${title}, up to ${number(most)}`),
  );
}

function seeds(own: number[], others: Checked["others"], sums: boolean): Fact {
  const same = others.filter((one) => one.matrix.rows * one.matrix.columns === own.length);
  if (!same.length || !sums)
    return {
      name: "Seed-to-seed band",
      value: "not available",
      note: sums ? "open several seeds: regard studio A B C" : "shown for weights that sum to one",
    };
  const heaviest = own.indexOf(Math.max(...own)),
    values = [own[heaviest]!, ...same.map((one) => one.matrix.data[heaviest]!)];
  return {
    name: "Seed-to-seed band",
    value: `${number(Math.min(...values), 2)} to ${number(Math.max(...values), 2)}`,
    note: `weight on the heaviest position in ${values.length} models`,
  };
}
