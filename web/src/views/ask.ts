// Ask an image: a picture, a question, the answer, and the positions that each word attends to.

import type { ModelInfo, PictureAnswer, PictureRequest, QuestionRequest } from "../api.ts";
import { readAnswer, readChecks, wordMap, type Answer, type Checks, type Choice } from "../ask/answer.ts";
import { checksOf } from "../ask/checks.ts";
import { alertBox, checkbox, popover, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { overlay, paintOver } from "../draw/overlay.ts";
import { modelsOf, settingsButton } from "../form.ts";
import type { Host, Question, Verb } from "../host.ts";
import type { State } from "../state.ts";
import { largest, number, type Matrix, type Tensor } from "../tensor.ts";
import { named } from "../terms.ts";
import type { View, Wanted } from "../view.ts";

const MOST_BYTES = 4 * 2 ** 20;
/** Equal shares of the positions at which a position is drawn in full, as `tasks/word_maps.py` has it. */
const FULL = 8;

export const view: View = {
  id: "ask",
  title: "Ask an image",
  kinds: ["vision"],
  render(element, host, state) {
    const page = new Ask(host, state);
    element.append(page.element);
    void page.see();
    return page;
  },
};

class Ask {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private parts = { line: h("div"), answer: h("div", { class: "side" }), map: h("div"), checks: h("div") };
  private results = h("section", { class: "card", "aria-label": "Answer and what it attends to" });
  private models: ModelInfo[];
  private model: ModelInfo;
  /**
   * In base64; a picture of the visitor's own, which this page alone holds. A file saved from it knows the tag alone.
   */
  private file: { data: string; name: string; tag: string } | null = null;
  private picture_: PictureAnswer | null = null;
  private image = new Image();
  private answer: Answer | null = null;
  private checks: Checks | null = null;
  private others: { name: string; weights: Tensor }[] = [];
  private requests = 0;

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.models = modelsOf(host, "vision");
    this.model = this.models.find((one) => one.name === state.get("model")) ?? this.models[0]!;
    const own = state.get("own"); // which only a single file can show again
    if (own && !host.live) this.file = { data: own, name: own.replace(/^\S+ /, ""), tag: own };
    if (own && host.live) state.set({ own: null });
    this.results.append(h("div", { class: "workbench" }, this.parts.map, this.parts.answer), this.parts.checks);
    this.element.append(this.parts.line, this.alert.element, this.results);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.answer) this.drawMap();
  }

  picture(): HTMLCanvasElement | null {
    return this.parts.map.querySelector<HTMLCanvasElement>(".picture-half:last-child canvas");
  }

  private get seed(): number {
    return Math.min(Math.max(Math.round(this.state.number("seed", 1)), 0), 2 ** 31 - 1);
  }

  private body(): PictureRequest {
    return { model: this.model.name, ...(this.file ? { file: this.file.data } : { seed: this.seed }) };
  }

  /** A question as a file has it: with the tag of the visitor's own picture, lest every question hold it. */
  private asking(verb: Verb, more: object = {}): Question {
    const body = { ...this.body(), ...more };
    return { verb, body, ...(this.file ? { as: { ...body, file: this.file.tag } } : {}) };
  }

  /** For a file. */
  wanted(): Wanted {
    const see = this.asking("ask/picture"),
      asks = this.picture_?.task === "questions",
      question = asks ? this.question : "";
    if (!this.picture_ || (asks && !question.trim())) return { shown: [see] };
    return {
      shown: [
        see,
        this.asking("ask/answer", { question }),
        this.asking("ask/checks", { question }),
        ...this.alike.map((one) => this.asking("ask/answer", { question, model: one.name })),
      ],
    };
  }

  /** Other models of one kind and size. */
  private get alike(): ModelInfo[] {
    return this.models.filter((one) => one !== this.model && one.about === this.model.about);
  }

  private get offered(): string[] {
    return this.picture_!.questions.length
      ? this.picture_!.questions.map((one) => one.text)
      : this.picture_!.suggestions;
  }

  /** Whether the model can be asked that here. */
  private knows(verb: Verb, question: string): boolean {
    return this.host.knows(verb, { ...this.body(), question });
  }

  /** Show the picture as the model reads it, then let it answer. */
  async see(): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    try {
      const picture = await this.host.ask("ask/picture", this.body()),
        image = new Image();
      image.src = picture.picture;
      await image.decode();
      if (number !== this.requests) return;
      [this.picture_, this.image] = [picture, image];
      this.drawLine();
      await this.answerQuestion();
    } catch (error) {
      if (number === this.requests) this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    this.alert.show(error.message);
    this.answer = null;
    for (const part of [this.parts.answer, this.parts.map, this.parts.checks]) fill(part);
    this.results.removeAttribute("aria-busy");
    if (!this.picture_) this.drawLine();
  }

  private get question(): string {
    return this.state.get("question") || this.picture_?.questions[0]?.text || this.picture_?.suggestions[0] || "";
  }

  private async answerQuestion(): Promise<void> {
    const number = ++this.requests,
      asks = this.picture_!.task === "questions";
    if (asks && !this.question.trim()) return this.results.removeAttribute("aria-busy");
    const body: QuestionRequest = { ...this.body(), question: asks ? this.question : "" };
    this.checks = null;
    this.others = [];
    try {
      const answer = await readAnswer(await this.host.ask("ask/answer", body));
      if (number !== this.requests) return;
      this.answer = answer;
      this.alert.show("");
      this.results.removeAttribute("aria-busy");
      this.drawAnswer();
      this.drawMap();
      await this.check(number, body);
    } catch (error) {
      if (number === this.requests) this.fail(error as Error);
    }
  }

  private async check(number: number, body: QuestionRequest): Promise<void> {
    if (!this.host.knows("ask/checks", body)) return; // a file that was not asked for it
    const [checks, ...others] = await Promise.all([
      this.host.ask("ask/checks", body),
      ...this.alike.map(async (one) => ({
        name: one.name,
        answer: await this.host.ask("ask/answer", { ...body, model: one.name }).then(readAnswer, () => null),
      })),
    ]);
    if (number !== this.requests) return;
    this.checks = readChecks(checks);
    const own = this.answer!.weights?.shape.slice(2).join();
    this.others = others.flatMap((one) =>
      one.answer?.weights && one.answer.weights.shape.slice(2).join() === own
        ? [{ name: one.name, weights: one.answer.weights }]
        : [],
    );
    this.drawChecks();
  }

  private again(values: Record<string, string | number | null>): void {
    this.state.set({ own: null, word: null, position: null, ...values }, { push: true });
    void this.see();
  }

  private change(name: string): void {
    this.state.set({ model: name, question: null, word: null, layer: null, head: null, map: null });
    this.model = this.models.find((one) => one.name === name)!;
    this.picture_ = null;
    void this.see();
  }

  private async take(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > MOST_BYTES)
      return this.alert.show(
        `The picture must have at most 4 MB; this one has ${(file.size / 2 ** 20).toFixed(1)}. Make it smaller.`,
      );
    const text = await new Promise<string>((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result));
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });
    const before = this.file,
      tag = `${unique("own")} ${file.name}`;
    this.file = { data: text.slice(text.indexOf(",") + 1), name: file.name, tag };
    this.state.set({ own: tag, seed: null, question: null, word: null, position: null });
    await this.see();
    if (!this.alert.element.hidden) {
      this.file = before; // what could not be read is not asked about again
      this.state.set({ own: before?.tag });
    }
  }

  /** The question, the picture's source, the model. */
  private drawLine(): void {
    const picture = this.picture_,
      asks = picture?.task === "questions",
      id = unique("question"),
      { host } = this,
      live = host.live;
    const input = h("input", {
      id,
      type: "text",
      class: "question",
      dir: "auto",
      spellcheck: "false",
      autocomplete: "off",
      disabled: !live,
      placeholder: "A question about the picture",
      value: asks ? this.question : "",
    });
    const put = (question: string) => {
      input.value = question;
      this.state.set({ question: question || null, word: null, position: null }, { push: true });
      void this.answerQuestion();
    };
    const requested = host.requests("ask/answer").map((one) => one.question ?? "");
    const list = asks
      ? [...new Set([...this.offered, ...requested])].filter((one) => one && this.knows("ask/answer", one))
      : [];
    const questions = list.length
      ? popover(
          "Questions",
          () =>
            h(
              "ul",
              { class: "menu" },
              list.map((text) =>
                h(
                  "li",
                  null,
                  h(
                    "button",
                    {
                      type: "button",
                      "data-question": text,
                      "aria-pressed": String(text === this.question),
                      onclick: () => {
                        questions!.close();
                        put(text);
                      },
                    },
                    text,
                  ),
                ),
              ),
            ),
          { class: "button" },
        )
      : null;
    const another = h(
      "button",
      {
        type: "button",
        class: "button",
        disabled: !live,
        onclick: () => {
          this.file = null;
          this.again({ seed: Math.floor(Math.random() * 100_000), question: null });
        },
      },
      "Another picture",
    );
    fill(
      this.parts.line,
      h(
        "form",
        {
          class: "ask-line",
          onsubmit: (event: Event) => {
            event.preventDefault();
            if (!asks) return;
            if (input.value.trim()) put(input.value);
            else this.alert.show("Type a question first.");
          },
        },
        asks
          ? [h("label", { for: id, class: "hidden-caption" }, "Question"), input]
          : h("p", { class: "result" }, visible(this.model.name)),
        h(
          "div",
          { class: "ask-buttons" },
          asks ? h("button", { type: "submit", class: "primary", disabled: !live }, "Ask") : null,
          questions?.element ?? null,
          another,
          settingsButton(this.file ? visible(this.file.name) : `${this.model.name} · picture ${this.seed}`, () =>
            this.settings(),
          ),
        ),
      ),
      live
        ? null
        : h(
            "p",
            { class: "note" },
            "A recording: this picture and what was asked of it. For others, run `regard studio`.",
          ),
      this.file && picture
        ? h(
            "p",
            { class: "note" },
            `${visible(this.file.name)}, ${picture.original[1]} × ${picture.original[0]} pixels, stretched to the ${picture.width} × ${picture.height} that the model reads.${live ? " It is sent to this machine's studio alone and not kept; a link does not carry it." : ""}`,
          )
        : null,
    );
  }

  private settings(): (HTMLElement | null)[] {
    const ids = { file: unique("file"), seed: unique("seed") },
      { live } = this.host;
    const input = h("input", {
      id: ids.file,
      type: "file",
      accept: "image/png,image/jpeg,image/webp",
      disabled: !live,
      onchange: () => void this.take(input),
    });
    const seed = h("input", {
      id: ids.seed,
      type: "number",
      min: 0,
      max: 2 ** 31 - 1,
      value: this.file ? "" : this.seed,
      disabled: !live,
      onchange: () => {
        this.file = null;
        this.again({ seed: seed.value || 0, question: null });
      },
    });
    return [
      this.models.length > 1 && live
        ? select(
            "Model",
            this.models.map((one) => ({ value: one.name, text: one.name })),
            this.model.name,
            (name) => this.change(name),
          )
        : null,
      h("div", { class: "field" }, h("label", { for: ids.seed }, "Number of the drawn picture"), seed),
      live
        ? h(
            "div",
            { class: "field" },
            h("label", { for: ids.file }, "Or a picture of your own: PNG, JPEG or WebP, at most 4 MB"),
            input,
          )
        : null,
      h("p", { class: "dim small" }, this.model.about),
    ];
  }

  private drawAnswer(): void {
    const answer = this.answer!,
      picture = this.picture_!,
      known = picture.questions.find((one) => one.text === this.question);
    const truth = answer.task === "questions" ? known?.answer : answer.task === "captions" ? picture.truth : null;
    const title = { questions: "Answer", captions: "Caption", labels: "Label" }[answer.task];
    fill(
      this.parts.answer,
      h("h2", null, title),
      h(
        "p",
        { class: "result", role: "status" },
        visible(answer.output) || "(nothing)",
        truth
          ? h(
              "span",
              { class: answer.output === truth ? "truth right" : "truth" },
              answer.output === truth ? " ✓ correct" : ` · correct answer: ${truth}`,
            )
          : null,
      ),
      answer.finished ? null : h("p", { class: "note" }, "The longest length came before the end."),
      answer.unknown.length
        ? h(
            "p",
            { class: "note unknown" },
            `The model does not know ${answer.unknown
              .slice(0, 12)
              .map((word) => `“${visible(word)}”`)
              .join(", ")}: it reads one and the same token instead.`,
          )
        : null,
      answer.cut
        ? h(
            "p",
            { class: "note" },
            `The question is too long: its last ${answer.cut.toLocaleString("en")} words were not read.`,
          )
        : null,
      answer.probabilities.length
        ? bars(
            answer.probabilities
              .slice(0, 6)
              .map((one) => ({
                label: visible(one.name),
                value: one.probability,
                chosen: one.name === answer.output,
              })),
            { label: "Probabilities" },
          )
        : null,
      answer.task === "captions"
        ? h("p", { class: "dim small" }, "Each word has a map, and the probability it had given those before it.")
        : null,
    );
  }

  private get choice(): Choice {
    const weights = this.answer?.weights;
    return weights
      ? {
          layer: this.state.index("layer", weights.shape[0]!),
          head: this.state.index("head", weights.shape[1]!),
          word: this.state.index("word", weights.shape[2]!),
        }
      : { layer: -1, head: -1, word: -1 };
  }

  /** What is drawn: a word's weights, or a map of an image classifier. */
  private get shown(): {
    matrix: Matrix;
    maximum: number;
    meaning: string;
    signed: boolean;
    sums: boolean;
    name: string;
  } | null {
    const answer = this.answer!,
      whole = this.state.get("scale") === "largest";
    if (answer.weights) {
      const matrix = wordMap(answer.weights, this.choice),
        count = matrix.rows * matrix.columns;
      const word =
        this.choice.word < 0 && answer.words.length > 1
          ? "the mean of all words"
          : `“${visible(answer.words[Math.max(this.choice.word, 0)]!)}”`;
      const meaning = whole
        ? "up to the largest weight of this map"
        : count > FULL
          ? `${FULL} equal shares are drawn in full, for every word and model`
          : "weights";
      return {
        matrix,
        maximum: whole ? largest(matrix.data) : Math.min(1, FULL / count),
        signed: false,
        sums: true,
        name: `What ${word} attends to`,
        meaning,
      };
    }
    const one =
      answer.maps.find((position) => position.name === this.state.get("map")) ??
      answer.maps.find((position) => position.name === "rollout") ??
      answer.maps.at(-1);
    if (!one) return null;
    const sums = !one.signed && one.limit < 1;
    const meaning = one.signed
      ? "what each position adds to the label's logit, for (ember) and against (teal); drawn up to the largest"
      : sums
        ? `${FULL} equal shares are drawn in full`
        : "a gate: 0 is closed, 1 is open";
    return { matrix: one.weights, maximum: one.limit, meaning, signed: one.signed, sums, name: one.name };
  }

  private drawMap(): void {
    const answer = this.answer!,
      shown = this.shown,
      weights = answer.weights;
    if (!shown) {
      fill(
        this.parts.map,
        h(
          "p",
          null,
          answer.task === "captions"
            ? "It generated no word, so there is no map."
            : "This network weighs no positions.",
        ),
      );
      return this.drawChecks();
    }
    const set = (values: Record<string, string | number | null>) => {
      this.state.set(values);
      this.drawMap();
    };
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.keep;
    const list = (count: number, name: string) => [
      { value: "0", text: count > 1 ? `mean of ${count} ${name}s` : `one ${name}` },
      ...(count > 1
        ? Array.from({ length: count }, (_, one) => ({
            value: String(one + 1),
            text: `${name} ${one + 1} of ${count}`,
          }))
        : []),
    ];
    const controls = weights
      ? [
          select(
            "Layer",
            list(weights.shape[0]!, "layer"),
            String(this.choice.layer + 1),
            (value) => set({ layer: value === "0" ? null : value }),
            { quiet: true },
          ),
          select(
            "Head",
            list(weights.shape[1]!, "head"),
            String(this.choice.head + 1),
            (value) => set({ head: value === "0" ? null : value }),
            { quiet: true },
          ),
          checkbox("colors up to the largest weight", this.state.get("scale") === "largest", (checked) =>
            set({ scale: checked ? "largest" : null }),
          ),
        ]
      : [
          select(
            "Map",
            answer.maps.map((one) => ({ value: one.name, text: one.name })),
            shown.name,
            (value) => set({ map: value }),
            { quiet: true },
          ),
        ];
    controls.forEach((one, index) => (one.querySelector<HTMLElement>("select, input")!.dataset.keep = String(index)));
    const position = this.state
      .get("position")
      .split(",")
      .map((one) => Number(one) - 1);
    const marked =
      position.length === 2 &&
      position.every(Number.isInteger) &&
      position[0]! < shown.matrix.rows &&
      position[1]! < shown.matrix.columns &&
      Math.min(...position) >= 0
        ? (position as [number, number])
        : null;
    fill(
      this.parts.map,
      h(
        "div",
        { class: "map-bar" },
        h(
          "h2",
          null,
          weights && answer.task === "labels"
            ? named("self", "Self-attention: what the label is read from")
            : named("cross", weights ? "Cross-attention over the picture" : "Over the picture"),
        ),
        h("div", { class: "map-buttons" }, controls),
      ),
      weights && answer.words.length > 1 ? this.words(weights, shown.maximum) : null,
      overlay({
        picture: this.image,
        ...shown,
        label: `${shown.name}, over the picture`,
        position: marked,
        onpoint: (row, column) => this.state.set({ position: `${row + 1},${column + 1}` }),
      }),
    );
    if (focused !== undefined)
      this.parts.map.querySelector<HTMLElement>(`[data-keep="${focused}"]`)?.focus({ preventScroll: true });
    this.drawChecks();
  }

  /** A small map for each word; one of them is shown large. The arrow keys move among them. */
  private words(weights: Tensor, maximum: number): HTMLElement {
    const answer = this.answer!,
      chosen = this.choice,
      names = ["all words", ...answer.words.map(visible)];
    const buttons = names.map((name, index) => {
      const word = index - 1,
        chance = word >= 0 && answer.word_probabilities ? number(answer.word_probabilities[word]!, 2) : null;
      return h(
        "button",
        {
          type: "button",
          class: "word-map",
          "data-word": word,
          "aria-pressed": String(word === chosen.word),
          tabindex: word === chosen.word ? 0 : -1,
          onclick: () => pick(word),
        },
        paintOver({ picture: this.image, matrix: wordMap(weights, { ...chosen, word }), maximum }, 64),
        h("span", { class: word < 0 ? "dim" : "" }, name),
        chance ? h("span", { class: "dim small" }, chance) : null,
      );
    });
    const pick = (word: number) => {
      this.state.setIndex({ word });
      this.drawMap();
      this.parts.map.querySelector<HTMLElement>(`[data-word="${word}"]`)?.focus({ preventScroll: true });
    };
    return h(
      "div",
      {
        class: "word-maps",
        role: "group",
        "aria-label": "Words",
        onkeydown: (event: KeyboardEvent) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key],
            word = chosen.word + (step ?? 0);
          if (!step || word < -1 || word >= answer.words.length) return;
          event.preventDefault();
          pick(word);
        },
      },
      buttons,
    );
  }

  private drawChecks(): void {
    const shown = this.answer && this.shown;
    if (!shown) return fill(this.parts.checks);
    fill(
      this.parts.checks,
      checksOf({
        output: this.answer!,
        choice: this.choice,
        matrix: shown.matrix,
        sums: shown.sums,
        picture: this.image,
        checks: this.checks,
        coming: !this.checks && this.knows("ask/checks", this.answer!.task === "questions" ? this.question : ""),
        others: this.others.map((one) => ({ name: one.name, matrix: wordMap(one.weights, this.choice) })),
        open: this.state.get("open") === "checks",
        toggled: (open) => this.state.set({ open: open ? "checks" : null }),
      }),
    );
  }
}
