// Hidden states of a text among those of other texts: a plane of two principal components, and the nearest of each.

import type { StatesAnswer } from "./api.ts";
import { select } from "./controls.ts";
import { fill, h, s, visible } from "./dom.ts";
import type { Host } from "./host.ts";
import { number } from "./tensor.ts";

const WIDTH = 560,
  HEIGHT = 380,
  MARGIN = 34;

/** The panel; it asks when it is made. */
export function statesPanel(host: Host, sentence: { model: string; text: string }): HTMLElement {
  const body = h("div", { class: "stack" }, h("p", { class: "dim", role: "status" }, "Reading other texts…"));
  const ask = (layer?: number) =>
    host
      .ask("states/near", layer === undefined ? sentence : { ...sentence, layer })
      .then((answer) => fill(body, answer.skipped || drawn(answer, ask)))
      .catch((error: Error) => fill(body, h("p", { class: "note" }, error.message)));
  void ask();
  return h("section", { class: "panel", "aria-label": "Hidden states" }, h("h2", null, "Hidden states"), body);
}

function drawn(answer: StatesAnswer, ask: (layer: number) => void): HTMLElement {
  const { points, texts, nearest, shares, layers, layer } = answer,
    count = nearest.length,
    list = h("div", { class: "neighbors", role: "status" });
  const scale = (values: number[], size: number, flip: boolean) => {
    const least = Math.min(...values),
      range = Math.max(...values) - least || 1;
    return (value: number) => {
      const share = (value - least) / range;
      return MARGIN + (flip ? 1 - share : share) * (size - 2 * MARGIN);
    };
  };
  const x = scale(
      points.map((one) => one.x),
      WIDTH,
      false,
    ),
    y = scale(
      points.map((one) => one.y),
      HEIGHT,
      true,
    );
  const lines = s("g", { class: "near-lines" });
  const show = (index: number) => {
    const own = points[index]!;
    lines.replaceChildren(
      ...nearest[index]!.map(({ point }) =>
        s("line", { x1: x(own.x), y1: y(own.y), x2: x(points[point]!.x), y2: y(points[point]!.y) }),
      ),
    );
    for (const [at, chip] of [...chips.children].entries()) chip.setAttribute("aria-pressed", String(at === index));
    fill(
      list,
      h(
        "ol",
        { class: "list" },
        nearest[index]!.map(({ point, cosine }) => {
          const near = points[point]!;
          return h(
            "li",
            null,
            h("span", { class: "figures" }, number(cosine, 2)),
            " ",
            h("b", null, visible(near.token)),
            h("span", { class: "dim small" }, ` in “${visible(texts[near.text]!)}”`),
          );
        }),
      ),
    );
  };
  const chips = h(
    "div",
    { class: "chips", role: "group", "aria-label": "Token whose nearest states are listed" },
    points
      .slice(0, count)
      .map((one, index) =>
        h("button", { type: "button", class: "chip", onclick: () => show(index) }, visible(one.token)),
      ),
  );
  const picture = s(
    "svg",
    {
      class: "scatter",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "States on two principal components",
    },
    points
      .slice(count)
      .map((one) =>
        s(
          "circle",
          { cx: x(one.x), cy: y(one.y), r: 2.5, class: "state" },
          s("title", null, `${one.token} · ${texts[one.text]}`),
        ),
      ),
    lines,
    points
      .slice(0, count)
      .map((one, index) =>
        s(
          "g",
          { onpointerenter: () => show(index) },
          s("circle", { cx: x(one.x), cy: y(one.y), r: 5, class: "state own" }),
          s("text", { x: x(one.x) + 8, y: y(one.y), class: "label" }, visible(one.token)),
        ),
      ),
  );
  const part = (share: number) => `${(100 * share).toFixed(0)} %`;
  const result = h(
    "div",
    { class: "stack" },
    layers.length > 1
      ? select(
          "Layer",
          layers.map((name, index) => ({ value: String(index), text: name })),
          String(layer),
          (value) => ask(Number(value)),
        )
      : null,
    h(
      "div",
      { class: "workbench" },
      picture,
      h("div", { class: "side" }, h("h2", { class: "minor" }, "Nearest states"), chips, list),
    ),
    h(
      "p",
      { class: "dim small" },
      `${points.length.toLocaleString("en")} states of ${texts.length} texts. The axes hold ${part(shares[0])} and ` +
        `${part(shares[1])} of the variance: what is near here may be far in the other directions. The list is by ` +
        "cosine over all of them.",
    ),
  );
  show(0);
  return result;
}
