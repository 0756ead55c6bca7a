// Compare: two models or two heads on one sentence, all heads at a glance, quality by length, training as it goes.

import { headPanels } from "../compare/heads.ts";
import { lengthsPanel } from "../compare/lengths.ts";
import { mapPanels } from "../compare/maps.ts";
import { curveQuestions, trainingPanel } from "../compare/training.ts";
import { alertBox, panel, segmented, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import type { Host, ModelInfo } from "../host.ts";
import { readAttention, type Attention, type AttentionAnswer } from "../attention.ts";
import { respelledNote } from "../respelled.ts";
import type { State } from "../state.ts";
import { number } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";

interface Output {
  text: string;
  log_probability: number;
  score: number;
  cut: number;
}

interface PairAnswer {
  models: [string, string];
  outputs: [Output, Output];
  target: string;
  attention: [AttentionAnswer, AttentionAnswer];
}

const PARTS = [
  { value: "maps", text: "Two maps" }, { value: "heads", text: "Heads" }, { value: "lengths", text: "Quality by length" }, { value: "training", text: "Training" },
];

export const view: View = {
  id: "compare",
  title: "Compare",
  lede: "Two models, or two heads of one, on the same sentence; how quality falls with length; and training while it goes.",
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
  private result: { models: [string, string]; outputs: [Output, Output]; target: string; attention: [Attention, Attention] } | null = null;
  private models: ModelInfo[];

  constructor(private host: Host, private state: State) {
    this.models = host.overview.models.filter((model) => model.kind === "translator");
    this.element.append(this.top, this.alert.element, this.results);
  }

  begin(): void {
    const parts = this.models.length ? PARTS : PARTS.filter((one) => one.value === "training");
    const part = parts.find((one) => one.value === this.state.get("part"))?.value ?? parts[0]!.value;
    this.stop?.();
    this.stop = null;
    this.requests++;
    this.alert.show("");
    fill(this.results);
    const tabs = segmented("Show", parts, part, (chosen) => {
      this.state.set({ part: chosen === "maps" ? null : chosen });
      this.begin();
      this.top.querySelector<HTMLInputElement>(`input[type=radio][value="${chosen}"]`)?.focus();
    });
    const sentence = part === "maps" || part === "heads";
    fill(this.top, h("section", { class: "panel", "aria-label": "What to compare" }, h("div", { class: "row" }, tabs, part === "training" ? null : this.pickers()), sentence ? this.form() : null,
      this.host.live ? null : h("p", { class: "note" }, "A recording: what is in this file can be compared. For other models and sentences, run `regard studio`.")));
    if (part === "training") this.stop = trainingPanel(this.results, this.host);
    else if (part === "lengths") this.stop = lengthsPanel(this.results, this.host, this.state, [...new Set(this.names)]);
    else if (this.result) this.draw();
    else if (this.text) void this.read();
  }

  end(): void {
    this.requests = -1;
    this.stop?.();
  }

  recolor(): void {
    if (this.result && ["maps", "heads"].includes(this.state.get("part", "maps"))) this.draw();
  }

  /** For a file: what both say to this sentence, either way; quality by length as it is known now; and all curves. */
  async wanted(): Promise<Wanted> {
    if (!this.models.length) return { shown: await curveQuestions(this.host, () => this.requests >= 0), likely: [] };
    const [attention, other] = (this.forced === "first" ? ["first", "second"] : ["second", "first"]).map((forced) => ({ verb: "compare/attention", body: this.body(forced) }));
    const lengths = { verb: "compare/lengths", body: { models: [...new Set(this.names)] } };
    const shown = this.text ? [attention!, lengths] : [lengths], likely = this.text && this.names[0] !== this.names[1] ? [other!] : [];
    return { shown: [...shown, ...(await curveQuestions(this.host, () => this.requests >= 0))], likely };
  }

  /** `forced`: whose translation both are forced to output, unless one was typed. */
  private body(forced: string, text = this.text): object {
    const [model, other] = this.names, target = this.state.get("target");
    return { model, other, text, forced: target ? "target" : forced, target };
  }

  private get forced(): "first" | "second" {
    return this.state.get("forced") === "second" ? "second" : "first";
  }

  private get names(): [string, string] {
    const first = this.models.find((one) => one.name === this.state.get("model")) ?? this.models[0]!;
    const second = this.models.find((one) => one.name === this.state.get("other")) ?? this.models.find((one) => one !== first) ?? first;
    return [first.name, second.name];
  }

  private get text(): string {
    return this.state.get("text") || this.models.find((one) => one.name === this.names[0])?.examples[0]?.text || "";
  }

  private pickers(): HTMLElement | null {
    if (this.models.length < 2) {
      return h("p", { class: "dim small one-model" }, `${this.models[0]!.name} is the only translator that is open: its own layers and heads can be compared. For two models: regard studio A B`);
    }
    const put = (name: string) => (value: string) => {
      this.state.set({ [name]: value, layer: null, head: null, layer2: null, head2: null, measure: null, measure2: null, cell: null });
      this.result = null;
      this.begin();
    };
    const choices = this.models.map((one) => ({ value: one.name, text: one.name }));
    if (!this.host.live) return h("p", { class: "dim small one-model" }, `${this.names[0]} and ${this.names[1]}`);
    return h("div", { class: "row" }, select("First", choices, this.names[0], put("model")), select("Second", choices, this.names[1], put("other")));
  }

  private form(): HTMLElement {
    const id = unique("text"), output = unique("forced");
    const text = h("textarea", { id, rows: 2, spellcheck: "false", disabled: !this.host.live, onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      submit();
    } });
    text.value = this.text;
    const target = h("input", { id: output, type: "text", spellcheck: "false", disabled: !this.host.live, placeholder: "What the first outputs" });
    target.value = this.state.get("target");
    const submit = () => {
      if (!text.value) return text.focus();
      this.state.set({ text: text.value, target: target.value.trim() || null, cell: null }, { push: true });
      void this.read(text.value);
    };
    const examples = this.models.find((one) => one.name === this.names[0])!.examples;
    return h("form", { class: "ask", onsubmit: (event: Event) => (event.preventDefault(), submit()) },
      h("label", { for: id, class: "small dim" }, "Sentence"), text,
      h("div", { class: "row" }, h("div", { class: "field grow" }, h("label", { for: output }, "Translation that both are forced to (may be left empty)"), target),
        h("button", { type: "submit", class: "primary", disabled: !this.host.live }, "Compare")),
      examples.length && this.host.live ? h("div", { class: "chips", role: "group", "aria-label": "Examples" }, examples.map((one) => h("button", { type: "button", class: "chip", title: one.about, onclick: () => {
        text.value = one.text;
        target.value = "";
        submit();
      } }, one.text))) : null);
  }

  private async read(text = this.text): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    try {
      const answer = await this.host.ask<PairAnswer>("compare/attention", this.body(this.forced, text));
      const attention = (await Promise.all(answer.attention.map(readAttention))) as [Attention, Attention];
      if (number !== this.requests) return;
      this.result = { ...answer, attention: attention };
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
    const result = this.result!, heads = this.state.get("part") === "heads";
    const focused = [...this.results.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement!);
    const change = () => {
      const part = this.state.get("part", "maps");
      if (heads !== (part === "heads")) {
        this.state.set({ part: part === "maps" ? null : part });
        this.begin();
      } else this.draw();
    };
    if (heads) fill(this.results, headPanels(result.attention, result.models, this.state, change));
    else {
      const { controls, panels } = mapPanels(result.attention, result.models, this.state, change);
      fill(this.results, this.drawOutputs(controls), panels);
    }
    [...this.results.querySelectorAll<HTMLElement>(FOCUSABLE)][focused]?.focus({ preventScroll: true });
  }

  /** The output of each by itself, and the one both are forced to for the maps. */
  private drawOutputs(controls: HTMLElement | null): HTMLElement {
    const { models, outputs, attention: item, target } = this.result!, two = models[0] !== models[1];
    const likelihood = (side: 0 | 1) => item[side].log_probabilities.reduce((sum, one) => sum + one, 0);
    const forced = this.state.get("target") ? "target" : this.state.get("forced") === "second" ? "second" : "first";
    return panel("Outputs", respelledNote({ ...item[0].source.read_as, ...item[1].source.read_as }), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Translations" }, h("table", { class: "said-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "text" }, "model"), h("th", { scope: "col", class: "text" }, "its own translation"), h("th", { scope: "col" }, "log p"), h("th", { scope: "col" }, "log p of what the maps show"))),
      h("tbody", null, (two ? [0, 1] as const : [0] as const).map((side) => h("tr", null, h("th", { scope: "row" }, models[side]), h("td", { class: "text wrap" }, visible(outputs[side].text) || "(nothing)"),
        h("td", null, number(outputs[side].log_probability, 3)), h("td", null, number(likelihood(side), 3))))))),
      h("p", { class: "small shown" }, h("span", { class: "dim" }, two ? "Both maps: while the models output " : "The maps: while the model outputs "), h("b", { lang: "und" }, visible(target) || "(nothing)")),
      h("div", { class: "row" }, two && forced !== "target" ? segmented("They are forced to", [{ value: "first", text: `the output of ${models[0]}` }, { value: "second", text: `the output of ${models[1]}` }].map((one) => ({ ...one, disabled: !this.host.knows("compare/attention", this.body(one.value)) })), forced, (chosen) => {
        this.state.set({ forced: chosen === "first" ? null : chosen });
        void this.read();
      }) : null, controls));
  }
}

const FOCUSABLE = "button, select, input, summary, [tabindex='0']";
