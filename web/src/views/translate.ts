// Type a sentence: the model's output and its attention.

import type { AttentionAnswer, ModelInfo, SearchAnswer } from "../api.ts";
import { isExact, readMaps, type AttentionMap, type MapName } from "../attention.ts";
import { alertBox, panel, select } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { tree } from "../draw/tree.ts";
import { checks } from "../facts.ts";
import { askLine, modelsOf, respelledNote, settingsButton, unknownNote } from "../form.ts";
import type { Host, Question } from "../host.ts";
import { Steps } from "../playing.ts";
import { AttentionStage, meaning } from "../stage.ts";
import type { State } from "../state.ts";
import { statesPanel } from "../states.ts";
import { number, unpackExact } from "../tensor.ts";
import { term } from "../terms.ts";
import { checksOf, comparison, readChecks, signedMap, type Checks } from "../translate/checks.ts";
import { ExactRows } from "../translate/exact.ts";
import { StepPanel } from "../translate/steps.ts";
import { roomBelow, type View, type Wanted } from "../view.ts";

const BEAMS = [1, 2, 3, 5, 8, 12];

export const view: View = {
  id: "translate",
  title: "Translate",
  kinds: ["translator"],
  render(element, host, state) {
    const page = new Translate(host, state);
    element.append(page.element);
    page.begin();
    return page;
  },
};

class Translate {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private line = h("div");
  private output = h("div", { class: "output" });
  private results = h("div", { class: "workbench" });
  private more = h("div", { class: "stack" });
  private model: ModelInfo;
  private text = "";
  private requests = 0;
  private result: SearchAnswer | null = null;
  private attention: AttentionAnswer | null = null;
  private maps: AttentionMap[] = [];
  private checks: Checks | null = null;
  private tokens: number[] = [];
  private exact = new Map<MapName, ExactRows>();
  private steps: Steps;
  private stage: AttentionStage;
  private panel: StepPanel | null = null;
  private checksBox = h("div");
  private side = h("div", { class: "side" });

  constructor(
    private host: Host,
    private state: State,
  ) {
    const models = modelsOf(host, "translator");
    this.model = models.find((one) => one.name === state.get("model")) ?? models[0]!;
    this.text = state.get("text") || this.model.examples[0]?.text || "";
    this.steps = new Steps({
      count: () => this.attention?.candidates.length ?? 1,
      at: () => this.step,
      go: (step) => this.go(step),
    });
    this.stage = new AttentionStage({
      state,
      height: () => roomBelow(this.stage.element.querySelector(".picture-box")!, 118),
      changed: () => this.drawRest(),
      steps: this.steps,
      actions: (map) => this.actions(map),
      states: () => statesPanel(host, this.sentence),
      exact: (map, choice, rows, then) => {
        const known = this.exact.get(map.id)!,
          result = known.read(rows, choice.layer, choice.head);
        if (!result && then) known.later(rows, then);
        return result;
      },
    });
    this.drawLine();
    this.element.append(
      this.line,
      this.alert.element,
      h(
        "section",
        { class: "card", "aria-label": "Translation and its attention" },
        this.output,
        this.results,
        this.checksBox,
      ),
      this.more,
    );
  }

  begin(): void {
    if (this.text.trim()) void this.search();
  }

  end(): void {
    this.requests = -1;
    this.steps.stop();
    this.forget();
  }

  recolor(): void {
    if (this.attention) this.draw();
  }

  picture(): SVGSVGElement | HTMLCanvasElement | null {
    return (
      this.stage.element.querySelector<SVGSVGElement>(".picture-box svg") ??
      this.stage.element.querySelector<HTMLCanvasElement>(".picture-box canvas")
    );
  }

  private get sentence(): { model: string; text: string } {
    return { model: this.model.name, text: this.text };
  }

  private get beam(): number {
    return Math.min(Math.max(Math.round(this.state.number("beam", 5)), 1), 12);
  }

  /** The step of decoding that is shown: the query, where rows are steps. */
  private get step(): number {
    const most = this.attention!.candidates.length;
    return this.state.get("map") === "source" ? 0 : this.state.index("query", most, 0);
  }

