// All layers and heads of a model as small pictures, in order or ranked; one of them large.

import { panel, segmented, select } from "../controls.ts";
import { h } from "../dom.ts";
import { shadeBytes } from "../draw/colors.ts";
import { choose, type Choice, type Attention, type MapName } from "../attention.ts";
import type { State } from "../state.ts";
import { at, number, rowOf, type Matrix } from "../tensor.ts";
import { MAP_NAMES, meanEntropy, picture } from "./maps.ts";

interface Head {
  layer: number;
  head: number;
  matrix: Matrix;
  /** Mean over rows, in nats. */
  entropy: number;
  /** Mean over rows of the largest weight. */
  sharpness: number;
}

type Order = "position" | "entropy" | "sharpness";

/** Draw the grid and the head that is chosen. */
export function headPanels(both: [Attention, Attention], names: [string, string], state: State, change: () => void): HTMLElement[] {
  const two = names[0] !== names[1], side = two && state.get("of") === "second" ? 1 : 0, attention = both[side]!;
  const put = (name: string) => (value: string) => {
    state.set({ [name]: value, ...(name === "of" || name === "map" ? { cell: null } : {}) });
    change();
  };
  const which = two ? segmented("Of", [{ value: "first", text: names[0] }, { value: "second", text: names[1] }], side ? "second" : "first", put("of")) : null;
  if (!attention.maps.length) return [panel("Heads", which, h("p", null, `${names[side]} has no attention, so there are no heads to see.`))];
  const map = (attention.maps.find((one) => one.id === state.get("map")) ?? attention.maps[0]!).id;
  const order = (["position", "entropy", "sharpness"] as Order[]).find((one) => one === state.get("rank")) ?? "position";
  const heads = ranked(all(attention, map, state), order);
  const [wanted = 0, wantedHead = 0] = state.get("cell").split(".").map(Number);
  const own = heads.find((one) => state.get("cell") && one.layer === wanted && one.head === wantedHead) ?? heads[0]!;
  const choice = choiceOf(map, own.layer, own.head, state);
  const title = `Layer ${own.layer + 1}, head ${own.head + 1}`;
  const grid = panel("All layers and heads", h("div", { class: "row choices" }, which,
    attention.maps.length > 1 ? select("Which attention", attention.maps.map((one) => ({ value: one.id, text: MAP_NAMES[one.id] })), map, put("map")) : null,
    segmented("Order", [
      { value: "position", text: "as in the model" }, { value: "entropy", text: "lowest entropy" }, { value: "sharpness", text: "largest weights" }], order, put("rank"))),
    h("p", { class: "dim small meaning" }, `${heads.length} ${heads.length === 1 ? "head" : "heads"}. Low entropy: it attends to few positions. That ranks how sharply a head attends, not how useful it is. Colors from 0 to 1 in all.`),
    h("div", { class: "thumbs", role: "group", "aria-label": "Heads" }, heads.map((one) => h("button", {
      type: "button", class: "thumb-button", "aria-pressed": String(one === own), title: `entropy ${number(one.entropy, 2)}, mean of the largest weights ${number(one.sharpness, 2)}`,
      onclick: () => {
        state.set({ cell: `${one.layer}.${one.head}` });
        change();
      },
    }, thumbnail(one.matrix), h("span", { class: "thumb-name" }, `Layer ${one.layer + 1}, head ${one.head + 1}`), h("span", { class: "dim thumb-figures" }, `H ${number(one.entropy, 2)} · max ${number(one.sharpness, 2)}`)))));
  const compareWith = (suffix: string, part: string) => () => {
    state.set({ [`layer${suffix}`]: own.layer, [`head${suffix}`]: own.head, [`measure${suffix}`]: "weights", part });
    change();
  };
  const large = panel(title, h("p", { class: "dim small meaning" }, `Mean entropy ${number(own.entropy)} nats, of at most ${number(Math.log(own.matrix.columns))}; mean of the largest weights ${number(own.sharpness)}.`),
    picture(choose(attention, choice), title),
    h("p", { class: "row take" }, h("button", { type: "button", class: "button small", onclick: compareWith(side ? "2" : "", "maps") }, `Compare it as the ${side ? "second" : "first"}`),
      two ? null : h("button", { type: "button", class: "button small", onclick: compareWith("2", "maps") }, "Compare it as the second")));
  return [grid, large];
}

function choiceOf(map: MapName, layer: number, head: number, state: State): Choice {
  return { map, layer, head, measure: "weights", when: "produced", unit: state.get("unit") === "tokens" ? "tokens" : "words", hideEnd: false };
}

function all(attention: Attention, map: MapName, state: State): Head[] {
  const [layers, heads] = attention.maps.find((one) => one.id === map)!.weights.shape as [number, number];
  return Array.from({ length: layers * heads }, (_, index) => {
    const layer = Math.floor(index / heads), head = index % heads;
    const chosen = choose(attention, choiceOf(map, layer, head, state));
    const largest = chosen.rows.map((_, row) => Math.max(...rowOf(chosen.matrix, row)));
    return { layer, head, matrix: chosen.matrix, entropy: meanEntropy(chosen), sharpness: largest.reduce((sum, one) => sum + one, 0) / Math.max(largest.length, 1) };
  });
}

function ranked(heads: Head[], order: Order): Head[] {
  if (order === "position") return heads;
  return [...heads].sort((a, b) => (order === "entropy" ? a.entropy - b.entropy : b.sharpness - a.sharpness));
}

/** A pixel for each weight. */
function thumbnail(matrix: Matrix): HTMLElement {
  const canvas = h("canvas", { class: "thumbnail", width: Math.max(matrix.columns, 1), height: Math.max(matrix.rows, 1), "aria-hidden": "true" });
  const pen = canvas.getContext("2d")!, pixels = pen.createImageData(canvas.width, canvas.height);
  for (let row = 0; row < matrix.rows; row++) {
    for (let column = 0; column < matrix.columns; column++) pixels.data.set([...shadeBytes(at(matrix, row, column)), 255], 4 * (row * matrix.columns + column));
  }
  pen.putImageData(pixels, 0, 0);
  return canvas;
}
