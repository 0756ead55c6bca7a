// Training curves, read on while a run goes.

import type { CurveAnswer, ModelInfo, RunState } from "../api.ts";
import { alertBox, panel } from "../controls.ts";
import { fill, h } from "../dom.ts";
import { curve, type Series } from "../draw/curve.ts";
import type { Host, Question } from "../host.ts";
import { number } from "../tensor.ts";

type Line = CurveAnswer["lines"][number];

interface Known extends RunState {
  lines: Line[];
  offset: number;
  file: string;
}

const EVERY = 1500;
const STATES = {
  finished: "finished",
  going: "going on",
  stopped: "stopped, no new figures for a while",
  begun: "has begun, no figures yet",
};
/**
 * What is drawn, where the file has it: of training and of validation. `of` words it for runs that all are of one
 * task.
 */
const FIGURES: {
  title: string;
  of?: Partial<Record<ModelInfo["kind"], string>>;
  train?: string;
  valid?: string;
  digits?: number;
  zero?: boolean;
}[] = [
  {
    title: "loss",
    of: {
      translator: "cross-entropy, nats a target token",
      language: "cross-entropy, nats a token",
      classifier: "cross-entropy, nats a text",
    },
    train: "cross_entropy",
    valid: "loss",
  },
  { title: "BLEU", valid: "bleu", digits: 1, zero: true },
  { title: "chrF", valid: "chrf", digits: 1, zero: true },
  { title: "accuracy", valid: "accuracy", zero: true },
  { title: "learning rate", train: "rate", digits: 6 },
  { title: "gradient norm", train: "gradient_norm" },
  {
    title: "predictions a second",
    of: { translator: "target tokens a second", language: "tokens a second", classifier: "texts a second" },
    train: "tokens_per_second",
    digits: 0,
    zero: true,
  },
];

