// Words that were typed without their accents or capitals, and how the model reads them.

import { h, visible } from "./dom.ts";

export type ReadAs = Record<string, string>;

/** Say which words were read otherwise than typed; null where none was. */
export function respelledNote(words: ReadAs | undefined): HTMLElement | null {
  const pairs = Object.entries(words ?? {});
  if (!pairs.length) return null;
  return h("p", { class: "note respelled" }, pairs.map(([typed, read]) => `“${visible(typed)}” read as “${visible(read)}”`).join(", "), ": the model does not know the word as typed.");
}
