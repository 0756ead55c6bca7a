// What came of it: the next word's probabilities before and after, and the output from there on.

import type { BeforeAfter, Decoded } from "../api.ts";
import { h, visible, type Child } from "../dom.ts";
import { number } from "../tensor.ts";

const MOST = 7;

/** Two bars for each candidate, and both numbers. */
export function beforeAfter(candidates: BeforeAfter[], label: string): HTMLElement {
  const shown = [...candidates]
    .sort((a, b) => Math.max(b.before, b.after) - Math.max(a.before, a.after))
    .slice(0, MOST);
  const first = likeliest(candidates, "after");
  return h(
    "div",
    null,
    twinBars(
      shown.map((one) => ({ name: one.token, before: one.before, after: one.after, chosen: one === first })),
      label,
    ),
    h(
      "p",
      { class: "dim small keys" },
      h("i", { class: "bar-key before", "aria-hidden": "true" }),
      " before",
      h("i", { class: "bar-key after", "aria-hidden": "true" }),
      " after",
    ),
  );
}

export interface Twin {
  name: string;
  before: number;
  after: number;
  chosen?: boolean;
}

/** Bars in pairs. */
export function twinBars(list: Twin[], label: string): HTMLElement {
  const width = (value: number) => ({ width: `${(100 * Math.min(value, 1)).toFixed(2)}%` });
  return h(
    "ol",
    { class: "bars twin", "aria-label": label },
    list.map((one) =>
      h(
        "li",
        { class: one.chosen ? "chosen" : "" },
        h("span", { class: "name" }, visible(one.name)),
        h(
          "span",
          { class: "track", "aria-hidden": "true" },
          h("span", { class: "bar before", style: width(one.before) }),
          h("span", { class: "bar after", style: width(one.after) }),
        ),
        h(
          "span",
          { class: "number" },
          h("span", null, number(one.before)),
          h("span", { class: "dim", "aria-label": "becomes" }, " → "),
          h("b", null, number(one.after)),
        ),
      ),
    ),
  );
}

export function likeliest(candidates: BeforeAfter[], when: "before" | "after"): BeforeAfter {
  return candidates.reduce((best, one) => (one[when] > best[when] ? one : best));
}

/** Both outputs, with what only one of them has marked. */
export function outputs(before: Decoded, after: Decoded): HTMLElement {
  const first = words(before.text),
    second = words(after.text),
    [kept, same] = common(first, second);
  const line = (all: string[], stays: Set<number>, tag: "del" | "ins"): Child[] =>
    all.length
      ? all.flatMap((word, position) => [
          position ? " " : "",
          stays.has(position) ? visible(word) : h(tag, null, visible(word)),
        ])
      : [h("span", { class: "dim" }, "(nothing)")];
  return h(
    "dl",
    { class: "outputs" },
    h("dt", null, "Before"),
    h("dd", { lang: "und" }, line(first, kept, "del")),
    h("dt", null, "After"),
    h(
      "dd",
      { lang: "und", class: "after" },
      line(second, same, "ins"),
      before.text === after.text ? h("span", { class: "dim small" }, " · the same words") : null,
    ),
  );
}

function words(text: string): string[] {
  return text.split(" ").filter(Boolean);
}

/** The positions of a longest common subsequence, in both. */
export function common(first: string[], second: string[]): [Set<number>, Set<number>] {
  const width = second.length + 1,
    lengths = new Uint16Array((first.length + 1) * width);
  for (let i = first.length - 1; i >= 0; i--) {
    for (let j = second.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        first[i] === second[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const kept = new Set<number>(),
    same = new Set<number>();
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    if (first[i] === second[j]) {
      kept.add(i++);
      same.add(j++);
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  }
  return [kept, same];
}
