// What weights are checked against, and what they are not: badges that unfold.

import { h, type Child } from "./dom.ts";
import { entropy, number } from "./tensor.ts";
import { term, type TermName } from "./terms.ts";

export interface Fact {
  name: string;
  value: string;
  note?: string;
  /** What explains it. */
  term?: TermName;
}

/** A check in two or three words. */
export interface Badge {
  name: string;
  /** Null while it is measured. */
  value: string | null;
}

export const NOT_IMPORTANCE =
  "Weights tell what a layer attended to, not why the model gave its output: other weights can give the same words, " +
  "and a large weight on a short vector moves little.";

/** How flat a row of weights is, beside the flattest there is over the positions that are not masked. */
export function uniformFacts(row: ArrayLike<number>, masked: (position: number) => boolean = () => false): Fact[] {
  const values = Array.from(row),
    open = values.filter((_, position) => !masked(position)).length,
    most = Math.max(...values);
  if (!open) return [{ name: "Uniform baseline", value: "none", note: "every position is masked" }];
  const positions = open === values.length ? `${open} positions` : `${open} positions that are not masked`;
  const alike =
    open === 1
      ? "one position alone is open: nothing else could be attended to"
      : `each of ${positions}, if all had alike`;
  return [
    { name: "Uniform baseline", value: number(1 / open), note: alike, term: "uniform" },
    { name: "Largest weight", value: number(most), note: `${(most * open).toFixed(1)} × uniform` },
    {
      name: "Entropy",
      value: `${number(entropy(values), 2)} nats`,
      note: `uniform has ${number(Math.log(open), 2)}`,
      term: "entropy",
    },
  ];
}

export function factList(facts: Fact[], { across = false } = {}): HTMLElement {
  return h(
    "dl",
    { class: across ? "facts across" : "facts" },
    facts.map((fact) =>
      h(
        "div",
        null,
        h("dt", null, fact.name, fact.term ? [" ", term(fact.term)] : null),
        h("dd", null, h("b", null, fact.value), fact.note ? h("span", { class: "dim" }, ` ${fact.note}`) : null),
      ),
    ),
  );
}

/** The badges in a line; what they stand for unfolds below. `open` is kept by the view. */
export function checks(
  badges: Badge[],
  facts: Fact[],
  { open, toggled }: { open: boolean; toggled: (open: boolean) => void },
  ...more: Child[]
): HTMLElement {
  const details = h(
    "details",
    { class: "checks", open },
    h(
      "summary",
      null,
      h("span", { class: "checks-name" }, "Checks"),
      badges.map((one) =>
        h("span", { class: "badge" }, h("span", { class: "dim" }, `${one.name} `), h("b", null, one.value ?? "…")),
      ),
    ),
    h(
      "div",
      { class: "checks-body" },
      factList(facts, { across: true }),
      ...more,
      h("p", { class: "caution" }, NOT_IMPORTANCE),
    ),
  );
  details.addEventListener("toggle", () => details.open !== open && toggled((open = details.open)));
  return details;
}
