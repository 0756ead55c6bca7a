// Compare: two models or two heads on one sentence, all heads at a glance, quality by length.

import type { ModelInfo, PairAnswer, PairRequest } from "../api.ts";
import { readMaps } from "../attention.ts";
import { headPanels } from "../compare/heads.ts";
import { lengthsPanel } from "../compare/lengths.ts";
import { mapPanels, type Both } from "../compare/maps.ts";
import { alertBox, keepingFocus, segmented, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { askLine, modelsOf, respelledNote, settingsButton, unknownNote } from "../form.ts";
import type { Host, Question } from "../host.ts";
import type { State } from "../state.ts";
import { number } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";

const PARTS = [
  { value: "maps", text: "Two maps" },
  { value: "heads", text: "Heads" },
  { value: "lengths", text: "Quality by length" },
];

export const view: View = {
  id: "compare",
  title: "Compare",
  kinds: ["translator"],
  render(element, host, state) {
    const page = new Compare(host, state);
    element.append(page.element);
    page.begin();
    return page;
  },
};

class Compare {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private results = h("div", { class: "stack" });
  private top = h("div", { class: "stack" });
  private requests = 0;
  private stop: (() => void) | null = null;
  private result: PairAnswer | null = null;
  private maps: Both = [[], []];
  private models: ModelInfo[];

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.models = modelsOf(host, "translator");
    this.element.append(this.top, this.alert.element, this.results);
  }

  private get part(): string {
    return PARTS.find((one) => one.value === this.state.get("part"))?.value ?? "maps";
  }

  begin(): void {
    const { part } = this;
    this.stop?.();
    this.stop = null;
    this.requests++;
    this.alert.show("");
    fill(this.results);
    const tabs = segmented(
      "Show",
      PARTS,
      part,
      (chosen) => {
        this.state.set({ part: chosen === "maps" ? null : chosen });
        this.begin();
        this.top.querySelector<HTMLInputElement>(`input[type=radio][value="${chosen}"]`)?.focus();
      },
      { quiet: true },
    );
    fill(
      this.top,
      part === "lengths" ? null : this.line(),
      h("div", { class: "row" }, tabs, part === "lengths" ? this.pickers() : null),
      this.host.live
        ? null
        : h(
            "p",
            { class: "note" },
            "A recording: what is in this file can be compared. For other models and sentences, run `regard studio`.",
          ),
    );
    if (part === "lengths") this.stop = lengthsPanel(this.results, this.host, this.state, [...new Set(this.names)]);
    else if (this.result) this.draw();
    else if (this.text) void this.read(this.text);
  }

  end(): void {
    this.requests = -1;
    this.stop?.();
  }

  recolor(): void {
    if (this.result && this.part !== "lengths") this.draw();
  }

  /** For a file. */
  wanted(): Wanted {
    const lengths: Question = { verb: "compare/lengths", body: { models: [...new Set(this.names)] } };
    return {
      shown: [...(this.text ? [{ verb: "compare/attention" as const, body: this.body(this.forced) }] : []), lengths],
    };
  }

  /** `forced`: whose translation both are forced to output, unless one was typed. */
  private body(forced: "first" | "second", text = this.text): PairRequest {
    const [model, other] = this.names,
      target = this.state.get("target");
    return { model, other, text, forced: target ? "target" : forced, target };
  }

  private get forced(): "first" | "second" {
    return this.state.get("forced") === "second" ? "second" : "first";
  }

  private get names(): [string, string] {
    const first = this.models.find((one) => one.name === this.state.get("model")) ?? this.models[0]!;
    const second =
      this.models.find((one) => one.name === this.state.get("other")) ??
      this.models.find((one) => one !== first) ??
      first;
    return [first.name, second.name];
  }

  private get text(): string {
    return this.state.get("text") || this.models.find((one) => one.name === this.names[0])?.examples[0]?.text || "";
  }

  private pickers(): HTMLElement {
    if (this.models.length < 2) {
      return h(
        "p",
        { class: "dim small" },
        `${this.models[0]!.name} is the only translator that is open: its own layers and heads can be compared. ` +
          `For two models: regard studio A B`,
      );
    }
    if (!this.host.live) return h("p", { class: "dim small" }, `${this.names[0]} and ${this.names[1]}`);
    const put = (name: string) => (value: string) => {
      this.state.set({
        [name]: value,
        layer: null,
        head: null,
        layer2: null,
        head2: null,
        measure: null,
        measure2: null,
      });
      this.result = null;
      this.begin();
    };
    const choices = this.models.map((one) => ({ value: one.name, text: one.name }));
    return h(
      "div",
      { class: "row" },
      select("First", choices, this.names[0], put("model")),
      select("Second", choices, this.names[1], put("other")),
    );
  }

  private line(): HTMLElement {
    const id = unique("forced"),
      { state, host } = this,
      [first, second] = this.names;
    return askLine({
      host,
      label: "Sentence",
      value: this.text,
      verb: "Compare",
      examples: this.models.find((one) => one.name === first)!.examples,
      submit: (text) => {
        state.set({ text }, { push: true });
        void this.read(text);
      },
      empty: (message) => this.alert.show(message),
      settings: settingsButton(first === second ? first : `${first} and ${second}`, () => {
        const target = h("input", {
          id,
          type: "text",
          spellcheck: "false",
          disabled: !host.live,
          placeholder: "What the first outputs",
          value: state.get("target"),
          onchange: () => {
            state.set({ target: target.value.trim() || null });
            void this.read(this.text);
          },
        });
        return [
          this.pickers(),
          h("div", { class: "field" }, h("label", { for: id }, "Force both to output (may be left empty)"), target),
        ];
      }),
    }).element;
  }

  private async read(text: string): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    try {
      const answer = await this.host.ask("compare/attention", this.body(this.forced, text));
      const maps = (await Promise.all(answer.attention.map(readMaps))) as Both;
      if (number !== this.requests) return;
      [this.result, this.maps] = [answer, maps];
      this.draw();
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      this.result = null;
      fill(this.results);
    } finally {
      if (number === this.requests) this.results.removeAttribute("aria-busy");
    }
  }

  private draw(): void {
    const { models } = this.result!,
      heads = this.part === "heads";
    const change = () => {
      if (heads === (this.part === "heads")) return this.draw();
      this.state.set({ part: this.part === "maps" ? null : this.part });
      this.begin();
    };
    keepingFocus(this.results, () => {
      if (heads) return fill(this.results, headPanels(this.maps, models, this.state, change));
      const { controls, panels } = mapPanels(this.maps, models, this.state, change);
      const [maps, ...rest] = panels;
      fill(this.results, this.forcing(controls), maps, this.outputs(), rest);
    });
  }

  /** What both are forced to output while the maps are made, and the controls of both. */
  private forcing(controls: HTMLElement | null): HTMLElement {
    const { models, target } = this.result!,
      two = models[0] !== models[1],
      forced = this.state.get("target") ? "target" : this.forced;
    const choices = (["first", "second"] as const).map((value, side) => ({
      value,
      text: `output of ${models[side]}`,
      disabled: !this.host.knows("compare/attention", this.body(value)),
    }));
    return h(
      "div",
      { class: "map-bar" },
      h("p", { class: "result", lang: "und" }, visible(target) || "(nothing)"),
      h(
        "div",
        { class: "map-buttons" },
        two && forced !== "target"
          ? segmented(
              "Both are forced to the",
              choices,
              forced,
              (chosen) => {
                this.state.set({ forced: chosen === "first" ? null : chosen });
                void this.read(this.text);
              },
              { quiet: true },
            )
          : null,
        controls,
      ),
    );
  }

  /** The output of each by itself. */
  private outputs(): HTMLElement {
    const { models, outputs, attention } = this.result!,
      two = models[0] !== models[1],
      { source } = attention[0];
    const likelihood = (side: 0 | 1) => attention[side].log_probabilities.reduce((sum, one) => sum + one, 0);
    return h(
      "section",
      { class: "panel outputs-card", "aria-label": "Outputs" },
      respelledNote({ ...attention[0].source.read_as, ...attention[1].source.read_as }),
      unknownNote(source.words, source.unknown, source.words.length - 1),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Outputs of the models" },
        h(
          "table",
          { class: "output-table" },
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("th", { scope: "col", class: "text" }, "model"),
              h("th", { scope: "col", class: "text" }, "its own output"),
              h("th", { scope: "col" }, "log p"),
              h("th", { scope: "col" }, "log p of what the maps show"),
            ),
          ),
          h(
            "tbody",
            null,
            (two ? ([0, 1] as const) : ([0] as const)).map((side) =>
              h(
                "tr",
                null,
                h("th", { scope: "row" }, models[side]),
                h("td", { class: "text wrap" }, visible(outputs[side].text) || "(nothing)"),
                h("td", null, number(outputs[side].log_probability, 3)),
                h("td", null, number(likelihood(side), 3)),
              ),
            ),
          ),
        ),
      ),
    );
  }
}
