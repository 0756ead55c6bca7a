// What the weights of a row are checked against, for the panel of checks.

import { factsPanel, uniformFacts, type Fact } from "../facts.ts";
import { h, visible } from "../dom.ts";
import { isExact, isMasked, stepMatrix, type Choice, type Attention } from "../attention.ts";
import { notRecorded } from "../recording.ts";
import { at, kendall, number, rowOf, slice, unpack, unpackExact, type Matrix, type Packed, type Tensor } from "../tensor.ts";

export interface ChecksAnswer {
  occlusion: Packed | null;
  gradient: Packed | null;
  uniform: number[] | null;
  skipped: string;
  others: { name: string; weights: Packed }[];
}

export interface Checks {
  occlusion: Matrix | null;
  gradient: Matrix | null;
  uniform: number[] | null;
  skipped: string;
  others: { name: string; weights: Tensor }[];
}

export async function readChecks(answer: ChecksAnswer): Promise<Checks> {
  const matrix = (packed: Packed | null) => (packed ? slice(unpackExact(packed)) : null);
  return {
    ...answer, occlusion: matrix(answer.occlusion), gradient: matrix(answer.gradient),
    others: await Promise.all(answer.others.map(async (one) => ({ name: one.name, weights: await unpack(one.weights) }))),
  };
}

/** Kendall's τ of each row of weights with each row of a check, `</s>` left out, since it cannot be taken away. */
export function correlations(steps: Matrix, shift: number, check: Matrix): number[] {
  return Array.from({ length: Math.min(check.rows, steps.rows - shift) }, (_, row) =>
    kendall(rowOf(steps, row + shift).slice(0, -1), rowOf(check, row).slice(0, -1)));
}

/** Draw the panel for token number `step` of the translation. `checks` is null while it is being measured, if `coming`. */
export function checksPanel(attention: Attention, choice: Choice, step: number, checks: Checks | null, coming: boolean): HTMLElement {
  const steps = stepMatrix(attention, choice);
  const shift = choice.map === "cross" && choice.when === "read" ? 1 : 0;
  const at_ = Math.min(step + shift, steps.rows - 1);
  const row = rowOf(steps, at_);
  const word = visible(choice.map === "cross" ? attention.target.tokens[Math.min(step, attention.target.tokens.length - 1)] ?? "" : "");
  const facts = uniformFacts(row, (position) => isMasked(attention, choice, at_, position));
  // Of very many weights the page has rounded ones, and says so.
  if (!isExact(attention, choice)) for (const fact of facts.slice(1)) fact.value = `about ${fact.value}`;
  if (choice.map !== "cross") {
    return factsPanel(facts, h("p", { class: "dim small" }, "Leave-one-out and gradients are measured for the attention from the translation to the source."));
  }
  facts.push(...endFacts(row));
  if (!checks) return factsPanel(facts, coming ? h("p", { class: "dim", role: "status" }, "Measuring leave-one-out and gradients…") : h("p", { class: "dim small" }, notRecorded("translate/checks")));
  if (checks.uniform && attention.log_probabilities[step] !== undefined) {
    facts.push({
      name: `If all weights were uniform`, value: number(Math.exp(checks.uniform[step]!)),
      note: `probability of “${word}”; with its own weights ${number(Math.exp(attention.log_probabilities[step]!))}`,
    });
  }
  const tau = (name: string, check: Matrix | null) => {
    if (!check) return;
    const all = correlations(steps, shift, check);
    const known = all.filter(Number.isFinite);
    const mean = known.reduce((sum, one) => sum + one, 0) / Math.max(1, known.length);
    facts.push({
      name, value: all[step] === undefined || !Number.isFinite(all[step]!) ? "none" : `τ ${number(all[step]!, 2)}`,
      note: `for “${word}”; mean of ${known.length} rows ${known.length ? number(mean, 2) : "none"}`,
    });
  };
  tau("Rank correlation with leave-one-out", checks.occlusion);
  tau("Rank correlation with gradient × input", checks.gradient);
  facts.push(seedFact(attention, choice, checks, at_));
  return factsPanel(facts, checks.skipped ? h("p", { class: "dim small" }, checks.skipped) : comparison(attention, row, step, checks));
}

function endFacts(row: number[]): Fact[] {
  const end = row.at(-1)!;
  const note = end > 0.3 ? "a position to attend to when no word is needed: models park weight there, it aligns with nothing" : "the end of the source; kept, so that rows sum to one";
  return [{ name: "Weight on </s>", value: number(end), note }];
}

function seedFact(attention: Attention, choice: Choice, checks: Checks, row: number): Fact {
  const same = checks.others.filter((one) => one.weights.shape.join() === attention.maps[0]!.weights.shape.join());
  if (!same.length || choice.measure !== "weights") {
    return {
      name: "Seed-to-seed band", value: "none",
      note: choice.measure === "weights" ? "one such model is open; open several of one vocabulary: regard studio A B C" : "shown for plain weights",
    };
  }
  const others = same.map((one) => rowOf(stepMatrix({ ...attention, maps: [{ ...attention.maps[0]!, weights: one.weights }] }, choice), row));
  const own = rowOf(stepMatrix(attention, choice), row);
  const heaviest = own.indexOf(Math.max(...own));
  const values = [own[heaviest]!, ...others.map((one) => one[heaviest]!)];
  return {
    name: "Seed-to-seed band", value: `${number(Math.min(...values), 2)} to ${number(Math.max(...values), 2)}`,
    note: `weight on “${visible(attention.source.tokens[heaviest]!)}” in ${values.length} models`,
  };
}

/** The three measures of one row side by side. */
function comparison(attention: Attention, row: number[], step: number, checks: Checks): HTMLElement | null {
  if (!checks.occlusion || !checks.gradient || step >= checks.occlusion.rows) return null;
  const columns: [string, (position: number) => number][] = [
    ["weight", (position) => row[position]!], ["left out", (position) => at(checks.occlusion!, step, position)], ["gradient", (position) => at(checks.gradient!, step, position)],
  ];
  return h("details", { class: "numbers" }, h("summary", null, "These measures, token by token"),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measures, token by token" }, h("table", null,
      h("thead", null, h("tr", null, h("th", { class: "text" }, "token"), columns.map(([name]) => h("th", { scope: "col" }, name)))),
      h("tbody", null, attention.source.tokens.map((token, position) => h("tr", null, h("th", { scope: "row" }, visible(token)),
        columns.map(([name, value]) => h("td", null, name === "left out" && position === attention.source.tokens.length - 1 ? "–" : number(value(position), 3)))))))));
}
