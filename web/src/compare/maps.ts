// Two maps of one sentence side by side, what one has and the other has not, and how far apart their rows are.

import {
  choose,
  MAP_TITLES,
  meanEntropy,
  measuresOf,
  placeOf,
  usualLayer,
  type AttentionMap,
  type Choice,
  type Chosen,
  type MapName,
} from "../attention.ts";
import { panel, segmented, select } from "../controls.ts";
import { h, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { headStrip } from "../draw/heads.ts";
import { matrix } from "../draw/matrix.ts";
import { factList, NOT_IMPORTANCE } from "../facts.ts";
import type { State } from "../state.ts";
import { at, build, number, rowOf, slice } from "../tensor.ts";
import { named } from "../terms.ts";

export type Both = [AttentionMap[], AttentionMap[]];

/** In nats, of rows made to sum to one, as `inspection/compare.py`: 0, alike, to log 2; NaN where a row is empty. */
export function divergence(first: number[], second: number[]): number {
  const sums = [first, second].map((row) => row.reduce((sum, one) => sum + one, 0)) as [number, number];
  if (!(sums[0] > 0) || !(sums[1] > 0)) return NaN;
  let result = 0;
  for (let position = 0; position < first.length; position++) {
    const one = first[position]! / sums[0],
      other = second[position]! / sums[1],
      middle = (one + other) / 2;
    if (one > 0) result += (one * Math.log(one / middle)) / 2;
    if (other > 0) result += (other * Math.log(other / middle)) / 2;
  }
  return Math.max(result, 0);
}

/** The map that both have and the address names, or the first that they share. */
export function sharedMap(both: Both, state: State): MapName | null {
  const shared = both[0].map((one) => one.id).filter((id) => both[1].some((one) => one.id === id));
  return shared.find((id) => id === state.get("map")) ?? shared[0] ?? null;
}

/** What the address says of one side, 0 or 1. */
function readSide(
  map: AttentionMap,
  state: State,
  side: 0 | 1,
  { sameTokens, same }: { sameTokens: boolean; same: boolean },
): Choice {
  const suffix = side ? "2" : "",
    [layers, heads] = map.weights.shape as [number, number];
  // Where both sides are one and the same map, weights are compared with what they carry.
  const untouched = ["layer2", "head2", "measure", "measure2"].every((name) => !state.get(name));
  const measures = measuresOf(map).map((one) => one.value),
    first = side && same && untouched && measures.includes("norms") ? "norms" : "weights";
  const usual =
    side && !state.get("layer2") && !state.get("head2")
      ? state.index("layer", layers, usualLayer(map))
      : usualLayer(map);
  const head = side && !state.get("layer2") && !state.get("head2") ? state.index("head", heads) : -1;
  return {
    layer: state.index(`layer${suffix}`, layers, usual),
    head: state.index(`head${suffix}`, heads, head),
    measure: measures.find((one) => one === state.get(`measure${suffix}`)) ?? first,
    when: "output",
    unit: state.get("unit") === "tokens" && sameTokens ? "tokens" : "words",
    hideEnd: false,
  };
}

/** Draw controls for both, and the panels; `change` is called after the address has changed. */
export function mapPanels(
  both: Both,
  names: [string, string],
  state: State,
  change: () => void,
): { controls: HTMLElement | null; panels: HTMLElement[] } {
  const id = sharedMap(both, state);
  if (!id) {
    const without = [...new Set(names.filter((_, side) => !both[side]!.length))].join(" and ");
    return {
      controls: null,
      panels: [
        panel(
          "Attention",
          h("p", null, `There is no map to compare: ${without} has no attention. The output is above.`),
        ),
      ],
    };
  }
  const maps = both.map((list) => list.find((one) => one.id === id)!) as [AttentionMap, AttentionMap];
  const sameTokens =
    maps[0].rows.tokens.join("\n") === maps[1].rows.tokens.join("\n") &&
    maps[0].columns.tokens.join("\n") === maps[1].columns.tokens.join("\n");
  const how = { sameTokens, same: names[0] === names[1] },
    choices = [readSide(maps[0], state, 0, how), readSide(maps[1], state, 1, how)] as const;
  const chosen = [choose(maps[0], choices[0]), choose(maps[1], choices[1])] as const;
  const shared = both[0].map((one) => one.id).filter((one) => both[1].some((other) => other.id === one));
  const put = (name: string) => (value: string) => {
    state.set({ [name]: value });
    change();
  };
  const controls = h(
    "div",
    { class: "map-buttons" },
    shared.length > 1
      ? select(
          "Which attention",
          shared.map((one) => ({ value: one, text: MAP_TITLES[one].title })),
          id,
          put("map"),
          { quiet: true },
        )
      : null,
    sameTokens
      ? segmented(
          "Rows and columns",
          [
            { value: "words", text: "Words" },
            { value: "tokens", text: "Tokens" },
          ],
          choices[0].unit,
          put("unit"),
          { quiet: true },
        )
      : h(
          "p",
          { class: "dim small" },
          "They divide text into different tokens, so words are compared: sums over columns, means over rows.",
        ),
  );
  const titles = [0, 1].map((side) => sideName(maps[side]!, choices[side]!, names[side]!)) as [string, string];
  const one = (side: 0 | 1) =>
    h(
      "section",
      { class: "card", "aria-label": `${side ? "Second" : "First"}: ${titles[side]}` },
      h(
        "div",
        { class: "map-bar" },
        h("h2", null, titles[side]),
        measureControl(maps[side], choices[side], state, side, change),
      ),
      h(
        "div",
        { class: "map-body" },
        sideStrip(maps[side], choices[side], state, side, change),
        picture(chosen[side], titles[side]),
      ),
    );
  return { controls, panels: [h("div", { class: "columns even" }, one(0), one(1)), ...differences(chosen, titles)] };
}

/** Such as "transformer, layer 2 of 4, head 3 of 8". */
export function sideName(map: AttentionMap, choice: Choice, name: string): string {
  return [
    name,
    placeOf(map, choice),
    choice.measure === "weights" ? "" : measuresOf(map).find((one) => one.value === choice.measure)!.text,
  ]
    .filter(Boolean)
    .join(", ");
}

function measureControl(
  map: AttentionMap,
  choice: Choice,
  state: State,
  side: 0 | 1,
  change: () => void,
): HTMLElement | null {
  const measures = measuresOf(map),
    suffix = side ? "2" : "";
  if (measures.length < 2) return null;
  return select(
    `Measure of the ${side ? "second" : "first"}`,
    measures,
    choice.measure,
    (value) => {
      state.set({ [`layer${suffix}`]: choice.layer + 1, [`measure${suffix}`]: value });
      change();
    },
    { quiet: true },
  );
}

/** All heads of a side; what is picked is written down whole, so that what was chosen by itself does not change. */
function sideStrip(
  map: AttentionMap,
  choice: Choice,
  state: State,
  side: 0 | 1,
  change: () => void,
): HTMLElement | null {
  const [layers, heads] = map.weights.shape as [number, number],
    suffix = side ? "2" : "";
  if (layers * heads < 2) return null;
  const of = (layer: number, head: number) =>
    choose({ ...map, mask: null }, { ...choice, layer, head, measure: "weights", unit: "tokens" }).matrix;
  return headStrip({
    layers,
    heads,
    maximum: 1,
    chosen: [choice.layer, choice.head],
    matrix: (layer, head) => (head < 0 ? of(layer, -1) : slice(map.weights, layer, head)),
    about: (layer, head) => `entropy ${number(meanEntropy(of(layer, head)), 2)} nats`,
    preview: () => {},
    leave: () => {},
    pick: (layer, head) => {
      state.set({
        [`layer${suffix}`]: layer + 1,
        [`head${suffix}`]: head < 0 ? null : head + 1,
        [`measure${suffix}`]: choice.measure === "rollout" ? "weights" : choice.measure,
      });
      change();
    },
  });
}

export function picture(chosen: Chosen, label: string): HTMLElement {
  return matrix(
    {
      matrix: chosen.matrix,
      rows: chosen.rows,
      columns: chosen.columns,
      rowTitle: chosen.rowTitle,
      columnTitle: chosen.columnTitle,
      label,
      masked: chosen.masked,
      apart: chosen.end === null ? [] : [chosen.end],
      maximum: chosen.columns.length > 24 ? 8 / chosen.columns.length : 1,
    },
    { height: () => 380 },
  );
}

function differences([first, second]: readonly [Chosen, Chosen], titles: [string, string]): HTMLElement[] {
  if (first.matrix.rows !== second.matrix.rows || first.matrix.columns !== second.matrix.columns) {
    return [
      panel(
        "Difference",
        h(
          "p",
          null,
          `Their rows and columns do not match: ${first.matrix.rows} × ${first.matrix.columns} and ` +
            `${second.matrix.rows} × ${second.matrix.columns}. The two divide this sentence into different words, ` +
            `so no difference can be taken.`,
        ),
      ),
    ];
  }
  const apart = build(
    first.matrix.rows,
    first.matrix.columns,
    (row, column) => at(second.matrix, row, column) - at(first.matrix, row, column),
  );
  const rows = first.rows.map((_, row) => divergence(rowOf(first.matrix, row), rowOf(second.matrix, row)));
  const known = rows.filter(Number.isFinite),
    mean = known.reduce((sum, one) => sum + one, 0) / Math.max(known.length, 1);
  const most = Math.log(2),
    flat = known.length ? rows.findIndex((one) => one === Math.max(...known)) : -1;
  return [
    h(
      "div",
      { class: "columns" },
      panel(
        "Difference: second minus first",
        h(
          "p",
          { class: "dim small meaning" },
          "Ember: the second attends there more. Teal: the first does. The scale is fixed, from −1 to 1.",
        ),
        matrix(
          {
            matrix: apart,
            rows: first.rows,
            columns: first.columns,
            rowTitle: first.rowTitle,
            columnTitle: first.columnTitle,
            label: `Difference of ${titles[1]} and ${titles[0]}`,
            signed: true,
            apart: first.end === null ? [] : [first.end],
            masked:
              first.masked && second.masked
                ? (row, column) => first.masked!(row, column) && second.masked!(row, column)
                : undefined,
            sentence: (row, column) =>
              `${first.rows[row]} → ${first.columns[column]}: ${number(at(apart, row, column))} · ` +
              `${number(at(first.matrix, row, column))} in the first, ${number(at(second.matrix, row, column))} ` +
              `in the second`,
          },
          { height: () => 380 },
        ),
      ),
      panel(
        named("divergence", "How far apart, row by row"),
        bars(
          rows.map((value, row) => ({
            label: visible(first.rows[row]!),
            value: Number.isFinite(value) ? value : 0,
            chosen: row === flat,
          })),
          { maximum: most, label: "Divergence of each row" },
        ),
        factList([
          {
            name: "Mean over rows",
            value: known.length ? number(mean) : "none",
            note: `of at most ${number(most)} nats`,
          },
          {
            name: "Mean entropy of a row",
            value: `${number(meanEntropy(first.matrix), 2)} and ${number(meanEntropy(second.matrix), 2)} nats`,
            note: `uniform has ${number(Math.log(first.matrix.columns), 2)}`,
            term: "entropy",
          },
        ]),
        h(
          "p",
          { class: "caution" },
          "Two that attend elsewhere may give the same output, and two that attend alike may not. ",
          NOT_IMPORTANCE,
        ),
      ),
    ),
  ];
}
