// Weights over the positions of a picture: the picture in pale gray, or on a dark page in dark gray with light and dark
// exchanged; ink where it is attended to. Pointing or the arrow keys give the number of a position.

import { h, s, unique } from "../dom.ts";
import { at, number, type Matrix } from "../tensor.ts";
import { isDark } from "./colors.ts";

export interface Overlay {
  /** The picture as the model read it, loaded already. */
  picture: HTMLImageElement;
  matrix: Matrix;
  /** The number at the end of the color scale; more is drawn alike. */
  maximum: number;
  /** How the end of the scale is explained. */
  meaning: string;
  /** Numbers may be negative: two inks. */
  signed?: boolean;
  /** What the picture is, for those who do not see it. */
  label: string;
  /** The position that is marked first. */
  position?: [number, number] | null;
  /** The cursor came to a position. */
  onpoint?: (row: number, column: number) => void;
}

type Rgb = [number, number, number];
const INK: Rgb = [232, 84, 60],
  OTHER: Rgb = [20, 140, 140];
const SIDE = 384;

/** Draw it: the plain picture and the map beside each other, a sentence, a scale and, folded, all numbers. */
export function overlay(map: Overlay): HTMLElement {
  const { rows, columns } = map.matrix;
  const readout = h(
    "output",
    { class: "readout", "aria-live": "polite" },
    "Point at a position, or use the arrow keys.",
  );
  const cursor = { row: map.position?.[0] ?? 0, column: map.position?.[1] ?? 0 };
  const plain = frame(map, paintPlain(map.picture)),
    over = frame(map, paintOver(map));
  const point = (row: number, column: number, describe = true) => {
    if (row < 0 || column < 0 || row >= rows || column >= columns) return;
    cursor.row = row;
    cursor.column = column;
    for (const one of [plain, over]) one.mark(row, column);
    readout.textContent = describePosition(map.matrix, row, column, map.signed);
    if (describe) map.onpoint?.(row, column);
  };
  const stage = h(
    "div",
    {
      class: "picture-stage",
      tabindex: 0,
      role: "application",
      id: unique("overlay"),
      "aria-roledescription": "map over a picture",
      "aria-label":
        `${map.label}. ${summary(map.matrix, map.signed)} ${rows} rows and ${columns} columns of positions; arrow ` +
        `keys read them.`,
      onfocus: () => point(cursor.row, cursor.column),
      onkeydown: (event: KeyboardEvent) => {
        const moves: Record<string, [number, number]> = {
          ArrowUp: [-1, 0],
          ArrowDown: [1, 0],
          ArrowLeft: [0, -1],
          ArrowRight: [0, 1],
          Home: [0, -cursor.column],
          End: [0, columns - 1 - cursor.column],
        };
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        point(cursor.row + move[0], cursor.column + move[1]);
      },
      onpointermove: (event: PointerEvent) => {
        for (const one of [plain, over]) {
          const position = one.find(event);
          if (position) point(...position);
        }
      },
    },
    h(
      "div",
      { class: "picture-half" },
      plain.element,
      h("span", { class: "dim small" }, "the picture, as the model reads it"),
    ),
    h("div", { class: "picture-half" }, over.element, h("span", { class: "dim small" }, "where it attends")),
  );
  if (map.position) point(...map.position, false);
  return h("figure", { class: "overlay" }, stage, readout, legend(map), table(map));
}

/** "row 3 of 8, column 5 of 8 (upper right): 0.1234, 7.9 × uniform". */
export function describePosition(matrix: Matrix, row: number, column: number, signed = false): string {
  const value = at(matrix, row, column),
    count = matrix.rows * matrix.columns;
  const times = signed || count < 2 ? "" : ` · ${(value * count).toFixed(1)} × uniform`;
  return `Row ${row + 1}, column ${column + 1} (${whereabouts(matrix, row, column)}): ${number(value)}${times}`;
}

function whereabouts({ rows, columns }: Matrix, row: number, column: number): string {
  const third = (position: number, count: number) => Math.min(2, Math.floor((3 * (position + 0.5)) / count));
  const name = `${["top", "", "bottom"][third(row, rows)]} ${["left", "", "right"][third(column, columns)]}`.trim();
  return name || "middle";
}

/** The heaviest positions in words. */
export function summary(matrix: Matrix, signed = false): string {
  const positions = Array.from({ length: matrix.rows * matrix.columns }, (_, position) => position)
    .sort((a, b) => Math.abs(matrix.data[b]!) - Math.abs(matrix.data[a]!))
    .slice(0, 3)
    .map((position) =>
      describePosition(matrix, Math.floor(position / matrix.columns), position % matrix.columns, signed),
    );
  return positions.length ? `Largest: ${positions.join("; ")}.` : "";
}

