// What if, for classifiers: pull at the weights that sum a text up, or mask tokens, and see what label it gets.

import { alertBox, panel, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { factsPanel, uniformFacts } from "../facts.ts";
import type { Host, ModelInfo } from "../host.ts";
import { notRecorded } from "../recording.ts";
import type { State } from "../state.ts";
import { number } from "../tensor.ts";
import type { Wanted } from "../view.ts";
import { expected, only, readMeddling, tried, writeMeddling, type Candidate, type Meddling } from "./answer.ts";
import { beforeAfter, likeliest } from "./outcome.ts";
import { oneAtATime } from "./turns.ts";
import { pullableBars, type Bars } from "./weights.ts";

interface Relabeled {
  tokens: string[];
  own: number[];
  weights: number[];
  change: number;
  candidates: Candidate[];
}

const VERB = "whatif/label";
const FIRST_TEXT = "A good book, though too long.";

/** Choose among all models that the view takes; the address is told, and the view begins anew. */
export function modelChoice(host: Host, state: State, own: ModelInfo): HTMLElement | null {
  const models = host.overview.models.filter((one) => one.kind === "translator" || one.kind === "classifier");
  if (models.length < 2 || !host.live) return null;
  return select("Model", models.map((one) => ({ value: one.name, text: one.name })), own.name, (name) => {
    const same = models.find((one) => one.name === name)!.kind === own.kind;
    location.hash = state.link("whatif", { model: name, text: same ? state.get("text") || null : null });
  });
}

export class WhatIfLabel {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private results = h("div", { class: "stack" });
  private parts = { tools: h("div", { class: "tools" }), outcome: h("div", { class: "outcome" }), checks: h("div") };
  private live = h("p", { class: "hidden-caption", role: "status" });
  private text: HTMLTextAreaElement;
  private model: ModelInfo;
  /** The text that was read: what is typed since then counts once it is submitted. */
  private sentence: string;
  private own: Meddling | null = null;
  private result: Relabeled | null = null;
  private bars: Bars | null = null;
  private selected = 0;
  private requests = 0;

  constructor(private host: Host, private state: State) {
    const models = host.overview.models.filter((one) => one.kind === "classifier");
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const id = unique("text");
    this.text = h("textarea", { id, rows: 2, spellcheck: "false", disabled: !host.live, placeholder: "A text", onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    } });
    this.text.value = state.get("text") || this.model.examples[0]?.text || FIRST_TEXT;
    this.sentence = this.text.value;
    const form = h("form", { class: "ask", onsubmit: (event: Event) => (event.preventDefault(), this.submit()) },
      h("label", { for: id, class: "small dim" }, "Text"), this.text,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary", disabled: !host.live }, "Classify"), modelChoice(host, state, this.model),
        h("p", { class: "dim small about" }, this.model.about)),
      host.live ? null : h("p", { class: "note" }, "A recording: each weight can be forced to zero or one and each token masked, one at a time. `regard studio` takes any change."));
    this.element.append(h("section", { class: "panel", "aria-label": "Text to label" }, form), this.alert.element, this.results, this.live);
  }

  begin(): void {
    if (this.text.value.trim()) void this.read(this.sentence);
    else this.text.focus();
  }

  end(): void {
    this.requests = -1;
  }

  /** For a file: each token masked, each weight forced to zero and to one. */
  wanted(): Wanted {
    const request = (own: Meddling | null) => ({ verb: VERB, body: this.body(own) });
    if (!this.result || !this.own) return { shown: this.sentence.trim() ? [request(null)] : [], likely: [] };
    const base = only(this.own), tokens = this.result.tokens;
    const forced = (share: number) => tokens.map((_, position) => only(base, { pinned: new Map([[position, share]]) }));
    return { shown: [request(base), request(this.own)], likely: [...tokens.map((_, position) => only(base, { hidden: new Set([position]) })), ...forced(0), ...forced(1)].map(request) };
  }

  private submit(): void {
    if (!this.text.value) return this.text.focus();
    this.state.set({ text: this.text.value, pin: null, mask: null }, { push: true });
    void this.read(this.text.value);
  }

  private body(own: Meddling | null, text = this.sentence): object {
    return {
      model: this.model.name, text, hidden: own ? [...own.hidden] : [],
      pinned: own ? [...own.pinned].map(([position, share]) => ({ position: position, share })) : [],
    };
  }

  /** Read undisturbed, to know the tokens, then do what the address says; where a file does not hold that, say so. */
  private async read(text: string): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    this.results.inert = true; // what is shown is not of this text
    const result = await this.host.ask<Relabeled>(VERB, this.body(null, text)).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.requests++; // nor is what was asked of the text before
    this.sentence = text;
    this.results.removeAttribute("aria-busy");
    this.results.inert = false;
    this.result = result instanceof Error ? null : result;
    if (result instanceof Error) {
      this.alert.show(result.message);
      return fill(this.results);
    }
    const own = readMeddling(this.state, { steps: 1, layers: 1, heads: 1, positions: result.tokens.length });
    const held = this.host.knows(VERB, this.body(own));
    this.own = held ? own : only(own);
    this.selected = [...own.pinned.keys(), ...own.hidden][0] ?? 0;
    this.draw();
    this.show();
    if (this.own.pinned.size || this.own.hidden.size) await this.change();
    if (!held) this.alert.show(notRecorded(VERB));
  }

  /** Ask what comes of what is done. */
  private change = oneAtATime(async (overtaken) => {
    const number = this.requests;
    if (number < 0) return;
    try {
      const result = await this.host.ask<Relabeled>(VERB, this.body(this.own));
      if (number !== this.requests) return;
      this.alert.show("");
      this.result = result;
      if (!overtaken()) this.show();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  });

  private tried(change: (own: Meddling) => void): Meddling | null {
    return tried(this.own!, change, (one) => this.host.knows(VERB, this.body(one)));
  }

  private act(change: (own: Meddling) => void): void {
    const next = this.tried(change);
    if (!next) return this.alert.show(notRecorded(VERB));
    this.own = next;
    writeMeddling(this.state, next);
    void this.change();
  }

  private pin(position: number, share: number | null): void {
    // A file has zero and one alone, whichever it was pulled toward.
    const far = share === null || share === 0 || share === 1 || this.host.live ? share : Number(share > this.result!.own[position]!);
    this.act((now) => void (far === null ? now.pinned.delete(position) : now.pinned.set(position, far)));
    this.drawBars(expected(this.result!.weights, this.own!.pinned));
  }

  private drawBars(weights: number[]): void {
    const { tokens, own } = this.result!, { pinned, hidden } = this.own!;
    this.bars!.show(tokens.map((token, position) => ({ token, instead: null, weight: weights[position]!, own: own[position]!, pinned: pinned.has(position), hidden: hidden.has(position) })), this.selected);
  }

  private mask(position: number): (own: Meddling) => void {
    return ({ hidden, pinned }) => {
      if (!hidden.delete(position)) hidden.add(position);
      pinned.delete(position);
    };
  }

  private draw(): void {
    this.bars = pullableBars(this.result!.tokens.length, "Weights on the tokens; arrow keys pull, 0 and 1 force, Delete lets go, M masks the token", {
      pull: (position, share) => {
        this.selected = position;
        this.pin(position, share);
      },
      mask: (position) => this.act(this.mask(position)),
      select: (position) => {
        if (position === this.selected) return;
        this.selected = position;
        this.show();
      },
    });
    fill(this.results, h("div", { class: "columns" }, h("div", { class: "sides" },
      panel("How the text is summed up", this.bars.element, h("p", { class: "dim small" }, h("i", { class: "tick-key", "aria-hidden": "true" }), " the model's own weight; where there are several poolings, their mean, and a pinned weight is forced on each"), this.parts.tools),
      panel("Its output then", this.parts.outcome)), this.parts.checks));
  }

  private drawTools(): void {
    const own = this.own!, position = this.selected, name = visible(this.result!.tokens[position]!);
    const focused = [...this.parts.tools.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
    const button = (text: string, change: (own: Meddling) => void, pressed?: boolean) => h("button", {
      type: "button", class: "button small", disabled: !this.tried(change), "aria-pressed": pressed === undefined ? null : String(pressed), onclick: () => this.act(change),
    }, text);
    const force = (share: number) => (now: Meddling) => void now.pinned.set(position, share);
    fill(this.parts.tools, h("div", { class: "row tool-row", role: "group", "aria-label": `Do to ${name}` }, h("b", { class: "token-name" }, name),
      button("Zero", force(0), own.pinned.get(position) === 0), button("Force to 1", force(1), own.pinned.get(position) === 1), button("Let go", (now) => void now.pinned.delete(position)),
      button("Mask the token", this.mask(position), own.hidden.has(position)), button("Reset all", (now) => [now.pinned, now.hidden].forEach((one) => one.clear()))));
    this.parts.tools.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  private show(): void {
    const result = this.result!, own = this.own!, { weights, candidates } = result;
    this.drawBars(weights);
    this.drawTools();
    const first = likeliest(candidates, "before"), second = likeliest(candidates, "after");
    const word = first === second ? `“${visible(first.token)}” stays the label` : `“${visible(first.token)}” gives way to “${visible(second.token)}”`;
    fill(this.parts.outcome, h("p", { class: "moved" }, h("b", null, number(result.change)), h("span", { class: "dim" }, " total variation distance of the labels' probabilities · "), word),
      beforeAfter(candidates, "Probabilities of the labels, before and after"));
    const notes = [
      own.pinned.size ? "Pinned weights are forced; the others keep their proportions and share what is left." : "",
      own.hidden.size ? "A masked token is hidden from every layer that attends. A recurrent reader has still read it, so its neighbors' states may tell of it." : "",
    ].filter(Boolean);
    fill(this.parts.checks, factsPanel([
      { name: "Row as it is used now", value: `sums to ${number(weights.reduce((sum, one) => sum + one, 0))}` },
      ...uniformFacts(weights, (position) => own.hidden.has(position)),
      { name: "Change of the prediction", value: number(result.change), note: "0: none, 1: no label in common" },
    ], notes.map((note) => h("p", { class: "small" }, note))));
    this.live.textContent = `Prediction moved by ${number(result.change, 2)}; ${word}.`;
  }
}
