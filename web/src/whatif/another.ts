// Another distribution, same prediction: a search for weights far from those of the step that change nothing.

import type { ChangeRequest, Packed, WeightsAnswer } from "../api.ts";
import { divergence } from "../compare/maps.ts";
import { alertBox, panel, select } from "../controls.ts";
import { fill, h } from "../dom.ts";
import { factList } from "../facts.ts";
import type { Host } from "../host.ts";
import { notRecorded } from "../recording.ts";
import { at, number, rowOf, slice, unpackExact, type Matrix } from "../tensor.ts";
import { term } from "../terms.ts";
import { beforeAfter, likeliest, twinBars } from "./outcome.ts";

const TOLERANCES = ["0.01", "0.05", "0.1"];

export interface Finding {
  host: Host;
  /** The step as it is changed now. */
  body: () => ChangeRequest;
  tokens: () => string[];
  /** Whether this step cannot attend to a position. */
  masked: (position: number) => boolean;
  /** How the layer that is searched in is called; empty where there is one. */
  layerName: (layer: number) => string;
  tolerance: string;
  chose: (tolerance: string) => void;
  /** Pin these weights; null where heads have weights of their own. */
  take: ((weights: number[]) => void) | null;
}

/** Draw the panel. Nothing is searched before the visitor asks for it. */
export function anotherPanel(finding: Finding): HTMLElement {
  const alert = alertBox(),
    result = h("div", { class: "another-result", "aria-live": "polite" });
  const known = (one: string) => finding.host.knows("whatif/another", { ...finding.body(), tolerance: Number(one) });
  let tolerance =
    [finding.tolerance, ...TOLERANCES].find((one) => TOLERANCES.includes(one) && known(one)) ?? TOLERANCES[0]!;
  const button = h(
    "button",
    {
      type: "button",
      class: "primary",
      disabled: !known(tolerance),
      onclick: async () => {
        alert.show("");
        if (finding.tokens().filter((_, position) => !finding.masked(position)).length < 2) {
          return fill(
            result,
            h(
              "p",
              { class: "verdict" },
              "No alternative exists: at this step one position alone is open, and it has all the weight.",
            ),
          );
        }
        button.disabled = true;
        fill(
          result,
          h("p", { class: "dim" }, "Searching, a few seconds…"),
          h("progress", { "aria-label": "Searching" }),
        );
        try {
          fill(
            result,
            report(
              await finding.host.ask("whatif/another", { ...finding.body(), tolerance: Number(tolerance) }),
              finding,
            ),
          );
        } catch (error) {
          fill(result);
          alert.show((error as Error).message);
        }
        button.disabled = false;
      },
    },
    "Search for other weights",
  );
  return panel(
    "Another distribution, same prediction?",
    h(
      "p",
      { class: "dim small meaning" },
      "Jain and Wallace (2019) ask: could the model have attended elsewhere and given the same output? The " +
        "search moves the weights of this step, with all changes made above, as far away as it can ",
      term("divergence"),
      " while the prediction moves by at most ε (total variation).",
    ),
    h(
      "div",
      { class: "row" },
      select(
        "Prediction may move by ε",
        TOLERANCES.map((one) => ({ value: one, text: one, disabled: !known(one) })),
        tolerance,
        (chosen) => {
          tolerance = chosen;
          finding.chose(chosen);
        },
      ),
      button,
    ),
    known(tolerance) ? null : h("p", { class: "dim small" }, notRecorded("whatif/another")),
    alert.element,
    result,
  );
}

function report(result: WeightsAnswer, finding: Finding): HTMLElement[] {
  const own = rows(result.own),
    other = rows(result.other),
    heads = own.rows,
    where = finding.layerName(result.layer);
  const first = mean(own),
    second = mean(other),
    most = reachable(own, finding.masked);
  return [
    h("p", { class: "verdict" }, verdict(result, most)),
    factList(
      [
        {
          name: "Divergence of the weights",
          value: number(result.divergence),
          note: `of at most ${number(most)} from these weights`,
          term: "divergence",
        },
        { name: "Change of the prediction", value: number(result.change), note: `ε is ${result.tolerance}` },
        {
          name: "With uniform weights instead",
          value: number(result.uniform.change),
          note: `change, at a divergence of ${number(result.uniform.divergence)}`,
        },
      ],
      { across: true },
    ),
    h(
      "div",
      { class: "halves" },
      h(
        "div",
        null,
        h("h3", null, `Weights: ${where ? `${where}, ` : ""}those of the step and the others`),
        heads > 1
          ? h(
              "p",
              { class: "dim small" },
              `Each of the ${heads} heads was given weights of its own; shown is their average.`,
            )
          : null,
        twinBars(
          finding
            .tokens()
            .map((token, position) => ({ name: token, before: first[position]!, after: second[position]! })),
          "Own and other weights",
        ),
      ),
      h(
        "div",
        null,
        h("h3", null, "What comes next, with each"),
        beforeAfter(result.candidates, "Probabilities with own and other weights"),
      ),
    ),
    h("p", { class: "dim small" }, result.caveat),
    ...(finding.take && heads === 1
      ? [
          h(
            "p",
            null,
            h(
              "button",
              { type: "button", class: "button", onclick: () => finding.take!(second) },
              "Pin these weights above",
            ),
          ),
        ]
      : []),
  ];
}

/**
 * The largest divergence that any weights can have from these, as a mean over heads: all on the open position that
 * has least.
 */
export function reachable(own: Matrix, masked: (position: number) => boolean): number {
  const heads = Array.from({ length: own.rows }, (_, head) => rowOf(own, head)).filter((row) =>
    row.some((weight) => weight > 0),
  );
  const farthest = heads.map((row) => {
    const open = row.flatMap((_, position) => (masked(position) ? [] : [position]));
    const least = open.reduce((best, position) => (row[position]! < row[best]! ? position : best), open[0]!);
    return divergence(
      row,
      row.map((_, position) => (position === least ? 1 : 0)),
    );
  });
  return farthest.reduce((sum, one) => sum + one, 0) / Math.max(1, farthest.length);
}

function verdict(result: WeightsAnswer, most: number): string {
  const same = likeliest(result.candidates, "before") === likeliest(result.candidates, "after");
  if (!result.within_tolerance) {
    return (
      `None found: in ${result.steps} steps of search the prediction always moved by more than ε; the least was ` +
      `${number(result.change)}. That does not show that there is none.`
    );
  }
  const share = most > 0 ? result.divergence / most : 0,
    percent = Math.round(100 * share);
  const moved = `the prediction moves by ${number(result.change)}${same ? "" : ", enough to change the likeliest word"}`;
  if (share > 0.5)
    return `Very different weights give nearly the same prediction (${percent} % of the possible divergence): ${moved}.`;
  if (share > 0.1)
    return (
      `Somewhat different weights give nearly the same prediction (${percent} % of the possible divergence): ` +
      `${moved}.`
    );
  return (
    `Only nearby weights were found (${percent} % of the possible divergence): ${moved}. That does not show that ` +
    `there are no others.`
  );
}

function rows(packed: Packed): Matrix {
  return slice(unpackExact(packed));
}

function mean(heads: Matrix): number[] {
  return Array.from({ length: heads.columns }, (_, position) => {
    let sum = 0;
    for (let head = 0; head < heads.rows; head++) sum += at(heads, head, position);
    return sum / heads.rows;
  });
}
