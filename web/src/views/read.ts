// Read: a language model's attention over a text, what it predicts at every position, and a text that goes on word by word.

import type { ModelInfo, NextToken, ReadAnswer, TextRequest } from "../api.ts";
import { axisOf, isMasked, MAP_TITLES, stepMatrix, type AttentionMap, type Axis } from "../attention.ts";
import { alertBox, keepingFocus, select, setSlider, slider } from "../controls.ts";
import { fill, h, visible, type Child } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { checks, uniformFacts } from "../facts.ts";
import { askLine, modelsOf, settingsButton, unknownNote } from "../form.ts";
import type { Host } from "../host.ts";
import { askPassage, hasPronoun } from "../passage.ts";
import { Steps } from "../playing.ts";
import { AttentionStage, meaning } from "../stage.ts";
import type { State } from "../state.ts";
import { statesPanel } from "../states.ts";
import { number, rowOf, slice, unpack, unpackExact } from "../tensor.ts";
import { roomBelow, type View, type Wanted } from "../view.ts";

const FIRST_TEXT = "The cat sat on the mat and";
/** Words that an encoder-decoder outputs before anything is asked of it. */
const FIRST_WORDS = 12;

export const view: View = {
  id: "read",
  title: "Read",
  kinds: ["language"],
  render(element, host, state) {
    const page = new Read(host, state);
    element.append(page.element);
    void page.read(page.text, page.output);
    return page;
  },
};

class Read {
  readonly element = h("div", { class: "stack" });
  text: string;
  output: number[];
  private alert = alertBox();
  private line = h("div");
  private written = h("div", { class: "output" });
  private results = h("div", { class: "workbench" });
  private side = h("div", { class: "side step-panel" });
  private checksBox = h("div");
  private passage = h("div");
  private model: ModelInfo;
  private answer: ReadAnswer | null = null;
  private maps: AttentionMap[] = [];
  private steps: Steps;
  private stage: AttentionStage;
  private slider: HTMLElement | null = null;
  private below = h("div", { class: "step" });
  private requests = 0;

  constructor(
    private host: Host,
    private state: State,
  ) {
    const models = modelsOf(host, "language");
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    this.text = state.get("text") || this.model.examples[0]?.text || FIRST_TEXT;
    this.output = state.get("output").split(".").filter(Boolean).map(Number);
    this.steps = new Steps({
      count: () => this.rows,
      at: () => this.stage.query,
      go: (query) => this.go(query),
      pace: 800,
    });
    this.stage = new AttentionStage({
      state,
      states: () => statesPanel(host, { model: this.model.name, text: this.text }),
      height: () => roomBelow(this.stage.element.querySelector(".picture-box")!, 118),
      changed: () => this.drawRest(),
      steps: this.steps,
      actions: () => {
        const selected = { ...state.selection(), model: this.model.name, text: this.text };
        return [
          {
            text: "Take apart",
            href: state.link("steps", selected),
            title: "Every number between this query and its context",
          },
          {
            text: "Change",
            href: state.link("whatif", selected),
            title: "Force this weight and see what comes next",
          },
        ];
      },
    });
    this.drawLine();
    this.results.append(this.stage.element, this.side);
    this.element.append(
      this.line,
      this.alert.element,
      h(
        "section",
        { class: "card", "aria-label": "The text and what it attends to" },
        this.written,
        this.results,
        this.checksBox,
      ),
      this.stage.drawer,
      this.passage,
    );
  }

  end(): void {
    this.requests = -1;
    this.steps.stop();
  }

  recolor(): void {
    if (this.answer) this.draw();
  }

  picture(): SVGSVGElement | HTMLCanvasElement | null {
    return (
      this.stage.element.querySelector<SVGSVGElement>(".picture-box svg") ??
      this.stage.element.querySelector<HTMLCanvasElement>(".picture-box canvas")
    );
  }

