// What the weights of a row are checked against.

import type { ChecksAnswer, Packed } from "../api.ts";
import { isExact, isMasked, namesOf, shiftOf, stepMatrix, type AttentionMap, type Choice } from "../attention.ts";
import { h, visible } from "../dom.ts";
import { legend, MatrixView } from "../draw/matrix.ts";
import { uniformFacts, type Badge, type Fact } from "../facts.ts";
import { at, kendall, largest, number, rowOf, slice, unpack, unpackExact, type Matrix, type Tensor } from "../tensor.ts";
import { term } from "../terms.ts";

export interface Checks extends Omit<ChecksAnswer, "occlusion" | "gradient" | "signed" | "others"> {
  occlusion: Matrix | null;
  gradient: Matrix | null;
  signed: Matrix | null;
  others: { name: string; weights: Tensor }[];
}

export async function readChecks(answer: ChecksAnswer): Promise<Checks> {
  const matrix = (packed: Packed | null) => (packed ? slice(unpackExact(packed)) : null);
  return {
    ...answer,
    occlusion: matrix(answer.occlusion),
    gradient: matrix(answer.gradient),
    signed: matrix(answer.signed),
    others: await Promise.all(
      answer.others.map(async (one) => ({ name: one.name, weights: await unpack(one.weights) })),
    ),
  };
}

/** Kendall's τ of each row of weights with each row of a check, `</s>` left out, since it cannot be taken away. */
export function correlations(steps: Matrix, shift: number, check: Matrix): number[] {
  return Array.from({ length: Math.min(check.rows, steps.rows - shift) }, (_, row) =>
    kendall(rowOf(steps, row + shift).slice(0, -1), rowOf(check, row).slice(0, -1)),
  );
}

export interface Checked {
  map: AttentionMap;
  choice: Choice;
  /** The query, and its word. */
  query: number;
  /** Of every token that was output. */
  logProbabilities: number[];
  /** Null while it is measured. */
  checks: Checks | null;
}

/** The badges and the facts of the row that is selected. */
export function checksOf({ map, choice, query, logProbabilities, checks }: Checked): {
  badges: Badge[];
  facts: Fact[];
} {
  const steps = stepMatrix(map, choice),
    row = rowOf(steps, query),
    cross = map.id === "cross",
    exact = isExact(map, choice);
  const facts = uniformFacts(row, (position) => isMasked(map, choice, query, position));
  if (!exact) for (const fact of facts.slice(1)) fact.value = `about ${fact.value}`; // the page has rounded weights
  if (!cross)
    return {
      badges: [
        { name: "uniform", value: facts[0]!.value },
        { name: "largest", value: facts[1]?.value ?? "none" },
        { name: "entropy", value: facts[2]?.value ?? "none" },
      ],
      facts,
    };
  const shift = shiftOf(map, choice),
    step = query - shift,
    word = visible(map.rows.tokens[step] ?? "");
  facts.push(endFact(row, exact));
  const uniform = checks?.uniform?.[step],
    own = logProbabilities[step];
  if (uniform !== undefined && own !== undefined) {
    facts.push({
      name: "If all weights were uniform",
      value: number(Math.exp(uniform)),
      note: `probability of “${word}”; with its own weights ${number(Math.exp(own))}`,
      term: "uniform",
    });
  }
  const tau = (name: string, term: "occlusion" | "gradient"): string => {
    const check = checks?.[term];
    if (!check) return "none";
    const all = correlations(steps, shift, check),
      known = all.filter(Number.isFinite),
      mean = known.reduce((sum, one) => sum + one, 0) / Math.max(1, known.length);
    const value = Number.isFinite(all[step] ?? NaN) ? number(all[step]!, 2) : "none";
    facts.push({
      name: `Rank correlation with ${name}`,
      value: value === "none" ? value : `τ ${value}`,
      note: `for “${word}”; mean of ${known.length} rows ${known.length ? number(mean, 2) : "none"}`,
      term,
    });
    return value;
  };
  const left = tau("leave-one-out", "occlusion"),
    gradient = tau("gradient × input", "gradient");
  if (checks) facts.push(seedFact(map, choice, checks, query));
  const shown = (value: string) => (checks ? value : null);
  return {
    facts,
    badges: [
      { name: "uniform", value: shown(uniform === undefined ? "none" : `p ${number(Math.exp(uniform), 2)}`) },
      { name: "leave-one-out", value: shown(left === "none" ? left : `τ ${left}`) },
      { name: "gradient", value: shown(gradient === "none" ? gradient : `τ ${gradient}`) },
    ],
  };
}

