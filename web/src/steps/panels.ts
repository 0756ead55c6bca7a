// The stages of one query in numbers: scores, weights, weighted sum, and the check of all.

import { panel, slider } from "../controls.ts";
import { code } from "../draw/code.ts";
import { shade } from "../draw/colors.ts";
import { largest, strip } from "../draw/strip.ts";
import { fill, h, visible, type Child } from "../dom.ts";
import {
  contextEquation,
  equation,
  filled,
  mi,
  mo,
  NORMALIZERS,
  normalizerEquation,
  num,
  POSITIONS,
  positionEquation,
  scoreEquation,
  scoreText,
  sub,
  total,
  work,
} from "../equations.ts";
import { at, number, rowOf } from "../tensor.ts";
import { check, type Apart, type Maps } from "./answer.ts";

export interface Choosing {
  key: number;
  feature: number;
  pickKey(key: number): void;
  /** Keep a choice that is drawn already. */
  setFeature(feature: number): void;
}

/** Columns that are not numbers. */
const LEFT = new Set(["Key", "Vector", "Value v", "α · v"]);
/** Keys that are listed before the visitor asks for all. */
const MOST_KEYS = 40;

export function comparePanel(apart: Apart, choosing: Choosing): HTMLElement {
  const known = scoreText(apart.score.kind, apart.score.activation);
  const position = apart.position ? POSITIONS[apart.position] : null;
  const most = largest(apart.query, apart.keys.data);
  const status = readout("Point at a strip to read its numbers; choose a key to see its score computed.");
  const onpoint = (_: number, text: string) => (status.textContent = text);
  const parts: [string, Float32Array | null][] = [
    ["bias", apart.bias],
    ["position", apart.added],
  ];
  const added = parts.filter(([, one]) => one !== null) as [string, Float32Array][];
  const heads = [
    "Key",
    "Vector",
    added.length ? "Score alone" : "Score e",
    ...added.map(([name]) => `+ ${name}`),
    ...(added.length ? ["Score e"] : []),
  ];
  return panel(
    "Scores",
    h("p", { class: "dim small meaning" }, h("b", null, known.title), `. ${known.text}`),
    scoreEquation(apart.score.kind, apart.score.activation),
    position && apart.position && !apart.factors
      ? [
          h("p", { class: "dim small meaning" }, h("b", null, position.title), `. ${position.text}`),
          positionEquation(apart.position),
        ]
      : null,
    keyTable(
      "Scores of the keys",
      heads,
      apart,
      choosing,
      (key) => [
        h(
          "td",
          { class: "wide" },
          strip({
            values: rowOf(apart.keys, key),
            label: `key ${visible(apart.keyLabels[key]!)}`,
            maximum: most,
            onpoint,
          }),
        ),
        h("td", null, number(apart.compared[key]!)),
        ...added.map(([, one]) => h("td", null, number(one[key]!))),
        added.length ? h("td", null, number(apart.scores[key]!)) : null,
      ],
      {
        first: h(
          "tr",
          { class: "query-line" },
          h(
            "th",
            { scope: "row", class: "text" },
            h("span", { class: "dim small" }, "query "),
            visible(apart.queryLabel),
          ),
          h(
            "td",
            { class: "wide" },
            strip({ values: apart.query, label: `query ${visible(apart.queryLabel)}`, maximum: most, onpoint }),
          ),
          heads.slice(2).map(() => h("td")),
        ),
      },
    ),
    status,
    scaleNote(most),
    onePair(apart, choosing.key),
  );
}