  /** For a file. */
  wanted(): Wanted {
    if (!this.text.trim()) return { shown: [] };
    const passage = hasPronoun(this.text)
      ? [{ verb: "passage/attention" as const, body: { model: this.model.name, text: this.text } }]
      : [];
    return { shown: [{ verb: "read/text", body: this.body(this.output) }, ...passage] };
  }

  private body(output: number[], text = this.text): TextRequest {
    return { model: this.model.name, text, output };
  }

  private get rows(): number {
    return this.maps[0] ? this.stage.map.weights.shape[2]! : 1;
  }

  private drawLine(): void {
    const { host, state, model } = this,
      models = modelsOf(host, "language");
    fill(
      this.line,
      askLine({
        host,
        label: "Text",
        value: this.text,
        verb: "Read",
        examples: model.examples,
        empty: (message) => this.alert.show(message),
        submit: (text) => {
          state.set({ text, output: null, query: null, key: null }, { push: true });
          void this.read(text, []);
        },
        settings: settingsButton(model.name, () => [
          models.length > 1 && host.live
            ? select(
                "Model",
                models.map((one) => ({ value: one.name, text: one.name })),
                model.name,
                (name) => {
                  location.hash = state.link("read", { model: name, text: this.text });
                },
              )
            : null,
          h("p", { class: "dim small" }, model.about),
        ]),
      }).element,
      host.live
        ? null
        : h(
            "p",
            { class: "note" },
            "A recording: what is in this file can be shown. To type other texts, run `regard studio`.",
          ),
    );
  }

  /** Read, and where `grows`, let an encoder-decoder output its first words one after another. */
  async read(text: string, output: number[], grows = !output.length && this.host.live): Promise<void> {
    if (!text.trim()) return;
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    const answer = await this.host.ask("read/text", this.body(output, text)).catch((error: Error) => error);
    if (number !== this.requests) return;
    this.results.removeAttribute("aria-busy");
    [this.text, this.output] = [text, output];
    if (answer instanceof Error) {
      this.alert.show(answer.message);
      this.answer = null;
      this.element.querySelector<HTMLElement>(".card")!.hidden = true;
      return;
    }
    const maps = await readMaps(answer);
    if (number !== this.requests) return;
    [this.answer, this.maps] = [answer, maps];
    this.element.querySelector<HTMLElement>(".card")!.hidden = false;
    this.draw();
    if (grows && answer.reads === "both" && !answer.finished && output.length < FIRST_WORDS) {
      const longer = [...output, answer.candidates.at(-1)![0]!.id];
      this.state.set({ output: longer.join("."), query: null });
      return this.read(text, longer, true);
    }
    const passage = output.length ? null : await askPassage(this.host, { model: this.model.name, text });
    if (number === this.requests) fill(this.passage, passage);
  }

  /** Which row is shown: of a text the last, until another is selected. */
  private draw(): void {
    if (!this.state.get("query") && this.maps[0])
      this.state.setIndex({
        query:
          this.maps.find((one) => one.id === this.state.get("map"))?.weights.shape[2]! - 1 ||
          this.maps[0].weights.shape[2]! - 1,
      });
    this.stage.show(this.maps);
    this.slider = slider(
      "Position",
      { min: 0, max: Math.max(this.rows - 1, 0), value: this.stage.query, show: (at) => `${at + 1} of ${this.rows}` },
      (query) => this.go(query),
    );
    keepingFocus(this.side, () => fill(this.side, this.slider, this.below));
    this.drawRest();
  }

  private go(query: number): void {
    this.state.setIndex({ query, key: -1 });
    this.stage.redraw();
    this.drawRest();
  }

  /** Go on with a word. */
  private append(token: number): void {
    this.change([...this.output, token]);
  }

  private change(output: number[]): void {
    this.state.set({ output: output.join(".") || null, query: null, key: null });
    void this.read(this.text, output, false);
  }

