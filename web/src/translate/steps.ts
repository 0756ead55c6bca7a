// One step of decoding: the output so far, what may come next, and what the model attends to for it.

import type { AttentionAnswer } from "../api.ts";
import { isExact, isMasked, stepMatrix, type AttentionMap, type Choice } from "../attention.ts";
import { setSlider, slider } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { rowOf } from "../tensor.ts";

const LIKELY = 5,
  HEAVY = 5;

export class StepPanel {
  readonly element: HTMLElement;
  private slider: HTMLElement;
  private body = h("div", { class: "step" });
  private last: number;

  constructor(
    private answer: AttentionAnswer,
    step: number,
    go: (step: number) => void,
  ) {
    this.last = answer.candidates.length - 1;
    this.slider = slider("Decoding step", { min: 0, max: this.last, value: step, show: (at) => this.name(at) }, go);
    this.element = h("section", { class: "step-panel", "aria-label": "Step of decoding" }, this.slider, this.body);
  }

  private name(step: number): string {
    return `${step + 1} of ${this.last + 1}`;
  }

  /** Show a step; of `map` the row of it, where its rows are steps. */
  show(step: number, map: AttentionMap | null, choice: Choice | null): void {
    const { target, candidates } = this.answer,
      taken = target.ids[step];
    setSlider(this.slider, step, this.name(step));
    const before = target.tokens.slice(0, step).map(visible).join(" ");
    fill(
      this.body,
      h(
        "p",
        { class: "prefix" },
        h("span", { class: "dim" }, "<s> "),
        before,
        before ? " " : "",
        h("mark", null, taken === undefined ? "?" : visible(target.tokens[step]!)),
      ),
      h("h2", { class: "minor" }, "Next word"),
      bars(
        candidates[step]!.slice(0, LIKELY).map((one) => ({
          label: visible(one.token),
          value: one.probability,
          chosen: one.id === taken,
        })),
        { label: "Probabilities of the next token" },
      ),
      map && choice ? weightsOf(map, choice, step) : null,
    );
  }
}

/** The heaviest keys of a query, in the order of the text. */
function weightsOf(map: AttentionMap, choice: Choice, query: number): HTMLElement {
  const row = rowOf(stepMatrix(map, choice), query),
    open = row.filter((_, position) => !isMasked(map, choice, query, position)).length;
  const least = [...row].sort((a, b) => b - a)[HEAVY - 1] ?? 0,
    most = Math.max(...row);
  const shown = map.columns.tokens
    .map((token, index) => ({
      label: visible(token),
      value: row[index]!,
      mark: 1 / open,
      chosen: row[index] === most,
    }))
    .filter((bar) => bar.value >= least)
    .slice(0, HEAVY);
  return h(
    "div",
    { class: "weights" },
    h("h2", { class: "minor" }, isExact(map, choice) ? "Attends to" : "Attends to, rounded"),
    bars(shown, { label: "Weights on source tokens at this step", data: true }),
    row.length > shown.length
      ? h("p", { class: "dim small" }, `The ${shown.length} heaviest of ${row.length}; a tick is uniform.`)
      : null,
  );
}
