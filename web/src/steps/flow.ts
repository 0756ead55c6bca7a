// The whole path of one query as one picture, with the model's numbers: from the state over query, keys and values to
// scores, weights and context, and on through the output map and the residual to the word. Played, each stage moves
// into
// the next.

import { h, visible, type Child } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { readable, shade } from "../draw/colors.ts";
import { largest, picture, strip } from "../draw/strip.ts";
import { isStill } from "../playing.ts";
import { number, rowOf } from "../tensor.ts";
import { named, term, type TermName } from "../terms.ts";
import { applied, type Apart, type Map, type Maps } from "./answer.ts";

export const STAGES: { name: string; term: TermName }[] = [
  { name: "Project", term: "query" },
  { name: "Scores", term: "scores" },
  { name: "Weights", term: "softmax" },
  { name: "Weighted sum", term: "context" },
  { name: "Heads joined", term: "head" },
  { name: "Residual", term: "residual" },
  { name: "Word", term: "lens" },
];

export interface Flow {
  element: HTMLElement;
  /** Show the stages up to one; all where it is none. `moving` lets the new stage arrive. */
  reach(stage: number | null, moving: boolean): void;
}

export interface Choosing {
  key: number;
  pickKey(key: number): void;
}

const MOST_KEYS = 40;

/** Draw it for one query and one chosen key. */
export function flow(apart: Apart, maps: Maps | null, choosing: Choosing): Flow {
  const { path } = apart,
    key = choosing.key,
    query = visible(apart.queryLabel),
    word = visible(apart.keyLabels[key]!);
  const wide = largest(apart.query, apart.keys.data),
    values = largest(apart.values.data),
    few = largest(apart.context, ...apart.keyLabels.map((_, one) => weighted(apart, one)));
  const part = (stage: number, ...inside: Child[]) => h("div", { class: "flow-part", "data-stage": stage }, inside);
  const input = path.keyInputs && key < path.keyInputs.rows ? rowOf(path.keyInputs, key) : null;
  const from = h(
    "div",
    { class: "flow-column from" },
    part(
      1,
      h("h2", { class: "minor" }, named("query", "Query, key, value")),
      mapped("Q", `“${query}”`, maps?.query ?? null, path.queryInput, apart.unturned?.[0] ?? apart.query),
      mapped("K", `“${word}”`, maps?.key ?? null, input, rowOf(apart.unturned?.[1] ?? apart.keys, key)),
      mapped("V", `“${word}”`, maps?.value ?? null, input, rowOf(apart.values, key)),
    ),
  );
  const listed = apart.keyLabels
    .map((_, one) => one)
    .sort((a, b) => apart.weights[b]! - apart.weights[a]!)
    .slice(0, MOST_KEYS)
    .sort((a, b) => a - b);
  const range = Math.max(
    1e-9,
    ...Array.from(apart.scores, (score, one) => (apart.allowed(one) ? Math.abs(score) : 0)),
  );
  const table = h(
    "div",
    { class: "flow-keys", role: "group", "aria-label": "Keys" },
    h(
      "div",
      { class: "flow-row head" },
      h("span"),
      cell(1, "key k"),
      cell(2, "score e"),
      cell(3, "weight α"),
      cell(1, "value v"),
      cell(4, "α · v"),
    ),
    h(
      "div",
      { class: "flow-row asked" },
      h("span", { class: "small dim" }, "query"),
      cell(1, strip({ values: apart.query, label: `query ${query}`, maximum: wide })),
      cell(2),
      cell(3),
      cell(1),
      cell(4),
    ),
    listed.map((one) => {
      const open = apart.allowed(one),
        weight = apart.weights[one]!,
        color = shade(weight);
      return h(
        "div",
        { class: `flow-row${one === key ? " chosen" : ""}${open ? "" : " masked"}`, "data-key": one },
        h(
          "button",
          {
            type: "button",
            class: "flow-key",
            "aria-pressed": String(one === key),
            onclick: () => choosing.pickKey(one),
          },
          visible(apart.keyLabels[one]!),
        ),
        cell(
          1,
          strip({ values: rowOf(apart.keys, one), label: `key ${visible(apart.keyLabels[one]!)}`, maximum: wide }),
        ),
        cell(2, open ? scoreBar(apart.scores[one]!, range) : h("span", { class: "small dim" }, "masked")),
        cell(
          3,
          h(
            "span",
            {
              class: "weight-cell",
              style: { "--share": String(Math.min(weight, 1)), background: color, color: readable(color) },
            },
            weight.toFixed(3),
          ),
        ),
        cell(
          1,
          strip({
            values: rowOf(apart.values, one),
            label: `value ${visible(apart.keyLabels[one]!)}`,
            maximum: values,
          }),
        ),
        cell(
          4,
          strip({
            values: weighted(apart, one),
            label: `weighted value ${visible(apart.keyLabels[one]!)}`,
            maximum: few,
          }),
        ),
      );
    }),
    h(
      "div",
      { class: "flow-row sum" },
      h("span", { class: "small dim" }, "sum"),
      cell(2),
      cell(
        2,
        h(
          "span",
          { class: "small dim" },
          `max ${number(Math.max(...Array.from(apart.scores).filter((_, one) => apart.allowed(one))), 2)}`,
        ),
      ),
      cell(
        3,
        h(
          "span",
          { class: "small dim" },
          number(
            apart.weights.reduce((sum, one) => sum + one, 0),
            3,
          ),
        ),
      ),
      cell(4, h("span", { class: "small dim" }, "context c")),
      cell(4, strip({ values: apart.context, label: "context", maximum: few })),
    ),
  );
  const middle = h(
    "div",
    { class: "flow-column" },
    h(
      "h2",
      { class: "minor" },
      named("scores", "Scores"),
      " → ",
      named("softmax", "weights"),
      " → ",
      named("context", "weighted sum"),
    ),
    table,
    listed.length < apart.keyLabels.length
      ? h(
          "p",
          { class: "dim small" },
          `The ${listed.length} heaviest of ${apart.keyLabels.length} keys; all are below.`,
        )
      : null,
  );
  const element = h("div", { class: "flow" }, from, middle, after(apart, maps, part));
  return { element, reach: (stage, moving) => reach(element, stage, moving) };
}

