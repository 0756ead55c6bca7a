// Classify: a text, its label, and how much each word counted, by measures that need not agree.

import type { DecisionAnswer, MapsAnswer, ModelInfo } from "../api.ts";
import type { AttentionMap } from "../attention.ts";
import { gatherMaps } from "../classify/maps.ts";
import { markWord, scale, shadedText } from "../classify/words.ts";
import { alertBox, panel, select } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { checks, uniformFacts, type Fact } from "../facts.ts";
import { askLine, modelsOf, settingsButton, unknownNote } from "../form.ts";
import type { Host, Question, Verb } from "../host.ts";
import { askPassage, hasPronoun } from "../passage.ts";
import { AttentionStage } from "../stage.ts";
import type { State } from "../state.ts";
import { statesPanel } from "../states.ts";
import { kendall, number } from "../tensor.ts";
import { term, type TermName } from "../terms.ts";
import { type View, type Wanted } from "../view.ts";

type Measure = "model" | "removal" | "gradient" | "signed";

const MEASURES: Record<Measure, { title: string; short: string; text: string; term: TermName }> = {
  model: { title: "The model's own weights", short: "own weight", text: "", term: "weights" },
  removal: {
    title: "Leave-one-out",
    short: "leave-one-out",
    text: "how much the label's logit changes without the word",
    term: "occlusion",
  },
  gradient: { title: "Gradient × input", short: "gradient", text: "the same to first order", term: "gradient" },
  signed: {
    title: "Signed saliency",
    short: "signed",
    text: "gradient × input with its sign: for the label (ember) and against it (teal)",
    term: "saliency",
  },
};

export const view: View = {
  id: "classify",
  title: "Classify",
  kinds: ["classifier"],
  render(element, host, state) {
    const page = new Classify(host, state);
    element.append(page.element);
    void page.read(page.text);
    return page;
  },
};

class Classify {
  readonly element = h("div", { class: "stack" });
  text: string;
  private alert = alertBox();
  private line = h("div");
  private parts = {
    label: h("div", { class: "side" }),
    words: h("div", { class: "word-side" }),
    checks: h("div"),
    passage: h("div"),
    maps: h("div"),
  };
  private results = h("section", { class: "card", "aria-label": "Label and the words it rests on" });
  private output = h("output", { class: "readout", "aria-live": "polite" });
  private model: ModelInfo;
  private result: DecisionAnswer | null = null;
  private maps: MapsAnswer | null = null;
  private stage: AttentionStage;
  private requests = 0;

