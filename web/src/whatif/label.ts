// What if, for classifiers: pull at the weights that pool a text, or mask tokens, and see what label it gets.

import type { LabelAnswer, LabelRequest, ModelInfo } from "../api.ts";
import { alertBox, keepingFocus } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { checks, uniformFacts } from "../facts.ts";
import { askLine } from "../form.ts";
import type { Host } from "../host.ts";
import { notRecorded } from "../recording.ts";
import type { State } from "../state.ts";
import { number, total } from "../tensor.ts";
import { named } from "../terms.ts";
import type { Wanted } from "../view.ts";
import { modelMenu } from "../views/whatif.ts";
import { expected, only, readChange, tried, writeChange, type Change } from "./answer.ts";
import { beforeAfter, likeliest } from "./outcome.ts";
import { oneAtATime } from "./turns.ts";
import { pullableBars, type Bars } from "./weights.ts";

const VERB = "whatif/label";

export class WhatIfLabel {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private results = h("div", { class: "stack" });
  private text: string;
  private result: LabelAnswer | null = null;
  private own: Change | null = null;
  private selected = 0;
  private requests = 0;
  private bars: Bars | null = null;
  private parts = { tools: h("div", { class: "tools" }), outcome: h("div", { class: "outcome" }), checks: h("div") };
  private live = h("p", { class: "hidden-caption", role: "status" });

  constructor(
    private host: Host,
    private state: State,
    private model: ModelInfo,
  ) {
    this.text = state.get("text") || model.examples[0]?.text || "A good book, though too long.";
    const line = askLine({
      host,
      label: "Text",
      value: this.text,
      verb: "Classify",
      examples: model.examples,
      settings: modelMenu(host, state, model),
      submit: (text) => {
        state.set({ text, pin: null, mask: null, key: null }, { push: true });
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
              "A recording: each weight can be forced to zero or one and each token masked, one at a time. " +
                "`regard studio` takes any change.",
            ),
      ),
      this.alert.element,
      this.results,
      this.live,
    );
  }

