// The panel beside every map: what weights were checked against, and what they are not.

import { panel } from "./controls.ts";
import { h, type Child } from "./dom.ts";
import { entropy, number } from "./tensor.ts";

export interface Fact {
  name: string;
  value: string;
  note?: string;
}

export const NOT_IMPORTANCE =
  "Weights tell what a layer attended to, not why the model gave its output: other weights can give the same words, and a large weight on a short vector moves little.";

/** How flat a row of weights is, beside the flattest there is over the positions that are not masked. */
export function uniformFacts(row: number[], masked: (position: number) => boolean = () => false): Fact[] {
  const open = row.filter((_, position) => !masked(position)).length, most = Math.max(...row);
  if (!open) return [{ name: "Uniform baseline", value: "none", note: "every position is masked" }];
  const positions = open === row.length ? `${open} positions` : `${open} positions that are not masked`;
  return [
    { name: "Uniform baseline", value: number(1 / open), note: open === 1 ? "one position alone is open: it could attend to nothing else" : `each of ${positions}, if it attended everywhere alike` },
    { name: "Largest weight", value: number(most), note: `${(most * open).toFixed(1)} × uniform` },
    { name: "Entropy", value: `${number(entropy(row), 2)} nats`, note: `uniform has ${number(Math.log(open), 2)}` },
  ];
}

/** Draw the panel: facts as a list of terms, then whatever a view adds, then the sentence. */
export function factsPanel(facts: Fact[], ...more: Child[]): HTMLElement {
  const made = panel("What this does and does not show", h("dl", { class: "facts" }, facts.map((fact) => [
    h("dt", null, fact.name), h("dd", null, h("b", null, fact.value), fact.note ? h("span", { class: "dim" }, ` ${fact.note}`) : null)])),
    ...more, h("p", { class: "caution" }, NOT_IMPORTANCE));
  made.classList.add("checks");
  return made;
}
