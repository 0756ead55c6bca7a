// Labelled bars with their numbers, such as the probabilities of the next token.

import { h } from "../dom.ts";
import { number } from "../tensor.ts";
import { shade } from "./colors.ts";

export interface Bar {
  label: string;
  value: number;
  /** Stands out: the one that was taken. */
  chosen?: boolean;
  /** A tick on the bar, such as a uniform baseline. */
  mark?: number;
  title?: string;
}

/** Draw bars from 0 to `maximum`, a row each, as a list that can be read aloud; weights in the colors of `data`. */
export function bars(
  list: Bar[],
  {
    maximum = 1,
    label,
    digits = 4,
    data = false,
  }: { maximum?: number; label: string; digits?: number; data?: boolean },
): HTMLElement {
  const share = (value: number) => Math.min(Math.max(value / maximum, 0), 1),
    percent = (value: number) => `${(100 * share(value)).toFixed(2)}%`;
  return h(
    "ol",
    { class: "bars", "aria-label": label },
    list.map((bar) =>
      h(
        "li",
        { class: bar.chosen ? "chosen" : "", title: bar.title },
        h("span", { class: "name" }, bar.label),
        h(
          "span",
          { class: "track", "aria-hidden": "true" },
          h("span", {
            class: "bar",
            style: {
              width: percent(bar.value),
              ...(data ? { background: shade(0.3 + 0.6 * share(bar.value)) } : {}),
            },
          }),
          bar.mark === undefined ? null : h("span", { class: "tick", style: { left: percent(bar.mark) } }),
        ),
        h("span", { class: "number" }, number(bar.value, digits)),
      ),
    ),
  );
}
