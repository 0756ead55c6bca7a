// The soft dictionary: looking up what need not be there, from soft to hard.

import type { LookupAnswer, LookupRequest } from "../api.ts";
import { alertBox, panel, slider } from "../controls.ts";
import { bars } from "../draw/bars.ts";
import { code } from "../draw/code.ts";
import { fill, h, unique, visible } from "../dom.ts";
import type { Host, Question } from "../host.ts";
import type { State } from "../state.ts";
import { number } from "../tensor.ts";
import { changed, type Readable } from "./question.ts";

const MOST = 8;
const FIRST = "Anna=lecturer;Bruno=student;Clara=assistant;David=student";
const EXAMPLES = [
  { title: "Names and roles", query: "Klara", entries: FIRST, soft: "-1" },
  { title: "Names and ages", query: "Klara", entries: "Anna=52;Bruno=21;Clara=27;David=24", soft: "-1" },
  { title: "Hours and degrees", query: "13.5", entries: "6=11;9=14;12=19;15=22;18=18", soft: "0" },
];

/** Powers of ten of the temperature, from hard to soft. */
const SOFT = { min: -2, max: 1, step: 0.05 };

function entriesOf(state: Readable): [string, string][] {
  return state
    .get("entries", FIRST)
    .split(";")
    .slice(0, MOST)
    .map((one) => {
      const [key = "", ...value] = one.split("=");
      return [decode(key), decode(value.join("="))];
    });
}

function question(state: Readable): Question & { body: LookupRequest } {
  const entries = entriesOf(state),
    temperature = Math.min(Math.max(10 ** state.number("soft", -1), 0.001), 1000);
  return {
    verb: "mechanisms/lookup",
    body: {
      query: state.get("query", "Klara"),
      keys: entries.map(([key]) => key),
      values: entries.map(([, value]) => value),
      temperature,
    },
  };
}

/** For a file: this look-up from hard to soft, and the examples. */
export function likelyLookups(state: Readable): Question[] {
  const count = Math.round((SOFT.max - SOFT.min) / SOFT.step);
  const degrees = Array.from({ length: count + 1 }, (_, index) => ({
    soft: String(Number((SOFT.min + SOFT.step * index).toFixed(2))),
  }));
  const examples = EXAMPLES.map(({ query, entries, soft }) => ({ query, entries, soft }));
  return [{}, ...examples, ...degrees].map((values) => question(changed(state, values)));
}