function endFact(row: number[], exact: boolean): Fact {
  const end = row.at(-1)!;
  const note =
    end > 0.3
      ? "models park weight there when no word is needed; it aligns with nothing"
      : "the end of the source; kept, so that rows sum to one";
  return { name: "Weight on </s>", value: `${exact ? "" : "about "}${number(end)}`, note };
}

function seedFact(map: AttentionMap, choice: Choice, checks: Checks, row: number): Fact {
  const same = checks.others.filter((one) => one.weights.shape.join() === map.weights.shape.join());
  if (!same.length || choice.measure !== "weights") {
    return {
      name: "Seed-to-seed band",
      value: "not available",
      note: choice.measure === "weights" ? "open several seeds: regard studio A B C" : "shown for plain weights",
    };
  }
  const own = rowOf(stepMatrix(map, choice), row),
    heaviest = own.indexOf(Math.max(...own));
  const values = [
    own[heaviest]!,
    ...same.map((one) => rowOf(stepMatrix({ ...map, weights: one.weights }, choice), row)[heaviest]!),
  ];
  return {
    name: "Seed-to-seed band",
    value: `${number(Math.min(...values), 2)} to ${number(Math.max(...values), 2)}`,
    note: `weight on “${visible(map.columns.tokens[heaviest]!)}” in ${values.length} models`,
  };
}

/** The three measures of one row side by side. */
export function comparison({ map, choice, query, checks }: Checked): HTMLElement | null {
  const step = query - shiftOf(map, choice);
  if (!checks?.occlusion || !checks.gradient || step < 0 || step >= checks.occlusion.rows) return null;
  const row = rowOf(stepMatrix(map, choice), query),
    last = map.columns.tokens.length - 1;
  const columns: [string, (position: number) => string][] = [
    ["weight", (position) => number(row[position]!, 3)],
    ["left out", (position) => (position === last ? "–" : number(at(checks.occlusion!, step, position), 3))],
    ["gradient", (position) => number(at(checks.gradient!, step, position), 3)],
  ];
  return h(
    "details",
    { class: "numbers" },
    h("summary", null, "These measures, token by token"),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measures, token by token" },
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { class: "text" }, "token"),
            columns.map(([name]) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          null,
          map.columns.tokens.map((token, position) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, visible(token)),
              columns.map(([, value]) => h("td", null, value(position))),
            ),
          ),
        ),
      ),
    ),
  );
}

/** For and against: gradient × input with its sign, a row for each output token. */
export function signedMap({ map, checks }: Pick<Checked, "map" | "checks">): HTMLElement | null {
  if (!checks?.signed || map.id !== "cross") return null;
  const view = new MatrixView({ height: () => 300 }),
    maximum = largest(checks.signed.data);
  const picture = {
    matrix: checks.signed,
    rows: namesOf(map.rows, false),
    columns: namesOf(map.columns, false),
    rowTitle: "output",
    columnTitle: "source",
    label: "Signed saliency",
    signed: true,
    maximum,
  };
  view.show(picture);
  return h(
    "div",
    { class: "stack" },
    h("h3", null, "Signed saliency ", term("saliency")),
    h(
      "p",
      { class: "dim small" },
      "Gradient × input with its sign: source tokens that speak for an output token (ember) and against it (teal).",
    ),
    view.element,
    legend(picture),
  );
}
