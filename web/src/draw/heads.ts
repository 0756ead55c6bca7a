// All layers and heads as small pictures: rows are layers, columns are heads. Pointing previews one, a click takes it.

import { h } from "../dom.ts";
import type { Matrix } from "../tensor.ts";
import { paint } from "./colors.ts";

export interface HeadsPicture {
  layers: number;
  heads: number;
  /** The matrix of a head, or of the mean over heads where it is −1. */
  matrix: (layer: number, head: number) => Matrix;
  maximum: number;
  chosen: [number, number];
  /** Said of each, such as its entropy. */
  about: (layer: number, head: number) => string;
  /** Whether it can be shown. */
  preview: (layer: number, head: number) => void;
  leave: () => void;
  pick: (layer: number, head: number) => void;
}

const MOST_PIXELS = 64;

/** Draw the strip: a grid that the arrow keys move in, with the mean over heads first. */
export function headStrip(picture: HeadsPicture): HTMLElement {
  const columns = picture.heads > 1 ? [-1, ...Array.from({ length: picture.heads }, (_, head) => head)] : [-1];
  const cells: HTMLElement[][] = [];
  const focus = (layer: number, column: number) => cells[layer]?.[column]?.focus();
  const rows = Array.from({ length: picture.layers }, (_, layer) => {
    const own = columns.map((head, column) => {
      const chosen = picture.chosen[0] === layer && (picture.chosen[1] === head || columns.length === 1);
      const name = `${picture.layers > 1 ? `Layer ${layer + 1}, ` : ""}${head < 0 ? (picture.heads > 1 ? `mean of ${picture.heads} heads` : "one head") : `head ${head + 1}`}`;
      return h(
        "button",
        {
          type: "button",
          class: "head-cell",
          role: "gridcell",
          tabindex: chosen ? 0 : -1,
          "aria-selected": String(chosen),
          "aria-label": `${name}: ${picture.about(layer, head)}`,
          title: `${name}: ${picture.about(layer, head)}`,
          onclick: () => picture.pick(layer, head),
          onpointerenter: () => picture.preview(layer, head),
          onfocus: () => picture.preview(layer, head),
          onkeydown: (event: KeyboardEvent) => {
            const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
            if (!move) return;
            event.preventDefault();
            focus(layer + move[0]!, column + move[1]!);
          },
        },
        thumbnail(picture.matrix(layer, head), picture.maximum),
      );
    });
    cells.push(own);
    return h(
      "div",
      { class: "head-row", role: "row" },
      picture.layers > 1 ? h("span", { class: "head-name", role: "rowheader" }, layer + 1) : null,
      own,
    );
  });
  const names =
    columns.length > 1
      ? h(
          "div",
          { class: "head-row names", role: "row" },
          picture.layers > 1
            ? h("span", { class: "head-name", role: "columnheader" }, h("span", { class: "hidden-caption" }, "Layer"))
            : null,
          columns.map((head) => h("span", { class: "head-title", role: "columnheader" }, head < 0 ? "x̄" : head + 1)),
        )
      : null;
  return h(
    "div",
    {
      class: "heads",
      role: "grid",
      "aria-label": "Layers and heads; arrow keys preview, Enter takes",
      style: { "--heads": String(columns.length) },
      onpointerleave: () => picture.leave(),
      onfocusout: (event: FocusEvent) =>
        !(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node) && picture.leave(),
    },
    names,
    rows,
  );
}

/** A pixel for each weight; of very many, the largest of those that share one. */
export function thumbnail(matrix: Matrix, maximum = 1): HTMLCanvasElement {
  const { rows, columns, data } = pooled(matrix);
  const canvas = h("canvas", {
    class: "thumbnail",
    width: Math.max(columns, 1),
    height: Math.max(rows, 1),
    "aria-hidden": "true",
  });
  const pen = canvas.getContext("2d")!,
    pixels = pen.createImageData(canvas.width, canvas.height);
  paint(pixels.data, data, maximum);
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

function pooled(matrix: Matrix): Matrix {
  const rows = Math.min(matrix.rows, MOST_PIXELS),
    columns = Math.min(matrix.columns, MOST_PIXELS);
  if (rows === matrix.rows && columns === matrix.columns) return matrix;
  const data = new Float32Array(rows * columns);
  for (let row = 0; row < matrix.rows; row++) {
    const to = Math.floor((row * rows) / matrix.rows) * columns;
    for (let column = 0; column < matrix.columns; column++) {
      const index = to + Math.floor((column * columns) / matrix.columns),
        value = matrix.data[row * matrix.columns + column]!;
      if (value > data[index]!) data[index] = value;
    }
  }
  return { rows, columns, data };
}
