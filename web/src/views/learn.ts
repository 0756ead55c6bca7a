// Learn: attention while it is learned, and the curves of all runs.

import type { RunState } from "../api.ts";
import { curveQuestions, trainingPanel } from "../compare/training.ts";
import { select } from "../controls.ts";
import { fill, h } from "../dom.ts";
import type { Host } from "../host.ts";
import { Learning } from "../learn.ts";
import type { State } from "../state.ts";
import type { View, Wanted } from "../view.ts";

export const view: View = {
  id: "learn",
  title: "Learn",
  kinds: [],
  render(element, host, state) {
    const page = new Learn(host, state);
    element.append(page.element);
    void page.begin();
    return page;
  },
};

class Learn {
  readonly element = h("div", { class: "stack" });
  private map = h("div");
  private curves = h("div");
  private learning: Learning | null = null;
  private stop: (() => void) | null = null;
  private ended = false;

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.element.append(this.map, this.curves);
  }

  end(): void {
    this.ended = true;
    this.learning?.end();
    this.stop?.();
  }

  recolor(): void {
    this.learning?.recolor();
  }

  picture(): SVGSVGElement | null {
    return this.learning?.picture() ?? null;
  }

  /** For a file. */
  async wanted(): Promise<Wanted> {
    return {
      shown: [...(this.learning?.questions() ?? []), ...(await curveQuestions(this.host, () => !this.ended))],
    };
  }

  async begin(): Promise<void> {
    const runs = await this.host.ask("compare/runs", {}).then(
      (answer) => answer.runs,
      () => [],
    );
    if (this.ended) return;
    if (!runs.length) return this.offer();
    this.show(runs);
    this.stop = trainingPanel(this.curves, this.host);
  }

  private show(runs: RunState[]): void {
    const translates = (name: string) =>
      this.host.overview.models.some((one) => one.name === name && one.kind === "translator");
    const run =
      runs.find((one) => one.run === this.state.get("run")) ??
      runs.find((one) => one.state === "going") ??
      runs.find((one) => translates(one.run)) ??
      runs[0]!;
    const known = runs.filter(
      (one) => this.host.live || this.host.requests("learn/frames").some((body) => body.run === one.run),
    );
    const chooser =
      known.length > 1
        ? select(
            "Run",
            known.map((one) => ({ value: one.run, text: one.run })),
            run.run,
            (name) => {
              this.state.set({ run: name, step: null, sentence: null });
              this.show(runs);
              this.map.querySelector("select")?.focus();
            },
            { quiet: true },
          )
        : null;
    this.learning?.end();
    this.learning = new Learning(this.host, this.state, run.run, chooser);
    fill(this.map, this.learning.element);
  }

  /** Without a run, one can be begun. */
  private offer(): void {
    const button = h(
      "button",
      {
        type: "button",
        class: "primary",
        disabled: !this.host.live,
        onclick: async () => {
          button.disabled = true;
          await this.host.ask("learn/train", {}).catch(() => null);
          this.host.overview = await this.host.ask("overview", {});
          dispatchEvent(new Event("training"));
          if (!this.ended) void this.begin();
        },
      },
      "Train a small translator now",
    );
    fill(
      this.map,
      h(
        "div",
        { class: "panel absent" },
        h(
          "p",
          null,
          "No run was opened. A run keeps the attention of a few sentences at each validation; here they are shown as a map that forms, also while the run goes.",
        ),
        h(
          "p",
          null,
          button,
          h(
            "span",
            { class: "dim small" },
            " Spanish to English, from the built-in corpus, under a minute on two cores.",
          ),
        ),
        h("p", { class: "dim small" }, "Or open one of yours, from its first step on:"),
        h("pre", null, "regard studio runs/mine"),
      ),
    );
  }
}