  private drawRest(): void {
    const answer = this.answer!,
      { map, choice, query } = this.stage,
      playing = this.steps.playing;
    if (this.slider) setSlider(this.slider, query, `${query + 1} of ${this.rows}`);
    this.drawWritten(playing ? query : Infinity);
    const leads = map.id !== "source",
      chances = leads ? answer.candidates[query] : undefined;
    keepingFocus(this.below, () =>
      fill(this.below, leads ? this.predicted(query, chances) : null, this.weights(map)),
    );
    const row = rowOf(stepMatrix(map, choice), query),
      facts = uniformFacts(row, (position) => isMasked(map, choice, query, position));
    fill(
      this.checksBox,
      checks(
        [
          { name: "uniform", value: facts[0]!.value },
          { name: "largest", value: facts[1]?.value ?? "none" },
          { name: "entropy", value: facts[2]?.value ?? "none" },
        ],
        facts,
        {
          open: this.state.get("open") === "checks",
          toggled: (open) => this.state.set({ open: open ? "checks" : null }),
        },
        h(
          "p",
          { class: "dim small" },
          `${MAP_TITLES[map.id].title}: ${MAP_TITLES[map.id].about}. `,
          meaning(map, choice),
        ),
      ),
    );
  }

  /** The text with what was generated, each word on a ground as unlikely as it was. */
  private drawWritten(until: number): void {
    const answer = this.answer!,
      { source, target, typed } = answer,
      made = target ?? source,
      first = target ? 0 : typed;
    const words = made.words.map((word, index) => ({ word, at: made.word_of.indexOf(index) }));
    fill(
      this.written,
      h(
        "p",
        { class: "result", role: "status", lang: "und" },
        target && !words.length
          ? h("span", { class: "dim" }, "(nothing yet)")
          : words.map(({ word, at }) => [
              h(
                "span",
                {
                  class: [at >= first ? "made" : "", at > until ? "waiting" : at === until ? "arriving" : ""]
                    .filter(Boolean)
                    .join(" "),
                },
                visible(word),
              ),
              " ",
            ]),
      ),
      unknownNote(source.words, source.unknown),
      answer.cut
        ? h(
            "p",
            { class: "note" },
            `The text is too long: its last ${answer.cut.toLocaleString("en")} tokens were not read.`,
          )
        : null,
      answer.labels.length
        ? bars(
            answer.labels
              .slice(0, 5)
              .map((one, index) => ({ label: visible(one.name), value: one.probability, chosen: index === 0 })),
            { label: "Labels" },
          )
        : null,
    );
  }

  private predicted(query: number, candidates: NextToken[] | undefined): Child {
    const answer = this.answer!,
      last = query === this.rows - 1,
      generates = answer.reads === "causal" || answer.reads === "both",
      chance = answer.chances[query];
    if (!candidates) return h("p", { class: "dim small" }, "This model predicts no words.");
    const follows =
      answer.reads === "causal"
        ? answer.source.ids[query + 1]
        : answer.reads === "both"
          ? answer.target!.ids[query]
          : answer.source.ids[query];
    const known = (token: number) => this.host.knows("read/text", this.body([...this.output, token]));
    return [
      h("h2", { class: "minor" }, generates ? "Next word" : "What stands here"),
      chance === null || chance === undefined
        ? null
        : h(
            "p",
            { class: "small" },
            generates ? "The word that follows has " : "The word that stands here has ",
            h("b", null, number(chance)),
          ),
      last && generates && !answer.finished
        ? h(
            "ol",
            { class: "bars next-words", "aria-label": "Probabilities of the next token" },
            candidates
              .slice(0, 6)
              .map((one) =>
                h(
                  "li",
                  null,
                  h(
                    "button",
                    {
                      type: "button",
                      class: "name",
                      disabled: !known(one.id),
                      title: "Go on with this word",
                      onclick: () => this.append(one.id),
                    },
                    visible(one.token),
                  ),
                  h(
                    "span",
                    { class: "track", "aria-hidden": "true" },
                    h("span", { class: "bar", style: { width: `${(100 * one.probability).toFixed(2)}%` } }),
                  ),
                  h("span", { class: "number" }, number(one.probability)),
                ),
              ),
          )
        : bars(
            candidates
              .slice(0, 6)
              .map((one) => ({ label: visible(one.token), value: one.probability, chosen: one.id === follows })),
            { label: "Probabilities of the next token" },
          ),
      generates
        ? h(
            "div",
            { class: "map-buttons" },
            h(
              "button",
              {
                type: "button",
                class: "button small",
                disabled: answer.finished || !known(answer.candidates.at(-1)![0]!.id),
                onclick: () => this.append(answer.candidates.at(-1)![0]!.id),
              },
              "Generate a word",
            ),
            h(
              "button",
              {
                type: "button",
                class: "button small",
                disabled: !this.output.length || !this.host.knows("read/text", this.body(this.output.slice(0, -1))),
                onclick: () => this.change(this.output.slice(0, -1)),
              },
              "Take one back",
            ),
          )
        : answer.hidden && this.host.live
          ? h(
              "button",
              { type: "button", class: "button small", onclick: () => this.hide(query) },
              `Hide this word: ${visible(answer.hidden)}`,
            )
          : null,
    ];
  }

