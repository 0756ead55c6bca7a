// Two maps of one sentence side by side, what one has and the other has not, and how far apart their rows are.

import { panel, segmented, select } from "../controls.ts";
import { h, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { matrix } from "../draw/matrix.ts";
import { NOT_IMPORTANCE } from "../facts.ts";
import { choose, usualLayer, type Choice, type Chosen, type Attention, type MapName } from "../attention.ts";
import type { State } from "../state.ts";
import { at, build, entropy, number, rowOf } from "../tensor.ts";

export const MAP_NAMES: Record<MapName, string> = { cross: "translation → source", source: "source → itself", target: "translation → itself" };

/** In nats, of rows made to sum to one, as `inspection/compare.py`: 0, alike, to log 2; NaN where a row is empty. */
export function divergence(first: number[], second: number[]): number {
  const sums = [first, second].map((row) => row.reduce((sum, one) => sum + one, 0)) as [number, number];
  if (!(sums[0] > 0) || !(sums[1] > 0)) return NaN;
  let result = 0;
  for (let position = 0; position < first.length; position++) {
    const one = first[position]! / sums[0], other = second[position]! / sums[1], middle = (one + other) / 2;
    if (one > 0) result += (one * Math.log(one / middle)) / 2;
    if (other > 0) result += (other * Math.log(other / middle)) / 2;
  }
  return Math.max(result, 0);
}

/** The maps that both have. */
export function sharedMaps(both: [Attention, Attention]): MapName[] {
  return both[0].maps.map((one) => one.id).filter((id) => both[1].maps.some((one) => one.id === id));
}

/** What the address says of one side, 0 or 1. */
function readSide(attention: Attention, state: State, side: 0 | 1, map: MapName, { sameTokens, same }: { sameTokens: boolean; same: boolean }): Choice {
  const own = attention.maps.find((one) => one.id === map)!, suffix = side ? "2" : "";
  const [layers, heads] = own.weights.shape as [number, number];
  const inside = (name: string, most: number, otherwise: number) => {
    const value = state.number(name + suffix, otherwise);
    return Number.isInteger(value) && value >= 0 && value < most ? value : otherwise;
  };
  // Where both sides are one and the same map, weights are compared with what they carry.
  const untouched = ["layer", "head", "layer2", "head2", "measure", "measure2"].every((name) => !state.get(name));
  const measures = measuresOf(attention, map), first = side && same && untouched && measures.includes("norms") ? "norms" : "weights";
  return {
    map, layer: inside("layer", layers, usualLayer(own)), head: inside("head", heads, -1),
    measure: measures.find((one) => one === state.get(`measure${suffix}`)) ?? first,
    when: "produced", unit: state.get("unit") === "tokens" && sameTokens ? "tokens" : "words", hideEnd: false,
  };
}

function measuresOf(attention: Attention, map: MapName): Choice["measure"][] {
  return ["weights", ...(map === "cross" && attention.norms ? ["norms" as const] : []), ...(map === "cross" && attention.rollout ? ["rollout" as const] : [])];
}

const MEASURES: Record<Choice["measure"], string> = { weights: "weights", norms: "weight × value norm", rollout: "rollout of all layers" };

/** Draw controls for both, and the panels; `change` is called after the address has changed. */
export function mapPanels(both: [Attention, Attention], names: [string, string], state: State, change: () => void): { controls: HTMLElement | null; panels: HTMLElement[] } {
  const shared = sharedMaps(both);
  if (!shared.length) {
    const without = names.filter((_, side) => !both[side]!.maps.length);
    return { controls: null, panels: [panel("Attention", h("p", null, `There is no map to compare: ${[...new Set(without)].join(" and ")} has no attention. The output is above.`))] };
  }
  const sameTokens = (["source", "target"] as const).every((side) => both[0][side].tokens.join("\n") === both[1][side].tokens.join("\n"));
  const map = shared.includes(state.get("map") as MapName) ? (state.get("map") as MapName) : shared[0]!;
  const how = { sameTokens, same: names[0] === names[1] };
  const choices = [readSide(both[0], state, 0, map, how), readSide(both[1], state, 1, map, how)] as const;
  const chosen = [choose(both[0], choices[0]), choose(both[1], choices[1])] as const;
  const put = (name: string) => (value: string) => {
    state.set({ [name]: value });
    change();
  };
  const controls = h("div", { class: "row choices both" },
    shared.length > 1 ? select("Which attention", shared.map((id) => ({ value: id, text: MAP_NAMES[id] })), map, put("map")) : null,
    sameTokens ? segmented("Rows and columns", [{ value: "words", text: "Words" }, { value: "tokens", text: "Tokens" }], choices[0].unit, put("unit"))
      : h("p", { class: "dim small" }, "They divide text into different tokens, so words are compared: sums over the source, means over the translation."));
  const titles = [0, 1].map((side) => `${side ? "Second" : "First"}: ${sideName(both[side]!, choices[side]!, names[side]!)}`) as [string, string];
  const one = (side: 0 | 1) => panel(titles[side], sideControls(both[side], choices[side], state, side, change), picture(chosen[side], titles[side]));
  return { controls, panels: [h("div", { class: "sides" }, one(0), one(1)), ...differences(chosen, titles)] };
}

/** Such as "transformer, layer 2, head 3". */
export function sideName(attention: Attention, choice: Choice, name: string): string {
  const [layers, heads] = attention.maps.find((one) => one.id === choice.map)!.weights.shape as [number, number];
  if (choice.measure === "rollout") return `${name}, ${MEASURES.rollout}`;
  return [name, layers > 1 ? `layer ${choice.layer + 1}` : "", heads > 1 ? (choice.head < 0 ? `mean of ${heads} heads` : `head ${choice.head + 1}`) : "", choice.measure === "norms" ? MEASURES.norms : ""].filter(Boolean).join(", ");
}

function sideControls(attention: Attention, choice: Choice, state: State, side: 0 | 1, change: () => void): HTMLElement | null {
  const [layers, heads] = attention.maps.find((one) => one.id === choice.map)!.weights.shape as [number, number];
  const suffix = side ? "2" : "", which = side ? "second" : "first", rolled = choice.measure === "rollout";
  const put = (name: string) => (value: string) => {
    // All of a side is written down at once, so that what was chosen by itself does not change.
    state.set({ [`layer${suffix}`]: choice.layer, [`measure${suffix}`]: choice.measure, [name + suffix]: value === "-1" ? null : value });
    change();
  };
  const counted = (count: number) => Array.from({ length: count }, (_, index) => ({ value: String(index), text: `${index + 1} of ${count}` }));
  const measures = measuresOf(attention, choice.map);
  return h("div", { class: "row choices" },
    layers > 1 && !rolled ? select(`Layer of the ${which}`, counted(layers), String(choice.layer), put("layer")) : null,
    heads > 1 && !rolled ? select(`Head of the ${which}`, [{ value: "-1", text: "mean of all" }, ...counted(heads)], String(choice.head), put("head")) : null,
    measures.length > 1 ? select(`Measure of the ${which}`, measures.map((one) => ({ value: one, text: MEASURES[one] })), choice.measure, put("measure")) : null);
}

export function picture(chosen: Chosen, label: string): HTMLElement {
  return matrix({ matrix: chosen.matrix, rows: chosen.rows, columns: chosen.columns, rowTitle: chosen.rowTitle, columnTitle: chosen.columnTitle, label, masked: chosen.masked, apart: chosen.end === null ? [] : [chosen.end] });
}

function differences([first, second]: readonly [Chosen, Chosen], titles: [string, string]): HTMLElement[] {
  if (first.matrix.rows !== second.matrix.rows || first.matrix.columns !== second.matrix.columns) {
    return [panel("Difference", h("p", null, `Their rows and columns do not match: ${first.matrix.rows} × ${first.matrix.columns} and ${second.matrix.rows} × ${second.matrix.columns}. The two divide this sentence into different words, so no difference can be taken.`))];
  }
  const apart = build(first.matrix.rows, first.matrix.columns, (row, column) => at(second.matrix, row, column) - at(first.matrix, row, column));
  const rows = first.rows.map((_, row) => divergence(rowOf(first.matrix, row), rowOf(second.matrix, row)));
  const known = rows.filter(Number.isFinite), mean = known.reduce((sum, one) => sum + one, 0) / Math.max(known.length, 1);
  const most = Math.log(2), flat = known.length ? rows.findIndex((one) => one === Math.max(...known)) : -1;
  return [h("div", { class: "columns" },
    panel("Difference: second minus first", h("p", { class: "dim small meaning" }, "Blue: the second attends there more. Orange: the first does. The scale is fixed, from −1 to 1."),
      matrix({ matrix: apart, rows: first.rows, columns: first.columns, rowTitle: first.rowTitle, columnTitle: first.columnTitle, label: `Difference of ${titles[1]} and ${titles[0]}`, signed: true, sums: false, apart: first.end === null ? [] : [first.end],
        masked: first.masked && second.masked ? (row, column) => first.masked!(row, column) && second.masked!(row, column) : undefined,
        describe: (row, column) => `${first.rows[row]} → ${first.columns[column]}: ${number(at(apart, row, column))} · ${number(at(first.matrix, row, column))} in the first, ${number(at(second.matrix, row, column))} in the second`,
      })),
    panel("How far apart, row by row",
      h("p", { class: "dim small meaning" }, `Jensen-Shannon divergence in nats: 0 where both attend alike, ${number(most)} where they share no position.`),
      bars(rows.map((value, row) => ({ label: visible(first.rows[row]!), value: Number.isFinite(value) ? value : 0, chosen: row === flat })), { maximum: most, label: "Divergence of each row" }),
      h("dl", { class: "facts spaced" },
        h("dt", null, "Mean over rows"), h("dd", null, h("b", { class: "mean-divergence" }, known.length ? number(mean) : "none"), h("span", { class: "dim" }, ` of at most ${number(most)}`)),
        h("dt", null, "Mean entropy of a row"), h("dd", null, h("b", null, `${number(meanEntropy(first), 2)} and ${number(meanEntropy(second), 2)} nats`), h("span", { class: "dim" }, ` uniform has ${number(Math.log(first.matrix.columns), 2)}`))),
      h("p", { class: "caution" }, "Two that attend elsewhere may give the same output, and two that attend alike may not. ", NOT_IMPORTANCE)))];
}

export function meanEntropy(chosen: Chosen): number {
  const rows = chosen.rows.map((_, row) => entropy(rowOf(chosen.matrix, row)));
  return rows.reduce((sum, one) => sum + one, 0) / Math.max(rows.length, 1);
}
