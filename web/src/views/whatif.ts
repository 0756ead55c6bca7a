// What if: pull at the weights of a step, hide or replace source words, and show what the model outputs instead.

import { alertBox, panel, segmented, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { factsPanel, uniformFacts } from "../facts.ts";
import type { Host } from "../host.ts";
import { notRecorded } from "../recording.ts";
import { respelledNote } from "../respelled.ts";
import type { State } from "../state.ts";
import { at, number, slice, unpackExact } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";
import { anotherPanel } from "../whatif/another.ts";
import { requests, expected, meanRow, only, readMeddling, tried, writeMeddling, type Begun, type Changed, type Meddling } from "../whatif/answer.ts";
import { modelChoice, WhatIfLabel } from "../whatif/label.ts";
import { beforeAfter, likeliest, translations } from "../whatif/outcome.ts";
import { oneAtATime } from "../whatif/turns.ts";
import { pullableBars, type Bars } from "../whatif/weights.ts";

const CLEAR = { step: null, layer: null, head: null, pin: null, mask: null, swap: null, when: null };

export const view: View = {
  id: "whatif",
  title: "What if",
  lede: "Pull at a weight, hide a word or replace it, and see at once what the model would output.",
  needs: ["translator", "classifier"],
  render(element, host, state) {
    const models = host.overview.models, named = models.find((one) => one.name === state.get("model"));
    const labels = named ? named.kind === "classifier" : !models.some((one) => one.kind === "translator");
    const page = labels ? new WhatIfLabel(host, state) : new WhatIf(host, state);
    element.append(page.element);
    page.begin();
    return page;
  },
};

class WhatIf {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private results = h("div", { class: "stack" });
  private text: HTMLTextAreaElement;
  /** What was read: what is typed since then counts once it is submitted. */
  private sentence: { model: string; text: string };
  private requests = 0;
  private begun: Begun | null = null;
  private changed: Changed | null = null;
  private own: Meddling | null = null;
  private selected = 0;
  private bars: Bars | null = null;
  private parts = { tools: h("div"), outcome: h("div"), checks: h("div"), live: h("p", { class: "hidden-caption", role: "status" }) };

  constructor(private host: Host, private state: State) {
    const models = host.overview.models.filter((model) => model.kind === "translator");
    const model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const id = unique("text");
    this.text = h("textarea", { id, rows: 2, spellcheck: "false", disabled: !host.live, placeholder: "A sentence in the source language", onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    } });
    this.text.value = state.get("text") || model.examples[0]?.text || "";
    this.sentence = { model: state.get("model"), text: this.text.value };
    const form = h("form", { class: "ask", onsubmit: (event: Event) => (event.preventDefault(), this.submit()) },
      h("label", { for: id, class: "small dim" }, "Sentence"), this.text,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary", disabled: !host.live }, "Translate"),
        modelChoice(host, state, model)),
      host.live ? null : h("p", { class: "note" }, "A recording: each weight of this step can be forced to zero or one and each word masked, one at a time. `regard studio` takes any change."),
      model.examples.length && host.live ? h("div", { class: "chips", role: "group", "aria-label": "Examples" }, model.examples.map((one) =>
        h("button", { type: "button", class: "chip", title: one.about, onclick: () => {
          this.text.value = one.text;
          this.submit();
        } }, one.text))) : null);
    this.element.append(h("section", { class: "panel", "aria-label": "Sentence to translate" }, form), this.alert.element, this.results, this.parts.live);
  }

  begin(): void {
    if (this.text.value.trim()) void this.read(this.sentence);
    else this.text.focus();
  }

  end(): void {
    this.requests = -1;
  }

  /** For a file: each word masked, each weight forced to zero and to one, every step undisturbed, and the search. */
  wanted(): Wanted {
    const begun = this.begun, own = this.own, begin = { verb: "whatif/begin", body: this.sentence };
    if (!begun?.attention.maps.length || !own) return { shown: this.sentence.text.trim() ? [begin] : [], likely: [] };
    const { word_of, tokens, words } = begun.attention.source, base = only(own);
    const forced = (share: number) => tokens.map((_, position) => only(base, { pinned: new Map([[position, share]]) }));
    const request = (change: Meddling) => ({ verb: "whatif/change", body: this.body(change) });
    const changes = [...words.map((_, word) => only(base, { hidden: new Set(word_of.flatMap((one, position) => (one === word ? [position] : []))) })), ...forced(0),
      ...begun.tokens.map((_, step) => only(base, { step })), ...forced(1)];
    const search = { verb: "whatif/another", body: { ...this.searched, tolerance: Number(this.state.get("tolerance", "0.01")) } };
    return { shown: [begin, request(own), request(base)], likely: [...changes.map(request), search] };
  }

  private body(own: Meddling): object {
    return { ...this.sentence, tokens: this.begun!.tokens, ...requests(own) };
  }

  private get searched(): object {
    return { ...this.sentence, tokens: this.begun!.tokens, step: this.own!.step, layer: this.own!.layer };
  }

  private submit(): void {
    if (!this.text.value) return this.text.focus();
    this.state.set({ ...CLEAR, text: this.text.value }, { push: true });
    void this.read({ ...this.sentence, text: this.text.value });
  }

  /** Translate undisturbed, then do what the address says. */
  private async read(sentence: { model: string; text: string }): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    this.results.inert = true; // what is shown is not of this sentence
    const begun = await this.host.ask<Begun>("whatif/begin", sentence).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.requests++; // nor is what was asked of the sentence before
    this.sentence = sentence;
    this.results.removeAttribute("aria-busy");
    this.results.inert = false;
    this.begun = begun instanceof Error ? null : begun;
    if (begun instanceof Error) {
      this.alert.show(begun.message);
      return fill(this.results);
    }
    const map = begun.attention.maps[0];
    if (map) return this.meddle(begun, map.weights.shape as [number, number]);
    fill(this.results, panel("Attention", h("p", null, "This model has no attention: it reads the sentence into one fixed vector, so there is nothing to pull at. Open one that attends: regard studio runs/demo/bahdanau.")));
  }

  /** Do what the address says; where a file does not hold that, say so and show the step undisturbed. */
  private async meddle(begun: Begun, [layers, heads]: [number, number]): Promise<void> {
    const own = readMeddling(this.state, { steps: begun.tokens.length, layers, heads, positions: begun.attention.source.tokens.length });
    const held = this.host.knows("whatif/change", this.body(own));
    this.own = held ? own : only(own);
    this.selected = [...own.pinned.keys(), ...own.replaced.keys(), ...own.hidden][0] ?? 0;
    this.draw();
    await this.change();
    if (!held) this.alert.show(notRecorded("whatif/change"));
  }

  /** Ask what comes of it, as soon as the last answer is there. */
  private change = oneAtATime(async (overtaken) => {
    const number = this.requests;
    if (number < 0) return;
    try {
      const answer = await this.host.ask<Changed>("whatif/change", this.body(this.own!));
      if (number !== this.requests) return;
      this.alert.show("");
      this.changed = answer;
      if (!overtaken()) this.show();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  });

  private tried(change: (own: Meddling) => void): Meddling | null {
    return tried(this.own!, change, (one) => this.host.knows("whatif/change", this.body(one)));
  }

  private act(change: (own: Meddling) => void): boolean {
    const next = this.tried(change);
    if (!next) {
      this.alert.show(notRecorded("whatif/change"));
      return false;
    }
    this.own = next;
    writeMeddling(this.state, next);
    void this.change();
    return true;
  }

  /** Force a share of the weight on a position; a file has zero and one alone, whichever it was pulled toward. */
  private pin(position: number, share: number | null): void {
    const far = share === null || share === 0 || share === 1 || this.host.live ? share : Number(share > (this.changed ? meanRow(this.changed.own, this.own!.layer, this.own!.head)[position]! : 0));
    if (this.act((now) => void (far === null ? now.pinned.delete(position) : now.pinned.set(position, far)))) this.foresee();
  }

  /** Choosing another step or layer draws everything anew; what is being pulled at is only updated. */
  private again(change: (own: Meddling) => void): void {
    if (!this.act(change)) return;
    const focused = this.results.querySelectorAll(FOCUSABLE);
    const position = [...focused].indexOf(document.activeElement!);
    this.draw();
    [...this.results.querySelectorAll<HTMLElement>(FOCUSABLE)][position]?.focus({ preventScroll: true });
  }

  private draw(): void {
    const { attention: attention, tokens, text, cut } = this.begun!, own = this.own!;
    const [layers, heads] = attention.maps[0]!.weights.shape as [number, number];
    this.parts = { ...this.parts, tools: h("div", { class: "tools" }), outcome: h("div", { class: "outcome" }), checks: h("div") };
    this.bars = pullableBars(attention.source.tokens.length, "Weights on the source tokens; arrow keys pull, 0 and 1 force, Delete lets go, M masks the word", {
      pull: (position, share) => {
        this.selected = position;
        this.pin(position, share);
      },
      mask: (position) => this.mask(position),
      select: (position) => {
        if (position === this.selected) return;
        this.selected = position;
        this.refresh();
        this.drawTools();
      },
    });
    const steps = h("div", { class: "chips steps-of", role: "group", "aria-label": "Word about to be generated" }, tokens.map((_, step) => h("button", {
      type: "button", class: "chip", "aria-pressed": String(step === own.step), disabled: !this.tried((now) => (now.step = step)), onclick: () => this.again((now) => (now.step = step)),
    }, visible(attention.target.tokens[step]!))));
    const choices = (part: "layer" | "head", count: number) => [{ value: "-1", text: `all ${part}s` }, ...names(count)].map((one) => ({ ...one, disabled: !this.tried((now) => (now[part] = Number(one.value))) }));
    const controls = h("div", { class: "row choices" },
      layers > 1 ? select("Layer", choices("layer", layers), String(own.layer), (value) => this.again((now) => (now.layer = Number(value)))) : null,
      heads > 1 ? select("Head", choices("head", heads), String(own.head), (value) => this.again((now) => (now.head = Number(value)))) : null,
      segmented("Weights and masks hold", [{ value: "step", text: "at this step" }, { value: "onward", text: "from here on" }].map((one) => ({ ...one, disabled: !this.tried((now) => (now.onward = one.value === "onward")) })), own.onward ? "onward" : "step",
        (value) => void this.act((now) => (now.onward = value === "onward"))));
    const averaged = (layers > 1 && own.layer < 0) || (heads > 1 && own.head < 0);
    fill(this.results,
      panel("Translation, undisturbed", h("p", { class: "result", lang: "und" }, visible(text) || h("span", { class: "dim" }, "(nothing)")),
        respelledNote(attention.source.read_as),
        cut ? h("p", { class: "note" }, `The sentence is too long: ${cut} tokens were left out.`) : null,
        h("p", { class: "dim small" }, "Greedy decoding, the likeliest token each time, so that what differs comes from what you change. Choose the word that is about to be generated:"), steps),
      h("div", { class: "columns" },
        h("div", { class: "sides" },
          panel(`What it attends to for “${visible(attention.target.tokens[own.step] ?? "")}”`, controls,
            this.bars.element,
            h("p", { class: "dim small" }, h("i", { class: "tick-key", "aria-hidden": "true" }), ` the model's own weight${averaged ? "; bars are averages of the layers and heads chosen, and a pinned weight is forced on each" : ""}`),
            this.parts.tools),
          panel("Its output then", this.parts.outcome)),
        this.parts.checks),
      anotherPanel({
        host: this.host, body: this.searched, tokens: this.begun!.attention.source.tokens,
        masked: this.masked, layerName: (layer) => (layers > 1 ? `layer ${layer + 1} of ${layers}` : ""), tolerance: this.state.get("tolerance", "0.01"),
        chose: (tolerance) => this.state.set({ tolerance: tolerance === "0.01" ? null : tolerance }),
        take: layers === 1 && heads === 1 ? (weights) => {
          this.act((now) => weights.forEach((weight, position) => now.pinned.set(position, Number(weight.toFixed(4)))));
          this.bars!.element.scrollIntoView({ block: "nearest" });
        } : null,
      }));
    this.changed = null;
    this.refresh();
    this.drawTools();
  }

  /** What the model itself cannot attend to at this step. */
  private get masked(): (position: number) => boolean {
    const packed = this.begun!.attention.maps[0]?.mask, { step } = this.own!;
    if (!packed) return () => false;
    const mask = slice(unpackExact(packed));
    return (position) => at(mask, step, position) === 0;
  }

  private get row(): number[] {
    const { attention: attention } = this.begun!, own = this.own!;
    return this.changed ? meanRow(this.changed.weights, own.layer, own.head) : attention.source.tokens.map(() => 0);
  }

  /** Bars follow the pointer before the model has answered: the others share what is left. */
  private foresee(): void {
    if (this.changed) this.refresh(expected(this.row, this.own!.pinned));
  }

  private refresh(row = this.row): void {
    const { attention: attention } = this.begun!, own = this.own!;
    const undisturbed = this.changed ? meanRow(this.changed.own, own.layer, own.head) : row;
    this.bars!.show(attention.source.tokens.map((token, position) => ({
      token, weight: row[position]!, own: undisturbed[position]!, pinned: own.pinned.has(position), hidden: own.hidden.has(position),
      instead: own.replaced.has(position) ? this.changed?.source.tokens[position] ?? own.replaced.get(position)! : null,
    })), this.selected);
  }

  private mask(position: number): void {
    const positions = this.wordAt(position);
    this.act(this.masking(positions));
    this.refresh();
    this.drawTools();
  }

  /** The positions of the word that a position is part of. */
  private wordAt(position: number): number[] {
    const wordOf = this.begun!.attention.source.word_of;
    return wordOf.flatMap((word, one) => (word === wordOf[position] ? [one] : []));
  }

  private masking(positions: number[]): (own: Meddling) => void {
    return ({ hidden, pinned }) => {
      const on = !hidden.has(positions[0]!);
      for (const one of positions) {
        if (on) hidden.add(one);
        else hidden.delete(one);
        if (on) pinned.delete(one);
      }
    };
  }

  /** What can be done to the token that is selected. */
  private drawTools(): void {
    const { attention: attention } = this.begun!, own = this.own!, position = this.selected;
    const button = (text: string, change: (own: Meddling) => void, act: () => void, pressed?: boolean) => h("button", {
      type: "button", class: "button small", disabled: !this.tried(change), "aria-pressed": pressed === undefined ? null : String(pressed), onclick: act,
    }, text);
    const pin = (text: string, share: number | null) => button(text, (now) => void (share === null ? now.pinned.delete(position) : now.pinned.set(position, share)), () => {
      this.pin(position, share);
      this.drawTools();
    }, share === null ? undefined : own.pinned.get(position) === share);
    const clear = (now: Meddling) => [now.pinned, now.hidden, now.replaced].forEach((one) => one.clear());
    const end = position === attention.source.tokens.length - 1;
    const focused = [...this.parts.tools.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement!);
    fill(this.parts.tools,
      h("div", { class: "row tool-row", role: "group", "aria-label": `Do to ${visible(this.begun!.attention.source.tokens[position]!)}` },
        h("b", { class: "token-name" }, visible(this.begun!.attention.source.tokens[position]!)),
        pin("Zero", 0), pin("Force to 1", 1), pin("Let go", null),
        button("Mask the word", this.masking(this.wordAt(position)), () => this.mask(position), own.hidden.has(position)),
        button("Reset all", clear, () => this.again(clear))),
      end ? h("p", { class: "dim small" }, "</s> is the end of the source: it can be pulled at and masked, not replaced.") : this.swapping(position));
    [...this.parts.tools.querySelectorAll<HTMLElement>(FOCUSABLE)][focused]?.focus({ preventScroll: true });
  }

  private swapping(position: number): HTMLElement {
    const id = unique("swap"), list = h("datalist", { id: unique("tokens") });
    const input = h("input", { id, type: "text", list: list.id, autocomplete: "off", spellcheck: "false", disabled: !this.host.live, value: this.own!.replaced.get(position) ?? "", oninput: async () => {
      const result = await this.host.ask<{ tokens: string[] }>("whatif/tokens", { model: this.sentence.model, text: input.value.slice(0, 100) }).catch(() => null);
      if (result) fill(list, result.tokens.map((token) => h("option", { value: token.replace(/^▁/, "") })));
    } });
    return h("form", { class: "row swap", onsubmit: (event: Event) => {
      event.preventDefault();
      const text = input.value.trim();
      this.act((now) => {
        if (text) now.replaced.set(position, text);
        else now.replaced.delete(position);
      });
    } }, h("div", { class: "field" }, h("label", { for: id }, "Read another token instead"), input, list),
      h("button", { type: "submit", class: "button", disabled: !this.host.live }, "Replace"));
  }

  private show(): void {
    this.refresh();
    if (!this.parts.tools.contains(document.activeElement)) this.drawTools();
    const changed = this.changed!, own = this.own!;
    const first = likeliest(changed.candidates, "before"), second = likeliest(changed.candidates, "after");
    const same = first === second;
    const word = same ? `“${visible(first.token)}” stays the likeliest` : `“${visible(first.token)}” gives way to “${visible(second.token)}”`;
    fill(this.parts.outcome,
      h("p", { class: "moved" }, h("b", null, number(changed.change)), h("span", { class: "dim" }, " total variation distance of the next word's probabilities · "), word),
      beforeAfter(changed.candidates, "Probabilities of the next token, before and after"),
      h("h3", null, "The translation from there on"), translations(changed.before, changed.after));
    const row = this.row, masked = this.masked, sum = row.reduce((all, one) => all + one, 0);
    const notes = [
      own.pinned.size ? "Pinned weights are forced; the others keep their proportions and share what is left, so that the row keeps its sum. Pinned weights of more than one in all are divided by their sum." : "",
      own.hidden.size ? "A masked word is hidden from every layer and head that attends to the source. Its neighbors were read beside it, so their states may still reflect it." : "",
      own.replaced.size ? "A replaced token is read by the model from the start; what was generated before this step is kept." : "",
      sum < 1e-6 ? "Nothing is left to attend to: the context is zero." : "",
    ].filter(Boolean);
    fill(this.parts.checks, factsPanel([
      { name: "Row as it is used now", value: `sums to ${number(sum)}` },
      ...uniformFacts(row, (position) => own.hidden.has(position) || masked(position)),
      { name: "Change of the prediction", value: number(changed.change), note: "0: none, 1: no word in common" },
    ], notes.map((note) => h("p", { class: "small" }, note))));
    this.parts.live.textContent = `Prediction moved by ${number(changed.change, 2)}; ${word}. Output: ${changed.after.text || "nothing"}.`;
  }
}

const FOCUSABLE = "button, select, input, summary, [tabindex='0']";

function names(count: number): { value: string; text: string }[] {
  return Array.from({ length: count }, (_, index) => ({ value: String(index), text: `${index + 1} of ${count}` }));
}