  /** Read the text once more with a word hidden, to be predicted. */
  private hide(query: number): void {
    const { source, hidden } = this.answer!,
      word = source.word_of[query]!,
      special = (index: number) => /^(\[(CLS|SEP)\]|<\/?s>)$/.test(source.words[index]!);
    const text = source.words
      .map((one, index) => (index === word ? hidden! : one))
      .filter((_, index) => !special(index))
      .join(" ");
    this.state.set({ text, query: query + 1, key: null }, { push: true });
    this.text = text;
    this.drawLine();
    void this.read(text, []);
  }

  private weights(map: AttentionMap): HTMLElement {
    const { choice, query } = this.stage,
      row = rowOf(stepMatrix(map, choice), query),
      most = Math.max(...row),
      open = row.filter((_, position) => !isMasked(map, choice, query, position)).length;
    const heavy = map.columns.tokens
      .map((token, index) => ({
        label: visible(token),
        value: row[index]!,
        mark: 1 / open,
        chosen: row[index] === most,
      }))
      .sort((a, b) => b.value - a.value)
      .slice(0, 5);
    return h(
      "div",
      { class: "weights" },
      h("h2", { class: "minor" }, "Attends to"),
      bars(heavy, { label: "Weights of this position", data: true }),
    );
  }
}

/** The maps of a reading. */
async function readMaps(answer: ReadAnswer): Promise<AttentionMap[]> {
  const source = axisOf(answer.source, answer.reads === "both" ? "source" : "text"),
    target = answer.target;
  const shifted = (side: NonNullable<typeof target>): Axis => ({
    title: "output",
    tokens: [...side.tokens, "…"],
    words: [...side.words, "…"],
    wordOf: [...side.word_of, side.words.length],
    unknown: new Set(),
    end: false,
  });
  const inputs = (side: NonNullable<typeof target>): Axis => ({
    title: "output so far",
    tokens: ["<s>", ...side.tokens],
    words: ["<s>", ...side.words],
    wordOf: [0, ...side.word_of.map((word) => word + 1)],
    unknown: new Set(),
    end: false,
  });
  return Promise.all(
    answer.maps.map(async (one) => ({
      id: one.id,
      layers: one.layers,
      weights: await unpack(one.weights),
      mask: one.mask ? slice(unpackExact(one.mask)) : null,
      inputs: null,
      norms: null,
      rollout: null,
      rows: one.id === "cross" ? shifted(target!) : one.id === "target" ? inputs(target!) : source,
      columns: one.id === "target" ? inputs(target!) : source,
    })),
  );
}
