// Watch attention learn: the map of one sentence at each validation of a run, on a slider over training steps; while the
// run goes, new ones come by themselves.

import type { AlignedSample, Frame, FramesAnswer, RunState } from "./api.ts";
import { keepingFocus, setSlider, slider } from "./controls.ts";
import { fill, h, visible, type Child } from "./dom.ts";
import { describeCell, legend, MatrixView, type MatrixPicture } from "./draw/matrix.ts";
import { factList } from "./facts.ts";
import type { Host, Question } from "./host.ts";
import { Steps } from "./playing.ts";
import type { State } from "./state.ts";
import { build, number } from "./tensor.ts";
import { term } from "./terms.ts";
import { roomBelow } from "./view.ts";

/** Milliseconds between two questions about a run that goes. */
const EVERY = 1200;

export class Learning {
  readonly element = h("div", { class: "learning" });
  private frames: Frame[] = [];
  private known: { offset: number; file: string } = { offset: 0, file: "" };
  private run: RunState;
  private ended = false;
  private timer = 0;
  private matrix: MatrixView;
  private steps: Steps;
  private slider: HTMLElement | null = null;
  /** What stands below the slider, which stays while it is moved. */
  private facts = h("div", { class: "stack" });
  private parts = {
    bar: h("div", { class: "map-bar" }),
    picture: h("div", { class: "picture-box" }),
    told: h("div", { class: "told" }),
    side: h("div", { class: "side" }),
    scale: h("div"),
  };
  private readout = h("output", { class: "readout", "aria-live": "polite" });
  private asked: Question[] = [];
  /** Whether the last frame is shown, whichever that is. */
  private following: boolean;

  constructor(
    private host: Host,
    private state: State,
    run: string,
    /** Where another run is chosen. */
    private chooser: Child = null,
  ) {
    this.run = { run, state: "begun", steps: null };
    this.following = !state.get("step");
    this.matrix = new MatrixView({
      height: () => roomBelow(this.parts.picture, 120),
      point: (row, column) => fill(this.readout, describeCell(this.drawing(), row, column)),
    });
    this.steps = new Steps({
      count: () => this.frames.length,
      at: () => this.at,
      go: (at) => this.go(at),
      pace: 700,
    });
    this.parts.picture.append(this.matrix.element);
    this.parts.told.append(this.readout);
    fill(this.element, chooser, h("p", { class: "dim", role: "status" }, "Waiting for the first validation…"));
    void this.ask();
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.steps.stop();
  }

  recolor(): void {
    if (this.frames.length) this.draw();
  }

  picture(): SVGSVGElement | null {
    return this.parts.picture.querySelector("svg");
  }

  questions(): Question[] {
    return this.asked;
  }

  private async ask(): Promise<void> {
    const body = { run: this.run.run, ...this.known };
    const answer: FramesAnswer | null = await this.host.ask("learn/frames", body).catch(() => null);
    if (this.ended || !answer) return;
    this.asked = [...(answer.anew ? [] : this.asked), { verb: "learn/frames", body }];
    const { run, state, steps } = answer,
      before = this.frames.length;
    this.run = { run, state, steps };
    this.frames = (answer.anew ? [] : this.frames).concat(answer.frames.filter((one) => one.samples.length));
    this.known = { offset: answer.offset, file: answer.file };
    if (this.frames.length && (this.frames.length !== before || answer.anew))
      keepingFocus(this.element, () => this.draw());
    else if (!this.frames.length && !answer.more && (state === "finished" || state === "stopped"))
      fill(
        this.element,
        this.chooser,
        h(
          "p",
          { class: "panel" },
          `${visible(run)} has kept no attention weights: its task has no cross-attention, or it ended before its ` +
            "first validation. Its curves are below.",
        ),
      );
    const next = { run: this.run.run, ...this.known };
    if (answer.more && this.host.knows("learn/frames", next)) return void this.ask();
    if (this.host.live && (state === "going" || state === "begun"))
      this.timer = window.setTimeout(() => void this.ask(), EVERY);
  }

