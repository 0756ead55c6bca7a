// Classify: a text, its label, and how much each word counted, by three measures that need not agree.

import { alertBox, panel, segmented, select } from "../controls.ts";
import { mapsPanel, type MapsAnswer } from "../classify/maps.ts";
import { markWord, scale, shadedText } from "../classify/words.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { factsPanel, uniformFacts, type Fact } from "../facts.ts";
import type { Host, ModelInfo } from "../host.ts";
import { askPassage, hasPronoun } from "../passage.ts";
import type { State } from "../state.ts";
import { kendall, number } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";

type Measure = "model" | "removal" | "gradient";

interface ReadAnswer {
  label: string;
  labels: number;
  probabilities: { name: string; probability: number }[];
  words: string[];
  cut: number;
  kind: string;
  meaning: string;
  weighs: boolean;
  shares: { model: number[]; gradient: number[]; removal: number[] | null };
  skipped: string;
  uniform: number | null;
  others: { name: string; label: string; shares: number[] }[];
}

const COMMANDS = "regard train --task classify --data reviews.csv --out runs/reviews\nregard studio runs/reviews";
const MEASURES: Record<Measure, { title: string; text: string }> = {
  model: { title: "The model's own weights", text: "" },
  removal: { title: "Removal", text: "how much the label's logit changes without the word" },
  gradient: { title: "Saliency", text: "gradient times input: the same to first order" },
};

export const view: View = {
  id: "classify",
  title: "Classify",
  lede: "Label a text and see how much each word counted: by the model's own weights, by leaving words out, and by gradients.",
  render(element, host, state) {
    const models = host.overview.models.filter((model) => model.kind === "classifier");
    if (!models.length) {
      element.append(h("div", { class: "panel" }, h("p", null, "This view needs a text classifier, and none is open. Train one on a table of texts and labels, and open it:"),
        h("pre", null, COMMANDS), h("p", { class: "dim small" }, "reviews.csv has the columns text and label; others are named by --set data.text=… and --set data.label=….")));
      return;
    }
    const page = new Classify(host, state, models);
    element.append(page.element);
    void page.read();
    return page;
  },
};

class Classify {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private form = h("section", { class: "panel", "aria-label": "Text to label" });
  private parts = { label: h("div"), words: h("div"), checks: h("div"), passage: h("div"), maps: h("div") };
  private results = h("div", { class: "stack" });
  private output = h("output", { class: "readout", "aria-live": "polite" });
  private text: HTMLTextAreaElement;
  private model: ModelInfo;
  /** What was read: what is typed since then counts once it is submitted. */
  private sentence: { model: string; text: string };
  private result: ReadAnswer | null = null;
  private maps: MapsAnswer | null = null;
  private requests = 0;