export class SoftDictionary {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private form = h("div", { class: "dictionary" });
  private results = h("div", { class: "stack" });
  private status = h("p", { role: "status", class: "hidden-caption" });
  private requests = 0;

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.element.append(
      panel(
        "A dictionary",
        h(
          "p",
          { class: "dim small meaning" },
          "A dictionary gives the value of the key that equals the query, or nothing. Attention compares the " +
            "query with every key and gives a mixture. Words are compared by their letters (cosine), numbers by " +
            "nearness (Gaussian).",
        ),
        host.live
          ? null
          : h(
              "p",
              { class: "note" },
              "A recording: this lookup, from hard to soft, and the examples. For other entries, run `regard studio`.",
            ),
        h(
          "div",
          { class: "chips", role: "group", "aria-label": "Examples" },
          EXAMPLES.map((one) =>
            h(
              "button",
              {
                type: "button",
                class: "chip",
                disabled: !this.knows({ query: one.query, entries: one.entries, soft: one.soft }),
                onclick: () => {
                  this.state.set({ query: one.query, entries: one.entries, soft: one.soft });
                  this.draw();
                  void this.ask();
                },
              },
              one.title,
            ),
          ),
        ),
        this.form,
      ),
      this.alert.element,
      this.status,
      this.results,
    );
    this.draw();
    void this.ask();
  }

  end(): void {
    this.requests = -1;
  }

  private get entries(): [string, string][] {
    return entriesOf(this.state);
  }

  private knows(values: Record<string, string>): boolean {
    return this.host.knows("mechanisms/lookup", question(changed(this.state, values)).body);
  }

  private set(entries: [string, string][]): void {
    this.state.set({ entries: entries.map(([key, value]) => `${encode(key)}=${encode(value)}`).join(";") });
    void this.ask();
  }

  private draw(): void {
    const id = unique("query"),
      entries = this.entries;
    const query = h("input", {
      id,
      type: "text",
      value: this.state.get("query", "Klara"),
      spellcheck: "false",
      maxlength: 60,
      oninput: () => {
        this.state.set({ query: query.value });
        void this.ask();
      },
    });
    const cell = (row: number, side: 0 | 1) => {
      const input = h("input", {
        type: "text",
        value: entries[row]![side],
        spellcheck: "false",
        maxlength: 60,
        "aria-label": `${side ? "Value" : "Key"} ${row + 1}`,
        oninput: () => {
          const now = this.entries;
          now[row]![side] = input.value;
          this.set(now);
        },
      });
      return h("td", null, input);
    };
    const soft = this.state.number("soft", -1);
    fill(
      this.form,
      h("div", { class: "field" }, h("label", { for: id }, "Look up"), query),
      slider(
        "From hard to soft: temperature",
        { ...SOFT, value: soft, show: (value) => number(10 ** value, 3) },
        (value) => {
          this.state.set({ soft: String(Number(value.toFixed(2))) });
          void this.ask();
        },
      ),
      h(
        "div",
        { class: "table-scroll" },
        h(
          "table",
          { class: "inputs words" },
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("th", { scope: "col", class: "text" }, "Key"),
              h("th", { scope: "col", class: "text" }, "Value"),
              h("td"),
            ),
          ),
          h(
            "tbody",
            null,
            entries.map((_, row) =>
              h(
                "tr",
                null,
                cell(row, 0),
                cell(row, 1),
                h(
                  "td",
                  null,
                  h(
                    "button",
                    {
                      type: "button",
                      class: "button small",
                      disabled: entries.length < 2,
                      "aria-label": `Remove entry ${row + 1}`,
                      onclick: () => {
                        this.set(this.entries.filter((_, index) => index !== row));
                        this.draw();
                        this.form.querySelector<HTMLElement>("table button")?.focus();
                      },
                    },
                    "×",
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
      h(
        "button",
        {
          type: "button",
          class: "button small",
          disabled: entries.length >= MOST,
          onclick: () => {
            this.set([
              ...this.entries,
              [
                "Elena",
                entries.every(([, value]) => value !== "" && Number.isFinite(Number(value))) ? "30" : "guest",
              ],
            ]);
            this.draw();
            [...this.form.querySelectorAll<HTMLElement>("tbody input")].at(-2)?.focus();
          },
        },
        "Add an entry",
      ),
    );
    if (!this.host.live)
      for (const control of this.form.querySelectorAll<HTMLInputElement>("button, input[type=text]"))
        control.disabled = true;
  }

  private async ask(): Promise<void> {
    const number = ++this.requests,
      entries = this.entries,
      query = this.state.get("query", "Klara"),
      { body } = question(this.state);
    try {
      const answer = await this.host.ask("mechanisms/lookup", body);
      if (number !== this.requests) return;
      this.alert.show("");
      this.show(answer, entries, query);
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  }

  private show(answer: LookupAnswer, entries: [string, string][], query: string): void {
    const text = (value: string | number) => (typeof value === "number" ? number(value) : visible(value));
    this.status.textContent = `“${visible(query)}” gives ${text(answer.value)}`;
    const best = answer.weights.indexOf(Math.max(...answer.weights));
    fill(
      this.results,
      panel(
        "What it gives",
        h(
          "dl",
          { class: "facts lookup" },
          h("dt", null, "Exactly, as a dictionary"),
          h("dd", null, answer.exact === null ? `nothing: no key equals “${visible(query)}”` : text(answer.exact)),
          h("dt", null, "Approximately, as attention"),
          h(
            "dd",
            null,
            h("b", { class: "soft-value" }, text(answer.value)),
            h(
              "span",
              { class: "dim" },
              answer.mixes
                ? " the values, mixed by the weights"
                : " the value of the heaviest key: words cannot be mixed",
            ),
          ),
        ),
        h(
          "h3",
          null,
          `Weights of the keys (${answer.by === "Cosine" ? "cosine of letters" : "Gaussian of the distance"})`,
        ),
        bars(
          entries.map(([key, value], index) => ({
            label: `${visible(key)} → ${visible(value)}`,
            value: answer.weights[index]!,
            mark: 1 / entries.length,
            chosen: index === best,
          })),
          { label: "Weights of the keys" },
        ),
        h(
          "p",
          { class: "dim small" },
          h("i", { class: "tick-key", "aria-hidden": "true" }),
          " uniform. A small temperature gives all to the best key; a large one shares alike.",
        ),
      ),
      panel("Python", code(answer.code, "Runs as it stands")),
    );
  }
}

function encode(text: string): string {
  return text.replace(/[%;=]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}

function decode(text: string): string {
  return text.replace(/%(25|3b|3d)/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}
