// A tour in five steps, each of them an address: whoever has the link is at that step.

import type { ModelInfo } from "./api.ts";
import { h, visible } from "./dom.ts";
import type { Host } from "./host.ts";
import type { State, Values } from "./state.ts";
import { at, mean, slice, unpackExact } from "./tensor.ts";

interface Stop {
  view: string;
  values: Values;
  text: string;
}

/** What the third and fourth steps are about: a word of the output, and the source word it attends to most. */
interface Pair {
  /** Counted from one, as addresses do. */
  query: number;
  keys: number[];
  output: string;
  source: string;
  /** Layers times heads. */
  heads: number;
}

export class Tour {
  private model: ModelInfo | undefined;
  private stops: Stop[] = [];

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.model = host.live
      ? host.overview.models.find((one) => one.kind === "translator" && one.examples.length)
      : undefined;
  }

  /** A link to its first step; nothing where no translator is open. */
  link(): HTMLElement | null {
    const { model, state } = this;
    if (!model) return null;
    return h("a", { class: "button", href: state.link("translate", { ...this.sentence, tour: 1 }) }, "Tour");
  }

  /** The step that the address names, in a line below the view. */
  async show(): Promise<HTMLElement | null> {
    const { model } = this;
    if (!model || !this.state.get("tour")) return null;
    if (!this.stops.length) this.stops = stops(this.sentence, await this.pair());
    const index = this.state.index("tour", this.stops.length),
      stop = this.stops[index];
    if (!stop || stop.view !== this.state.view) return null;
    const to = (step: number, text: string, kind: string) =>
      h(
        "a",
        {
          class: kind,
          href: this.stops[step]
            ? this.state.link(this.stops[step].view, { ...this.stops[step].values, tour: step + 1 })
            : this.state.link(stop.view, stop.values),
          "aria-disabled": step < 0 ? "true" : null,
          tabindex: step < 0 ? -1 : null,
        },
        text,
      );
    return h(
      "aside",
      { class: "guide", "aria-label": "Tour" },
      h("b", { class: "dim small" }, `${index + 1} of ${this.stops.length}`),
      h("p", { role: "status" }, stop.text),
      to(index - 1, "Back", "button small"),
      index + 1 < this.stops.length ? to(this.stops.length, "End", "button small") : null,
      to(index + 1, index + 1 < this.stops.length ? "Next" : "End", "button small primary"),
    );
  }

  private get sentence(): { model: string | null; text: string } {
    const first = this.host.overview.models.find((one) => one.kind === "translator");
    return { model: this.model === first ? null : this.model!.name, text: this.model!.examples[0]!.text };
  }

  private async pair(): Promise<Pair | null> {
    const body = { model: this.model!.name, text: this.sentence.text };
    const answer = await this.host.ask("whatif/begin", body).catch(() => null),
      map = answer?.attention.maps[0];
    if (!answer || !map) return null;
    const weights = unpackExact(map.weights),
      [layers, heads] = weights.shape as [number, number];
    const average = mean(
      Array.from({ length: layers * heads }, (_, index) => slice(weights, Math.floor(index / heads), index % heads)),
    );
    const { words, word_of } = answer.attention.source,
      { tokens } = answer.attention.target;
    const share = (step: number, word: number) =>
      word_of.reduce((sum, one, key) => sum + (one === word ? at(average, step, key) : 0), 0);
    let best = { step: 0, word: 0, share: -1 };
    const named = words.indexOf("casa");
    tokens.forEach((token, step) =>
      words.slice(0, -1).forEach((_, word) => {
        if (/\p{L}{3}/u.test(token) && (named < 0 || word === named) && share(step, word) > best.share)
          best = { step, word, share: share(step, word) };
      }),
    );
    return {
      query: best.step + 1,
      keys: word_of.flatMap((word, key) => (word === best.word ? [key + 1] : [])),
      output: visible(tokens[best.step]!).replace(/^▁/, ""),
      source: visible(words[best.word]!),
      heads: layers * heads,
    };
  }
}

function stops(sentence: Values, pair: Pair | null): Stop[] {
  const first: Stop = {
    view: "translate",
    values: sentence,
    text:
      "Cross-attention: each row is a word of the translation, each cell how much it attends to a source word. " +
      "Press Play to see it decode.",
  };
  const last: Stop = {
    view: "learn",
    values: {},
    text: "Where the map comes from: the same sentences at each validation of a run. Move the slider over its steps.",
  };
  if (!pair) return [first, last];
  const { query, keys, output, source, heads } = pair,
    cell = { ...sentence, query, key: keys[0] };
  return [
    first,
    heads > 1
      ? {
          view: "translate",
          values: { ...cell, layer: 1, head: 1 },
          text: `Every layer and head has a map of its own. Point at the strip: which of them links “${output}” with “${source}”?`,
        }
      : {
          view: "translate",
          values: { ...cell, picture: "lines" },
          text: `The same weights as lines: the thicker, the larger. Point at “${output}”, then at “${source}”.`,
        },
    {
      view: "steps",
      values: cell,
      text: `That cell taken apart: query and key give the score, softmax the weight, the weighted sum the next word. Press Play.`,
    },
    {
      view: "whatif",
      values: { ...sentence, query, pin: keys.map((key) => `${key}:0`).join(",") },
      text: `The weight of “${source}” is set to 0: compare “${output}” before and after. Drag any bar, or release it.`,
    },
    last,
  ];
}