  constructor(private host: Host, private state: State, private models: ModelInfo[]) {
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    this.text = h("textarea", { id: unique("text"), rows: 2, spellcheck: "false", disabled: !host.live, placeholder: "A text", onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    } });
    this.text.value = state.get("text") || this.model.examples[0]?.text || "A good book, though too long.";
    this.sentence = { model: this.model.name, text: this.text.value };
    this.drawForm();
    this.results.append(h("div", { class: "columns" }, this.parts.words, this.parts.checks), this.parts.passage, this.parts.maps);
    this.element.append(h("div", { class: "columns" }, this.form, this.parts.label), this.alert.element, this.results);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.result) this.drawWords();
    if (this.maps) fill(this.parts.maps, mapsPanel(this.maps, this.state));
  }

  /** For a file: the text that is shown, and the examples, by this model. */
  wanted(): Wanted {
    const all = ({ model, text }: { model: string; text: string }) => ["classify/read", "classify/maps", ...(hasPronoun(text) ? ["passage/attention"] : [])].map((verb) => ({ verb, body: { model, text } }));
    return { shown: all(this.sentence), likely: this.model.examples.flatMap(({ text }) => all({ model: this.model.name, text })) };
  }

  /** Texts that can be chosen: the examples; in a file, those that it has answers to. */
  private get texts(): { text: string; about: string }[] {
    if (this.host.live) return this.model.examples;
    const request = (this.host.requests("classify/read") as { text: string }[]).map(({ text }) => ({ text, about: this.model.examples.find((one) => one.text === text)?.about ?? "" }));
    return request.length > 1 ? request : [];
  }

  private drawForm(): void {
    const { models, model, host } = this;
    fill(this.form, h("form", { class: "ask", onsubmit: (event: Event) => (event.preventDefault(), this.submit()) },
      h("label", { for: this.text.id, class: "small dim" }, "Text"), this.text,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary", disabled: !host.live }, "Classify"),
        models.length > 1 && host.live ? select("Model", models.map((one) => ({ value: one.name, text: one.name })), model.name, (name) => {
          this.model = models.find((one) => one.name === name)!;
          this.state.set({ model: name, text: this.sentence.text, layer: null, head: null, row: null });
          this.drawForm();
          this.form.querySelector("select")?.focus();
          void this.read(this.sentence.text);
        }) : null,
        h("p", { class: "dim small about" }, model.about)),
      host.live ? null : h("p", { class: "note" }, "A recording: what is in this file can be shown. To type other texts, run `regard studio`."),
      this.texts.length ? h("div", { class: "chips", role: "group", "aria-label": host.live ? "Examples" : "Also in this file" }, this.texts.map((one) =>
        h("button", { type: "button", class: "chip", title: one.text, "data-text": one.text, onclick: () => {
          this.text.value = one.text;
          this.submit();
        } }, shortened(visible(one.text)), one.about ? h("span", { class: "dim" }, ` · ${one.about}`) : null))) : null));
  }

  private submit(): void {
    if (!this.text.value.trim()) return this.text.focus();
    this.state.set({ text: this.text.value, word: null, row: null }, { push: true });
    void this.read();
  }

  async read(text = this.text.value): Promise<void> {
    if (!text.trim()) return this.text.focus();
    const number = ++this.requests, body = { model: this.model.name, text };
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    for (const chip of this.form.querySelectorAll<HTMLElement>("[data-text]")) chip.setAttribute("aria-current", String(chip.dataset.text === text));
    try {
      const result = await this.host.ask<ReadAnswer>("classify/read", body);
      if (number !== this.requests) return;
      [this.sentence, this.result, this.maps] = [body, result, null];
      this.drawLabel();
      this.drawWords();
      const [maps, passage] = await Promise.all([this.host.ask<MapsAnswer>("classify/maps", body), askPassage(this.host, body)]);
      if (number !== this.requests) return;
      fill(this.parts.passage, passage);
      this.maps = maps;
      fill(this.parts.maps, mapsPanel(maps, this.state));
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      [this.sentence, this.result, this.maps] = [body, null, null];
      for (const part of Object.values(this.parts)) fill(part);
    } finally {
      if (number === this.requests) this.results.removeAttribute("aria-busy");
    }
  }

  private drawLabel(): void {
    const result = this.result!;
    fill(this.parts.label, panel("Label", h("p", { class: "result", role: "status" }, visible(result.label), h("span", { class: "dim small" }, ` ${number(result.probabilities[0]!.probability)}`)),
      result.cut ? h("p", { class: "note" }, `The text is too long for this model: its last ${result.cut.toLocaleString("en")} tokens were not read.`) : null,
      bars(result.probabilities.slice(0, 8).map((one, index) => ({ label: visible(one.name), value: one.probability, chosen: index === 0 })), { label: "Probabilities of the labels" }),
      result.labels > 8 ? h("p", { class: "dim small" }, `The likeliest 8 of ${result.labels} labels.`) : null));
  }

  private get measures(): Measure[] {
    return (["model", "removal", "gradient"] as const).filter((one) => this.result!.shares[one] !== null);
  }

  private drawWords(): void {
    const result = this.result!, wanted = this.state.get("by", "all");
    const by = wanted === "all" || !this.measures.includes(wanted as Measure) ? this.measures : [wanted as Measure];
    const choices = [{ value: "all", text: "Side by side" }, ...this.measures.map((one) => ({ value: one, text: MEASURES[one].title }))];
    const meaning = (one: Measure) => (one === "model" ? result.meaning : MEASURES[one].text);
    fill(this.parts.words, panel("The words it weighed", segmented("How words are weighed", choices, wanted, (value) => {
      this.state.set({ by: value === "all" ? null : value });
      this.drawWords();
      this.parts.words.querySelector<HTMLElement>("input:checked")?.focus();
    }), result.weighs ? null : h("p", { class: "note" }, "This model has no weights of its own: what stands for them is its saliency."),
    by.map((one) => h("section", { class: "measure", "aria-label": MEASURES[one].title }, h("h3", null, MEASURES[one].title, h("span", { class: "dim" }, ` · ${meaning(one)}`)),
      shadedText({ words: result.words, shares: result.shares[one]!, label: MEASURES[one].title, chosen: this.word, onpick: (word) => this.pick(word) }))),
    this.output, scale(result.words.length), result.skipped ? h("p", { class: "dim small" }, `Removal: ${result.skipped}`) : null, this.table()));
    this.describe();
    this.drawChecks();
  }

  private get word(): number {
    return Math.min(Math.max(Math.round(this.state.number("word", -1)), -1), this.result!.words.length - 1);
  }

  private pick(word: number): void {
    if (word === this.word) return;
    this.state.set({ word });
    markWord(this.parts.words, word);
    this.describe();
  }

  private describe(): void {
    const result = this.result!, word = this.word, count = result.words.length;
    if (word < 0) return void (this.output.textContent = "Point at a word, or use the arrow keys.");
    const names: Record<Measure, string> = { model: "own weight", removal: "removal", gradient: "saliency" };
    this.output.textContent = `“${visible(result.words[word]!)}”: ${this.measures.map((one) => `${names[one]} ${number(result.shares[one]![word]!)} (${(result.shares[one]![word]! * count).toFixed(1)} × equal)`).join(" · ")}`;
  }

  private table(): HTMLElement {
    const result = this.result!;
    return h("details", { class: "numbers" }, h("summary", null, "Numbers as a table"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Shares of the words" }, h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "text" }, "word"), this.measures.map((one) => h("th", { scope: "col" }, MEASURES[one].title)))),
      h("tbody", null, result.words.map((word, index) => h("tr", null, h("th", { scope: "row" }, visible(word)), this.measures.map((one) => h("td", null, number(result.shares[one]![index]!)))))))));
  }

  private drawChecks(): void {
    const result = this.result!, own = result.shares.model, facts: Fact[] = uniformFacts(own);
    if (result.uniform !== null) facts.push({ name: "If all weights were uniform", value: number(result.uniform), note: `probability of “${visible(result.label)}”; with its own weights ${number(result.probabilities[0]!.probability)}` });
    const pairs: [string, Measure, Measure][] = [["own weights and removal", "model", "removal"], ["own weights and saliency", "model", "gradient"], ["removal and saliency", "removal", "gradient"]];
    for (const [name, one, other] of pairs) {
      const first = result.shares[one], second = result.shares[other];
      if (!first || !second) continue;
      const tau = kendall(first, second);
      facts.push({ name: `Rank correlation: ${name}`, value: Number.isFinite(tau) ? `τ ${number(tau, 2)}` : "none", note: !Number.isFinite(tau) ? "all words have the same share" : one === "model" && other === "removal" ? "1 is the same order, 0 none in common" : undefined });
    }
    const heaviest = own.indexOf(Math.max(...own)), seeds = [own[heaviest]!, ...result.others.map((one) => one.shares[heaviest]!)];
    facts.push(result.others.length
      ? { name: "Seed-to-seed band", value: `${number(Math.min(...seeds), 2)} to ${number(Math.max(...seeds), 2)}`, note: `share of “${visible(result.words[heaviest]!)}” in ${seeds.length} models of this kind` }
      : { name: "Seed-to-seed band", value: "none", note: "one model of this kind is open; open several: regard studio A B C" });
    fill(this.parts.checks, factsPanel(facts, h("p", { class: "dim small" }, "Shares tell how much a word weighs, not whether it speaks for or against the label.")));
  }
}

/** The first words of a long text. */
function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 44).replace(/\W+\w*$/, "")} …` : text;
}
