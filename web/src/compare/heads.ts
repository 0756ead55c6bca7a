// All layers and heads of a model as small pictures, in order or ranked; one of them large.

import { choose, MAP_TITLES, meanEntropy, type AttentionMap, type Choice } from "../attention.ts";
import { panel, segmented, select } from "../controls.ts";
import { h } from "../dom.ts";
import { thumbnail } from "../draw/heads.ts";
import type { State } from "../state.ts";
import { number, rowOf, type Matrix } from "../tensor.ts";
import { named } from "../terms.ts";
import { picture, type Both } from "./maps.ts";

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
export function headPanels(both: Both, names: [string, string], state: State, change: () => void): HTMLElement[] {
  const two = names[0] !== names[1],
    side = two && state.get("of") === "second" ? 1 : 0,
    maps = both[side]!;
  const put = (name: string) => (value: string) => {
    state.set({ [name]: value, ...(name === "of" || name === "map" ? { layer: null, head: null } : {}) });
    change();
  };
  const which = two
    ? segmented(
        "Of",
        [
          { value: "first", text: names[0] },
          { value: "second", text: names[1] },
        ],
        side ? "second" : "first",
        put("of"),
      )
    : null;
  if (!maps.length)
    return [panel("Heads", which, h("p", null, `${names[side]} has no attention, so there are no heads to see.`))];
  const map = maps.find((one) => one.id === state.get("map")) ?? maps[0]!,
    [layers, count] = map.weights.shape as [number, number];
  const order =
    (["position", "entropy", "sharpness"] as Order[]).find((one) => one === state.get("rank")) ?? "position";
  const heads = ranked(all(map, state), order),
    layer = state.index("layer", layers),
    head = state.index("head", count);
  const own = heads.find((one) => one.layer === layer && one.head === head) ?? heads[0]!,
    choice = choiceOf(own.layer, own.head, state);
  const name = (one: Head) => `Layer ${one.layer + 1}, head ${one.head + 1}`;
  const grid = panel(
    "All layers and heads",
    h(
      "div",
      { class: "row" },
      which,
      maps.length > 1
        ? select(
            "Which attention",
            maps.map((one) => ({ value: one.id, text: MAP_TITLES[one.id].title })),
            map.id,
            put("map"),
          )
        : null,
      segmented(
        "Order",
        [
          { value: "position", text: "as in the model" },
          { value: "entropy", text: "lowest entropy" },
          { value: "sharpness", text: "largest weights" },
        ],
        order,
        put("rank"),
      ),
    ),
    h(
      "p",
      { class: "dim small meaning" },
      `${heads.length} ${heads.length === 1 ? "head" : "heads"}. Low `,
      named("entropy", "entropy"),
      ": it attends to few positions. That ranks how sharply a head attends, not how useful it is.",
    ),
    h(
      "div",
      { class: "thumbs", role: "group", "aria-label": "Heads" },
      heads.map((one) =>
        h(
          "button",
          {
            type: "button",
            class: "thumb-button",
            "aria-pressed": String(one === own),
            title: `entropy ${number(one.entropy, 2)}, mean of the largest weights ${number(one.sharpness, 2)}`,
            onclick: () => {
              state.setIndex({ layer: one.layer, head: one.head });
              change();
            },
          },
          thumbnail(one.matrix),
          h("span", { class: "thumb-name" }, name(one)),
          h("span", { class: "dim thumb-figures" }, `H ${number(one.entropy, 2)} · max ${number(one.sharpness, 2)}`),
        ),
      ),
    ),
  );
  const large = panel(
    name(own),
    h(
      "p",
      { class: "dim small meaning" },
      `Mean entropy ${number(own.entropy)} nats, of at most ${number(Math.log(own.matrix.columns))}; mean of the ` +
        `largest weights ${number(own.sharpness)}.`,
    ),
    picture(choose(map, choice), name(own)),
    h(
      "p",
      { class: "row" },
      h(
        "button",
        {
          type: "button",
          class: "button small",
          onclick: () => {
            const suffix = side ? "2" : "";
            state.set({
              [`layer${suffix}`]: own.layer + 1,
              [`head${suffix}`]: own.head + 1,
              [`measure${suffix}`]: "weights",
              part: "maps",
            });
            change();
          },
        },
        `Compare it as the ${side ? "second" : "first"}`,
      ),
      two
        ? null
        : h(
            "button",
            {
              type: "button",
              class: "button small",
              onclick: () => {
                state.set({ layer2: own.layer + 1, head2: own.head + 1, measure2: "weights", part: "maps" });
                change();
              },
            },
            "Compare it as the second",
          ),
    ),
  );
  return [h("div", { class: "columns even" }, grid, large)];
}

function choiceOf(layer: number, head: number, state: State): Choice {
  return {
    layer,
    head,
    measure: "weights",
    when: "output",
    unit: state.get("unit") === "tokens" ? "tokens" : "words",
    hideEnd: false,
  };
}

function all(map: AttentionMap, state: State): Head[] {
  const [layers, heads] = map.weights.shape as [number, number];
  return Array.from({ length: layers * heads }, (_, index) => {
    const layer = Math.floor(index / heads),
      head = index % heads,
      { matrix } = choose(map, choiceOf(layer, head, state));
    let sharpness = 0;
    for (let row = 0; row < matrix.rows; row++)
      sharpness += Math.max(...rowOf(matrix, row)) / Math.max(matrix.rows, 1);
    return { layer, head, matrix, entropy: meanEntropy(matrix), sharpness };
  });
}

function ranked(heads: Head[], order: Order): Head[] {
  if (order === "position") return heads;
  return [...heads].sort((a, b) => (order === "entropy" ? a.entropy - b.entropy : b.sharpness - a.sharpness));
}