interface Frame {
  element: HTMLElement;
  mark(row: number, column: number): void;
  find(event: PointerEvent): [number, number] | null;
}

function frame({ matrix: { rows, columns } }: Overlay, canvas: HTMLCanvasElement): Frame {
  const mark = h("i", {
    class: "position-mark",
    hidden: true,
    style: { width: `${100 / columns}%`, height: `${100 / rows}%` },
  });
  const element = h("div", { class: "picture-frame" }, canvas, mark);
  return {
    element,
    mark(row, column) {
      mark.hidden = false;
      mark.style.left = `${(100 * column) / columns}%`;
      mark.style.top = `${(100 * row) / rows}%`;
    },
    find(event) {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * columns),
        row = Math.floor(((event.clientY - box.top) / box.height) * rows);
      return row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
    },
  };
}

function paintPlain(picture: HTMLImageElement): HTMLCanvasElement {
  const { canvas, pen } = sheet(picture, SIDE);
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** The map over the picture, on a canvas of any size: large, or a thumbnail. */
export function paintOver(
  { picture, matrix, maximum, signed }: Pick<Overlay, "picture" | "matrix" | "maximum" | "signed">,
  side = SIDE,
): HTMLCanvasElement {
  const { canvas, pen } = sheet(picture, side);
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height),
    dark = isDark();
  for (let y = 0; y < canvas.height; y++) {
    const row = Math.floor((y * matrix.rows) / canvas.height);
    for (let x = 0; x < canvas.width; x++) {
      const position = 4 * (y * canvas.width + x),
        data = pixels.data;
      const light = (data[position]! + data[position + 1]! + data[position + 2]!) / 3;
      const gray = dark ? 22 + 0.4 * (255 - light) : 102 + 0.6 * light;
      const value = at(matrix, row, Math.floor((x * matrix.columns) / canvas.width)) / maximum;
      const share = Math.min(Math.abs(value), 1),
        ink = signed && value < 0 ? OTHER : INK;
      for (let i = 0; i < 3; i++) data[position + i] = gray * (1 - share) + ink[i]! * share;
    }
  }
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

function sheet(
  picture: HTMLImageElement,
  side: number,
): { canvas: HTMLCanvasElement; pen: CanvasRenderingContext2D } {
  const tall = picture.naturalHeight / picture.naturalWidth;
  const canvas = h("canvas", {
    width: tall > 1 ? Math.round(side / tall) : side,
    height: tall > 1 ? side : Math.round(side * tall),
    "aria-hidden": "true",
  });
  const pen = canvas.getContext("2d", { willReadFrequently: true })!;
  pen.imageSmoothingEnabled = false;
  return { canvas, pen };
}

function legend({ maximum, meaning, signed }: Overlay): HTMLElement {
  const gray = isDark() ? [22, 22, 22] : [220, 220, 220];
  const steps = Array.from({ length: 24 }, (_, i) => {
    const value = signed ? (i / 23) * 2 - 1 : i / 23,
      share = Math.abs(value),
      ink = value < 0 ? OTHER : INK;
    return s("rect", {
      x: i * 5,
      y: 0,
      width: 5.5,
      height: 10,
      fill: `rgb(${gray.map((one, c) => Math.round(one * (1 - share) + ink[c]! * share)).join(" ")})`,
    });
  });
  const end = Number(maximum.toPrecision(3)).toString();
  return h(
    "figcaption",
    { class: "legend" },
    h(
      "span",
      { class: "scale" },
      signed ? `−${end}` : "0",
      s("svg", { width: 120, height: 10, "aria-hidden": "true" }, steps),
      `${end}${signed ? "" : " or more"}`,
    ),
    h("span", null, meaning),
  );
}

function table({ matrix, label }: Overlay): HTMLElement {
  const details = h("details", { class: "numbers" }, h("summary", null, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    details.append(
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of numbers" },
        h(
          "table",
          null,
          h("caption", { class: "quiet" }, label),
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("td"),
              Array.from({ length: matrix.columns }, (_, column) =>
                h("th", { scope: "col" }, `column ${column + 1}`),
              ),
            ),
          ),
          h(
            "tbody",
            null,
            Array.from({ length: matrix.rows }, (_, row) =>
              h(
                "tr",
                null,
                h("th", { scope: "row" }, `row ${row + 1}`),
                Array.from({ length: matrix.columns }, (_, column) => h("td", null, number(at(matrix, row, column)))),
              ),
            ),
          ),
        ),
      ),
    );
  });
  return details;
}
