// Type a sentence: the model's output and its attention.

import { alertBox, panel, select } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { lines } from "../draw/lines.ts";
import { matrix } from "../draw/matrix.ts";
import { keptPaths, tree, type Node } from "../draw/tree.ts";
import type { Host } from "../host.ts";
import { choose, isExact, readAttention, type Choice, type Chosen, type Attention, type AttentionAnswer, type MapName, type Side } from "../attention.ts";
import { respelledNote } from "../respelled.ts";
import type { State } from "../state.ts";
import { number, rowOf, unpackExact, type Matrix, type Packed } from "../tensor.ts";
import { choiceControls, isMean, readChoice } from "../translate/choice.ts";
import { checksPanel, readChecks, type Checks, type ChecksAnswer } from "../translate/checks.ts";
import { ExactRows } from "../translate/exact.ts";
import { stepPanel } from "../translate/steps.ts";
import type { View, Wanted } from "../view.ts";

interface SearchAnswer {
  source: Side;
  cut: number;
  read: number;
  attends: boolean;
  outputs: { text: string; tokens: number[]; score: number; log_probability: number; finished: boolean }[];
  tree: Node[][];
}

export const view: View = {
  id: "translate",
  title: "Translate",
  lede: "Type a sentence and see what the model attends to while it generates each word.",
  needs: ["translator"],
  render(element, host, state) {
    const page = new Translate(host, state);
    element.append(page.element);
    page.begin();
    return page;
  },
};

class Translate {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private results = h("div", { class: "stack", "aria-live": "off" });
  private text: HTMLTextAreaElement;
  /** What was read: what is typed since then counts once it is submitted. */
  private read: { model: string; text: string };
  private requests = 0;
  private result: SearchAnswer | null = null;
  private attention: Attention | null = null;
  private checks: Checks | null = null;
  private picked: number[] = [];
  private exact = new Map<MapName, ExactRows>();
  private output = h("div");
  private parts = { best: h("div"), map: h("div"), checks: h("div"), steps: h("div"), tree: h("div") };