  constructor(
    private host: Host,
    private state: State,
  ) {
    const models = modelsOf(host, "classifier");
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    this.text = state.get("text") || this.model.examples[0]?.text || "A good book, though too long.";
    this.stage = new AttentionStage({
      state,
      states: () => statesPanel(host, { model: this.model.name, text: this.text }),
      height: () => Math.max(320, innerHeight - 260),
      changed: () => {},
      actions: () => [
        {
          text: "Take apart",
          href: state.link("steps", { ...state.selection(), model: this.model.name, text: this.text }),
          title: "Every number between this query and its context",
        },
      ],
    });
    this.drawLine();
    this.results.append(h("div", { class: "workbench" }, this.parts.words, this.parts.label), this.parts.checks);
    this.element.append(this.line, this.alert.element, this.results, this.parts.maps, this.parts.passage);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.result) this.drawWords();
    if (this.maps?.maps.length) this.stage.draw();
  }

  /** For a file. */
  wanted(): Wanted {
    const verbs: Verb[] = [
      "classify/read",
      "classify/maps",
      ...(hasPronoun(this.text) ? ["passage/attention" as const] : []),
    ];
    return { shown: this.text.trim() ? verbs.map((verb): Question => ({ verb, body: this.sentence })) : [] };
  }

  private get sentence(): { model: string; text: string } {
    return { model: this.model.name, text: this.text };
  }

  /** Texts that can be chosen: the examples; in a file, those that it has answers to. */
  private get texts(): { text: string; about: string }[] {
    if (this.host.live) return this.model.examples;
    const own = this.host
      .requests("classify/read")
      .map(({ text }) => ({ text, about: this.model.examples.find((one) => one.text === text)?.about ?? "" }));
    return own.length > 1 ? own : [];
  }

  private drawLine(): void {
    const { host, model, state } = this,
      models = modelsOf(host, "classifier");
    const submit = (text: string) => {
      state.set({ text, word: null, query: null, key: null }, { push: true });
      void this.read(text);
    };
    fill(
      this.line,
      askLine({
        host,
        label: "Text",
        value: this.text,
        verb: "Classify",
        examples: this.texts,
        submit,
        empty: (message) => this.alert.show(message),
        settings: settingsButton(model.name, () => [
          models.length > 1 && host.live
            ? select(
                "Model",
                models.map((one) => ({ value: one.name, text: one.name })),
                model.name,
                (name) => {
                  this.model = models.find((one) => one.name === name)!;
                  state.set({ model: name, text: this.text, layer: null, head: null, query: null, key: null });
                  this.drawLine();
                  void this.read(this.text);
                },
              )
            : null,
          h("p", { class: "dim small" }, model.about),
        ]),
      }).element,
      host.live
        ? null
        : h(
            "div",
            null,
            h(
              "p",
              { class: "note" },
              "A recording: what is in this file can be shown. To type other texts, run `regard studio`.",
            ),
            this.texts.length
              ? h(
                  "div",
                  { class: "chips", role: "group", "aria-label": "Also in this file" },
                  this.texts.map((one) =>
                    h(
                      "button",
                      {
                        type: "button",
                        class: "chip",
                        "data-text": one.text,
                        "aria-current": String(one.text === this.text),
                        onclick: () => submit(one.text),
                      },
                      shortened(visible(one.text)),
                    ),
                  ),
                )
              : null,
          ),
    );
  }

  async read(text: string): Promise<void> {
    if (!text.trim()) return;
    const number = ++this.requests,
      body = { model: this.model.name, text };
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    for (const chip of this.line.querySelectorAll<HTMLElement>("[data-text]"))
      chip.setAttribute("aria-current", String(chip.dataset.text === text));
    try {
      const result = await this.host.ask("classify/read", body);
      if (number !== this.requests) return;
      [this.text, this.result, this.maps] = [text, result, null];
      this.results.hidden = false;
      this.drawLabel();
      this.drawWords();
      const [maps, passage] = await Promise.all([this.host.ask("classify/maps", body), askPassage(this.host, body)]);
      if (number !== this.requests) return;
      fill(this.parts.passage, passage);
      this.maps = maps;
      this.drawMaps();
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      [this.text, this.result, this.maps] = [text, null, null];
      this.results.hidden = true;
      for (const part of [this.parts.maps, this.parts.passage]) fill(part);
    } finally {
      if (number === this.requests) this.results.removeAttribute("aria-busy");
    }
  }

  private drawLabel(): void {
    const result = this.result!;
    fill(
      this.parts.label,
      h(
        "p",
        { class: "result", role: "status" },
        visible(result.label),
        h("span", { class: "dim small" }, ` ${number(result.probabilities[0]!.probability)}`),
      ),
      unknownNote(result.words, result.unknown),
      result.cut
        ? h(
            "p",
            { class: "note" },
            `The text is too long for this model: its last ${result.cut.toLocaleString("en")} tokens were not read.`,
          )
        : null,
      bars(
        result.probabilities
          .slice(0, 8)
          .map((one, index) => ({ label: visible(one.name), value: one.probability, chosen: index === 0 })),
        { label: "Probabilities of the labels" },
      ),
      result.labels > 8 ? h("p", { class: "dim small" }, `The likeliest 8 of ${result.labels} labels.`) : null,
    );
  }

  private get measures(): Measure[] {
    return (Object.keys(MEASURES) as Measure[]).filter((one) => this.result!.shares[one] !== null);
  }

  /** Words as they are shown: those the model does not know in ⟨ ⟩. */
  private get words(): string[] {
    const unknown = new Set(this.result!.unknown);
    return this.result!.words.map((word, index) => (unknown.has(index) ? `⟨${word}⟩` : word));
  }

  private drawWords(): void {
    const result = this.result!,
      meaning = (one: Measure) => (one === "model" ? result.meaning : MEASURES[one].text);
    fill(
      this.parts.words,
      result.weighs
        ? null
        : h("p", { class: "note" }, "This model has no weights of its own: what stands for them is its saliency."),
      this.measures.map((one) =>
        h(
          "section",
          { class: "measure", "aria-label": MEASURES[one].title },
          h(
            "h2",
            { class: "minor" },
            MEASURES[one].title,
            " ",
            term(MEASURES[one].term),
            h("span", { class: "dim" }, ` ${meaning(one)}`),
          ),
          shadedText({
            words: this.words,
            shares: result.shares[one]!,
            label: MEASURES[one].title,
            chosen: this.word,
            signed: one === "signed",
            onpick: (word) => this.pick(word),
          }),
        ),
      ),
      h("div", { class: "map-foot" }, this.output, scale(result.words.length)),
      result.skipped ? h("p", { class: "dim small" }, `Leave-one-out: ${result.skipped}`) : null,
    );
    this.describe();
    this.drawChecks();
  }

  private get word(): number {
    return this.state.index("word", this.result!.words.length);
  }

  private pick(word: number): void {
    if (word === this.word) return;
    this.state.setIndex({ word });
    markWord(this.parts.words, word);
    this.describe();
  }

  private describe(): void {
    const result = this.result!,
      word = this.word,
      count = result.words.length;
    if (word < 0) return void (this.output.textContent = "Point at a word, or use the arrow keys.");
    const share = (one: Measure) =>
      `${MEASURES[one].short} ${number(result.shares[one]![word]!)}${one === "signed" ? "" : ` (${(result.shares[one]![word]! * count).toFixed(1)} × equal)`}`;
    this.output.textContent = `“${visible(result.words[word]!)}”: ${this.measures.map(share).join(" · ")}`;
  }

  private drawChecks(): void {
    const result = this.result!,
      own = result.shares.model,
      facts: Fact[] = uniformFacts(own),
      tau = (one: "model" | "removal" | "gradient", other: "model" | "removal" | "gradient") => {
        const first = result.shares[one],
          second = result.shares[other];
        return first && second ? kendall(first, second) : NaN;
      };
    if (result.uniform !== null)
      facts.push({
        name: "If all weights were uniform",
        value: number(result.uniform),
        note:
          `probability of “${visible(result.label)}”; with its own weights ` +
          `${number(result.probabilities[0]!.probability)}`,
        term: "uniform",
      });
    const shown = (value: number) => (Number.isFinite(value) ? `τ ${number(value, 2)}` : "none"),
      left = tau("model", "removal"),
      gradient = tau("model", "gradient");
    facts.push(
      {
        name: "Rank correlation: own weights and leave-one-out",
        value: shown(left),
        note: "1 is the same order, 0 none in common",
        term: "occlusion",
      },
      { name: "Rank correlation: own weights and gradient × input", value: shown(gradient), term: "gradient" },
      { name: "Rank correlation: leave-one-out and gradient × input", value: shown(tau("removal", "gradient")) },
    );
    const heaviest = own.indexOf(Math.max(...own)),
      seeds = [own[heaviest]!, ...result.others.map((one) => one.shares[heaviest]!)];
    facts.push(
      result.others.length
        ? {
            name: "Seed-to-seed band",
            value: `${number(Math.min(...seeds), 2)} to ${number(Math.max(...seeds), 2)}`,
            note: `share of “${visible(result.words[heaviest]!)}” in ${seeds.length} models of this kind`,
          }
        : { name: "Seed-to-seed band", value: "not available", note: "open several seeds: regard studio A B C" },
    );
    fill(
      this.parts.checks,
      checks(
        [
          { name: "uniform", value: result.uniform === null ? "none" : `p ${number(result.uniform, 2)}` },
          { name: "leave-one-out", value: shown(left) },
          { name: "gradient", value: shown(gradient) },
        ],
        facts,
        {
          open: this.state.get("open") === "checks",
          toggled: (open) => this.state.set({ open: open ? "checks" : null }),
        },
        this.table(),
        h(
          "p",
          { class: "dim small" },
          "Shares of the first three measures are sizes: they do not say whether a word speaks for the label or " +
            "against it; the signed one does.",
        ),
      ),
    );
  }

  private table(): HTMLElement {
    const result = this.result!;
    return h(
      "details",
      { class: "numbers" },
      h("summary", null, "Numbers as a table"),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Shares of the words" },
        h(
          "table",
          null,
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("th", { scope: "col", class: "text" }, "word"),
              this.measures.map((one) => h("th", { scope: "col" }, MEASURES[one].title)),
            ),
          ),
          h(
            "tbody",
            null,
            this.words.map((word, index) =>
              h(
                "tr",
                null,
                h("th", { scope: "row" }, visible(word)),
                this.measures.map((one) => h("td", null, number(result.shares[one]![index]!))),
              ),
            ),
          ),
        ),
      ),
    );
  }

  private drawMaps(): void {
    const answer = this.maps!,
      maps: AttentionMap[] = gatherMaps(answer);
    if (!maps.length) return fill(this.parts.maps, panel("Attention", h("p", { class: "dim" }, answer.skipped)));
    fill(
      this.parts.maps,
      h("section", { class: "card", "aria-label": "Attention over the text" }, this.stage.element),
      this.stage.drawer,
    );
    this.stage.show(maps);
  }
}

/** The first words of a long text. */
function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 44).replace(/\W+\w*$/, "")} …` : text;
}