  /** The frame that is shown: the last while new ones come, until another is chosen. */
  private get at(): number {
    const wanted = this.frames.findIndex((one) => one.step === this.state.number("step", -1));
    return this.following || wanted < 0 ? this.frames.length - 1 : wanted;
  }

  private get sample(): AlignedSample {
    const { samples } = this.frames[this.at]!;
    return samples[this.state.index("sentence", samples.length, 0)]!;
  }

  private go(at: number): void {
    this.following = at === this.frames.length - 1 && !this.steps.playing;
    this.state.set({ step: this.following ? null : this.frames[at]!.step });
    this.show();
  }

  private drawing(): MatrixPicture {
    const { weights, source_tokens, target_tokens, source } = this.sample;
    return {
      matrix: build(target_tokens.length, source_tokens.length, (row, column) => weights[row]![column]!),
      rows: target_tokens.map(visible),
      columns: source_tokens.map(visible),
      rowTitle: "output",
      columnTitle: "source",
      label: `Cross-attention of “${visible(source)}” at step ${this.frames[this.at]!.step}`,
      apart: [source_tokens.length - 1],
    };
  }

  private draw(): void {
    const samples = this.frames.at(-1)!.samples;
    this.slider = slider(
      "Training step",
      {
        min: 0,
        max: this.frames.length - 1,
        value: this.at,
        show: (at) => this.frames[at]?.step.toLocaleString("en") ?? "",
      },
      (at) => this.go(at),
    );
    fill(this.parts.side, this.slider, this.facts);
    fill(
      this.parts.bar,
      h("div", { class: "map-title" }, this.chooser, h("h2", null, "Cross-attention, as it forms"), term("cross")),
      h(
        "div",
        { class: "map-buttons" },
        samples.map((one, index) =>
          h(
            "button",
            {
              type: "button",
              class: "button small",
              "aria-pressed": String(one.source === this.sample.source),
              title: visible(one.source),
              onclick: () => {
                this.state.setIndex({ sentence: index });
                this.draw();
              },
            },
            `Sentence ${index + 1}`,
          ),
        ),
        this.steps.button,
      ),
    );
    fill(
      this.element,
      h(
        "section",
        { class: "card", "aria-label": "Attention while it is learned" },
        h(
          "div",
          { class: "workbench" },
          h(
            "figure",
            { class: "map-stage" },
            this.parts.bar,
            this.parts.picture,
            h("div", { class: "map-foot" }, this.parts.told, this.parts.scale),
          ),
          this.parts.side,
        ),
      ),
    );
    this.show();
  }

  private show(): void {
    const { at, sample } = this,
      frame = this.frames[at]!,
      drawing = this.drawing();
    this.matrix.show(drawing);
    fill(this.parts.scale, legend(drawing));
    fill(this.readout, "Point at a cell, or use the arrow keys.");
    if (this.slider) setSlider(this.slider, at, frame.step.toLocaleString("en"));
    const going =
      this.run.state === "going"
        ? `still training${this.run.steps ? `, ${frame.step.toLocaleString("en")} of ${this.run.steps.toLocaleString("en")} steps` : ""}`
        : this.run.state;
    fill(
      this.facts,
      h("h2", { class: "minor" }, "Source"),
      h("p", { class: "prefix" }, visible(sample.source)),
      h("h2", { class: "minor" }, "What it outputs by now"),
      h("p", { class: "result", role: "status", lang: "und" }, visible(sample.hypothesis) || "(nothing)"),
      h("p", { class: "dim small" }, "reference: ", visible(sample.reference)),
      factList([
        { name: "Step", value: frame.step.toLocaleString("en"), note: going },
        { name: "Validation loss", value: frame.loss === null ? "none" : number(frame.loss, 3) },
        { name: "BLEU", value: frame.bleu === null ? "none" : number(frame.bleu, 1) },
      ]),
      h(
        "p",
        { class: "dim small" },
        "Rows: the reference, which the model is forced to output, so that they stay the same; the mean over heads of the layer that alignments are read from.",
      ),
    );
  }
}
