// One step of decoding: the output so far, what might come next, and what the model attends to for it.

import { panel, slider } from "../controls.ts";
import { bars } from "../draw/bars.ts";
import { h, visible } from "../dom.ts";
import { isExact, isMasked, stepMatrix, type Choice, type Attention } from "../attention.ts";
import { rowOf } from "../tensor.ts";

const MOST = 24;

export function stepPanel(attention: Attention, choice: Choice | null, step: number, change: (step: number) => void): HTMLElement {
  const last = attention.candidates.length - 1;
  const body = h("div", { class: "step" });
  const draw = (at: number) => body.replaceChildren(...stepParts(attention, choice, at));
  draw(step);
  return panel("Step by step through decoding",
    slider("Decoding step", { min: 0, max: last, value: step, show: (at) => `${at + 1} of ${last + 1}` }, (at) => {
      draw(at);
      change(at);
    }), body);
}

function stepParts(attention: Attention, choice: Choice | null, step: number): HTMLElement[] {
  const taken = attention.target.ids[step];
  const prefix = attention.target.tokens.slice(0, step).map(visible);
  const shown = h("p", { class: "prefix" }, h("span", { class: "dim" }, "<s> "), prefix.join(" "), prefix.length ? " " : "",
    h("mark", null, taken === undefined ? "?" : visible(attention.target.tokens[step]!)));
  const next = h("div", null, h("h3", null, "What may come next"), bars(attention.candidates[step]!.map((one) => ({
    label: visible(one.token), value: one.probability, chosen: one.id === taken,
  })), { label: "Probabilities of the next token" }));
  if (!choice) return [shown, next];
  const across: Choice = choice.map === "cross" ? choice : { ...choice, map: "cross", layer: Math.min(choice.layer, attention.maps[0]!.layers.length - 1) };
  const row = rowOf(stepMatrix(attention, across), step);
  const open = row.filter((_, position) => !isMasked(attention, across, step, position)).length;
  const most = Math.max(...row), least = [...row].sort((a, b) => b - a)[MOST - 1] ?? 0;
  const shownBars = attention.source.tokens.map((token, index) => ({
    label: visible(token), value: row[index]!, mark: 1 / open, chosen: row[index] === most,
  })).filter((bar) => bar.value >= least).slice(0, MOST);
  const where = h("div", null, h("h3", null, isExact(attention, across) ? "What it attends to for it" : "What it attends to for it, rounded"), bars(shownBars, { label: "Weights on source tokens at this step" }),
    row.length > MOST ? h("p", { class: "dim small" }, `The ${shownBars.length} heaviest of ${row.length}, in the order of the source.`) : null,
    h("p", { class: "dim small" }, h("i", { class: "tick-key", "aria-hidden": "true" }), ` uniform, ${(1 / open).toFixed(4)} each`));
  return [shown, h("div", { class: "halves" }, next, where)];
}
