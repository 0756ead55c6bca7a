// What if: pull at the weights of a step, hide or replace words, and show what the model outputs instead.

import type { BeginAnswer, ChangeAnswer, ChangeRequest, ModelInfo } from "../api.ts";
import { alertBox, keepingFocus, segmented, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { checks, uniformFacts } from "../facts.ts";
import { askLine, modelsOf, respelledNote, settingsButton, unknownNote } from "../form.ts";
import type { Host } from "../host.ts";
import { notRecorded } from "../recording.ts";
import type { State } from "../state.ts";
import { at, number, slice, total, unpackExact } from "../tensor.ts";
import { named } from "../terms.ts";
import type { View, Wanted } from "../view.ts";
import { anotherPanel } from "../whatif/another.ts";
import { expected, meanRow, only, readChange, requestOf, tried, writeChange, type Change } from "../whatif/answer.ts";
import { WhatIfLabel } from "../whatif/label.ts";
import { beforeAfter, likeliest, outputs } from "../whatif/outcome.ts";
import { oneAtATime } from "../whatif/turns.ts";
import { pullableBars, type Bars } from "../whatif/weights.ts";

const CLEAR = { query: null, key: null, layer: null, head: null, pin: null, mask: null, swap: null, hold: null };

export const view: View = {
  id: "whatif",
  title: "What if",
  kinds: ["translator", "language", "classifier"],
  render(element, host, state) {
    const models = modelsOf(host, ...view.kinds),
      model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const page = model.kind === "classifier" ? new WhatIfLabel(host, state, model) : new WhatIf(host, state, model);
    element.append(page.element);
    page.begin();
    return page;
  },
};

class WhatIf {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private results = h("div", { class: "stack" });
  private text: string;
  private requests = 0;
  private begun: BeginAnswer | null = null;
  private changed: ChangeAnswer | null = null;
  private own: Change | null = null;
  private selected = 0;
  private bars: Bars | null = null;
  private parts = {
    tools: h("div", { class: "tools" }),
    outcome: h("div", { class: "outcome" }),
    checks: h("div"),
    live: h("p", { class: "hidden-caption", role: "status" }),
  };

  constructor(
    private host: Host,
    private state: State,
    private model: ModelInfo,
  ) {
    this.text = state.get("text") || model.examples[0]?.text || "";
    const translates = model.kind === "translator";
    const line = askLine({
      host,
      label: translates ? "Sentence" : "Text",
      value: this.text,
      verb: translates ? "Translate" : "Read",
      examples: model.examples,
      settings: modelMenu(host, state, model),
      submit: (text) => {
        state.set({ ...CLEAR, text }, { push: true });
        void this.read(text);
      },
      empty: (message) => this.alert.show(message),
    });
    this.element.append(
      h(
        "div",
        null,
        line.element,
        host.live
          ? null
          : h(
              "p",
              { class: "note" },
              "A recording: each weight of this step can be forced to zero or one and each word masked, one at a " +
                "time. `regard studio` takes any change.",
            ),
      ),
      this.alert.element,
      this.results,
      this.parts.live,
    );
  }

  begin(): void {
    if (this.text.trim()) void this.read(this.text);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.own) this.refresh();
  }

  /** For a file. */
  wanted(): Wanted {
    const begin = { verb: "whatif/begin" as const, body: this.sentence },
      own = this.own;
    if (!this.begun?.attention.maps.length || !own) return { shown: this.text.trim() ? [begin] : [] };
    return {
      shown: [
        begin,
        { verb: "whatif/change", body: this.body(own) },
        { verb: "whatif/change", body: this.body(only(own)) },
      ],
    };
  }

  private get sentence(): { model: string; text: string } {
    return { model: this.model.name, text: this.text };
  }

  private body(own: Change): ChangeRequest {
    return { ...this.sentence, tokens: this.begun!.tokens, ...requestOf(own) };
  }

  /** Decode undisturbed, then do what the address says. */
  private async read(text: string): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    this.results.inert = true; // what is shown is not of this text
    const begun = await this.host.ask("whatif/begin", { ...this.sentence, text }).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.requests++; // nor is what was asked of the text before
    this.text = text;
    this.results.removeAttribute("aria-busy");
    this.results.inert = false;
    this.begun = begun instanceof Error ? null : begun;
    if (begun instanceof Error) {
      this.alert.show(begun.message);
      return fill(this.results);
    }
    const map = begun.attention.maps[0];
    if (map) return this.start(begun, map.weights.shape as [number, number]);
    fill(
      this.results,
      h(
        "div",
        { class: "panel" },
        h(
          "p",
          null,
          "This model has no attention: it reads the sentence into one fixed vector, so there is no weight to change.",
        ),
      ),
    );
  }

  /** Do what the address says; where a file does not hold that, say so and show the step undisturbed. */
  private async start(begun: BeginAnswer, [layers, heads]: [number, number]): Promise<void> {
    const own = readChange(this.state, {
      steps: begun.tokens.length,
      layers,
      heads,
      positions: begun.attention.source.tokens.length,
      last: this.model.kind === "language",
    });
    const held = this.host.knows("whatif/change", this.body(own));
    this.own = held ? own : only(own);
    const key = this.state.index("key", begun.attention.source.tokens.length);
    this.selected = [...own.pinned.keys(), ...own.replaced.keys(), ...own.hidden][0] ?? Math.max(key, 0);
    this.draw();
    await this.change();
    if (!held) this.alert.show(notRecorded("whatif/change"));
  }

  /** Ask what comes of it, as soon as the last answer is there; every answer is drawn, also while a bar is dragged. */
  private change = oneAtATime(async () => {
    const number = this.requests;
    if (number < 0) return;
    try {
      const answer = await this.host.ask("whatif/change", this.body(this.own!));
      if (number !== this.requests) return;
      this.alert.show("");
      this.changed = answer;
      this.show();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  });

  private tried(change: (own: Change) => void): Change | null {
    return tried(this.own!, change, (one) => this.host.knows("whatif/change", this.body(one)));
  }

  private act(change: (own: Change) => void): boolean {
    const next = this.tried(change);
    if (!next) {
      this.alert.show(notRecorded("whatif/change"));
      return false;
    }
    this.own = next;
    writeChange(this.state, next);
    void this.change();
    return true;
  }

  /** Force a share of the weight on a position; a file has zero and one alone, whichever it was pulled toward. */
  private pin(position: number, share: number): void {
    const far =
      share === 0 || share === 1 || this.host.live
        ? share
        : Number(
            share > (this.changed?.own ? meanRow(this.changed.own, this.own!.layer, this.own!.head)[position]! : 0),
          );
    // Bars follow the pointer before the model has answered: the others share what is left.
    if (this.act((now) => void now.pinned.set(position, far)) && this.changed)
      this.refresh(expected(this.row, this.own!.pinned));
  }

  private release(position: number): void {
    const word = this.wordAt(position);
    if (
      this.act(({ pinned, hidden }) =>
        word.forEach((one) => (hidden.delete(one), one === position && pinned.delete(one))),
      )
    )
      this.refresh();
    this.drawTools();
  }

  /** Choosing another step or layer draws everything anew; what is being pulled at is only updated. */
  private again(change: (own: Change) => void): void {
    if (this.act(change)) keepingFocus(this.results, () => this.draw());
  }

  private draw(): void {
    const { attention, cut } = this.begun!,
      own = this.own!,
      [layers, heads] = attention.maps[0]!.weights.shape as [number, number];
    this.bars = pullableBars(
      attention.source.tokens.length,
      "Weights; left and right pull, up and down choose a word, 0 and 1 force, Delete releases, M masks the word",
      {
        pull: (position, share) => {
          this.selected = position;
          this.pin(position, share);
        },
        release: (position) => this.release(position),
        mask: (position) => this.mask(position),
        select: (position) => {
          if (position === this.selected) return;
          this.selected = position;
          this.refresh();
          this.drawTools();
        },
      },
    );
    const source = attention.source,
      word = visible(attention.target.tokens[own.step] ?? "?");
    fill(
      this.results,
      h(
        "section",
        { class: "card", "aria-label": "The step and what is changed" },
        h(
          "div",
          { class: "step-words", role: "group", "aria-label": "Word about to be output" },
          this.begun!.tokens.map((_, step) =>
            h(
              "button",
              {
                type: "button",
                class: "step-word",
                "aria-pressed": String(step === own.step),
                disabled: !this.tried((now) => (now.step = step)),
                onclick: () => this.again((now) => (now.step = step)),
              },
              visible(attention.target.tokens[step] ?? "?"),
            ),
          ),
        ),
        respelledNote(source.read_as),
        unknownNote(source.words, source.unknown, source.words.length - 1),
        cut ? h("p", { class: "note" }, `The text is too long: ${cut} tokens were left out.`) : null,
        h(
          "div",
          { class: "workbench even" },
          h(
            "div",
            { class: "pull-side" },
            h(
              "div",
              { class: "map-bar" },
              h("h2", null, named("weights", `Weights for “${word}”`)),
              this.choices(layers, heads),
            ),
            this.bars.element,
            this.parts.tools,
          ),
          h(
            "section",
            { class: "side", "aria-label": "New prediction" },
            h("h2", null, named("variation", "New prediction")),
            this.parts.outcome,
          ),
        ),
        this.parts.checks,
      ),
      this.anotherPanel(),
    );
    this.changed = null;
    this.refresh();
    this.drawTools();
  }

  private choices(layers: number, heads: number): HTMLElement {
    const own = this.own!,
      open = (change: (now: Change) => void) => !this.tried(change);
    const list = (part: "layer" | "head", count: number) =>
      [
        { value: "-1", text: `all ${count} ${part}s` },
        ...Array.from({ length: count }, (_, index) => ({
          value: String(index),
          text: `${part} ${index + 1} of ${count}`,
        })),
      ].map((one) => ({ ...one, disabled: open((now) => (now[part] = Number(one.value))) }));
    return h(
      "div",
      { class: "map-buttons" },
      layers > 1
        ? select(
            "Layer",
            list("layer", layers),
            String(own.layer),
            (value) => this.again((now) => (now.layer = Number(value))),
            { quiet: true },
          )
        : null,
      heads > 1
        ? select(
            "Head",
            list("head", heads),
            String(own.head),
            (value) => this.again((now) => (now.head = Number(value))),
            { quiet: true },
          )
        : null,
      segmented(
        "Changes hold",
        [
          { value: "step", text: "at this step" },
          { value: "onward", text: "from here on" },
        ].map((one) => ({ ...one, disabled: open((now) => (now.onward = one.value === "onward")) })),
        own.onward ? "onward" : "step",
        (value) => void this.act((now) => (now.onward = value === "onward")),
        { quiet: true },
      ),
    );
  }

  private anotherPanel(): HTMLElement | null {
    if (this.model.kind !== "translator") return null;
    const [layers, heads] = this.begun!.attention.maps[0]!.weights.shape as [number, number];
    return anotherPanel({
      host: this.host,
      body: () => this.body(this.own!),
      tokens: () => this.changed?.source.tokens ?? this.begun!.attention.source.tokens,
      masked: (position) => this.masked(position) || this.own!.hidden.has(position),
      layerName: (layer) => (layers > 1 ? `layer ${layer + 1} of ${layers}` : ""),
      tolerance: this.state.get("tolerance", "0.01"),
      chose: (tolerance) => this.state.set({ tolerance: tolerance === "0.01" ? null : tolerance }),
      take:
        layers === 1 && heads === 1
          ? (weights) => {
              this.act((now) =>
                weights.forEach((weight, position) => now.pinned.set(position, Number(weight.toFixed(4)))),
              );
              this.bars!.element.scrollIntoView({ block: "nearest" });
            }
          : null,
    });
  }

  /** Whether the model itself cannot attend to a position at this step. */
  private masked(position: number): boolean {
    const packed = this.begun!.attention.maps[0]?.mask;
    return packed ? at(slice(unpackExact(packed)), this.own!.step, position) === 0 : false;
  }

  private get row(): number[] {
    return this.changed?.weights
      ? meanRow(this.changed.weights, this.own!.layer, this.own!.head)
      : this.begun!.attention.source.tokens.map(() => 0);
  }

  private refresh(row = this.row): void {
    const own = this.own!,
      undisturbed = this.changed?.own ? meanRow(this.changed.own, own.layer, own.head) : row;
    this.bars!.show(
      this.begun!.attention.source.tokens.map((token, position) => ({
        token,
        weight: row[position]!,
        own: undisturbed[position]!,
        pinned: own.pinned.has(position),
        hidden: own.hidden.has(position),
        instead: own.replaced.has(position)
          ? (this.changed?.source.tokens[position] ?? own.replaced.get(position)!)
          : null,
      })),
      this.selected,
    );
  }

  private mask(position: number): void {
    this.act(this.masking(this.wordAt(position)));
    this.refresh();
    this.drawTools();
  }

  /** The positions of the word that a position is part of. */
  private wordAt(position: number): number[] {
    const wordOf = this.begun!.attention.source.word_of;
    return wordOf.flatMap((word, one) => (word === wordOf[position] ? [one] : []));
  }

  private masking(positions: number[]): (own: Change) => void {
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
    const { source } = this.begun!.attention,
      own = this.own!,
      position = this.selected,
      name = visible(source.tokens[position]!);
    const button = (text: string, change: (own: Change) => void, act: () => void, pressed?: boolean) =>
      h(
        "button",
        {
          type: "button",
          class: "button small",
          disabled: !this.tried(change),
          "aria-pressed": pressed === undefined ? null : String(pressed),
          onclick: act,
        },
        text,
      );
    const pin = (text: string, share: number) =>
      button(
        text,
        (now) => void now.pinned.set(position, share),
        () => {
          this.pin(position, share);
          this.drawTools();
        },
        own.pinned.get(position) === share,
      );
    const clear = (now: Change) => [now.pinned, now.hidden, now.replaced].forEach((one) => one.clear());
    const replaceable = this.model.kind !== "translator" || position < source.tokens.length - 1;
    keepingFocus(this.parts.tools, () =>
      fill(
        this.parts.tools,
        h(
          "div",
          { class: "row tool-row", role: "group", "aria-label": `Change ${name}` },
          h("b", { class: "token-name" }, name),
          pin("Zero", 0),
          pin("Force to 1", 1),
          button(
            "Release",
            ({ pinned, hidden }) => (pinned.delete(position), hidden.delete(position)),
            () => this.release(position),
          ),
          button(
            "Mask the word",
            this.masking(this.wordAt(position)),
            () => this.mask(position),
            own.hidden.has(position),
          ),
          button("Reset all", clear, () => this.again(clear)),
        ),
        replaceable
          ? this.swapping(position)
          : h(
              "p",
              { class: "dim small" },
              "</s> is the end of the source: it can be pulled at and masked, not replaced.",
            ),
      ),
    );
  }

  private swapping(position: number): HTMLElement {
    const id = unique("swap"),
      list = h("datalist", { id: unique("tokens") });
    const input = h("input", {
      id,
      type: "text",
      list: list.id,
      autocomplete: "off",
      spellcheck: "false",
      disabled: !this.host.live,
      value: this.own!.replaced.get(position) ?? "",
      placeholder: "another token",
      oninput: async () => {
        const result = await this.host
          .ask("whatif/tokens", { model: this.model.name, text: input.value.slice(0, 100) })
          .catch(() => null);
        if (result)
          fill(
            list,
            result.tokens.map((token) => h("option", { value: token.replace(/^▁/, "") })),
          );
      },
    });
    return h(
      "form",
      {
        class: "row swap",
        onsubmit: (event: Event) => {
          event.preventDefault();
          const text = input.value.trim();
          this.act((now) => {
            if (text) now.replaced.set(position, text);
            else now.replaced.delete(position);
          });
        },
      },
      h("label", { for: id, class: "small dim" }, "Read instead"),
      input,
      list,
      h("button", { type: "submit", class: "button small", disabled: !this.host.live }, "Replace"),
    );
  }

  private show(): void {
    this.refresh();
    if (!this.parts.tools.contains(document.activeElement)) this.drawTools();
    const changed = this.changed!,
      own = this.own!;
    const first = likeliest(changed.candidates, "before"),
      second = likeliest(changed.candidates, "after");
    const word =
      first === second
        ? `“${visible(first.token)}” stays the likeliest`
        : `“${visible(first.token)}” gives way to “${visible(second.token)}”`;
    fill(
      this.parts.outcome,
      h(
        "p",
        { class: "moved" },
        h("b", null, number(changed.change)),
        h("span", { class: "dim" }, " total variation · "),
        word,
      ),
      outputs(changed.before, changed.after),
      beforeAfter(changed.candidates, "Probabilities of the next token, before and after"),
    );
    const row = this.row,
      sum = total(row),
      hidden = (position: number) => own.hidden.has(position) || this.masked(position);
    const notes = [
      own.pinned.size
        ? "Pinned weights are forced; the others keep their proportions and share what is left, so that the row " +
          "keeps its sum. Pinned weights of more than one in all are divided by their sum."
        : "",
      own.hidden.size
        ? "A masked word is hidden from every layer and head that attends to it. Its neighbors were read beside " +
          "it, so their states may still reflect it."
        : "",
      own.replaced.size
        ? "A replaced token is read by the model from the start; what was output before this step is kept."
        : "",
      sum < 1e-6 ? "Nothing is left to attend to: the context is zero." : "",
      "Decoding is greedy on both sides, so that a difference comes from the change and not from search.",
    ].filter(Boolean);
    const facts = uniformFacts(row, hidden);
    fill(
      this.parts.checks,
      checks(
        [
          { name: "row sums to", value: number(sum) },
          { name: "uniform", value: facts[0]!.value },
          { name: "change", value: number(changed.change) },
        ],
        [
          { name: "Row as it is used now", value: `sums to ${number(sum)}` },
          ...facts,
          {
            name: "Change of the prediction",
            value: number(changed.change),
            note: "0: none, 1: no word in common",
            term: "variation",
          },
        ],
        {
          open: this.state.get("open") === "checks",
          toggled: (open) => this.state.set({ open: open ? "checks" : null }),
        },
        notes.map((note) => h("p", { class: "small" }, note)),
      ),
    );
    this.parts.live.textContent = `Prediction moved by ${number(changed.change, 2)}; ${word}. Output: ${changed.after.text || "nothing"}.`;
  }
}

/** Choose among all models that the view takes; the view begins anew. A text goes along within its task. */
export function modelMenu(host: Host, state: State, own: ModelInfo): HTMLElement {
  const models = modelsOf(host, ...view.kinds);
  return settingsButton(own.name, () => [
    models.length > 1 && host.live
      ? select(
          "Model",
          models.map((one) => ({ value: one.name, text: one.name })),
          own.name,
          (name) => {
            const same = models.find((one) => one.name === name)!.kind === own.kind;
            location.hash = state.link("whatif", { model: name, text: same ? state.get("text") : null });
          },
        )
      : null,
    h("p", { class: "dim small" }, own.about),
  ]);
}