  begin(): void {
    if (this.text.trim()) void this.read(this.text);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.result) this.drawBars(this.result.weights);
  }

  wanted(): Wanted {
    if (!this.text.trim()) return { shown: [] };
    const own = this.own ? [{ verb: VERB as typeof VERB, body: this.body(this.own) }] : [];
    return { shown: [{ verb: VERB, body: this.body(null) }, ...own] };
  }

  private body(own: Change | null, text = this.text): LabelRequest {
    return {
      model: this.model.name,
      text,
      hidden: own ? [...own.hidden] : [],
      pinned: own ? [...own.pinned].map(([position, share]) => ({ position, share })) : [],
    };
  }

  /** Read undisturbed, to know the tokens, then do what the address says; where a file does not hold that, say so. */
  private async read(text: string): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    this.results.inert = true; // what is shown is not of this text
    const result = await this.host.ask(VERB, this.body(null, text)).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.requests++; // nor is what was asked of the text before
    this.text = text;
    this.results.removeAttribute("aria-busy");
    this.results.inert = false;
    this.result = result instanceof Error ? null : result;
    if (result instanceof Error) {
      this.alert.show(result.message);
      return fill(this.results);
    }
    const own = readChange(this.state, { steps: 1, layers: 1, heads: 1, positions: result.tokens.length });
    const held = this.host.knows(VERB, this.body(own));
    this.own = held ? own : only(own);
    this.selected = [...own.pinned.keys(), ...own.hidden][0] ?? 0;
    this.draw();
    this.show();
    if (this.own.pinned.size || this.own.hidden.size) await this.change();
    if (!held) this.alert.show(notRecorded(VERB));
  }

  /** Ask what comes of what is done; every answer is drawn, also while a bar is dragged. */
  private change = oneAtATime(async () => {
    const number = this.requests;
    if (number < 0) return;
    try {
      const result = await this.host.ask(VERB, this.body(this.own));
      if (number !== this.requests) return;
      this.alert.show("");
      this.result = result;
      this.show();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  });

  private tried(change: (own: Change) => void): Change | null {
    return tried(this.own!, change, (one) => this.host.knows(VERB, this.body(one)));
  }

  private act(change: (own: Change) => void): void {
    const next = this.tried(change);
    if (!next) return this.alert.show(notRecorded(VERB));
    this.own = next;
    writeChange(this.state, next);
    void this.change();
  }

  private pin(position: number, share: number): void {
    // A file has zero and one alone, whichever it was pulled toward.
    const far = share === 0 || share === 1 || this.host.live ? share : Number(share > this.result!.own[position]!);
    this.act((now) => void now.pinned.set(position, far));
    this.drawBars(expected(this.result!.weights, this.own!.pinned));
  }

  private drawBars(weights: number[]): void {
    const { tokens, own } = this.result!,
      { pinned, hidden } = this.own!;
    this.bars!.show(
      tokens.map((token, position) => ({
        token,
        instead: null,
        weight: weights[position]!,
        own: own[position]!,
        pinned: pinned.has(position),
        hidden: hidden.has(position),
      })),
      this.selected,
    );
  }

  private mask(position: number): (own: Change) => void {
    return ({ hidden, pinned }) => {
      if (!hidden.delete(position)) hidden.add(position);
      pinned.delete(position);
    };
  }

  private release(position: number): (own: Change) => void {
    return ({ hidden, pinned }) => (hidden.delete(position), pinned.delete(position));
  }

  private draw(): void {
    this.bars = pullableBars(
      this.result!.tokens.length,
      "Weights on the tokens; left and right pull, up and down choose a token, 0 and 1 force, Delete releases, M masks",
      {
        pull: (position, share) => {
          this.selected = position;
          this.pin(position, share);
        },
        release: (position) => this.act(this.release(position)),
        mask: (position) => this.act(this.mask(position)),
        select: (position) => {
          if (position === this.selected) return;
          this.selected = position;
          this.show();
        },
      },
    );
    fill(
      this.results,
      h(
        "section",
        { class: "card", "aria-label": "The weights and what is changed" },
        h(
          "div",
          { class: "workbench even" },
          h(
            "div",
            { class: "pull-side" },
            h("h2", null, named("pooling", "Pooling weights")),
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
    );
  }

  private drawTools(): void {
    const own = this.own!,
      position = this.selected,
      name = visible(this.result!.tokens[position]!);
    const button = (text: string, change: (own: Change) => void, pressed?: boolean) =>
      h(
        "button",
        {
          type: "button",
          class: "button small",
          disabled: !this.tried(change),
          "aria-pressed": pressed === undefined ? null : String(pressed),
          onclick: () => this.act(change),
        },
        text,
      );
    const force = (share: number) => (now: Change) => void now.pinned.set(position, share);
    keepingFocus(this.parts.tools, () =>
      fill(
        this.parts.tools,
        h(
          "div",
          { class: "row tool-row", role: "group", "aria-label": `Change ${name}` },
          h("b", { class: "token-name" }, name),
          button("Zero", force(0), own.pinned.get(position) === 0),
          button("Force to 1", force(1), own.pinned.get(position) === 1),
          button("Release", this.release(position)),
          button("Mask the token", this.mask(position), own.hidden.has(position)),
          button("Reset all", (now) => [now.pinned, now.hidden].forEach((one) => one.clear())),
        ),
      ),
    );
  }

  private show(): void {
    const result = this.result!,
      own = this.own!,
      { weights, candidates } = result,
      sum = number(total(weights));
    this.drawBars(weights);
    this.drawTools();
    const first = likeliest(candidates, "before"),
      second = likeliest(candidates, "after");
    const word =
      first === second
        ? `“${visible(first.token)}” stays the label`
        : `“${visible(first.token)}” gives way to “${visible(second.token)}”`;
    fill(
      this.parts.outcome,
      h(
        "p",
        { class: "moved" },
        h("b", null, number(result.change)),
        h("span", { class: "dim" }, " total variation · "),
        word,
      ),
      beforeAfter(candidates, "Probabilities of the labels, before and after"),
    );
    const notes = [
      "Where there are several poolings, their mean is shown, and a pinned weight is forced on each.",
      own.pinned.size ? "Pinned weights are forced; the others keep their proportions and share what is left." : "",
      own.hidden.size
        ? "A masked token is hidden from every layer that attends. A recurrent reader has still read it, so its " +
          "neighbors' states may reflect it."
        : "",
    ].filter(Boolean);
    const facts = uniformFacts(weights, (position) => own.hidden.has(position));
    fill(
      this.parts.checks,
      checks(
        [
          { name: "row sums to", value: sum },
          { name: "uniform", value: facts[0]!.value },
          { name: "change", value: number(result.change) },
        ],
        [
          { name: "Row as it is used now", value: `sums to ${sum}` },
          ...facts,
          {
            name: "Change of the prediction",
            value: number(result.change),
            note: "0: none, 1: no label in common",
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
    this.live.textContent = `Prediction moved by ${number(result.change, 2)}; ${word}.`;
  }
}
