// Which weights are shown: controls, and their place in the address.

import { checkbox, segmented, select } from "../controls.ts";
import { h } from "../dom.ts";
import { usualLayer, type Choice, type Attention, type MapName, type Weights } from "../attention.ts";
import type { State } from "../state.ts";
import { entropy, rowOf, slice } from "../tensor.ts";

const MAPS: Record<MapName, string> = {
  cross: "translation → source", source: "source → itself", target: "translation → itself",
};

/** Read the choice from the address; what a model does not have falls back to what it has. */
export function readChoice(attention: Attention, state: State): Choice {
  const map = (attention.maps.find((one) => one.id === state.get("map")) ?? attention.maps[0]!);
  const measures = measuresOf(attention, map);
  const measure = measures.find((one) => one.value === state.get("measure")) ?? measures[0]!;
  const within = (value: number, most: number, otherwise: number) => (Number.isInteger(value) && value >= -1 && value < most ? value : otherwise);
  return {
    map: map.id,
    layer: Math.max(0, within(state.number("layer", usualLayer(map)), map.layers.length, usualLayer(map))),
    head: within(state.number("head", -1), map.weights.shape[1]!, -1),
    measure: measure.value as Choice["measure"],
    when: state.get("when") === "read" ? "read" : "produced",
    unit: state.get("unit") === "tokens" ? "tokens" : "words",
    hideEnd: state.get("end") === "hidden",
  };
}

/** Draw the controls; `change` is called after the address has changed. */
export function choiceControls(attention: Attention, choice: Choice, state: State, change: () => void): HTMLElement {
  const map = attention.maps.find((one) => one.id === choice.map)!;
  const put = (name: string) => (value: string) => {
    state.set({ [name]: value });
    change();
  };
  const rolled = choice.measure === "rollout";
  const heads = map.weights.shape[1]!;
  return h("div", { class: "row choices" },
    segmented("Picture", [{ value: "matrix", text: "Matrix" }, { value: "lines", text: "Lines" }], state.get("picture", "matrix"), put("picture")),
    segmented("Rows and columns", [{ value: "words", text: "Words" }, { value: "tokens", text: "Tokens" }], choice.unit, put("unit")),
    attention.maps.length > 1 ? select("Which attention", attention.maps.map((one) => ({ value: one.id, text: MAPS[one.id] })), choice.map, put("map")) : null,
    map.layers.length > 1 && !rolled
      ? select("Layer", map.layers.map((name, index) => ({ value: String(index), text: `${index + 1} of ${map.layers.length}`, title: name })), String(choice.layer), put("layer")) : null,
    heads > 1 && !rolled ? select("Head", headChoices(map, choice.layer), String(choice.head), put("head")) : null,
    measuresOf(attention, map).length > 1 ? select("Measure", measuresOf(attention, map), choice.measure, put("measure")) : null,
    choice.map === "cross" ? segmented("Weights of a word", [
      { value: "produced", text: "when produced", title: "What the model attended to as it was about to generate the word" },
      { value: "read", text: "when read", title: "What it attended to one step later, when the word was its newest input" }], choice.when, put("when")) : null,
    choice.map === "target" ? null : checkbox("leave out </s>, rows renormalized", choice.hideEnd, (on) => put("end")(on ? "hidden" : "")),
    state.get("picture", "matrix") === "matrix"
      ? checkbox("colors up to the largest weight, not to 1", state.get("scale") === "largest", (on) => put("scale")(on ? "largest" : "")) : null);
}

function measuresOf(attention: Attention, map: Weights): { value: string; text: string }[] {
  const result = [{ value: "weights", text: "weights" }];
  if (map.id === "cross" && attention.norms) result.push({ value: "norms", text: "weight × value norm" });
  if (map.id === "cross" && attention.rollout) result.push({ value: "rollout", text: "rollout of all layers" });
  return result;
}

/** All heads, and which of them attends to the fewest positions: none has to be useful, so show how they differ. */
function headChoices(map: Weights, layer: number): { value: string; text: string }[] {
  const spread = Array.from({ length: map.weights.shape[1]! }, (_, head) => {
    const own = slice(map.weights, layer, head);
    const rows = Array.from({ length: own.rows }, (_, row) => entropy(rowOf(own, row)));
    return rows.reduce((sum, one) => sum + one, 0) / Math.max(1, rows.length);
  });
  const sharpest = spread.indexOf(Math.min(...spread));
  return [{ value: "-1", text: "mean of all" }, ...spread.map((one, head) => ({
    value: String(head), text: `${head + 1} · entropy ${one.toFixed(2)}${head === sharpest ? ", sharpest" : ""}`,
  }))];
}

/** The row of the uniform average, used where a mean over heads must be marked as one. */
export function isMean(attention: Attention, choice: Choice): boolean {
  const map = attention.maps.find((one) => one.id === choice.map)!;
  return choice.head < 0 && map.weights.shape[1]! > 1 && choice.measure !== "rollout";
}