  /** For a file. */
  wanted(): Wanted {
    if (!this.text.trim()) return { shown: [] };
    const search: Question = { verb: "translate/search", body: { ...this.sentence, beam: this.beam } },
      body = { ...this.sentence, tokens: this.tokens };
    if (!this.result || !this.attention) return { shown: [search] };
    const measured: Question[] = this.maps.length && this.tokens.length ? [{ verb: "translate/checks", body }] : [];
    return { shown: [search, { verb: "translate/attention", body }, ...measured] };
  }

  private forget(): void {
    for (const rows of this.exact.values()) rows.leave();
    this.exact.clear();
  }

  private drawLine(): void {
    const { host, state, model } = this,
      models = modelsOf(host, "translator");
    const line = askLine({
      host,
      label: "Sentence",
      placeholder: "A sentence in the source language",
      value: this.text,
      verb: "Translate",
      examples: model.examples,
      submit: (text) => void this.search({ ...this.sentence, text }, true),
      empty: (message) => this.alert.show(message),
      settings: settingsButton(`${model.name} · beam ${this.beam}`, () => [
        models.length > 1
          ? select(
              "Model",
              models.map((one) => ({ value: one.name, text: one.name, disabled: !host.live })),
              model.name,
              (name) => this.change({ model: name }),
            )
          : null,
        h(
          "div",
          null,
          select(
            "Beam",
            BEAMS.map((width) => ({
              value: String(width),
              text: width === 1 ? "1, greedy" : String(width),
              disabled: !host.live,
            })),
            String(this.beam),
            (width) => this.change({ beam: width === "5" ? null : width }),
          ),
          term("beam"),
        ),
        h("p", { class: "dim small" }, model.about),
        h(
          "button",
          {
            type: "button",
            class: "button small",
            "aria-pressed": String(state.get("open") === "beam"),
            onclick: () => this.openBeam(),
          },
          "What search considered",
        ),
      ]),
    });
    fill(
      this.line,
      line.element,
      host.live
        ? null
        : h(
            "p",
            { class: "note" },
            "A recording: what is in this file can be shown from every side. To type other sentences, run " +
              "`regard studio`.",
          ),
    );
  }

  private change(values: Record<string, string | null>): void {
    this.state.set({ ...values, layer: null, head: null, query: null, key: null, pick: null, path: null });
    this.model = modelsOf(this.host, "translator").find((one) => one.name === this.state.get("model")) ?? this.model;
    this.drawLine();
    void this.search();
  }

  private openBeam(): void {
    this.state.set({ open: this.state.get("open") === "beam" ? null : "beam" });
    this.drawMore();
    this.more.querySelector(".panel")?.scrollIntoView({ block: "nearest" });
  }

  /** Ask the model, unless something newer was asked meanwhile. */
  private async search(request = this.sentence, push = false): Promise<void> {
    const number = ++this.requests;
    if (push)
      this.state.set(
        { text: request.text, model: this.state.get("model"), pick: null, path: null, query: null, key: null },
        { push },
      );
    this.steps.stop();
    this.alert.show("");
    this.wait(true);
    const result = await this.host
      .ask("translate/search", { ...request, beam: this.beam })
      .catch((error: Error) => error);
    if (number !== this.requests) return;
    this.wait(false);
    this.text = request.text;
    if (result instanceof Error) {
      this.alert.show(result.message);
      this.result = this.attention = null;
      for (const part of [this.output, this.results, this.checksBox, this.more]) fill(part);
      return;
    }
    this.result = result;
    const path = this.state.get("path"),
      first = result.outputs[0]?.tokens ?? [];
    const wanted = path
      ? path.split(".").map(Number)
      : (result.outputs[this.state.number("pick", 1) - 1]?.tokens ?? first);
    await this.show(this.knows(wanted) ? wanted : first);
  }

  /** What is shown cannot be used while another sentence is read. */
  private wait(busy: boolean): void {
    for (const part of [this.results, this.checksBox, this.more]) part.inert = busy;
    this.results.setAttribute("aria-busy", String(busy));
  }

  private knows(tokens: number[]): boolean {
    return this.host.knows("translate/attention", { ...this.sentence, tokens });
  }

