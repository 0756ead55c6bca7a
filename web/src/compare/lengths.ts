// Quality by the length of the source: read where it was measured, else measured while the visitor waits.

import type { Bin, LengthsAnswer } from "../api.ts";
import { alertBox, panel, segmented } from "../controls.ts";
import { fill, h } from "../dom.ts";
import { curve } from "../draw/curve.ts";
import type { Host } from "../host.ts";
import type { State } from "../state.ts";
import { number } from "../tensor.ts";

/** Draw the panel and keep it up to date; gives what ends it. */
export function lengthsPanel(element: HTMLElement, host: Host, state: State, names: string[]): () => void {
  const alert = alertBox(),
    body = h("div", { class: "stack" });
  let ended = false,
    timer = 0;
  fill(
    element,
    panel(
      "Quality by length",
      h(
        "p",
        { class: "dim small meaning" },
        "Translations of sentences that were held out from training, scored apart for short and long sources, " +
          "with 95 % intervals. A model that squeezes the source into one vector loses on long ones.",
      ),
      alert.element,
      body,
    ),
  );
  const ask = async (verb: "compare/lengths" | "compare/measure") => {
    try {
      const answer = await host.ask(verb, { models: names });
      if (ended) return;
      alert.show(answer.error ?? "");
      draw(answer);
      if (answer.progress && host.live) timer = window.setTimeout(() => void ask("compare/lengths"), 500);
    } catch (error) {
      if (!ended) alert.show((error as Error).message);
    }
  };
  const draw = (answer: LengthsAnswer) => {
    const metric = state.get("metric") === "chrF" ? "chrF" : "BLEU";
    const known = names.filter((name) => answer.results[name]),
      missing = names.filter((name) => !answer.results[name]);
    const tests = new Set(known.map((name) => answer.results[name]!.fingerprint)),
      progress = answer.progress;
    fill(
      body,
      progress && !host.live ? h("p", { class: "note" }, "This was being measured when the file was saved.") : null,
      progress && host.live
        ? h(
            "div",
            { class: "preparing", role: "status" },
            h(
              "p",
              null,
              `${progress.model}: ${progress.stage}`,
              progress.total
                ? ` ${progress.done.toLocaleString("en-US")} of ${progress.total.toLocaleString("en-US")}`
                : "",
              "…",
            ),
            h("progress", {
              "aria-label": "Measuring",
              max: Math.max(progress.total, 1),
              value: progress.total ? progress.done : null,
            }),
          )
        : null,
      missing.length && !progress
        ? h(
            "div",
            { class: "row" },
            h(
              "button",
              { type: "button", class: "primary", disabled: !host.live, onclick: () => void ask("compare/measure") },
              "Measure now",
            ),
            h(
              "p",
              { class: "dim small" },
              host.live
                ? `Not measured yet on the same sentences: ${missing.join(", ")}. Up to 300 sentences that a run ` +
                    `held out are translated, on this machine.`
                : `Not measured when the file was saved: ${missing.join(", ")}; \`regard studio\` measures it.`,
            ),
          )
        : null,
      known.length
        ? [
            h(
              "div",
              { class: "row" },
              segmented(
                "Measure",
                [
                  { value: "BLEU", text: "BLEU" },
                  { value: "chrF", text: "chrF" },
                ],
                metric,
                (chosen) => {
                  state.set({ metric: chosen === "BLEU" ? null : chosen });
                  draw(answer);
                  body.querySelector<HTMLElement>("input:checked")?.focus();
                },
              ),
            ),
            curve({
              series: known.map((name) => ({
                name,
                color: names.indexOf(name),
                dots: true,
                points: answer.results[name]!.bins.map((bin) => ({
                  x: bin.mean_length,
                  y: bin.scores[metric]!.value,
                  low: bin.scores[metric]!.low,
                  high: bin.scores[metric]!.high,
                  note: `${range(bin)} words, ${bin.sentences} sentences${bin.few ? ", few" : ""}`,
                })),
              })),
              xTitle: "mean source length, words",
              yTitle: metric,
              label: `${metric} by length of the source`,
              digits: 1,
              zero: true,
            }),
            tests.size > 1
              ? h(
                  "p",
                  { class: "note" },
                  "They were not measured on the same sentences, so the curves cannot be compared. Measure them " +
                    "here, together.",
                )
              : null,
            h(
              "ul",
              { class: "list small" },
              known.map((name) =>
                h(
                  "li",
                  null,
                  h("b", null, name),
                  `: ${metric} ${number(answer.results[name]!.scores[metric]!, 1)}`,
                  h(
                    "span",
                    { class: "dim" },
                    ` on ${answer.results[name]!.sentences} sentences · ${answer.results[name]!.source}`,
                  ),
                ),
              ),
            ),
            h(
              "p",
              { class: "dim small test-set" },
              [...new Set(known.map((name) => answer.results[name]!.test_set))].join("; "),
            ),
          ]
        : null,
    );
  };
  void ask("compare/lengths");
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

function range(bin: Bin): string {
  return bin.high === null
    ? `${bin.low} or more`
    : bin.low === bin.high
      ? String(bin.low)
      : `${bin.low} to ${bin.high}`;
}