/** How the score of one pair comes about. */
function onePair(apart: Apart, key: number): HTMLElement {
  const pair = apart.pair(key),
    worked = work(pair);
  const title = h("h3", null, `“${visible(apart.queryLabel)}” and “${visible(apart.keyLabels[key]!)}”`);
  if (!worked)
    return h(
      "div",
      { class: "one-pair" },
      title,
      h("p", { class: "dim small" }, `Their score is ${number(apart.compared[key]!, 6)}.`),
    );
  const turned = apart.unturned;
  return h(
    "div",
    { class: "one-pair" },
    title,
    ...filled(pair, worked),
    apart.added || apart.bias
      ? equation(
          mi("e"),
          mo("="),
          num(apart.compared[key]!),
          ...[apart.bias, apart.added].flatMap((one) => (one ? [mo("+"), num(one[key]!)] : [])),
          mo("="),
          num(apart.scores[key]!, 6),
        )
      : null,
    turned
      ? h(
          "p",
          { class: "dim small" },
          "Query and key are shown as the position has turned them; before, feature 1 of the two was ",
          number(turned[0][0]!),
          " and ",
          number(at(turned[1], key, 0)),
          ".",
        )
      : null,
    apart.allowed(key) ? null : h("p", { class: "note" }, "This key is masked: its score is not used."),
    folded(worked.rows.length === 1 ? "The one feature" : `All ${worked.rows.length} features`, () =>
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "col" }, "feature"),
            worked.heads.map((head) => h("th", { scope: "col" }, head)),
            h("th", { scope: "col" }, "sum so far"),
          ),
        ),
        h(
          "tbody",
          null,
          runningSums(worked.rows).map(([row, sum], index) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, index + 1),
              row.map((value) => h("td", null, number(value))),
              h("td", null, number(sum)),
            ),
          ),
        ),
      ),
    ),
  );
}

function runningSums(rows: number[][]): [number[], number][] {
  let sum = 0;
  return rows.map((row) => [row, (sum += row.at(-1)!)]);
}

export function weighPanel(apart: Apart, choosing: Choosing): HTMLElement {
  const known = NORMALIZERS[apart.normalizer.kind],
    position = apart.position ? POSITIONS[apart.position] : null;
  const weighed = apart.weighed;
  const heads = [
    "Key",
    "Score e",
    ...(weighed?.heads ?? []),
    ...(apart.factors ? ["α before", "× window"] : []),
    "Weight α",
    "",
  ];
  const sum = apart.weights.reduce((all, one) => all + one, 0);
  const notes = weighed?.notes
    .map((one) => `${one.name} = ${number(one.value, Number.isInteger(one.value) ? 0 : 4)}`)
    .join(" · ");
  return panel(
    "Weights",
    h(
      "p",
      { class: "dim small meaning" },
      h("b", null, known?.title ?? apart.normalizer.kind),
      known ? `. ${known.text}` : ".",
    ),
    normalizerEquation(apart.normalizer.kind),
    position && apart.position && apart.factors
      ? [
          h("p", { class: "dim small meaning" }, h("b", null, position.title), `. ${position.text}`),
          positionEquation(apart.position),
        ]
      : null,
    notes ? h("p", { class: "figures-line" }, notes) : null,
    keyTable("From scores to weights", heads, apart, choosing, (key) => {
      const row = weighed?.rows[key],
        masked = !apart.allowed(key),
        columns = weighed?.heads.length ?? 0;
      return [
        h("td", null, masked ? h("span", { class: "dim" }, "masked") : number(apart.scores[key]!)),
        ...Array.from({ length: columns }, (_, index) => h("td", null, row ? number(row[index]!) : "")),
        ...(apart.factors
          ? [h("td", null, number(apart.normalized[key]!)), h("td", null, number(apart.factors[key]!))]
          : []),
        h("td", { class: "weight" }, h("b", null, number(apart.weights[key]!))),
        h(
          "td",
          { class: "bar-cell" },
          h(
            "span",
            { class: "bar-track", "aria-hidden": "true" },
            h("i", { style: { width: `${(100 * Math.min(apart.weights[key]!, 1)).toFixed(2)}%` } }),
          ),
        ),
      ];
    }),
    h(
      "p",
      { class: "figures-line" },
      "Weights sum to ",
      h("b", null, number(sum)),
      apart.weights.length > 1
        ? ` · uniform would be ` +
            `${number(1 / Math.max(1, apart.keyLabels.filter((_, key) => apart.allowed(key)).length))} each`
        : "",
    ),
  );
}

