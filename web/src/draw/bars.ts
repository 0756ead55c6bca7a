// Labelled bars with their numbers, such as the probabilities of the next token.

import { h } from "../dom.ts";
import { number } from "../tensor.ts";

export interface Bar {
  label: string;
  value: number;
  /** Stands out: the one that was taken. */
  chosen?: boolean;
  /** A tick on the bar, such as a uniform baseline. */
  mark?: number;
  title?: string;
}

/** Draw bars from 0 to `maximum`, a row each, as a list that can be read aloud. */
export function bars(list: Bar[], { maximum = 1, label, digits = 4 }: { maximum?: number; label: string; digits?: number }): HTMLElement {
  return h("ol", { class: "bars", "aria-label": label }, list.map((bar) => h("li", { class: bar.chosen ? "chosen" : "", title: bar.title },
    h("span", { class: "name" }, bar.label),
    h("span", { class: "track", "aria-hidden": "true" },
      h("span", { class: "bar", style: { width: `${(100 * Math.min(Math.max(bar.value / maximum, 0), 1)).toFixed(2)}%` } }),
      bar.mark === undefined ? null : h("span", { class: "tick", style: { left: `${(100 * Math.min(bar.mark / maximum, 1)).toFixed(2)}%` } })),
    h("span", { class: "number" }, number(bar.value, digits)))));
}