function cell(stage: number, ...inside: Child[]): HTMLElement {
  return h("span", { class: "flow-cell", "data-stage": stage }, inside);
}

function weighted(apart: Apart, key: number): number[] {
  return rowOf(apart.values, key).map((value) => value * apart.weights[key]!);
}

/** A score as a bar from the middle: to the right where it is above zero. */
function scoreBar(score: number, range: number): HTMLElement {
  const share = (50 * Math.abs(score)) / range;
  return h(
    "span",
    { class: "score-cell" },
    h("span", null, h("i", { style: { left: `${score < 0 ? 50 - share : 50}%`, width: `${share}%` } })),
    h("b", null, number(score, 2)),
  );
}

/** input · W = output: the input above the matrix, a column each, the output at its right, a row each. */
function mapped(
  name: string,
  whose: string,
  map: Map | null,
  input: ArrayLike<number> | null,
  output: ArrayLike<number>,
): HTMLElement {
  const letter = name.toLowerCase();
  if (!map || !input) {
    return h(
      "div",
      { class: "mapped plain" },
      h(
        "span",
        { class: "small" },
        `${letter} of ${whose} `,
        h("span", { class: "dim" }, name === "V" ? "is the state itself" : "as it is compared"),
      ),
      strip({ values: output, label: `${letter} of ${whose}`, maximum: largest(output) }),
    );
  }
  const most = largest(map.matrix.data);
  return h(
    "div",
    { class: "mapped" },
    h(
      "span",
      { class: "small mapped-name" },
      `${letter} = x · W`,
      h("sub", null, name),
      h("span", { class: "dim" }, ` of ${whose}`),
    ),
    strip({ values: input, label: `x of ${whose}`, maximum: largest(input) }),
    h(
      "span",
      { class: "mapped-matrix", title: `${map.name}: ${map.matrix.columns} to ${map.matrix.rows} features` },
      picture(map.matrix, most),
    ),
    strip({ values: output, label: `${letter} of ${whose}`, maximum: largest(output), upright: true }),
  );
}

