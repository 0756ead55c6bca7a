// The tree that beam search grew: a column for each step, what was kept and what was cut off.

import type { Node } from "../api.ts";
import { h, s, visible } from "../dom.ts";
import { number } from "../tensor.ts";
import { clip } from "./text.ts";

const ACROSS = 112,
  DOWN = 28,
  LEFT = 54,
  TOP = 26;

/** Two digits; what is less is told to be less. */
const rounded = (probability: number) => (probability < 0.005 ? "<.01" : probability.toFixed(2));

/** The hypotheses that search kept, as token numbers, shorter ones first. */
export function keptPaths(steps: Node[][]): number[][] {
  const result: number[][] = [];
  let before: number[][] = [[]];
  for (const step of steps) {
    const own = step.map((node) => [...before[node.parent]!, node.id]);
    result.push(...own.filter((_, position) => step[position]!.kept));
    before = own;
  }
  return result;
}

/** Draw it. `onpick` gets the token numbers from the first step to the node, where it `can` be looked at. */
export function tree(
  steps: Node[][],
  picked: number[],
  can: (path: number[]) => boolean,
  onpick: (path: number[]) => void,
): HTMLElement {
  const readout = h(
    "output",
    { class: "readout", "aria-live": "polite" },
    "Each column is a step; point at a hypothesis, or use the arrow keys.",
  );
  const rows = Math.max(1, ...steps.map((step) => step.length));
  const width = LEFT + steps.length * ACROSS + 10,
    height = TOP + rows * DOWN + 6;
  const x = (step: number) => LEFT + step * ACROSS,
    y = (position: number) => TOP + position * DOWN + DOWN / 2;
  const path = (step: number, position: number): number[] => {
    const ids: number[] = [];
    for (let i = step, at = position; i >= 0; at = steps[i]![at]!.parent, i--) ids.unshift(steps[i]![at]!.id);
    return ids;
  };
  const onPath = (step: number, position: number) => {
    const own = path(step, position);
    return own.length <= picked.length && own.every((id, index) => id === picked[index]);
  };
  const elements: SVGElement[][] = steps.map(() => []);
  let current: [number, number] = [0, 0];
  const focus = (step: number, position: number) => {
    const next = elements[step]?.[position];
    if (!next) return;
    elements[current[0]]![current[1]]!.setAttribute("tabindex", "-1");
    current = [step, position];
    next.setAttribute("tabindex", "0");
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const edges: SVGElement[] = [],
    nodes: SVGElement[] = [];
  steps.forEach((step, i) =>
    step.forEach((node, position) => {
      const from = i ? x(i - 1) + ACROSS - 18 : 24,
        top = i ? y(node.parent) : y(0);
      const on = onPath(i, position),
        classes = `${node.kept ? "kept" : "cut"}${on ? " on" : ""}`;
      edges.push(
        s("path", {
          class: `edge ${classes}`,
          d: `M${from} ${top}C${from + 14} ${top} ${x(i) - 14} ${y(position)} ${x(i)} ${y(position)}`,
        }),
      );
      const word = visible(node.token);
      const fate = node.ended ? "complete" : node.kept ? "kept" : "cut off";
      const able = can(path(i, position));
      const pick = () => able && onpick(path(i, position));
      const describe = () =>
        (readout.textContent =
          `step ${i + 1}, “${word}”: probability ${number(Math.exp(node.log_probability))}, score of the ` +
          `hypothesis ${number(node.score, 3)}, ${fate}`);
      const element = s(
        "g",
        {
          class: `node ${classes}${node.ended ? " ended" : ""}`,
          role: "button",
          tabindex: i + position === 0 ? 0 : -1,
          "aria-label": `${clip(word, ACROSS - 58)} ${rounded(Math.exp(node.log_probability))}: ${word}, ${fate}`,
          "aria-pressed": String(on && i === picked.length - 1),
          "aria-disabled": able ? null : "true",
          onclick: pick,
          onpointerenter: describe,
          onfocus: describe,
          onkeydown: (event: KeyboardEvent) => {
            if (event.key === "ArrowUp") focus(i, position - 1);
            else if (event.key === "ArrowDown") focus(i, position + 1);
            else if (event.key === "ArrowLeft") focus(i - 1, node.parent);
            else if (event.key === "ArrowRight")
              focus(i + 1, Math.max(0, steps[i + 1]?.findIndex((child) => child.parent === position) ?? 0));
            else if (event.key === "Enter" || event.key === " ") pick();
            else return;
            event.preventDefault();
          },
        },
        s("rect", { x: x(i), y: y(position) - 11, width: ACROSS - 18, height: 22, rx: 6 }),
        s("text", { x: x(i) + 7, y: y(position) }, clip(word, ACROSS - 58)),
        " ",
        s(
          "text",
          { x: x(i) + ACROSS - 24, y: y(position), class: "end small" },
          rounded(Math.exp(node.log_probability)),
        ),
      );
      elements[i]!.push(element);
      nodes.push(element);
    }),
  );
  const heads = steps.map((_, i) => s("text", { x: x(i) + 7, y: 12, class: "small" }, `step ${i + 1}`));
  return h(
    "figure",
    { class: "tree" },
    h(
      "div",
      { class: "tree-stage" },
      s(
        "svg",
        {
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "group",
          "aria-label": `Beam tree of ${steps.length} steps`,
        },
        s("text", { x: 0, y: y(0), class: "small" }, "<s>"),
        heads,
        edges,
        nodes,
      ),
    ),
    readout,
  );
}