  constructor(private host: Host, private state: State) {
    const models = host.overview.models.filter((model) => model.kind === "translator");
    const model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    this.text = h("textarea", {
      id: "sentence", rows: 1, spellcheck: "false", disabled: !host.live, placeholder: "A sentence in the source language",
      onkeydown: (event: KeyboardEvent) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        this.submit();
      },
    });
    this.text.value = state.get("text") || model.examples[0]?.text || "";
    this.read = { model: state.get("model"), text: this.text.value };
    const form = h("form", { class: "ask", onsubmit: (event: Event) => (event.preventDefault(), this.submit()) },
      h("label", { for: "sentence", class: "small dim" }, "Sentence"), this.text,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary", disabled: !host.live }, "Translate"),
        models.length > 1 ? select("Model", models.map((one) => ({ value: one.name, text: one.name })), model.name, (name) => this.again({ model: name })) : null,
        select("Beam", [1, 2, 3, 5, 8, 12].map((width) => ({ value: String(width), text: width === 1 ? "1, greedy" : String(width) })), String(this.beam), (width) => this.again({ beam: width })),
        h("p", { class: "dim small about" }, model.about)),
      host.live ? null : h("p", { class: "note" }, "A recording: what is in this file can be shown from every side. To type other sentences, run `regard studio`."),
      model.examples.length && host.live ? h("div", { class: "chips", role: "group", "aria-label": "Examples" }, model.examples.map((one) =>
        h("button", { type: "button", class: "chip", title: one.reference, onclick: () => {
          this.text.value = one.text;
          this.submit();
        } }, one.text, h("span", { class: "dim" }, ` · ${one.about}`)))) : null);
    if (!host.live) for (const control of form.querySelectorAll("select")) control.disabled = true;
    this.element.append(h("section", { class: "panel", "aria-label": "Sentence and translation" }, form, this.output), this.alert.element, this.results);
  }

  begin(): void {
    if (this.read.text.trim()) void this.search();
    else this.text.focus();
  }

  end(): void {
    this.requests = -1;
    this.forget();
  }

  recolor(): void {
    if (this.attention) this.draw();
  }

  /** For a file: every output, exact rows of what is shown rounded, and the hypotheses on the way. */
  wanted(): Wanted {
    const request = (verb: string, more: object) => ({ verb, body: { ...this.read, ...more } });
    if (!this.read.text.trim()) return { shown: [], likely: [] };
    const search = request("translate/search", { beam: this.beam });
    if (!this.result || !this.attention) return { shown: [search], likely: [] };
    const attends = this.attention.maps.length > 0;
    const both = (tokens: number[]) => [request("translate/attention", { tokens }), ...(attends && tokens.length ? [request("translate/checks", { tokens })] : [])];
    const rounded = this.attention.maps.filter((one) => !one.weights.exact && one.id === this.choice()!.map);
    const rows = rounded.flatMap(({ id, weights }) => Array.from({ length: weights.shape[2]! }, (_, row) => request("translate/row", { tokens: this.picked, map: id, row })));
    const paths = keptPaths(this.result.tree).map((tokens) => request("translate/attention", { tokens }));
    return { shown: [search, ...both(this.picked)], likely: [...this.result.outputs.flatMap((one) => both(one.tokens)), ...rows, ...paths] };
  }

  private forget(): void {
    for (const rows of this.exact.values()) rows.leave();
    this.exact.clear();
  }

  private get beam(): number {
    return Math.min(Math.max(Math.round(this.state.number("beam", 5)), 1), 12);
  }

  private submit(): void {
    if (!this.text.value) return this.text.focus();
    void this.search({ ...this.read, text: this.text.value }, true);
  }

  private again(values: Record<string, string>): void {
    this.state.set({ ...values, layer: null, head: null });
    void this.search({ model: this.state.get("model"), text: this.read.text });
  }

  /** Ask the model, unless something newer was asked meanwhile. */
  private async search(request = this.read, push = false): Promise<void> {
    const number = ++this.requests;
    if (request !== this.read) this.state.set({ text: request.text, pick: null, path: null, step: null }, { push });
    this.alert.show("");
    this.wait(true);
    try {
      const result = await this.host.ask<SearchAnswer>("translate/search", { ...request, beam: this.beam });
      if (number !== this.requests) return;
      this.wait(false);
      this.read = request;
      this.result = result;
      const path = this.state.get("path"), first = result.outputs[0]?.tokens ?? [];
      const wanted = path ? path.split(".").map(Number) : result.outputs[this.state.number("pick", 0)]?.tokens ?? first;
      await this.show(this.knows(wanted) ? wanted : first);
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      this.wait(false);
      this.read = request;
      this.result = this.attention = null;
      fill(this.results);
      fill(this.output);
    }
  }

  /** What is shown cannot be used while another sentence is read. */
  private wait(busy: boolean): void {
    this.results.toggleAttribute("inert", busy);
    if (busy) this.results.setAttribute("aria-busy", "true");
    else this.results.removeAttribute("aria-busy");
  }

  private knows(tokens: number[]): boolean {
    return this.host.knows("translate/attention", { ...this.read, tokens });
  }

  /** Look at one hypothesis, and measure what its weights are checked against once it is drawn. */
  private async show(tokens: number[]): Promise<void> {
    const number = ++this.requests;
    try {
      const attention = await readAttention(await this.host.ask<AttentionAnswer>("translate/attention", { ...this.read, tokens }));
      if (number !== this.requests) return;
      this.attention = attention;
      this.checks = null;
      this.picked = tokens;
      this.forget();
      for (const { id } of attention.maps) this.exact.set(id, this.exactRows(id, tokens));
      this.draw();
      const request = { ...this.read, tokens };
      if (!attention.maps.length || !tokens.length || !this.host.knows("translate/checks", request)) return;
      const checks = await readChecks(await this.host.ask<ChecksAnswer>("translate/checks", request));
      if (number !== this.requests) return;
      this.checks = checks;
      this.drawChecks();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  }

  private get step(): number {
    const most = this.attention!.candidates.length - 1;
    return Math.min(Math.max(Math.round(this.state.number("step", 0)), 0), most);
  }

  private choice(): Choice | null {
    return this.attention!.maps.length ? readChoice(this.attention!, this.state) : null;
  }

  /** Draw all of it anew; where a hypothesis was chosen, that place keeps the focus and stays where it was. */
  private draw(): void {
    const chosen = (["best", "tree"] as const).find((name) => this.parts[name].contains(document.activeElement));
    const top = chosen ? this.parts[chosen].getBoundingClientRect().top : 0;
    this.parts = { best: h("div"), map: h("div", { class: "map" }), checks: h("div"), steps: h("div"), tree: h("div") };
    this.drawOutput();
    this.drawMap();
    this.drawChecks();
    this.drawSteps();
    this.drawTree();
    fill(this.results, h("div", { class: "columns" }, h("div", { class: "stack" }, this.parts.map, this.parts.steps),
      h("div", { class: "stack" }, this.parts.checks, this.parts.best)), this.parts.tree);
    if (!chosen) return;
    this.parts[chosen].querySelector<HTMLElement>('[aria-pressed="true"]')?.focus({ preventScroll: true });
    scrollBy(0, this.parts[chosen].getBoundingClientRect().top - top);
  }

  private drawOutput(): void {
    const { outputs, cut, read, source } = this.result!;
    const own = this.picked.join();
    const shown = outputs.find((one) => one.tokens.join() === own);
    const output = shown?.text ?? this.attention!.target.tokens.map(visible).join(" ");
    fill(this.output,
      h("p", { class: "result", role: "status", lang: "und" }, visible(output) || h("span", { class: "dim" }, "(nothing)"),
        shown || !this.attention!.target.tokens.length || this.attention!.finished ? null : h("span", { class: "dim" }, " … a hypothesis that search had")),
      respelledNote(source.read_as),
      cut ? h("p", { class: "note" }, `The sentence is too long: the first ${read - 1} tokens were read, ${cut} were left out.`) : null,
      shown && !shown.finished ? h("p", { class: "note" }, "The longest length came before the end of the sentence.") : null);
    const byLength = outputs.some((one, index) => index > 0 && one.log_probability > outputs[index - 1]!.log_probability);
    fill(this.parts.best, outputs.length > 1 ? panel(`The ${outputs.length} best of the beam`, h("ol", { class: "list nbest" }, outputs.map((one, index) => h("li", null,
      h("button", { type: "button", "aria-pressed": String(one.tokens.join() === own), disabled: !this.knows(one.tokens), onclick: () => {
        this.state.set({ pick: index || null, path: null, step: null });
        void this.show(one.tokens);
      } }, h("span", { class: "text" }, visible(one.text) || "(nothing)"),
        h("span", { class: "figures" }, `p ${number(Math.exp(one.log_probability))}`, h("span", { class: "dim" }, ` score ${number(one.score, 3)}`)))))),
      byLength ? h("p", { class: "dim small" }, "In the order of the score: the log-probability divided by the number of tokens, so that long outputs are not set back. The order of p alone differs.") : null) : null);
  }

  private drawMap(): void {
    for (const rows of this.exact.values()) rows.leave();
    const choice = this.choice();
    if (!choice) {
      fill(this.parts.map, panel("Attention", h("p", null, "This model has no attention: it reads the sentence into one fixed vector, so there are no weights to show. Open one that attends: regard studio runs/demo/bahdanau.")));
      return;
    }
    const attention = this.attention!, chosen = choose(attention, choice);
    const redraw = () => {
      this.drawMap();
      this.drawChecks();
      this.drawSteps();
    };
    const picture = this.state.get("picture", "matrix");
    const controls = choiceControls(attention, choice, this.state, () => {
      const focused = document.activeElement?.closest(".choices") ? labelOf(document.activeElement as HTMLInputElement) : null;
      redraw();
      if (focused) this.parts.map.querySelector<HTMLElement>(focused)?.focus();
    });
    const label = `${title(choice)}: ${chosen.rowTitle} by ${chosen.columnTitle}`;
    const own = choice.map === "cross" ? chosen.rowOfToken[this.step] : undefined;
    const pick = (row: number) => choice.map === "cross" && this.move(chosen.rowOfToken.indexOf(row));
    const shared = { matrix: chosen.matrix, rows: chosen.rows, columns: chosen.columns, rowTitle: chosen.rowTitle, columnTitle: chosen.columnTitle, label, selectedRow: own ?? null, apart: chosen.end === null ? [] : [chosen.end] };
    const drawn = picture === "lines"
      ? lines({ ...shared, onpick: pick })
      : matrix({ ...shared, maximum: this.state.get("scale") === "largest" ? largest(chosen.matrix) : 1, masked: chosen.masked, rounded: !isExact(attention, choice), onpick: (row) => pick(row), exact: (row) => this.exactRow(chosen, choice, row), describe: (row, column, again) => this.describe(chosen, choice, row, column, again) });
    fill(this.parts.map, panel(title(choice), controls, h("p", { class: "dim small meaning" }, meaning(attention, choice)), drawn));
  }

  private describe(chosen: Chosen, choice: Choice, row: number, column: number, again: () => void): string {
    const names = `${chosen.rows[row]} → ${chosen.columns[column]}`, request = this.exact.get(choice.map)!;
    request.leave();
    if (chosen.masked?.(row, column)) return `${names}: masked, could not be attended to`;
    const exact = this.exactRow(chosen, choice, row), values = exact ?? rowOf(chosen.matrix, row);
    if (!exact && this.canBeExact(choice)) request.later(chosen.rowPositions[row]!, again);
    const end = column === chosen.end ? " · the end of the source, no word" : "";
    return `${names}: ${isExact(this.attention!, choice) || exact ? "" : "about "}${number(values[column]!)} · row sums to ${number(total(values))}${end}`;
  }

  /** Whether rounded numbers can be had exactly: the server has plain weights of whole rows, what is made of them here stays rounded. */
  private canBeExact(choice: Choice): boolean {
    return !isExact(this.attention!, choice) && choice.measure === "weights" && !choice.hideEnd;
  }

  private exactRow(chosen: Chosen, choice: Choice, row: number): number[] | null {
    const result = this.canBeExact(choice) ? this.exact.get(choice.map)!.read(chosen.rowPositions[row]!, choice.layer, choice.head) : null;
    return result && chosen.columnPositions.map((positions) => total(positions.map((position) => result[position]!)));
  }

  private exactRows(map: MapName, tokens: number[]): ExactRows {
    const body = { ...this.read, tokens, map };
    return new ExactRows((row) => this.host.ask<{ weights: Packed }>("translate/row", { ...body, row }).then((answer) => unpackExact(answer.weights), () => null));
  }

  private move(step: number): void {
    if (step < 0) return;
    this.state.set({ step });
    const inside = this.parts.map.contains(document.activeElement);
    this.drawMap();
    this.drawChecks();
    this.drawSteps();
    if (inside) this.parts.map.querySelector<HTMLElement>(".stage")?.focus();
  }

  private drawChecks(): void {
    const choice = this.choice();
    fill(this.parts.checks, choice ? checksPanel(this.attention!, choice, this.step, this.checks, this.host.knows("translate/checks", { ...this.read, tokens: this.picked })) : null);
  }

  private drawSteps(): void {
    fill(this.parts.steps, stepPanel(this.attention!, this.choice(), this.step, (step) => {
      this.state.set({ step });
      this.drawMap();
      this.drawChecks();
    }));
  }

  private drawTree(): void {
    const steps = this.result!.tree;
    fill(this.parts.tree, steps.length ? panel("What search considered", h("p", { class: "dim small" },
      "Beam search keeps the best hypotheses of each step and cuts the others off. Choose one to see what the model attended to for it."),
      tree(steps, this.picked, (path) => this.knows(path), (path) => {
        const output = this.result!.outputs.findIndex((one) => one.tokens.join() === path.join());
        this.state.set({ path: output >= 0 ? null : path.join("."), pick: output > 0 ? output : null, step: Math.max(0, path.length - 1) });
        void this.show(path);
      })) : null);
  }
}

