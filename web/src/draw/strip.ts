// A vector as a strip of colors: blue above zero, orange below. Pointing tells the number.

import { h } from "../dom.ts";
import { number } from "../tensor.ts";
import type { Numbers } from "../equations.ts";
import { signedShade } from "./colors.ts";

export interface Strip {
  values: Numbers;
  /** What it is, such as "key casa". */
  label: string;
  /** The number at the ends of the color scale. */
  maximum: number;
  /** A feature that is marked. */
  marked?: number | null;
  /** The pointer is at a feature. */
  onpoint?: (feature: number, readout: string) => void;
  onpick?: (feature: number) => void;
}

/** Draw it. What pointing tells can also be read in the tables of the view. */
export function strip({ values, label, maximum, marked, onpoint, onpick }: Strip): HTMLElement {
  const canvas = h("canvas", { width: Math.max(values.length, 1), height: 1, role: "img", "aria-label": `${label}: ${described(values)}` });
  const pen = canvas.getContext("2d")!;
  for (let i = 0; i < values.length; i++) {
    pen.fillStyle = signedShade(values[i]! / (maximum || 1));
    pen.fillRect(i, 0, 1, 1);
  }
  const find = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * values.length), 0), values.length - 1);
  };
  canvas.addEventListener("pointermove", (event) => {
    const feature = find(event), readout = `${label}, feature ${feature}: ${number(values[feature]!, 6)}`;
    canvas.title = readout;
    onpoint?.(feature, readout);
  });
  if (onpick) canvas.addEventListener("click", (event) => onpick(find(event as PointerEvent)));
  const mark = marked === undefined || marked === null || marked >= values.length ? null
    : h("i", { class: "strip-mark", style: { left: `${(100 * marked) / values.length}%`, width: `${100 / values.length}%` } });
  return h("span", { class: onpick ? "strip pickable" : "strip" }, canvas, mark);
}

/** The largest magnitude in some vectors: one scale for all of them. */
export function largest(...vectors: Numbers[]): number {
  let most = 0;
  for (const vector of vectors) for (let i = 0; i < vector.length; i++) most = Math.max(most, Math.abs(vector[i]!));
  return most || 1;
}

function described(values: Numbers): string {
  const list = Array.from(values);
  if (list.length <= 4) return list.map((value) => number(value)).join(", ");
  return `${list.length} numbers from ${number(Math.min(...list))} to ${number(Math.max(...list))}`;
}
