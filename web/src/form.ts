// The one line at the top of a view: a text, what reads it, and examples.

import type { ModelInfo } from "./api.ts";
import { popover } from "./controls.ts";
import { h, unique, visible, type Child } from "./dom.ts";
import type { Host } from "./host.ts";

export interface AskLine {
  host: Host;
  /** What the text is: "Sentence", "Text". */
  label: string;
  placeholder?: string;
  value: string;
  /** What the button does: "Translate". */
  verb: string;
  examples: { text: string; about: string }[];
  /** Behind the examples: the model and its settings. */
  settings?: Child;
  /** The text is not empty. */
  submit: (text: string) => void;
  /** Nothing was typed. */
  empty: (message: string) => void;
}

/** Draw it; `text` is the field. */
export function askLine({ host, label, placeholder, value, verb, examples, settings, submit, empty }: AskLine): {
  element: HTMLFormElement;
  text: HTMLTextAreaElement;
} {
  const id = unique("text");
  const send = () => {
    if (text.value.trim()) return submit(text.value);
    empty(`Type a ${label.toLowerCase()} first.`);
    text.focus();
  };
  const text = h("textarea", {
    id,
    rows: 1,
    spellcheck: "false",
    dir: "auto",
    disabled: !host.live,
    placeholder,
    oninput: () => grow(text),
    onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    },
  });
  text.value = value;
  requestAnimationFrame(() => grow(text));
  const list =
    examples.length && host.live
      ? popover(
          "Examples",
          () =>
            h(
              "ul",
              { class: "menu" },
              examples.map((one) =>
                h(
                  "li",
                  null,
                  h(
                    "button",
                    {
                      type: "button",
                      onclick: () => {
                        list!.close();
                        text.value = one.text;
                        grow(text);
                        send();
                      },
                    },
                    h("span", null, one.text),
                    one.about ? h("span", { class: "dim small" }, one.about) : null,
                  ),
                ),
              ),
            ),
          { class: "button" },
        )
      : null;
  const element = h(
    "form",
    { class: "ask-line", onsubmit: (event: Event) => (event.preventDefault(), send()) },
    h("label", { for: id, class: "hidden-caption" }, label),
    text,
    h(
      "div",
      { class: "ask-buttons" },
      h("button", { type: "submit", class: "primary", disabled: !host.live }, verb),
      list?.element ?? null,
      settings,
    ),
  );
  return { element, text };
}

function grow(text: HTMLTextAreaElement): void {
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, 160)}px`;
}

/** The model in a word, and behind it what else can be chosen. */
export function settingsButton(label: string, content: () => Child): HTMLElement {
  return popover(label, () => h("div", { class: "settings" }, content()), {
    class: "button quiet",
    "aria-label": `Settings: ${label}`,
  }).element;
}

/** Models of the kinds that a view takes. */
export function modelsOf(host: Host, ...kinds: ModelInfo["kind"][]): ModelInfo[] {
  return host.overview.models.filter((model) => kinds.includes(model.kind));
}

/** A sentence about words that the model does not know; null where it knows all. */
export function unknownNote(words: string[], unknown: Iterable<number>, count = words.length): HTMLElement | null {
  const list = [...new Set([...unknown].map((index) => words[index]!))];
  if (!list.length) return null;
  const named = list
    .slice(0, 12)
    .map((word) => `“${visible(word)}”`)
    .join(", ");
  const every = [...unknown].length >= count;
  return h(
    "p",
    { class: "note unknown" },
    every
      ? "The model knows no word of this: whatever it outputs is a guess."
      : `The model does not know ${named}${list.length > 12 ? " and others" : ""}: it reads one and the same token ` +
          `instead.`,
  );
}

/** Words that were read otherwise than typed; null where none was. */
export function respelledNote(words: Record<string, string> | undefined): HTMLElement | null {
  const pairs = Object.entries(words ?? {});
  if (!pairs.length) return null;
  return h(
    "p",
    { class: "note respelled" },
    pairs.map(([typed, read]) => `“${visible(typed)}” read as “${visible(read)}”`).join(", "),
    ": the model does not know the word as typed.",
  );
}