  /** Show one hypothesis, and measure what its weights are checked against once it is drawn. */
  private async show(tokens: number[]): Promise<void> {
    const number = ++this.requests,
      request = { ...this.sentence, tokens };
    try {
      const attention = await this.host.ask("translate/attention", request),
        maps = await readMaps(attention);
      if (number !== this.requests) return;
      [this.attention, this.maps, this.checks, this.tokens] = [attention, maps, null, tokens];
      this.forget();
      for (const { id } of maps) this.exact.set(id, this.exactRows(id, tokens));
      this.panel = new StepPanel(attention, this.step, (step) => this.go(step));
      this.draw();
      if (!maps.length || !tokens.length || !this.host.knows("translate/checks", request)) return;
      const measured = await readChecks(await this.host.ask("translate/checks", request));
      if (number !== this.requests) return;
      this.checks = measured;
      this.drawChecks();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  }

  private exactRows(map: MapName, tokens: number[]): ExactRows {
    const body = { ...this.sentence, tokens, map };
    return new ExactRows((row) =>
      this.host.ask("translate/row", { ...body, row }).then(
        (answer) => unpackExact(answer.weights),
        () => null,
      ),
    );
  }

  private go(step: number): void {
    if (this.maps.length && this.stage.map.id === "source") this.state.set({ map: null });
    this.state.setIndex({ query: step, key: -1 });
    if (this.maps.length) this.stage.redraw();
    this.drawRest();
  }

  private actions(map: AttentionMap): { text: string; href: string; title: string }[] {
    const { state } = this,
      { layer, head } = this.stage.choice,
      // A head that is shown because it is usual is not in the address; other views are to show the same.
      usual = head >= 0 && !state.get("head") ? { layer: layer + 1, head: head + 1 } : {},
      selected = { ...state.selection(), ...usual, model: this.model.name, text: this.text };
    const cross =
      map.id === "cross"
        ? [
            {
              text: "Change",
              href: state.link("whatif", selected),
              title: "Force this weight and see what the model outputs",
            },
          ]
        : [];
    return [
      {
        text: "Take apart",
        href: state.link("steps", selected),
        title: "Every number between this query and its context",
      },
      ...cross,
      { text: "Compare", href: state.link("compare", selected), title: "Beside another head or another model" },
    ];
  }

  /** Draw all of it; where a hypothesis was chosen, that keeps the focus and stays where it was. */
  private draw(): void {
    const inside = this.more.contains(document.activeElement),
      top = inside ? this.more.getBoundingClientRect().top : 0;
    if (this.maps.length) {
      fill(this.results, this.stage.element, this.side);
      this.stage.show(this.maps);
    } else {
      fill(
        this.results,
        h(
          "div",
          { class: "panel" },
          h("h2", null, "Attention"),
          h(
            "p",
            null,
            "This model has no attention: it reads the sentence into one fixed vector, so there are no weights " +
              "to show.",
          ),
        ),
        this.side,
      );
    }
    fill(this.side, this.panel!.element);
    this.drawRest();
    this.drawMore();
    if (!inside) return;
    this.more.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus({ preventScroll: true });
    scrollBy(0, this.more.getBoundingClientRect().top - top);
  }

  /** What follows from the step and from what is chosen. */
  private drawRest(): void {
    const rows = this.maps.length && this.stage.map.id !== "source";
    this.drawOutput();
    this.panel!.show(
      this.step,
      rows ? this.stage.map : (this.maps[0] ?? null),
      this.maps.length ? this.stage.choice : null,
    );
    this.drawChecks();
  }

  private drawOutput(): void {
    const { outputs, cut, read, source } = this.result!,
      { target, finished } = this.attention!,
      own = this.tokens.join();
    const shown = outputs.find((one) => one.tokens.join() === own),
      until = this.steps.playing ? this.step : Infinity;
    const words = target.words
      .map((word, index) => ({ word, at: target.word_of.indexOf(index) }))
      .filter((one) => one.word !== "</s>");
    fill(
      this.output,
      h(
        "p",
        { class: "result", role: "status", lang: "und" },
        shown && !words.length
          ? visible(shown.text) || h("span", { class: "dim" }, "(nothing)")
          : shown && until === Infinity
            ? visible(shown.text)
            : words.map(({ word, at }) => [
                h("span", { class: at > until ? "waiting" : at === until ? "arriving" : "" }, visible(word)),
                " ",
              ]),
        shown || !target.tokens.length || finished
          ? null
          : h("span", { class: "dim" }, " … a hypothesis the beam dropped"),
      ),
      respelledNote(source.read_as),
      unknownNote(source.words, source.unknown, source.words.length - 1),
      cut
        ? h(
            "p",
            { class: "note" },
            `The sentence is too long: the first ${read - 1} tokens were read, ${cut} were left out.`,
          )
        : null,
      shown && !shown.finished
        ? h("p", { class: "note" }, "The longest length came before the end of the sentence.")
        : null,
    );
  }

  private drawChecks(): void {
    if (!this.maps.length) return fill(this.checksBox);
    const { map, choice } = this.stage,
      query = Math.min(this.stage.query, map.weights.shape[2]! - 1);
    const checked = { map, choice, query, logProbabilities: this.attention!.log_probabilities, checks: this.checks };
    const { badges, facts } = checksOf(checked),
      coming = this.host.knows("translate/checks", { ...this.sentence, tokens: this.tokens });
    if (!this.checks && !coming) for (const one of badges) one.value ??= "not in this file";
    fill(
      this.checksBox,
      checks(
        badges,
        facts,
        {
          open: this.state.get("open") === "checks",
          toggled: (open) => this.state.set({ open: open ? "checks" : null }),
        },
        h("p", { class: "dim small" }, this.stage.about, ". ", meaning(map, choice)),
        this.checks?.skipped ? h("p", { class: "dim small" }, this.checks.skipped) : null,
        map.id === "cross"
          ? comparison(checked)
          : h("p", { class: "dim small" }, "Leave-one-out and gradients are measured for cross-attention."),
        signedMap(checked),
        isExact(map, choice)
          ? null
          : h(
              "p",
              { class: "dim small" },
              "Of more than a million weights the page has rounded ones; the row that is pointed at is asked for " +
                "exactly.",
            ),
      ),
    );
  }

  private drawMore(): void {
    fill(this.more, this.stage.drawer, this.state.get("open") === "beam" ? this.beamPanels() : null);
  }

  private beamPanels(): HTMLElement[] {
    const { outputs, tree: nodes } = this.result!,
      own = this.tokens.join();
    const byLength = outputs.some(
      (one, index) => index > 0 && one.log_probability > outputs[index - 1]!.log_probability,
    );
    return [
      panel(
        `The ${outputs.length} best of the beam`,
        h(
          "ol",
          { class: "list nbest" },
          outputs.map((one, index) =>
            h(
              "li",
              null,
              h(
                "button",
                {
                  type: "button",
                  "aria-pressed": String(one.tokens.join() === own),
                  disabled: !this.knows(one.tokens),
                  onclick: () => {
                    this.state.set({ pick: index ? index + 1 : null, path: null, query: null, key: null });
                    void this.show(one.tokens);
                  },
                },
                h("span", { class: "text" }, visible(one.text) || "(nothing)"),
                h(
                  "span",
                  { class: "figures" },
                  `p ${number(Math.exp(one.log_probability))}`,
                  h("span", { class: "dim" }, ` score ${number(one.score, 3)}`),
                ),
              ),
            ),
          ),
        ),
        byLength
          ? h(
              "p",
              { class: "dim small" },
              "In the order of the score: the log-probability divided by the number of tokens, so that long " +
                "outputs are not set back. The order of p alone differs.",
            )
          : null,
      ),
      nodes.length
        ? panel(
            "What search considered",
            h(
              "p",
              { class: "dim small" },
              "Beam search keeps the best hypotheses of each step and drops the others. Choose one to see what " +
                "the model attended to for it.",
            ),
            tree(
              nodes,
              this.tokens,
              (path) => this.knows(path),
              (path) => {
                const output = outputs.findIndex((one) => one.tokens.join() === path.join());
                this.state.set({
                  path: output >= 0 ? null : path.join("."),
                  pick: output > 0 ? output + 1 : null,
                  query: path.length,
                  key: null,
                });
                void this.show(path);
              },
            ),
          )
        : panel("What search considered", h("p", null, "Nothing was searched.")),
    ];
  }
}