export function addPanel(apart: Apart, choosing: Choosing): HTMLElement {
  const weighted = (key: number) => rowOf(apart.values, key).map((value) => value * apart.weights[key]!);
  const most = largest(apart.values.data),
    few = largest(...apart.keyLabels.map((_, key) => weighted(key)), apart.context);
  const status = readout("Point at a strip; click it, or move the slider, to choose a feature.");
  const chosen = h("div", { "aria-live": "polite", class: "feature-sum" });
  const size = apart.context.length;
  const control = slider(
    "Feature",
    { min: 0, max: size - 1, value: choosing.feature, show: (feature) => String(feature + 1) },
    (feature) => show(feature),
  );
  const pick = (feature: number) => {
    const input = control.querySelector("input")!;
    input.value = String(feature);
    input.dispatchEvent(new Event("input"));
  };
  const shared = {
    onpoint: (_: number, text: string) => (status.textContent = text),
    marked: choosing.feature,
    onpick: pick,
  };
  const line = (name: string, values: ArrayLike<number>, label: string, total = false) =>
    h(
      "tr",
      { class: total ? "total" : "" },
      h("th", { scope: "row", class: "text" }, name),
      h("td"),
      h("td"),
      h("td", { class: "wide" }, strip({ values, label, maximum: few, ...shared })),
    );
  const built = panel(
    "Weighted sum",
    contextEquation(),
    keyTable(
      "Weighted values",
      ["Key", "Weight α", "Value v", "α · v"],
      apart,
      choosing,
      (key) => [
        h("td", null, number(apart.weights[key]!)),
        h(
          "td",
          { class: "wide" },
          strip({
            values: rowOf(apart.values, key),
            label: `value ${visible(apart.keyLabels[key]!)}`,
            maximum: most,
            ...shared,
          }),
        ),
        h(
          "td",
          { class: "wide" },
          strip({
            values: weighted(key),
            label: `weighted value ${visible(apart.keyLabels[key]!)}`,
            maximum: few,
            ...shared,
          }),
        ),
      ],
      {
        last: [
          apart.extra ? line("+ position", apart.extra, "what the position adds") : null,
          line("context c", apart.context, "context", true),
        ],
      },
    ),
    status,
    h(
      "p",
      { class: "dim small" },
      `Colors: values from −${number(most, 2)} to ${number(most, 2)}, weighted values and context from ` +
        `−${number(few, 2)} to ${number(few, 2)}.`,
    ),
    h("div", { class: "one-pair" }, control, chosen),
    folded(`All ${size} numbers of the context`, () =>
      h(
        "table",
        null,
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "feature"), h("th", { scope: "col" }, "context"))),
        h(
          "tbody",
          null,
          Array.from(apart.context, (value, index) =>
            h("tr", null, h("th", { scope: "row" }, index + 1), h("td", null, number(value, 6))),
          ),
        ),
      ),
    ),
  );
  const show = (feature: number) => {
    choosing.setFeature(feature);
    fill(chosen, featureSum(apart, feature));
    for (const mark of built.querySelectorAll<HTMLElement>(".strip-mark"))
      mark.style.left = `${(100 * feature) / size}%`;
  };
  fill(chosen, featureSum(apart, choosing.feature));
  return built;
}

/** How one number of the context comes about. */
function featureSum(apart: Apart, feature: number): Child[] {
  const terms = heaviest(apart.weights).map((key) => [apart.weights[key]!, at(apart.values, key, feature)]);
  return [
    equation(
      sub("c", String(feature + 1)),
      mo("="),
      ...total(terms.slice(0, 4)),
      terms.length > 4 ? [mo("+"), mo("…")] : null,
      apart.extra ? [mo("+"), num(apart.extra[feature]!)] : null,
    ),
    equation(mo("="), num(apart.context[feature]!, 6)),
    terms.length > 4 ? h("p", { class: "dim small" }, "The heaviest keys first.") : null,
  ];
}

