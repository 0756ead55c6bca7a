// Step by step: compare, weigh and add up, with the model's own numbers, for one query of one head.

import { alertBox, panel, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import type { Host, ModelInfo } from "../host.ts";
import { askPassage, hasPronoun } from "../passage.ts";
import { respelledNote } from "../respelled.ts";
import type { State } from "../state.ts";
import { readApart, type Apart, type ApartAnswer, type Reading } from "../steps/answer.ts";
import { addPanel, checkPanel, comparePanel, weighPanel } from "../steps/panels.ts";
import { number } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";

/** Looks that are taken apart for a file, as `studio/steps_page.py` has it. */
const MOST_QUERIES = 256;
const FIRST_TEXT: Record<string, string> = { language: "The cat sat on the", classifier: "A good book, though too long." };

export const view: View = {
  id: "steps",
  title: "Step by step",
  lede: "One attention step, taken apart: compare the query with every key, make weights of the scores, add up the values. All numbers are the model's.",
  render(element, host, state) {
    const models = host.overview.models.filter((model) => model.kind !== "vision");
    if (!models.length) {
      element.append(h("div", { class: "panel" }, h("p", null, "This view needs a model that reads text, and none is open yet. Name one:"), h("pre", null, "regard studio runs/demo/bahdanau")));
      return;
    }
    let page = new Steps(host, state, models, (again) => (page = again));
    element.append(page.element);
    void page.read();
    return { end: () => page.end(), recolor: () => page.recolor(), wanted: () => page.wanted() };
  },
};

class Steps {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private choices = h("div");
  private status = h("p", { role: "status", class: "hidden-caption" });
  private results = h("div", { class: "stack" });
  private passage = h("div");
  private text: HTMLTextAreaElement;
  private target: HTMLInputElement;
  private model: ModelInfo;
  /** What was read: what is typed since then counts once it is submitted. */
  private sentence: { model: string; text: string };
  private typed: string | null;
  private reading: Reading | null = null;
  private apart: Apart | null = null;
  private requests = 0;

  constructor(private host: Host, private state: State, private models: ModelInfo[], private replaced: (again: Steps) => void) {
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const ids = { text: unique("text"), target: unique("target") };
    this.text = h("textarea", { id: ids.text, rows: 2, spellcheck: "false", disabled: !host.live, onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    } });
    this.text.value = state.get("text") || this.model.examples[0]?.text || FIRST_TEXT[this.model.kind] || "";
    this.target = h("input", { id: ids.target, type: "text", spellcheck: "false", disabled: !host.live, placeholder: "What the model itself outputs" });
    this.target.value = state.get("target");
    this.sentence = { model: this.model.name, text: this.text.value };
    this.typed = this.target.value.trim() || null;
    const readout = this.model.kind === "translator";
    const form = h("form", { class: "ask", onsubmit: (event: Event) => (event.preventDefault(), this.submit()) },
      h("label", { for: ids.text, class: "small dim" }, "Text"), this.text,
      readout ? h("div", { class: "field" }, h("label", { for: ids.target }, "Translation it is forced to (may be left empty)"), this.target) : null,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary", disabled: !host.live }, "Read"),
        models.length > 1 && host.live ? select("Model", models.map((one) => ({ value: one.name, text: one.name })), this.model.name, (name) => this.change(name)) : null,
        h("p", { class: "dim small about" }, this.model.about)),
      host.live ? null : h("p", { class: "note" }, "A recording: only what was recorded can be taken apart. To type, run `regard studio`."),
      this.model.examples.length && host.live ? h("div", { class: "chips", role: "group", "aria-label": "Examples" }, this.model.examples.map((one) =>
        h("button", { type: "button", class: "chip", title: one.about, onclick: () => {
          this.text.value = one.text;
          this.target.value = "";
          this.submit();
        } }, one.text))) : null);
    this.element.append(h("section", { class: "panel", "aria-label": "Text to read" }, form), this.alert.element, this.status, this.choices, this.passage, this.results);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.apart) this.draw();
  }

  /** For a file: every query of the layer that is shown, this head first. */
  wanted(): Wanted {
    const { text } = this.sentence, read = { verb: "steps/read", body: { ...this.sentence, target: this.typed } };
    if (!this.reading) return { shown: text.trim() ? [read] : [], likely: [] };
    const layer = this.layer, own = this.whole("head", layer.heads), apart = (body: object) => ({ verb: "steps/apart", body });
    const passage = this.model.kind !== "translator" && hasPronoun(text) ? [{ verb: "passage/attention", body: this.sentence }] : [];
    const heads = [own, ...Array.from({ length: layer.heads }, (_, head) => head).filter((head) => head !== own)];
    return { shown: [read, apart(this.body()), ...passage], likely: heads.flatMap((head) => layer.queries.map((_, query) => apart(this.body(layer, head, query)))).slice(0, MOST_QUERIES) };
  }

  /** Another model has another form; the address says which, and the view begins anew. */
  private change(name: string): void {
    this.state.set({ model: name, layer: null, head: null, query: null, key: null, feature: null, target: null });
    const again = new Steps(this.host, this.state, this.models, this.replaced);
    this.replaced(again);
    this.end();
    this.element.replaceWith(again.element);
    again.element.querySelector<HTMLElement>("select")?.focus();
    void again.read();
  }

  private submit(): void {
    if (!this.text.value.trim()) return this.text.focus();
    this.state.set({ text: this.text.value, target: this.target.value.trim() || null, layer: null, head: null, query: null, key: null, feature: null }, { push: true });
    void this.read();
  }

  /** Let the model read, then take apart what the address says, or a first choice. */
  async read(): Promise<void> {
    const sentence = { model: this.model.name, text: this.text.value }, target = this.target.value.trim() || null;
    if (!sentence.text.trim()) return this.text.focus();
    const number = ++this.requests;
    this.alert.show("");
    this.wait(true);
    const reading = await this.host.ask<Reading>("steps/read", { ...sentence, target }).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.wait(false);
    [this.sentence, this.typed] = [sentence, target];
    this.reading = reading instanceof Error ? null : reading;
    if (this.reading) return void (await Promise.all([this.take(), this.drawPassage()]));
    this.alert.show((reading as Error).message);
    for (const part of [this.choices, this.passage, this.results]) fill(part);
    this.apart = null;
  }

  /** What is shown cannot be used while another text is read. */
  private wait(busy: boolean): void {
    this.choices.inert = this.results.inert = busy;
    if (busy) this.results.setAttribute("aria-busy", "true");
    else this.results.removeAttribute("aria-busy");
  }

  /** Say what the model does with pronouns, where it reads without translating. */
  private async drawPassage(): Promise<void> {
    const request = this.sentence, made = this.model.kind === "translator" ? null : await askPassage(this.host, request);
    if (request === this.sentence) fill(this.passage, made);
  }

  private get layer(): Reading["layers"][number] {
    const wanted = this.state.get("layer", this.reading!.layer), layers = this.reading!.layers;
    return layers.find((one) => one.name === wanted) ?? layers.find((one) => one.name === this.reading!.layer) ?? layers[0]!;
  }

  private whole(name: string, most: number, otherwise = 0): number {
    return Math.min(Math.max(Math.round(this.state.number(name, otherwise)), 0), Math.max(most - 1, 0));
  }

  private body(layer = this.layer, head = this.whole("head", layer.heads), query = this.whole("query", layer.queries.length, 1)): object {
    return { ...this.sentence, target: this.reading!.target, layer: layer.name, head, query };
  }

  private async take(): Promise<void> {
    const number = ++this.requests;
    this.drawChoices();
    try {
      const answer = await this.host.ask<ApartAnswer>("steps/apart", this.body());
      if (number !== this.requests) return;
      this.alert.show("");
      this.apart = readApart(answer);
      this.draw();
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      fill(this.results);
    }
  }

  private drawChoices(): void {
    const reading = this.reading!, layer = this.layer, focused = position(this.choices);
    const known = (one: typeof layer, index: number) => this.host.live || one.queries.some((_, query) => this.host.knows("steps/apart", this.body(one, index, query)));
    const layers = reading.layers.filter((one) => known(one, 0)), heads = Array.from({ length: layer.heads }, (_, index) => index).filter((index) => known(layer, index));
    const query = this.whole("query", layer.queries.length, 1), head = this.whole("head", layer.heads);
    const set = (values: Record<string, string | number>) => {
      this.state.set({ key: null, feature: null, ...values });
      void this.take();
    };
    fill(this.choices, panel("Which attention",
      reading.generates && reading.target !== null ? h("p", { class: "result-line" }, h("span", { class: "dim small" }, "Output: "), visible(reading.target) || "(nothing)") : null,
      respelledNote(reading.read_as),
      h("div", { class: "row" },
        layers.length > 1 ? select("Layer", layers.map((one) => ({ value: one.name, text: one.name })), layer.name, (name) => set({ layer: name })) : h("p", { class: "dim small" }, `Layer ${layer.name}`),
        heads.length > 1 ? select("Head", heads.map((index) => ({ value: String(index), text: `${index + 1} of ${layer.heads}` })), String(head), (value) => set({ head: Number(value) })) : null),
      h("div", { class: "queries", role: "group", "aria-label": "Query" }, h("span", { class: "dim small" }, "Query: "),
        layer.queries.map((word, index) => h("button", {
          type: "button", class: "chip", "aria-pressed": String(index === query), disabled: !this.host.knows("steps/apart", this.body(layer, head, index)), onclick: () => set({ query: index }),
        }, visible(word)))),
      h("nav", { class: "stages", "aria-label": "Stages" }, ["1 · Compare", "2 · Weigh", "3 · Add up", "Check and code"].map((name, index) =>
        h("button", { type: "button", class: "stage-link", onclick: () => {
          const stage = this.results.children[index] as HTMLElement | undefined;
          stage?.scrollIntoView({ block: "start" });
          stage?.focus({ preventScroll: true });
        } }, name)))));
    if (focused >= 0) focusAt(this.choices, focused);
  }

  /** Draw all stages; what had the focus before has it again. */
  private draw(): void {
    const apart = this.apart!, focused = position(this.results);
    const heavy = apart.weights.reduce((best, weight, key) => (weight > apart.weights[best]! ? key : best), 0);
    const choosing = {
      key: this.whole("key", apart.keyLabels.length, heavy), feature: this.whole("feature", apart.context.length),
      pickKey: (key: number) => {
        this.state.set({ key });
        this.draw();
      },
      setFeature: (feature: number) => this.state.set({ feature }),
    };
    this.status.textContent = `${visible(apart.queryLabel)} and ${visible(apart.keyLabels[choosing.key]!)}: score ${apart.allowed(choosing.key) ? number(apart.scores[choosing.key]!) : "masked"}, weight ${number(apart.weights[choosing.key]!)}`;
    const stages = [comparePanel(apart, choosing), weighPanel(apart, choosing), addPanel(apart, choosing), checkPanel(apart)];
    for (const stage of stages) stage.tabIndex = -1;
    const folds = [...this.results.querySelectorAll("details")].map((one) => one.open);
    const scrolls = [...this.results.querySelectorAll(".scroll, .equation")].map((one) => [one.scrollLeft, one.scrollTop] as const);
    fill(this.results, stages);
    [...this.results.querySelectorAll("details")].forEach((one, index) => (one.open = folds[index] ?? false));
    [...this.results.querySelectorAll(".scroll, .equation")].forEach((one, index) => one.scrollTo(...(scrolls[index] ?? [0, 0])));
    if (focused >= 0) focusAt(this.results, focused);
  }
}

const FOCUSABLE = "button, select, input, summary, [tabindex='0']";

/** Which of the controls inside has the focus; −1 where none has. */
function position(element: HTMLElement): number {
  return [...element.querySelectorAll<HTMLElement>(FOCUSABLE)].indexOf(document.activeElement as HTMLElement);
}

function focusAt(element: HTMLElement, index: number): void {
  [...element.querySelectorAll<HTMLElement>(FOCUSABLE)][index]?.focus({ preventScroll: true });
}
