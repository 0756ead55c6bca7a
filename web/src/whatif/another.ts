// Another distribution, same prediction: a search for weights far from the model's own that change nothing.

import { divergence } from "../compare/maps.ts";
import { alertBox, panel, select } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import type { Host } from "../host.ts";
import { notRecorded } from "../recording.ts";
import { at, number, rowOf, slice, unpackExact, type Matrix, type Packed } from "../tensor.ts";
import type { Another } from "./answer.ts";
import { beforeAfter, likeliest } from "./outcome.ts";

const TITLE = "Another distribution, same prediction?";
const TOLERANCES = ["0.01", "0.05", "0.1"];

export interface Finding {
  host: Host;
  /** What to send beside the tolerance. */
  body: object;
  tokens: string[];
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
  if (finding.tokens.filter((_, position) => !finding.masked(position)).length < 2) {
    return panel(TITLE, h("p", { class: "verdict" }, "No alternative exists: at this step one position alone is open, and it has all the weight."));
  }
  const alert = alertBox(), result = h("div", { class: "another-result", "aria-live": "polite" });
  let tolerance = TOLERANCES.includes(finding.tolerance) ? finding.tolerance : TOLERANCES[0]!;
  const known = (one: string) => finding.host.knows("whatif/another", { ...finding.body, tolerance: Number(one) });
  tolerance = known(tolerance) ? tolerance : TOLERANCES.find(known) ?? tolerance;
  const button = h("button", { type: "button", class: "primary", disabled: !known(tolerance), onclick: async () => {
    alert.show("");
    button.disabled = true;
    fill(result, h("p", { class: "dim" }, "Searching, a few seconds…"), h("progress", { "aria-label": "Searching" }));
    try {
      const outcome = await finding.host.ask<Another>("whatif/another", { ...finding.body, tolerance: Number(tolerance) });
      fill(result, text(outcome, finding));
    } catch (error) {
      fill(result);
      alert.show((error as Error).message);
    }
    button.disabled = false;
  } }, "Search for other weights");
  return panel(TITLE,
    h("p", { class: "dim small meaning" }, "Jain and Wallace (2019) ask: could the model have attended elsewhere and given the same output? The search moves the weights of this step as far away as it can (Jensen-Shannon divergence) while the prediction moves by at most ε (total variation distance)."),
    h("div", { class: "row" }, select("Prediction may move by ε", TOLERANCES.map((one) => ({ value: one, text: one, disabled: !known(one) })), tolerance, (chosen) => {
      tolerance = chosen;
      finding.chose(chosen);
    }), button), known(tolerance) ? null : h("p", { class: "dim small" }, notRecorded("whatif/another")), alert.element, result);
}

function text(result: Another, finding: Finding): HTMLElement[] {
  const own = rows(result.own), other = rows(result.other);
  const heads = own.rows, where = finding.layerName(result.layer);
  const first = mean(own), second = mean(other), most = reachable(own, finding.masked);
  return [
    h("p", { class: "verdict" }, verdict(result, most)),
    h("dl", { class: "facts across" },
      fact("Divergence of the weights", number(result.divergence), `of at most ${number(most)} from these weights`),
      fact("Change of the prediction", number(result.change), `ε is ${result.tolerance}`),
      fact("With uniform weights instead", number(result.uniform.change), `change, at a divergence of ${number(result.uniform.divergence)}`)),
    h("div", { class: "halves" },
      h("div", null, h("h3", null, `Weights: ${where ? `${where}, ` : ""}the model's own and the others`),
        heads > 1 ? h("p", { class: "dim small" }, `Each of the ${heads} heads was given weights of its own; shown is their average.`) : null,
        h("ol", { class: "bars twin", "aria-label": "Own and other weights" }, finding.tokens.map((token, position) => h("li", null,
          h("span", { class: "name" }, visible(token)),
          h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar before", style: { width: `${100 * first[position]!}%` } }), h("span", { class: "bar after", style: { width: `${100 * second[position]!}%` } })),
          h("span", { class: "number" }, h("span", null, number(first[position]!)), h("span", { class: "dim", "aria-label": "becomes" }, " → "), h("b", null, number(second[position]!))))))),
      h("div", null, h("h3", null, "What comes next, with each"), beforeAfter(result.candidates, "Probabilities with own and other weights"))),
    h("p", { class: "dim small" }, result.caveat),
    ...(finding.take && heads === 1 ? [h("p", null, h("button", { type: "button", class: "button", onclick: () => finding.take!(second) }, "Pin these weights above"))] : []),
  ];
}

/** The largest divergence that any weights can have from these, as a mean over heads: all on the open position that has least. */
export function reachable(own: Matrix, masked: (position: number) => boolean): number {
  const heads = Array.from({ length: own.rows }, (_, head) => rowOf(own, head)).filter((row) => row.some((weight) => weight > 0));
  const farthest = heads.map((row) => {
    const open = row.flatMap((_, position) => (masked(position) ? [] : [position]));
    const least = open.reduce((best, position) => (row[position]! < row[best]! ? position : best), open[0]!);
    return divergence(row, row.map((_, position) => (position === least ? 1 : 0)));
  });
  return farthest.reduce((sum, one) => sum + one, 0) / Math.max(1, farthest.length);
}

function verdict(result: Another, most: number): string {
  const same = likeliest(result.candidates, "before") === likeliest(result.candidates, "after");
  if (!result.within_tolerance) {
    return `None found: in ${result.steps} steps of search the prediction always moved by more than ε; the least was ${number(result.change)}. That does not show that there is none.`;
  }
  const share = most > 0 ? result.divergence / most : 0;
  const degree = share > 0.5 ? "Found, and far away" : share > 0.1 ? "Found, at some distance" : "Found only close by";
  const reading = share > 0.5 ? "weights quite unlike these give nearly the same prediction"
    : share > 0.1 ? "weights that differ somewhat give nearly the same prediction"
    : "that none was found farther away does not show that there is none";
  return `${degree}: ${Math.round(100 * share)} % of the largest divergence that these weights allow, and the prediction moves by ${number(result.change)}${same ? "" : ", enough to change the likeliest word"}; ${reading}.`;
}

function fact(name: string, value: string, note: string): HTMLElement {
  return h("div", null, h("dt", null, name), h("dd", null, h("b", null, value), h("span", { class: "dim" }, ` ${note}`)));
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
