// A text with its words on a ground as strong as their share. Words can be pointed at, and the arrow keys move among
// them.

import { h, visible } from "../dom.ts";
import { readable, scaleStrip, shade, signedShade } from "../draw/colors.ts";
import { number } from "../tensor.ts";

/** Equal shares at which a word is drawn in full, as `tasks/classify_page.py` has it; all of a shorter text is full. */
const FULL = 8;

/** How dark a word is, from 0 to 1: it depends on the share and the number of words alone. */
export function darkness(share: number, words: number): number {
  return Math.min(1, (Math.abs(share) * words) / Math.max(1, Math.min(FULL, words)));
}

export interface Shaded {
  words: string[];
  shares: number[];
  label: string;
  chosen: number;
  /** Shares have a sign: for the label, or against it. */
  signed?: boolean;
  onpick: (word: number) => void;
}

/** Draw the words; pointing and focus choose one. */
export function shadedText({ words, shares, label, chosen, signed, onpick }: Shaded): HTMLElement {
  const move = (event: KeyboardEvent, word: number) => {
    const next = { ArrowRight: word + 1, ArrowLeft: word - 1, Home: 0, End: words.length - 1 }[event.key];
    if (next === undefined || next < 0 || next >= words.length) return;
    event.preventDefault();
    (element.children[next] as HTMLElement).focus();
  };
  const element = h(
    "p",
    { class: "shaded", role: "group", "aria-label": `${label}; arrow keys move among the words` },
    words.map((word, index) => {
      const share = shares[index]!,
        dark = darkness(share, words.length),
        color = signed ? signedShade(Math.sign(share) * dark) : shade(dark),
        readout = `${visible(word)}: ${number(share)}`;
      return h(
        "button",
        {
          type: "button",
          class: "shaded-word",
          "data-word": index,
          "aria-label": readout,
          title: readout,
          "aria-pressed": String(index === chosen),
          tabindex: index === Math.max(chosen, 0) ? 0 : -1,
          style: { "background-color": color, color: readable(color) },
          onpointerenter: () => onpick(index),
          onfocus: () => onpick(index),
          onkeydown: (event: KeyboardEvent) => move(event, index),
        },
        visible(word),
      );
    }),
  );
  return element;
}

/** Mark another word in place, so that pointing does not draw all anew. */
export function markWord(element: HTMLElement, chosen: number): void {
  for (const text of element.querySelectorAll(".shaded")) {
    [...text.children].forEach((word, index) => {
      word.setAttribute("aria-pressed", String(index === chosen));
      (word as HTMLElement).tabIndex = index === chosen ? 0 : -1;
    });
  }
}

/** What the colors of shares mean. */
export function scale(words: number): HTMLElement {
  const times = Math.max(1, Math.min(FULL, words)),
    most = number(times / Math.max(words, 1), 3);
  return h(
    "p",
    { class: "legend" },
    h("span", { class: "scale" }, "0", scaleStrip(), most),
    h("span", { class: "scale" }, "against", scaleStrip(true), "for"),
    h(
      "span",
      null,
      `shares sum to 1 over ${words} words; ${times === words ? "all of it" : `${times} equal shares`} is drawn ` +
        `in full, for every model`,
    ),
  );
}