/** From the context to the word. */
function after(
  apart: Apart,
  maps: Maps | null,
  part: (stage: number, ...inside: Child[]) => HTMLElement,
): HTMLElement {
  const { path } = apart,
    own = maps?.output ? applied({ ...maps.output, bias: null }, apart.output) : null;
  const stream = path.before && path.mixed && path.after ? largest(path.before, path.mixed, path.after) : 1;
  const line = (name: Child, values: ArrayLike<number>, maximum: number) =>
    h(
      "div",
      { class: "flow-line" },
      h("span", { class: "small" }, name),
      strip({ values, label: String(name), maximum }),
    );
  return h(
    "div",
    { class: "flow-column after" },
    own
      ? part(
          5,
          h("h2", { class: "minor" }, named("head", path.mixed ? "Output map" : "Onward")),
          h(
            "div",
            { class: "mapped" },
            h(
              "span",
              { class: "small mapped-name" },
              "o = c · W",
              h("sub", null, "O"),
              h("span", { class: "dim" }, " of this head"),
            ),
            strip({ values: apart.output, label: "context", maximum: largest(apart.output) }),
            h(
              "span",
              { class: "mapped-matrix", title: maps!.output!.name },
              picture(maps!.output!.matrix, largest(maps!.output!.matrix.data)),
            ),
            strip({ values: own, label: "o of this head", maximum: largest(own), upright: true }),
          ),
          path.mixed ? line("o of all heads", path.mixed, largest(path.mixed)) : null,
        )
      : null,
    path.before && path.mixed && path.after
      ? part(
          6,
          h("h2", { class: "minor" }, named("residual", "Residual")),
          line("x", path.before, stream),
          line("+ o", path.mixed, stream),
          line("= y", path.after, stream),
        )
      : null,
    path.words.length
      ? part(
          7,
          h("h2", { class: "minor" }, "Logits → word"),
          bars(
            path.words
              .slice(0, 5)
              .map((one) => ({
                label: visible(one.token),
                value: one.probability,
                chosen: one.id === path.taken,
                title: `logit ${number(one.logit, 2)}`,
              })),
            { label: "Probabilities of the next word", digits: 3 },
          ),
          path.lens.length > 1 ? lens(apart) : null,
        )
      : null,
  );
}

/** A bar per layer: how likely the word would be if the model stopped there. */
function lens({ path }: Apart): HTMLElement {
  return h(
    "div",
    { class: "lens" },
    h("h2", { class: "minor" }, "Logit lens ", term("lens")),
    bars(
      path.lens.map((one, layer) => ({
        label: `${layer + 1}: ${visible(one.words[0]?.token ?? "")}`,
        value: one.taken,
        chosen: one.words[0]?.id === path.taken,
        title: one.words.map((word) => `${visible(word.token)} ${number(word.probability, 3)}`).join(", "),
      })),
      { label: "Probability of the word after each layer", digits: 3 },
    ),
  );
}

/** Show the stages up to one. */
function reach(element: HTMLElement, stage: number | null, moving: boolean): void {
  for (const part of element.querySelectorAll<HTMLElement>("[data-stage]")) {
    part.classList.toggle("later", stage !== null && Number(part.dataset.stage) > stage);
    part.classList.toggle("now", stage !== null && Number(part.dataset.stage) === stage);
  }
  if (!moving || stage === null || isStill()) return;
  [...element.querySelectorAll<HTMLElement>(`[data-stage="${stage}"]`)].forEach((part, index) =>
    part.animate(
      [
        { opacity: 0, transform: stage > 4 ? "translateX(-1.2rem)" : "translateY(-.6rem)" },
        { opacity: 1, transform: "none" },
      ],
      { duration: 420, delay: Math.min(index * 70, 900), fill: "backwards", easing: "ease-out" },
    ),
  );
  if (stage === 2) slide(element);
  if (stage === 4) gather(element);
}

/** The query goes along the keys. */
function slide(element: HTMLElement): void {
  const query = element.querySelector<HTMLElement>(".flow-row.asked .strip"),
    rows = [...element.querySelectorAll<HTMLElement>(".flow-row[data-key] .strip")].filter(
      (_, index) => index % 3 === 0,
    );
  if (!query || !rows.length) return;
  const from = query.getBoundingClientRect();
  query.animate(
    [
      { transform: "none" },
      ...rows.map((row) => ({ transform: `translateY(${row.getBoundingClientRect().top - from.top}px)` })),
      { transform: "none" },
    ],
    { duration: Math.min(260 * (rows.length + 1), 3600), easing: "ease-in-out" },
  );
}

/** Weighted values fall into the context. */
function gather(element: HTMLElement): void {
  const sum = element.querySelector<HTMLElement>(".flow-row.sum [data-stage='4'] .strip");
  if (!sum) return;
  const to = sum.getBoundingClientRect().top;
  [...element.querySelectorAll<HTMLElement>(".flow-row[data-key] [data-stage='4'] .strip")].forEach((one, index) => {
    const ghost = one.cloneNode(false) as HTMLElement,
      canvas = one.querySelector("canvas")!,
      copy = h("canvas", { width: canvas.width, height: canvas.height });
    copy.getContext("2d")!.drawImage(canvas, 0, 0);
    ghost.classList.add("ghost");
    ghost.append(copy);
    one.parentElement!.append(ghost);
    ghost
      .animate(
        [
          { transform: "none", opacity: 0.9 },
          { transform: `translateY(${to - one.getBoundingClientRect().top}px)`, opacity: 0.15 },
        ],
        { duration: 900, delay: 500 + index * 60, easing: "ease-in", fill: "both" },
      )
      .finished.finally(() => ghost.remove())
      .catch(() => {});
  });
}
