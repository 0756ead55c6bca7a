// A vector as a strip of colors, ember above zero and teal below; a matrix as a picture of the same. Pointing gives
// the number.

import { h } from "../dom.ts";
import type { Numbers } from "../equations.ts";
import { number, type Matrix } from "../tensor.ts";
import { paint } from "./colors.ts";

export interface Strip {
  values: Numbers;
  /** What it is, such as "key casa". */
  label: string;
  /** The number at the ends of the color scale. */
  maximum: number;
  /** Stands upright. */
  upright?: boolean;
  /** A feature that is marked. */
  marked?: number | null;
  /** The pointer is at a feature. */
  onpoint?: (feature: number, readout: string) => void;
  onpick?: (feature: number) => void;
}

/** Draw it. What pointing gives can also be read in the tables of the view. */
export function strip({ values, label, maximum, upright = false, marked, onpoint, onpick }: Strip): HTMLElement {
  const count = Math.max(values.length, 1);
  const canvas = picture({ rows: upright ? count : 1, columns: upright ? 1 : count, data: values }, maximum);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${label}: ${described(values)}`);
  const find = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect(),
      share = upright ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
    return Math.min(Math.max(Math.floor(share * values.length), 0), values.length - 1);
  };
  canvas.addEventListener("pointermove", (event) => {
    const feature = find(event),
      readout = `${label}, feature ${feature + 1}: ${number(values[feature]!, 6)}`;
    canvas.title = readout;
    onpoint?.(feature, readout);
  });
  if (onpick) canvas.addEventListener("click", (event) => onpick(find(event as PointerEvent)));
  const mark =
    marked === undefined || marked === null || marked >= values.length
      ? null
      : h("i", {
          class: "strip-mark",
          style: { left: `${(100 * marked) / values.length}%`, width: `${100 / values.length}%` },
        });
  return h("span", { class: `strip${upright ? " upright" : ""}${onpick ? " pickable" : ""}` }, canvas, mark);
}

/** A matrix of numbers from −maximum to maximum, a pixel each. */
export function picture(matrix: Matrix, maximum: number): HTMLCanvasElement {
  const canvas = h("canvas", { width: Math.max(matrix.columns, 1), height: Math.max(matrix.rows, 1) });
  const pen = canvas.getContext("2d")!,
    pixels = pen.createImageData(canvas.width, canvas.height);
  paint(pixels.data, matrix.data, maximum || 1, { signed: true });
  pen.putImageData(pixels, 0, 0);
  return canvas;
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
