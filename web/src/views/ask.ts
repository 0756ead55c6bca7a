// Ask an image: a picture, a question, the answer, and the places that each word looked at.

import { checksPanel } from "../ask/checks.ts";
import { readChecks, readSaid, wordMap, type Checks, type ChecksAnswer, type Choice, type Said, type SayAnswer, type SeeAnswer } from "../ask/answer.ts";
import { alertBox, checkbox, panel, select } from "../controls.ts";
import { fill, h, unique, visible } from "../dom.ts";
import { bars } from "../draw/bars.ts";
import { overlay, paintOver } from "../draw/overlay.ts";
import type { Host, ModelInfo, Question } from "../host.ts";
import type { State } from "../state.ts";
import { number, type Matrix, type Tensor } from "../tensor.ts";
import type { View, Wanted } from "../view.ts";

const MOST_BYTES = 4 * 2 ** 20;
/** Equal shares of the places at which a place is drawn in full, as `tasks/word_maps.py` has it. */
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
  private parts = { picture: h("div"), question: h("div"), said: h("div"), map: h("div"), honesty: h("div") };
  private results = h("div", { class: "stack" });
  private model: ModelInfo;
  /** In base64; a picture of the visitor's own, which this page alone holds. A file saved from it knows the tag alone. */
  private file: { data: string; name: string; tag: string } | null = null;
  private seen: SeeAnswer | null = null;
  private image = new Image();
  private said: Said | null = null;
  private checks: Checks | null = null;
  private others: { name: string; looks: Tensor }[] = [];
  private asked = 0;

  constructor(private host: Host, private state: State, private models: ModelInfo[]) {
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    const own = state.get("own"); // which only a single file can show again
    if (own && !host.live) this.file = { data: own, name: own.replace(/^\S+ /, ""), tag: own };
    if (own && host.live) state.set({ own: null });
    const start = h("section", { class: "panel picture-start", "aria-label": "Picture and question" }, this.parts.picture, this.parts.question);
    this.results.append(h("div", { class: "columns" }, this.parts.map, this.parts.honesty));
    this.element.append(h("div", { class: "columns" }, start, this.parts.said), this.alert.element, this.results);
  }

  end(): void {
    this.asked = -1;
  }

  recolor(): void {
    if (this.said) this.drawMap();
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
    const see = this.asking("ask/see"), asks = this.seen?.task === "questions", question = asks ? this.question : "";
    if (!this.seen || (asks && !question.trim())) return { shown: [see], likely: [] };
    const others = this.alike.map((one) => this.asking("ask/say", { question, model: one.name }));
    return {
      shown: [see, this.asking("ask/say", { question }), this.asking("ask/checks", { question }), ...others],
      likely: asks ? this.offered.map((one) => this.asking("ask/say", { question: one })) : [],
    };
  }

  /** Other models of one kind and size. */
  private get alike(): ModelInfo[] {
    return this.models.filter((one) => one !== this.model && one.about === this.model.about);
  }

  private get offered(): string[] {
    return this.seen!.questions.length ? this.seen!.questions.map((one) => one.text) : this.seen!.suggestions;
  }

  /** Whether the model can be asked that here. */
  private knows(verb: string, question: string): boolean {
    return this.host.knows(verb, { ...this.body(), question });
  }

  /** Show the picture as the model reads it, then let it speak. */
  async see(): Promise<void> {
    const number = ++this.asked;
    this.alert.say("");
    this.results.setAttribute("aria-busy", "true");
    try {
      const seen = await this.host.ask<SeeAnswer>("ask/see", this.body());
      const image = new Image();
      image.src = seen.picture;
      await image.decode();
      if (number !== this.asked) return;
      this.seen = seen;
      this.image = image;
      this.drawPicture();
      this.drawQuestion();
      await this.say();
    } catch (error) {
      if (number === this.asked) this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    this.alert.say(error.message);
    this.said = null;
    for (const part of [this.parts.said, this.parts.map, this.parts.honesty]) fill(part);
    this.results.removeAttribute("aria-busy");
    if (!this.seen) this.drawPicture();
  }

  private get question(): string {
    return this.state.get("question") || this.seen?.questions[0]?.text || this.seen?.suggestions[0] || "";
  }

  private async say(): Promise<void> {
    const number = ++this.asked, asks = this.seen!.task === "questions";
    if (asks && !this.question.trim()) {
      this.results.removeAttribute("aria-busy");
      return;
    }
    const body = { ...this.body(), question: asks ? this.question : "" };
    this.checks = null;
    this.others = [];
    try {
      const said = await readSaid(await this.host.ask<SayAnswer>("ask/say", body));
      if (number !== this.asked) return;
      this.said = said;
      this.alert.say("");
      this.results.removeAttribute("aria-busy");
      this.drawSaid();
      this.drawMap();
      await this.check(number, body);
    } catch (error) {
      if (number === this.asked) this.fail(error as Error);
    }
  }

  private async check(number: number, body: object): Promise<void> {
    if (!this.host.knows("ask/checks", body)) return; // a file that was not asked for it
    const [checks, ...others] = await Promise.all([
      this.host.ask<ChecksAnswer>("ask/checks", body),
      ...this.alike.map(async (one) => ({ name: one.name, said: await this.host.ask<SayAnswer>("ask/say", { ...body, model: one.name }).then(readSaid, () => null) })),
    ]);
    if (number !== this.asked) return;
    this.checks = readChecks(checks);
    const own = this.said!.looks?.shape.slice(2).join();
    this.others = others.flatMap((one) => (one.said?.looks && one.said.looks.shape.slice(2).join() === own ? [{ name: one.name, looks: one.said.looks }] : []));
    this.drawHonesty();
  }

  private again(values: Record<string, string | number | null>): void {
    this.state.set({ own: null, word: null, place: null, ...values }, { push: true });
    void this.see();
  }

  private change(name: string): void {
    this.state.set({ model: name, question: null, word: null, layer: null, head: null, map: null });
    this.model = this.models.find((one) => one.name === name)!;
    this.seen = null;
    void this.see().then(() => this.parts.picture.querySelector<HTMLElement>("select")?.focus());
  }

  private async take(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > MOST_BYTES) {
      this.alert.say(`The file must have at most ${MOST_BYTES.toLocaleString("en")} bytes; this one has ${file.size.toLocaleString("en")}. Make the picture smaller.`);
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
    this.state.set({ own: tag, seed: null, question: null, word: null, place: null });
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
    const seen = this.seen, shown = h("canvas", { class: "given", width: this.image.naturalWidth || 1, height: this.image.naturalHeight || 1, role: "img", "aria-label": this.file ? "Your picture, as the model reads it" : `A drawn scene: ${seen?.truth ?? ""}` });
    if (seen) shown.getContext("2d")!.drawImage(this.image, 0, 0);
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
      this.file ? h("p", { class: "note" }, `${visible(this.file.name)}${seen ? `, ${seen.original[1]} × ${seen.original[0]} pixels, stretched to the ${seen.width} × ${seen.height} that the model reads` : ""}.${live ? " It is sent to this machine's studio alone and not kept; a link does not carry it." : ""}`) : null,
      h("p", { class: "dim small about" }, this.model.about))));
    if (focused === "another") this.parts.picture.querySelector<HTMLElement>("[data-role='another']")?.focus();
  }

  private drawQuestion(): void {
    const seen = this.seen!;
    if (seen.task !== "questions") return fill(this.parts.question);
    const id = unique("question");
    const input = h("input", { id, type: "text", spellcheck: "false", autocomplete: "off", disabled: !this.host.live, placeholder: "A question about the picture" });
    input.value = this.question;
    const put = (question: string) => {
      input.value = question;
      this.state.set({ question: question || null, word: null, place: null }, { push: true });
      this.drawAsked();
      void this.say();
    };
    const asked = (this.host.asked("ask/say") as { question: string }[]).map((one) => one.question);
    const list = [...new Set([...this.offered, ...asked])].filter((one) => this.knows("ask/say", one));
    fill(this.parts.question, h("form", { class: "ask question", onsubmit: (event: Event) => {
      event.preventDefault();
      if (input.value.trim()) put(input.value);
      else input.focus();
    } }, h("label", { for: id, class: "small dim" }, "Question"), h("div", { class: "question-line" }, input, h("button", { type: "submit", class: "primary", disabled: !this.host.live }, "Ask")),
    list.length ? h("div", { class: "chips", role: "group", "aria-label": "What else could be asked" }, list.map((text) =>
      h("button", { type: "button", class: "chip", "data-question": text, onclick: () => put(text) }, text))) : null));
    this.drawAsked();
  }

  private drawAsked(): void {
    for (const chip of this.parts.question.querySelectorAll<HTMLElement>("[data-question]")) chip.setAttribute("aria-pressed", String(chip.dataset.question === this.question));
  }

  private drawSaid(): void {
    const said = this.said!, seen = this.seen!;
    const known = seen.questions.find((one) => one.text === this.question);
    const truth = said.task === "questions" ? known?.answer : said.task === "captions" ? seen.truth : null;
    const title = { questions: "Answer", captions: "Caption", labels: "Label" }[said.task];
    fill(this.parts.said, panel(title,
      h("p", { class: "said", role: "status" }, visible(said.says) || "(nothing)",
        truth ? h("span", { class: said.says === truth ? "truth right" : "truth" }, said.says === truth ? " ✓ true of this scene" : ` · in truth: ${truth}`) : null),
      said.finished ? null : h("p", { class: "note" }, "The longest length came before the end."),
      said.unknown.length ? h("p", { class: "note" }, `The model has never seen ${said.unknown.slice(0, 12).map((word) => `“${visible(word)}”`).join(", ")}: it reads one and the same token instead of them.`) : null,
      said.cut ? h("p", { class: "note" }, `The question is too long: its last ${said.cut.toLocaleString("en")} words were not read.`) : null,
      said.chances.length ? bars(said.chances.slice(0, 6).map((one) => ({ label: visible(one.name), value: one.probability, chosen: one.name === said.says })), { label: "Probabilities" }) : null,
      said.task === "captions" ? h("p", { class: "dim small" }, "Each word has a map below, and the probability it had given those before it.") : null));
  }

  private get choice(): Choice {
    const looks = this.said?.looks;
    const whole = (name: string, count: number) => Math.min(Math.max(Math.round(this.state.number(name, -1)), -1), count - 1);
    return looks ? { layer: whole("layer", looks.shape[0]!), head: whole("head", looks.shape[1]!), word: whole("word", looks.shape[2]!) } : { layer: -1, head: -1, word: -1 };
  }

  /** What is drawn: a word's weights, or a map of an image classifier. */
  private get shown(): { matrix: Matrix; maximum: number; meaning: string; signed: boolean; sums: boolean; name: string } | null {
    const said = this.said!;
    if (said.looks) {
      const matrix = wordMap(said.looks, this.choice), count = matrix.rows * matrix.columns;
      const most = Math.max(...Array.from(matrix.data));
      const full = this.state.get("scale") === "largest" ? most || 1 : Math.min(1, FULL / count);
      const word = this.choice.word < 0 ? "the mean of all words" : `“${visible(said.words[this.choice.word]!)}”`;
      return { matrix, maximum: full, signed: false, sums: true, name: `What ${word} attends to`,
        meaning: this.state.get("scale") === "largest" ? "up to the largest weight of this map" : count > FULL ? `${FULL} equal shares are drawn in full, for every word and model` : "weights" };
    }
    const one = said.places.find((place) => place.name === this.state.get("map")) ?? said.places.find((place) => place.name === "rollout") ?? said.places.at(-1);
    if (!one) return null;
    const sums = !one.signed && one.limit < 1;
    const meaning = one.signed ? "what each position adds to the label's logit, for (orange) and against (blue); drawn up to the largest" : sums ? `${FULL} equal shares are drawn in full` : "a gate: 0 is closed, 1 is open";
    return { matrix: one.weights, maximum: one.limit, meaning, signed: one.signed, sums, name: one.name };
  }

  private drawMap(): void {
    const said = this.said!, shown = this.shown;
    if (!shown) {
      fill(this.parts.map, panel("Places", h("p", null, said.task === "captions" ? "It generated no word, so there is no map." : "This network weighs no positions.")));
      return this.drawHonesty();
    }
    const set = (values: Record<string, string | number | null>) => {
      this.state.set(values);
      this.drawMap();
    };
    const focused = (document.activeElement as HTMLElement | null)?.dataset?.keep;
    const list = (count: number, name: string) => [{ value: "-1", text: count > 1 ? `mean of ${count}` : "the only one" }, ...(count > 1 ? Array.from({ length: count }, (_, one) => ({ value: String(one), text: `${name} ${one + 1}` })) : [])];
    const looks = said.looks;
    const controls = looks ? [
      select("Layer", list(looks.shape[0]!, "layer"), String(this.choice.layer), (value) => set({ layer: Number(value) < 0 ? null : value })),
      select("Head", list(looks.shape[1]!, "head"), String(this.choice.head), (value) => set({ head: Number(value) < 0 ? null : value })),
      checkbox("colors up to the largest weight", this.state.get("scale") === "largest", (checked) => set({ scale: checked ? "largest" : null })),
    ] : [select("Map", said.places.map((one) => ({ value: one.name, text: one.name })), shown.name, (value) => set({ map: value }))];
    [...controls].forEach((one, index) => (one.querySelector<HTMLElement>("select, input")!.dataset.keep = String(index)));
    const place = this.state.get("place").split(",").map(Number);
    const marked = place.length === 2 && place.every(Number.isInteger) && place[0]! < shown.matrix.rows && place[1]! < shown.matrix.columns && Math.min(...place) >= 0 ? (place as [number, number]) : null;
    fill(this.parts.map, panel("What it attends to", h("div", { class: "row choices" }, controls),
      looks ? this.words(looks, shown.maximum) : null,
      overlay({ picture: this.image, ...shown, label: `${shown.name}, over the picture`, place: marked, onpoint: (row, column) => this.state.set({ place: `${row},${column}` }) })));
    if (focused !== undefined) this.parts.map.querySelector<HTMLElement>(`[data-keep="${focused}"]`)?.focus({ preventScroll: true });
    this.drawHonesty();
  }

  /** A small map for each word; one of them is shown large. The arrow keys move among them. */
  private words(looks: Tensor, maximum: number): HTMLElement {
    const said = this.said!, chosen = this.choice, names = ["all words", ...said.words.map(visible)];
    const buttons = names.map((name, index) => {
      const word = index - 1, matrix = wordMap(looks, { ...chosen, word });
      const chance = word >= 0 && said.word_probabilities ? number(said.word_probabilities[word]!, 2) : null;
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
      if (!step || word < -1 || word >= said.words.length) return;
      event.preventDefault();
      pick(word);
    } }, buttons);
  }

  private drawHonesty(): void {
    const shown = this.said && this.shown;
    if (!shown) return fill(this.parts.honesty);
    fill(this.parts.honesty, checksPanel({
      said: this.said!, choice: this.choice, matrix: shown.matrix, sums: shown.sums, picture: this.image, checks: this.checks, coming: !this.checks && this.knows("ask/checks", this.said!.task === "questions" ? this.question : ""),
      others: this.others.map((one) => ({ name: one.name, matrix: wordMap(one.looks, this.choice) })),
    }));
  }
}
