// Step by step: the whole path of one query of one head, with the model's own numbers.

import type { HeadRequest, LayerInfo, ModelInfo, QueryRequest, Reading } from "../api.ts";
import { MAP_TITLES } from "../attention.ts";
import { alertBox, keepingFocus, popover, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { askLine, modelsOf, respelledNote, settingsButton } from "../form.ts";
import type { Host, Question } from "../host.ts";
import { askPassage, hasPronoun } from "../passage.ts";
import { Steps as Playing } from "../playing.ts";
import type { State } from "../state.ts";
import { readApart, readMaps, type Apart, type Maps } from "../steps/answer.ts";
import { flow, STAGES, type Flow } from "../steps/flow.ts";
import { addPanel, checkPanel, comparePanel, weighPanel } from "../steps/panels.ts";
import { number } from "../tensor.ts";
import { term } from "../terms.ts";
import type { View, Wanted } from "../view.ts";

const FIRST_TEXT: Partial<Record<ModelInfo["kind"], string>> = {
  language: "The cat sat on the",
  classifier: "A good book, though too long.",
};
const CLEAR = { map: null, layer: null, head: null, query: null, key: null, feature: null, stage: null };

export const view: View = {
  id: "steps",
  title: "Step by step",
  kinds: ["translator", "language", "classifier"],
  render(element, host, state) {
    const models = modelsOf(host, ...view.kinds),
      model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const page = new StepByStep(host, state, model);
    element.append(page.element);
    void page.read(page.text);
    return page;
  },
};

class StepByStep {
  readonly element = h("div", { class: "stack" });
  text: string;
  private target: string | null;
  private alert = alertBox();
  private choices = h("div", { class: "choices" });
  private status = h("p", { role: "status", class: "hidden-caption" });
  private picture_ = h("div");
  private results = h("div", { class: "stack" });
  private passage = h("div");
  private reading: Reading | null = null;
  private apart: Apart | null = null;
  private maps: Maps | null = null;
  private mapsOf = "";
  private drawn: Flow | null = null;
  private playing: Playing;
  private requests = 0;

  constructor(
    private host: Host,
    private state: State,
    private model: ModelInfo,
  ) {
    this.text = state.get("text") || model.examples[0]?.text || FIRST_TEXT[model.kind] || "";
    this.target = state.get("target") || null;
    this.playing = new Playing({
      count: () => STAGES.length + 1,
      at: () => this.stage ?? STAGES.length,
      go: (stage) => this.reach(stage),
      pace: 2300,
    });
    const models = modelsOf(host, ...view.kinds);
    const line = askLine({
      host,
      label: "Text",
      value: this.text,
      verb: "Read",
      examples: model.examples,
      submit: (text) => {
        state.set({ ...CLEAR, text, target: this.target }, { push: true });
        void this.read(text);
      },
      empty: (message) => this.alert.show(message),
      settings: settingsButton(model.name, () => [
        models.length > 1 && host.live
          ? select(
              "Model",
              models.map((one) => ({ value: one.name, text: one.name })),
              model.name,
              (name) => this.change(name),
            )
          : null,
        model.kind === "translator" ? this.forcing() : null,
        h("p", { class: "dim small" }, model.about),
      ]),
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
              "A recording: only what was recorded can be taken apart. To type, run `regard studio`.",
            ),
      ),
      this.alert.element,
      this.status,
      h("section", { class: "card", "aria-label": "One attention step" }, this.choices, this.picture_),
      this.passage,
      this.results,
    );
  }

  end(): void {
    this.requests = -1;
    this.playing.stop();
  }

  recolor(): void {
    if (this.apart) this.draw();
  }

  /** For a file. */
  wanted(): Wanted {
    const read: Question = { verb: "steps/read", body: { ...this.sentence, target: this.target } };
    if (!this.reading) return { shown: this.text.trim() ? [read] : [] };
    const passage: Question[] =
      this.model.kind !== "translator" && hasPronoun(this.text)
        ? [{ verb: "passage/attention", body: this.sentence }]
        : [];
    return {
      shown: [
        read,
        { verb: "steps/apart", body: this.body() },
        { verb: "steps/maps", body: this.headBody() },
        ...passage,
      ],
    };
  }

  private get sentence(): { model: string; text: string } {
    return { model: this.model.name, text: this.text };
  }

  /** What a translator is forced to output. */
  private forcing(): HTMLElement {
    const id = unique("target"),
      input = h("input", {
        id,
        type: "text",
        spellcheck: "false",
        disabled: !this.host.live,
        placeholder: "What the model itself outputs",
        value: this.target ?? "",
        onchange: () => {
          this.target = input.value.trim() || null;
          this.state.set({ ...CLEAR, target: this.target });
          void this.read(this.text);
        },
      });
    return h("div", { class: "field" }, h("label", { for: id }, "Force the output to (may be left empty)"), input);
  }

  private change(name: string): void {
    const same = modelsOf(this.host, ...view.kinds).find((one) => one.name === name)!.kind === this.model.kind;
    location.hash = this.state.link("steps", { model: name, text: same ? this.text : null });
  }

  /** Let the model read, then take apart what the address says, or a first choice. */
  async read(text: string): Promise<void> {
    if (!text.trim()) return;
    const number = ++this.requests,
      request = { ...this.sentence, text, target: this.target };
    this.alert.show("");
    this.wait(true);
    const reading = await this.host.ask("steps/read", request).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.wait(false);
    this.text = text;
    this.reading = reading instanceof Error ? null : reading;
    if (this.reading) return void (await Promise.all([this.take(), this.drawPassage()]));
    this.alert.show((reading as Error).message);
    for (const part of [this.choices, this.picture_, this.passage, this.results]) fill(part);
    this.apart = null;
  }

  /** What is shown cannot be used while another text is read. */
  private wait(busy: boolean): void {
    for (const part of [this.choices, this.picture_, this.results]) part.inert = busy;
    this.picture_.setAttribute("aria-busy", String(busy));
  }

  /** Say what the model does with pronouns, where it reads without translating. */
  private async drawPassage(): Promise<void> {
    const request = this.sentence,
      made = this.model.kind === "translator" ? null : await askPassage(this.host, request);
    if (request.text === this.text) fill(this.passage, made);
  }

  /** The layer that the address names by map and number, or the one that is shown first. */
  private get layer(): LayerInfo {
    const { layers, layer } = this.reading!,
      first = layers.find((one) => one.name === layer) ?? layers[0]!;
    const map = layers.some((one) => one.map === this.state.get("map")) ? this.state.get("map") : first.map;
    const own = layers.filter((one) => one.map === map);
    return own[this.state.index("layer", own.length, own.includes(first) ? own.indexOf(first) : own.length - 1)]!;
  }

  private get head(): number {
    return this.state.index("head", this.layer.heads, 0);
  }

  private get query(): number {
    return this.state.index("query", this.layer.queries.length, Math.min(1, this.layer.queries.length - 1));
  }

  private get stage(): number | null {
    const stage = this.state.number("stage", 0);
    return stage >= 1 && stage <= STAGES.length ? stage - 1 : null;
  }

  private headBody(layer = this.layer, head = this.head): HeadRequest {
    return { ...this.sentence, target: this.reading!.target, layer: layer.name, head };
  }

  private body(layer = this.layer, head = this.head, query = this.query): QueryRequest {
    return { ...this.headBody(layer, head), query };
  }

  private async take(): Promise<void> {
    const number = ++this.requests,
      head = this.headBody(),
      named = JSON.stringify(head);
    this.drawChoices();
    try {
      const [answer, maps] = await Promise.all([
        this.host.ask("steps/apart", this.body()),
        named === this.mapsOf || !this.host.knows("steps/maps", head)
          ? null
          : this.host.ask("steps/maps", head).catch(() => null),
      ]);
      if (number !== this.requests) return;
      this.alert.show("");
      if (maps) [this.maps, this.mapsOf] = [readMaps(maps), named];
      else if (named !== this.mapsOf) this.maps = null;
      this.apart = readApart(answer);
      this.draw();
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      for (const part of [this.picture_, this.results]) fill(part);
    }
  }

  private drawChoices(): void {
    const reading = this.reading!,
      layer = this.layer,
      known = (one: LayerInfo, head: number) =>
        this.host.live || one.queries.some((_, query) => this.host.knows("steps/apart", this.body(one, head, query)));
    const layers = reading.layers.filter((one) => known(one, 0)),
      heads = Array.from({ length: layer.heads }, (_, head) => head).filter((head) => known(layer, head));
    const set = (values: Record<string, string | number | null>) => {
      this.playing.stop();
      this.state.set({ key: null, feature: null, ...values });
      void this.take();
    };
    const name = (one: LayerInfo) => {
      const same = reading.layers.filter((other) => other.map === one.map).length;
      return `${MAP_TITLES[one.map].title}${same > 1 ? `, layer ${one.number + 1} of ${same}` : ""}`;
    };
    keepingFocus(this.choices, () =>
      fill(
        this.choices,
        reading.generates && reading.target !== null
          ? h("p", { class: "result", lang: "und" }, visible(reading.target) || "(nothing)")
          : null,
        respelledNote(reading.read_as),
        h(
          "div",
          { class: "map-bar" },
          h(
            "div",
            { class: "map-title" },
            select(
              "Layer",
              layers.map((one) => ({ value: one.name, text: name(one), title: one.name })),
              layer.name,
              (chosen) => {
                const one = layers.find((other) => other.name === chosen)!;
                set({ map: one.map, layer: one.number + 1, head: null });
              },
              { quiet: true },
            ),
            heads.length > 1
              ? select(
                  "Head",
                  heads.map((index) => ({ value: String(index + 1), text: `head ${index + 1} of ${layer.heads}` })),
                  String(this.head + 1),
                  (value) => set({ head: Number(value) }),
                  { quiet: true },
                )
              : null,
            term("query"),
          ),
          h(
            "div",
            { class: "map-buttons" },
            this.playing.button,
            popover("Stages", () =>
              h(
                "ul",
                { class: "menu" },
                STAGES.map((one, index) =>
                  h(
                    "li",
                    null,
                    h("button", { type: "button", onclick: () => this.reach(index) }, `${index + 1} ${one.name}`),
                  ),
                ),
                h(
                  "li",
                  null,
                  h("button", { type: "button", onclick: () => this.reach(STAGES.length) }, "All of them"),
                ),
              ),
            ).element,
          ),
        ),
        h(
          "div",
          { class: "queries", role: "group", "aria-label": "Query" },
          h("span", { class: "dim small" }, "Query"),
          layer.queries.map((word, index) =>
            h(
              "button",
              {
                type: "button",
                class: "chip",
                "aria-pressed": String(index === this.query),
                disabled: !this.host.knows("steps/apart", this.body(layer, this.head, index)),
                onclick: () => set({ query: index + 1 }),
              },
              visible(word),
            ),
          ),
        ),
      ),
    );
  }

  private reach(stage: number): void {
    const moving = this.playing.playing;
    this.state.set({ stage: stage >= STAGES.length ? null : stage + 1 });
    this.drawn?.reach(this.stage === null ? null : this.stage + 1, moving);
  }

  /** Draw all stages; what had the focus before has it again. */
  private draw(): void {
    const apart = this.apart!,
      heavy = apart.weights.reduce((best, weight, key) => (weight > apart.weights[best]! ? key : best), 0);
    const choosing = {
      key: this.state.index("key", apart.keyLabels.length, heavy),
      feature: Math.min(Math.max(this.state.number("feature", 1) - 1, 0), apart.context.length - 1),
      pickKey: (key: number) => {
        this.state.set({ key: key + 1 });
        this.draw();
      },
      setFeature: (feature: number) => this.state.set({ feature: feature + 1 }),
    };
    this.status.textContent =
      `${visible(apart.queryLabel)} and ${visible(apart.keyLabels[choosing.key]!)}: score ` +
      `${apart.allowed(choosing.key) ? number(apart.scores[choosing.key]!) : "masked"}, weight ` +
      `${number(apart.weights[choosing.key]!)}`;
    keepingFocus(this.picture_, () => {
      this.drawn = flow(apart, this.maps, choosing);
      fill(this.picture_, this.drawn.element);
      this.drawn.reach(this.stage === null ? null : this.stage + 1, false);
    });
    const folds = [...this.results.querySelectorAll("details")].map((one) => one.open);
    const scrolls = [...this.results.querySelectorAll(".scroll, .equation")].map(
      (one) => [one.scrollLeft, one.scrollTop] as const,
    );
    keepingFocus(this.results, () =>
      fill(
        this.results,
        comparePanel(apart, choosing),
        weighPanel(apart, choosing),
        addPanel(apart, choosing),
        checkPanel(apart, this.maps),
      ),
    );
    [...this.results.querySelectorAll("details")].forEach((one, index) => (one.open = folds[index] ?? false));
    [...this.results.querySelectorAll(".scroll, .equation")].forEach((one, index) =>
      one.scrollTo(...(scrolls[index] ?? [0, 0])),
    );
  }
}
