// What a model does with words that stand for others: which words "it" and "their" attend to, as it was just measured.

import type { PassageAnswer, Pronoun } from "./api.ts";
import { panel } from "./controls.ts";
import { h, visible, type Child } from "./dom.ts";
import type { Host } from "./host.ts";
import { number } from "./tensor.ts";

const PRONOUN = /\b(it|its|they|them|their|he|him|his|she|her)\b/i;

export function hasPronoun(text: string): boolean {
  return PRONOUN.test(text);
}

/** Ask for it where the text has such a word; null where there is nothing to tell. */
export async function askPassage(host: Host, body: { model: string; text: string }): Promise<HTMLElement | null> {
  if (!PRONOUN.test(body.text) || !host.knows("passage/attention", body)) return null;
  const answer = await host.ask("passage/attention", body).catch(() => null);
  return answer && (answer.attention.length || answer.why !== "no pronoun") ? passagePanel(answer) : null;
}

function passagePanel({ attention: item, heads, why, unknown }: PassageAnswer): HTMLElement {
  const made = panel(
    "What it does with “it” and “their”",
    why
      ? h("p", null, why)
      : h(
          "p",
          { class: "dim small" },
          `Measured now: the mean over all ${heads} heads in which words attend to words.`,
        ),
    item.length
      ? h(
          "ul",
          { class: "pronouns" },
          item.map((one) => h("li", null, ...sentence(one))),
        )
      : null,
    unknown.length
      ? h(
          "p",
          { class: "note" },
          `Words this model does not know, and so cannot attend to: ${unknown.map(visible).join(", ")}.`,
        )
      : null,
    h(
      "p",
      { class: "caution" },
      "Attending to a word is not yet understanding it: compare with the share that uniform weights would give.",
    ),
  );
  made.classList.add("passage");
  return made;
}

function sentence({ word, number: counted, visible: picture, uniform, top, heads, readings }: Pronoun): Child[] {
  const output: Child[] = [
    h("b", null, `“${visible(word)}”`),
    h("span", { class: "dim" }, ` (word ${counted}) `),
    "attends most to ",
    ...top.flatMap((one, index): Child[] => [
      index ? ", " : "",
      h("b", null, `“${visible(one.word)}”`),
      ` ${number(one.weight)}`,
    ]),
    h("span", { class: "dim" }, `; all words alike would have ${number(uniform)}. `),
  ];
  const read = readings.flatMap((one, index): Child[] => [
    index ? " Or for " : "A reader may take it for ",
    h("b", null, `“${visible(one.word)}”`),
    `: the model gives that ${number(one.weight)}, rank ${one.rank} of ${picture}`,
    heads.length > 1
      ? h(
          "span",
          { class: "dim" },
          ` (most: ${one.head}, ${number(one.head_weight)}; of ${heads.length} heads one will by chance).`,
        )
      : ".",
  ]);
  const each =
    heads.length > 1
      ? h(
          "details",
          null,
          h("summary", null, `Each of the ${heads.length} heads`),
          h(
            "ul",
            null,
            heads.map((one) =>
              h(
                "li",
                null,
                h("span", { class: "dim" }, `${one.head}: `),
                h("b", null, `“${visible(one.word)}”`),
                ` ${number(one.weight)}`,
              ),
            ),
          ),
        )
      : null;
  return [...output, ...read, each];
}
