// Ask an image: a picture, a question, the answer, and the positions that each word attends to.

import { checksPanel } from "../ask/checks.ts";
import { readChecks, readAnswer, wordMap, type Checks, type ChecksAnswer, type Choice, type Answer, type AnswerResponse, type SeeAnswer } from "../ask/answer.ts";
import { alertBox, checkbox, panel, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { overlay, paintOver } from "../draw/overlay.ts";
import type { Host, ModelInfo, Question } from "../host.ts";
import type { State } from "../state.ts";
import { number, type Matrix, type Tensor } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";

const MOST_BYTES = 4 * 2 ** 20;
/** Equal shares of the positions at which a position is drawn in full, as `tasks/word_maps.py` has it. */
const FULL = 8;
const COMMANDS = "regard train --task questions --data builtin:shapes --out runs/questions\nregard studio runs/questions";

export const view: View = {
  id: "ask",
  title: "Ask an image",
  lede: "Ask about a picture, and see which of its positions each word attends to.",
  render(element, host, state) {
    const models = host.overview.models.filter((model) => model.kind === "vision");
    if (!models.length) {
      element.append(h("div", { class: "panel" }, h("p", null, "This view needs a model that sees pictures, and none is open. Train one on drawn shapes, and open it:"),
        h("pre", null, COMMANDS), h("p", { class: "dim small" }, "With --task captions it describes pictures instead; with --task images it labels them.")));
      return;
    }
    const page = new Ask(host, state, models);
    element.append(page.element);
    void page.see();
    return page;
  },
};

class Ask {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private parts = { picture: h("div"), question: h("div"), answer: h("div"), map: h("div"), checks: h("div") };
  private results = h("div", { class: "stack" });
  private model: ModelInfo;
  /** In base64; a picture of the visitor's own, which this page alone holds. A file saved from it knows the tag alone. */
  private file: { data: string; name: string; tag: string } | null = null;
  private picture: SeeAnswer | null = null;
  private image = new Image();
  private answer: Answer | null = null;
  private checks: Checks | null = null;
  private others: { name: string; weights: Tensor }[] = [];
  private requests = 0;

  constructor(private host: Host, private state: State, private models: ModelInfo[]) {
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const own = state.get("own"); // which only a single file can show again
    if (own && !host.live) this.file = { data: own, name: own.replace(/^\S+ /, ""), tag: own };
    if (own && host.live) state.set({ own: null });
    const start = h("section", { class: "panel picture-start", "aria-label": "Picture and question" }, this.parts.picture, this.parts.question);
    this.results.append(h("div", { class: "columns" }, this.parts.map, this.parts.checks));
    this.element.append(h("div", { class: "columns" }, start, this.parts.answer), this.alert.element, this.results);
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.answer) this.drawMap();
  }

  private get seed(): number {
    return Math.min(Math.max(Math.round(this.state.number("seed", 1)), 0), 2 ** 31 - 1);
  }

  private body(): { model: string; file?: string; seed?: number } {
    return { model: this.model.name, ...(this.file ? { file: this.file.data } : { seed: this.seed }) };
  }

  /** A question as a file has it: with the tag of the visitor's own picture, lest every question hold it. */
  private asking(verb: string, more: object = {}): Question {
    const body = { ...this.body(), ...more };
    return { verb, body, ...(this.file ? { as: { ...body, file: this.file.tag } } : {}) };
  }

  /** For a file: the picture, what is said and its checks; and what the model says to every question that is offered. */
  wanted(): Wanted {
    const see = this.asking("ask/picture"), asks = this.picture?.task === "questions", question = asks ? this.question : "";
    if (!this.picture || (asks && !question.trim())) return { shown: [see], likely: [] };
    const others = this.alike.map((one) => this.asking("ask/answer", { question, model: one.name }));
    return {
      shown: [see, this.asking("ask/answer", { question }), this.asking("ask/checks", { question }), ...others],
      likely: asks ? this.offered.map((one) => this.asking("ask/answer", { question: one })) : [],
    };
  }

  /** Other models of one kind and size. */
  private get alike(): ModelInfo[] {
    return this.models.filter((one) => one !== this.model && one.about === this.model.about);
  }

  private get offered(): string[] {
    return this.picture!.questions.length ? this.picture!.questions.map((one) => one.text) : this.picture!.suggestions;
  }

  /** Whether the model can be asked that here. */
  private knows(verb: string, question: string): boolean {
    return this.host.knows(verb, { ...this.body(), question });
  }

  /** Show the picture as the model reads it, then let it speak. */
  async see(): Promise<void> {
    const number = ++this.requests;
    this.alert.show("");
    this.results.setAttribute("aria-busy", "true");
    try {
      const picture = await this.host.ask<SeeAnswer>("ask/picture", this.body());
      const image = new Image();
      image.src = picture.picture;
      await image.decode();
      if (number !== this.requests) return;
      this.picture = picture;
      this.image = image;
      this.drawPicture();
      this.drawQuestion();
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
    if (!this.picture) this.drawPicture();
  }

  private get question(): string {
    return this.state.get("question") || this.picture?.questions[0]?.text || this.picture?.suggestions[0] || "";
  }

  private async answerQuestion(): Promise<void> {
    const number = ++this.requests, asks = this.picture!.task === "questions";
    if (asks && !this.question.trim()) {
      this.results.removeAttribute("aria-busy");
      return;
    }
    const body = { ...this.body(), question: asks ? this.question : "" };
    this.checks = null;
    this.others = [];
    try {
      const answer = await readAnswer(await this.host.ask<AnswerResponse>("ask/answer", body));
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

  private async check(number: number, body: object): Promise<void> {
    if (!this.host.knows("ask/checks", body)) return; // a file that was not asked for it
    const [checks, ...others] = await Promise.all([
      this.host.ask<ChecksAnswer>("ask/checks", body),
      ...this.alike.map(async (one) => ({ name: one.name, answer: await this.host.ask<AnswerResponse>("ask/answer", { ...body, model: one.name }).then(readAnswer, () => null) })),
    ]);
    if (number !== this.requests) return;
    this.checks = readChecks(checks);
    const own = this.answer!.weights?.shape.slice(2).join();
    this.others = others.flatMap((one) => (one.answer?.weights && one.answer.weights.shape.slice(2).join() === own ? [{ name: one.name, weights: one.answer.weights }] : []));
    this.drawChecks();
  }

  private again(values: Record<string, string | number | null>): void {
    this.state.set({ own: null, word: null, position: null, ...values }, { push: true });
    void this.see();
  }

  private change(name: string): void {
    this.state.set({ model: name, question: null, word: null, layer: null, head: null, map: null });
    this.model = this.models.find((one) => one.name === name)!;
    this.picture = null;
    void this.see().then(() => this.parts.picture.querySelector<HTMLElement>("select")?.focus());
  }

  private async take(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > MOST_BYTES) {
      this.alert.show(`The file must have at most ${MOST_BYTES.toLocaleString("en")} bytes; this one has ${file.size.toLocaleString("en")}. Make the picture smaller.`);
      return;
    }
    const text = await new Promise<string>((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result));
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });
    const before = this.file;
    const tag = `${unique("own")} ${file.name}`;
    this.file = { data: text.slice(text.indexOf(",") + 1), name: file.name, tag };
    this.state.set({ own: tag, seed: null, question: null, word: null, position: null });
    await this.see();
    if (!this.alert.element.hidden) {
      this.file = before; // what could not be read is not asked about again
      this.state.set({ own: before?.tag });
    }
  }

  private drawPicture(): void {
    const ids = { file: unique("file"), seed: unique("seed") }, live = this.host.live;
    const number = h("input", { id: ids.seed, type: "number", min: 0, max: 2 ** 31 - 1, value: this.file ? "" : this.seed, disabled: !live, onchange: () => {
      this.file = null;
      this.again({ seed: number.value || 0, question: null });
    } });
    const input = h("input", { id: ids.file, type: "file", accept: "image/png,image/jpeg,image/webp", disabled: !live, onchange: () => void this.take(input) });
    const focused = document.activeElement?.getAttribute("data-role");
    const picture = this.picture, shown = h("canvas", { class: "picture-input", width: this.image.naturalWidth || 1, height: this.image.naturalHeight || 1, role: "img", "aria-label": this.file ? "Your picture, as the model reads it" : `A drawn scene: ${picture?.truth ?? ""}` });
    if (picture) shown.getContext("2d")!.drawImage(this.image, 0, 0);
    fill(this.parts.picture, h("div", { class: "picture-choice" }, shown, h("div", { class: "picture-controls" },
      h("div", { class: "row" },
        h("button", { type: "button", class: "button", "data-role": "another", disabled: !live, onclick: () => {
          this.file = null;
          this.again({ seed: Math.floor(Math.random() * 100_000), question: null });
        } }, "Draw another"),
        h("div", { class: "field" }, h("label", { for: ids.seed }, "Scene number"), number),
        this.models.length > 1 && live ? select("Model", this.models.map((one) => ({ value: one.name, text: one.name })), this.model.name, (name) => this.change(name)) : null),
      live ? null : h("p", { class: "note" }, "A recording: this picture and what was asked of it. For others, run `regard studio`."),
      h("div", { class: "field", hidden: !live }, h("label", { for: ids.file }, "Or a picture of your own: PNG, JPEG or WebP, at most 4 MB"), input),
      this.file ? h("p", { class: "note" }, `${visible(this.file.name)}${picture ? `, ${picture.original[1]} × ${picture.original[0]} pixels, stretched to the ${picture.width} × ${picture.height} that the model reads` : ""}.${live ? " It is sent to this machine's studio alone and not kept; a link does not carry it." : ""}`) : null,
      h("p", { class: "dim small about" }, this.model.about))));
    if (focused === "another") this.parts.picture.querySelector<HTMLElement>("[data-role='another']")?.focus();
  }

  private drawQuestion(): void {
    const picture = this.picture!;
    if (picture.task !== "questions") return fill(this.parts.question);
    const id = unique("question");
    const input = h("input", { id, type: "text", spellcheck: "false", autocomplete: "off", disabled: !this.host.live, placeholder: "A question about the picture" });
    input.value = this.question;
    const put = (question: string) => {
      input.value = question;
      this.state.set({ question: question || null, word: null, position: null }, { push: true });
      this.drawRequest();
      void this.answerQuestion();
    };
    const request = (this.host.requests("ask/answer") as { question: string }[]).map((one) => one.question);
    const list = [...new Set([...this.offered, ...request])].filter((one) => this.knows("ask/answer", one));
    fill(this.parts.question, h("form", { class: "ask question", onsubmit: (event: Event) => {
      event.preventDefault();
      if (input.value.trim()) put(input.value);
      else input.focus();
    } }, h("label", { for: id, class: "small dim" }, "Question"), h("div", { class: "question-line" }, input, h("button", { type: "submit", class: "primary", disabled: !this.host.live }, "Ask")),
    list.length ? h("div", { class: "chips", role: "group", "aria-label": "What else could be asked" }, list.map((text) =>
      h("button", { type: "button", class: "chip", "data-question": text, onclick: () => put(text) }, text))) : null));
    this.drawRequest();
  }

  private drawRequest(): void {
    for (const chip of this.parts.question.querySelectorAll<HTMLElement>("[data-question]")) chip.setAttribute("aria-pressed", String(chip.dataset.question === this.question));
  }

  private drawAnswer(): void {
    const answer = this.answer!, picture = this.picture!;
    const known = picture.questions.find((one) => one.text === this.question);
    const truth = answer.task === "questions" ? known?.answer : answer.task === "captions" ? picture.truth : null;
    const title = { questions: "Answer", captions: "Caption", labels: "Label" }[answer.task];
    fill(this.parts.answer, panel(title,
      h("p", { class: "result", role: "status" }, visible(answer.output) || "(nothing)",
        truth ? h("span", { class: answer.output === truth ? "truth right" : "truth" }, answer.output === truth ? " ✓ true of this scene" : ` · in truth: ${truth}`) : null),
      answer.finished ? null : h("p", { class: "note" }, "The longest length came before the end."),
      answer.unknown.length ? h("p", { class: "note" }, `The model does not know ${answer.unknown.slice(0, 12).map((word) => `“${visible(word)}”`).join(", ")}: it reads one and the same token instead of them.`) : null,
      answer.cut ? h("p", { class: "note" }, `The question is too long: its last ${answer.cut.toLocaleString("en")} words were not read.`) : null,
      answer.probabilities.length ? bars(answer.probabilities.slice(0, 6).map((one) => ({ label: visible(one.name), value: one.probability, chosen: one.name === answer.output })), { label: "Probabilities" }) : null,
      answer.task === "captions" ? h("p", { class: "dim small" }, "Each word has a map below, and the probability it had given those before it.") : null));
  }

  private get choice(): Choice {
    const weights = this.answer?.weights;
    const whole = (name: string, count: number) => Math.min(Math.max(Math.round(this.state.number(name, -1)), -1), count - 1);
    return weights ? { layer: whole("layer", weights.shape[0]!), head: whole("head", weights.shape[1]!), word: whole("word", weights.shape[2]!) } : { layer: -1, head: -1, word: -1 };
  }

  /** What is drawn: a word's weights, or a map of an image classifier. */
  private get shown(): { matrix: Matrix; maximum: number; meaning: string; signed: boolean; sums: boolean; name: string } | null {
    const answer = this.answer!;
    if (answer.weights) {
      const matrix = wordMap(answer.weights, this.choice), count = matrix.rows * matrix.columns;
      const most = Math.max(...Array.from(matrix.data));
      const full = this.state.get("scale") === "largest" ? most || 1 : Math.min(1, FULL / count);
      const word = this.choice.word < 0 ? "the mean of all words" : `“${visible(answer.words[this.choice.word]!)}”`;
      return { matrix, maximum: full, signed: false, sums: true, name: `What ${word} attends to`,
        meaning: this.state.get("scale") === "largest" ? "up to the largest weight of this map" : count > FULL ? `${FULL} equal shares are drawn in full, for every word and model` : "weights" };
    }
    const one = answer.maps.find((position) => position.name === this.state.get("map")) ?? answer.maps.find((position) => position.name === "rollout") ?? answer.maps.at(-1);
    if (!one) return null;
    const sums = !one.signed && one.limit < 1;
    const meaning = one.signed ? "what each position adds to the label's logit, for (orange) and against (blue); drawn up to the largest" : sums ? `${FULL} equal shares are drawn in full` : "a gate: 0 is closed, 1 is open";
    return { matrix: one.weights, maximum: one.limit, meaning, signed: one.signed, sums, name: one.name };
  }

  private drawMap(): void {
    const answer = this.answer!, shown = this.shown;
    if (!shown) {
      fill(this.parts.map, panel("Places", h("p", null, answer.task === "captions" ? "It generated no word, so there is no map." : "This network weighs no positions.")));
      return this.drawChecks();
    }
    const set = (values: Record<string, string | number | null>) => {
      this.state.set(values);
      this.drawMap();
    };
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.keep;
    const list = (count: number, name: string) => [{ value: "-1", text: count > 1 ? `mean of ${count}` : "the only one" }, ...(count > 1 ? Array.from({ length: count }, (_, one) => ({ value: String(one), text: `${name} ${one + 1}` })) : [])];
    const weights = answer.weights;
    const controls = weights ? [
      select("Layer", list(weights.shape[0]!, "layer"), String(this.choice.layer), (value) => set({ layer: Number(value) < 0 ? null : value })),
      select("Head", list(weights.shape[1]!, "head"), String(this.choice.head), (value) => set({ head: Number(value) < 0 ? null : value })),
      checkbox("colors up to the largest weight", this.state.get("scale") === "largest", (checked) => set({ scale: checked ? "largest" : null })),
    ] : [select("Map", answer.maps.map((one) => ({ value: one.name, text: one.name })), shown.name, (value) => set({ map: value }))];
    [...controls].forEach((one, index) => (one.querySelector<HTMLElement>("select, input")!.dataset.keep = String(index)));
    const position = this.state.get("position").split(",").map(Number);
    const marked = position.length === 2 && position.every(Number.isInteger) && position[0]! < shown.matrix.rows && position[1]! < shown.matrix.columns && Math.min(...position) >= 0 ? (position as [number, number]) : null;
    fill(this.parts.map, panel("What it attends to", h("div", { class: "row choices" }, controls),
      weights ? this.words(weights, shown.maximum) : null,
      overlay({ picture: this.image, ...shown, label: `${shown.name}, over the picture`, position: marked, onpoint: (row, column) => this.state.set({ position: `${row},${column}` }) })));
    if (focused !== undefined) this.parts.map.querySelector<HTMLElement>(`[data-keep="${focused}"]`)?.focus({ preventScroll: true });
    this.drawChecks();
  }

  /** A small map for each word; one of them is shown large. The arrow keys move among them. */
  private words(weights: Tensor, maximum: number): HTMLElement {
    const answer = this.answer!, chosen = this.choice, names = ["all words", ...answer.words.map(visible)];
    const buttons = names.map((name, index) => {
      const word = index - 1, matrix = wordMap(weights, { ...chosen, word });
      const chance = word >= 0 && answer.word_probabilities ? number(answer.word_probabilities[word]!, 2) : null;
      return h("button", {
        type: "button", class: "word-map", "data-word": word, "aria-pressed": String(word === chosen.word), tabindex: word === chosen.word ? 0 : -1,
        onclick: () => pick(word),
      }, paintOver({ picture: this.image, matrix, maximum }, 64), h("span", { class: word < 0 ? "dim" : "" }, name), chance ? h("span", { class: "dim small" }, chance) : null);
    });
    const pick = (word: number) => {
      this.state.set({ word: word < 0 ? null : word });
      this.drawMap();
      this.parts.map.querySelector<HTMLElement>(`[data-word="${word}"]`)?.focus({ preventScroll: true });
    };
    return h("div", { class: "word-maps", role: "group", "aria-label": "Words", onkeydown: (event: KeyboardEvent) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const word = chosen.word + (step ?? 0);
      if (!step || word < -1 || word >= answer.words.length) return;
      event.preventDefault();
      pick(word);
    } }, buttons);
  }

  private drawChecks(): void {
    const shown = this.answer && this.shown;
    if (!shown) return fill(this.parts.checks);
    fill(this.parts.checks, checksPanel({
      output: this.answer!, choice: this.choice, matrix: shown.matrix, sums: shown.sums, picture: this.image, checks: this.checks, coming: !this.checks && this.knows("ask/checks", this.answer!.task === "questions" ? this.question : ""),
      others: this.others.map((one) => ({ name: one.name, matrix: wordMap(one.weights, this.choice) })),
    }));
  }
}