function title(choice: Choice): string {
  const names = { cross: "Attention from the translation to the source", source: "Self-attention of the source", target: "Self-attention of the translation" };
  return names[choice.map];
}

/** Say in words what the numbers are. */
function meaning(attention: Attention, choice: Choice): string {
  const map = attention.maps.find((one) => one.id === choice.map)!;
  if (choice.measure === "rollout") return "Rollout: the weights of all layers multiplied, half of each state carried along. What a row lacks to one lies on the translation itself.";
  const which = [map.layers.length > 1 ? `layer ${choice.layer + 1}` : "", isMean(attention, choice) ? `average of ${map.weights.shape[1]} heads` : map.weights.shape[1]! > 1 ? `head ${choice.head + 1}` : ""].filter(Boolean).join(", ");
  const when = choice.map !== "cross" ? "" : choice.when === "produced" ? "Each row: when the model was about to output the word." : "Each row: one step later, when the word was the model's newest input.";
  const unit = choice.unit === "words" ? "Of a word in several tokens: sums over the source, means over the translation." : "";
  const norms = choice.measure === "norms" ? "Weights times the length of what they carry, rows made to sum to one." : "";
  const end = choice.hideEnd ? "The column </s> is left out and rows are made to sum to one again." : "";
  return [which ? `${which[0]!.toUpperCase()}${which.slice(1)}.` : "", when, norms, end, unit].filter(Boolean).join(" ");
}

function total(values: number[]): number {
  return values.reduce((sum, one) => sum + one, 0);
}

function largest(matrix: Matrix): number {
  let most = 0;
  for (let i = 0; i < matrix.data.length; i++) most = Math.max(most, matrix.data[i]!);
  return most || 1;
}

/** A selector that finds the same control after it was drawn anew. */
function labelOf(control: HTMLInputElement): string | null {
  if (control.type === "radio") return `input[type=radio][value="${control.value}"]`;
  if (control.type === "checkbox") return `.choices .check:nth-child(${[...control.closest(".choices")!.children].indexOf(control.closest(".check")!) + 1}) input`;
  const index = [...document.querySelectorAll(".choices select")].indexOf(control);
  return index < 0 ? null : `.choices .field:nth-child(${[...control.closest(".choices")!.children].indexOf(control.closest(".field")!) + 1}) select`;
}