/** Draw the panel and keep it up to date; gives what ends it. */
export function trainingPanel(element: HTMLElement, host: Host): () => void {
  const alert = alertBox(),
    states = h("div", { role: "status" }),
    pictures = h("div", { class: "curves" });
  const known = new Map<string, Known>();
  let ended = false,
    timer = 0,
    drawn = "";
  fill(
    element,
    panel(
      "Training",
      h(
        "p",
        { class: "dim small meaning" },
        "What each run that the studio was started with has written to its metrics.jsonl. Of a run that goes on, " +
          "new figures appear by themselves.",
      ),
      alert.element,
      states,
      pictures,
    ),
  );
  const update = async () => {
    try {
      const { runs } = await host.ask("compare/runs", {});
      for (const run of runs) await read(run.run);
      if (ended) return;
      alert.show("");
      draw();
      if (host.live && [...known.values()].some((one) => one.state === "going" || one.state === "begun"))
        timer = window.setTimeout(() => void update(), EVERY);
    } catch (error) {
      if (!ended) alert.show((error as Error).message);
    }
  };
  const read = async (name: string) => {
    for (let more = true; more && !ended;) {
      const before = known.get(name) ?? { lines: [], offset: 0, file: "" };
      const answer = await host.ask("compare/curve", { run: name, offset: before.offset, file: before.file });
      known.set(name, { ...answer, lines: answer.anew ? answer.lines : [...before.lines, ...answer.lines] });
      more = answer.more && host.knows("compare/curve", { run: name, offset: answer.offset, file: answer.file }); // a file ends where it was saved
    }
  };
  const draw = () => {
    const runs = [...known.values()];
    fill(
      states,
      runs.length
        ? h(
            "ul",
            { class: "list runs" },
            runs.map((one) =>
              h(
                "li",
                null,
                h("b", null, one.run),
                `: ${host.live || one.state !== "going" ? STATES[one.state] : "going on when this was saved"}`,
                ...progress(one),
              ),
            ),
          )
        : h(
            "p",
            null,
            "None of the folders that are open is that of a run. Name one: ",
            h("code", null, "regard studio runs/mine"),
            " also while it trains.",
          ),
    );
    const stamp = runs.map((one) => `${one.run} ${one.file} ${one.offset}`).join();
    if (stamp === drawn) return; // nothing new, and whoever reads a curve is not disturbed
    drawn = stamp;
    const folds = [...pictures.querySelectorAll("details")].map((one) => one.open),
      focused = [...pictures.querySelectorAll(".stage")].indexOf(document.activeElement!);
    const last = Math.max(
      1,
      ...runs.flatMap((run) => run.lines.map((line) => (typeof line.step === "number" ? line.step : 0))),
    );
    fill(
      pictures,
      FIGURES.map((figure) => {
        const series = runs.flatMap((run, color) => seriesOf(run, color, figure)),
          title = titleOf(figure, runs, host);
        return series.length
          ? curve({
              series,
              xTitle: "step",
              yTitle: title,
              label: `${title} over the steps`,
              digits: figure.digits,
              zero: figure.zero,
              between: [0, last],
            })
          : null;
      }),
      runs.flatMap((run) =>
        run.lines
          .filter((line) => line.event === "note")
          .slice(-5)
          .map((line) => h("p", { class: "small dim" }, `${run.run}: ${line.text}`)),
      ),
    );
    [...pictures.querySelectorAll("details")].forEach((one, index) => (one.open = folds[index] ?? false));
    if (focused >= 0) pictures.querySelectorAll<HTMLElement>(".stage")[focused]?.focus({ preventScroll: true });
  };
  void update();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** What a file asks to read every curve from its beginning, as far as it goes now. */
export async function curveQuestions(host: Host, going: () => boolean): Promise<Question[]> {
  const result = await host.ask("compare/runs", {});
  const request: Question[] = [{ verb: "compare/runs", body: {} }];
  for (const { run } of result.runs) {
    for (let body = { run, offset: 0, file: "" }, more = true; more && going();) {
      request.push({ verb: "compare/curve", body });
      const answer = await host.ask("compare/curve", body);
      more = answer.more;
      body = { run, offset: answer.offset, file: answer.file };
    }
  }
  return request;
}

function progress(run: Known): (string | HTMLElement)[] {
  const last = [...run.lines].reverse().find((line) => typeof line.step === "number");
  if (!last) return [];
  const loss = [...run.lines]
    .reverse()
    .find((line) => line.event === "train" && typeof line.cross_entropy === "number");
  const text = ` · step ${Number(last.step).toLocaleString("en-US")}${run.steps ? ` of ${run.steps.toLocaleString("en-US")}` : ""}${loss ? ` · cross-entropy ${number(Number(loss.cross_entropy), 3)}` : ""}`;
  return [
    text,
    ...(run.steps && run.state === "going"
      ? [h("progress", { "aria-label": `Steps of ${run.run}`, max: run.steps, value: Number(last.step) })]
      : []),
  ];
}

/** What the figure counts, where every run has a model whose task is known and the same. */
function titleOf(figure: (typeof FIGURES)[number], runs: Known[], host: Host): string {
  const kinds = new Set(runs.map((run) => host.overview.models.find((model) => model.name === run.run)?.kind));
  const [kind] = kinds;
  return (kinds.size === 1 && kind && figure.of?.[kind]) || figure.title;
}

function seriesOf(run: Known, color: number, figure: (typeof FIGURES)[number]): Series[] {
  const points = (event: string, name: string | undefined) =>
    !name
      ? []
      : run.lines.flatMap((line) =>
          line.event === event && typeof line.step === "number" && typeof line[name] === "number"
            ? [{ x: line.step, y: line[name] as number }]
            : [],
        );
  const both = figure.train !== undefined && figure.valid !== undefined;
  const train = points("train", figure.train),
    valid = points("valid", figure.valid);
  return [
    ...(train.length ? [{ name: both ? `${run.run}, training` : run.run, points: train, color }] : []),
    ...(valid.length
      ? [{ name: both ? `${run.run}, validation` : run.run, points: valid, color, dashed: both, dots: true }]
      : []),
  ];
}