export function checkPanel(apart: Apart, maps: Maps | null): HTMLElement {
  const result = check(apart, maps),
    numbers = result.flatMap((one) => (one.difference === null ? [] : [one.difference]));
  const parts = result
    .map((one) =>
      one.difference === null
        ? `${one.name} not: this function is unknown here`
        : `${one.name} ${scientific(one.difference)}`,
    )
    .join(", ");
  return panel(
    "Check and code",
    h(
      "p",
      { class: "check-line", "data-largest": String(Math.max(...numbers)) },
      "Computed again here, from the query, keys and values above: largest difference ",
      h("b", null, scientific(Math.max(...numbers))),
      h("span", { class: "dim" }, ` (${parts}).`),
    ),
    h(
      "p",
      { class: "dim small" },
      "The model's numbers have 32 bits; this page computes with 64. The context is compared with what the layer " +
        "really gave, perhaps by a fused kernel.",
    ),
    h(
      "p",
      { class: "caution" },
      "These are the numbers of one head of one layer; the output is made of many, and of what follows. A weight " +
        "says how much of a value is taken, not how much it matters.",
    ),
    code(apart.code.find, "Python: the same numbers"),
    code(apart.code.again, "Python: computed again from them"),
  );
}

/** 3.1e−8, or 0. */
export function scientific(value: number): string {
  return value === 0 ? "0" : value.toExponential(1).replaceAll("-", "−");
}

function heaviest(weights: ArrayLike<number>): number[] {
  return Array.from(weights, (_, key) => key).sort((a, b) => weights[b]! - weights[a]!);
}

function readout(text: string): HTMLElement {
  return h("output", { class: "readout small", "aria-live": "off" }, text);
}

function scaleNote(most: number): HTMLElement {
  return h(
    "p",
    { class: "dim small" },
    `Colors: teal below zero, ember above, from −${number(most, 2)} to ${number(most, 2)}.`,
  );
}

/** Numbers that are made when the visitor unfolds them. */
function folded(title: string, make: () => HTMLElement): HTMLElement {
  const details = h("details", { class: "numbers" }, h("summary", null, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1)
      details.append(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, make()));
  });
  return details;
}

/** A row for each key; its word is a button that chooses it. The arrow keys move between them. */
function keyTable(
  caption: string,
  heads: string[],
  apart: Apart,
  choosing: Choosing,
  cells: (key: number) => Child[],
  { first, last }: { first?: HTMLElement; last?: Child[] } = {},
): HTMLElement {
  const count = apart.keyLabels.length;
  const listed =
    count <= MOST_KEYS
      ? Array.from({ length: count }, (_, key) => key)
      : [...new Set([...heaviest(apart.weights).slice(0, MOST_KEYS), choosing.key])].sort((a, b) => a - b);
  const body = h("tbody");
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...body.querySelectorAll<HTMLButtonElement>("button.key")];
    const next = buttons[buttons.indexOf(event.target as HTMLButtonElement) + step];
    if (!next) return;
    next.focus();
    choosing.pickKey(Number(next.dataset.key));
  };
  const row = (key: number) =>
    h(
      "tr",
      { class: key === choosing.key ? "chosen" : apart.allowed(key) ? "" : "masked" },
      h(
        "th",
        { scope: "row", class: "text" },
        h(
          "button",
          {
            type: "button",
            class: "key",
            "data-key": key,
            "aria-pressed": String(key === choosing.key),
            tabindex: key === choosing.key ? 0 : -1,
            style: { "--weight": shade(apart.weights[key]!) },
            onclick: () => choosing.pickKey(key),
            onkeydown: move,
          },
          h("i", { class: "swatch", "aria-hidden": "true" }),
          visible(apart.keyLabels[key]!),
        ),
      ),
      ...cells(key),
    );
  body.append(...(first ? [first] : []), ...listed.map(row));
  const all =
    listed.length < count
      ? h(
          "button",
          {
            type: "button",
            class: "button small",
            onclick: () => {
              body.replaceChildren(...(first ? [first] : []), ...Array.from({ length: count }, (_, key) => row(key)));
              all?.remove();
            },
          },
          `Show all ${count} keys, not only the ${listed.length} heaviest`,
        )
      : null;
  return h(
    "div",
    null,
    h(
      "div",
      { class: "scroll keys", tabindex: 0, role: "region", "aria-label": caption },
      h(
        "table",
        null,
        h("caption", { class: "hidden-caption" }, caption),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            heads.map((head) =>
              head ? h("th", { scope: "col", class: LEFT.has(head) ? "text" : "" }, head) : h("td"),
            ),
          ),
        ),
        body,
        last ? h("tfoot", null, ...last) : null,
      ),
    ),
    all,
  );
}
