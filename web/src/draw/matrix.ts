// A matrix of weights: rows attend to columns. Pointing or the arrow keys give the exact number under the picture.

import { h, unique } from "../dom.ts";
import { at, number, rowOf, total, type Matrix } from "../tensor.ts";
import { scaleStrip } from "./colors.ts";
import { MatrixCanvas } from "./matrix_canvas.ts";
import { MatrixSvg } from "./matrix_svg.ts";
import { rowTable, table, type Listed } from "./matrix_table.ts";

export interface MatrixPicture {
  matrix: Matrix;
  rows: string[];
  columns: string[];
  /** What rows and columns are, such as "output" and "source". */
  rowTitle: string;
  columnTitle: string;
  /** What the picture is, for those who do not see it. */
  label: string;
  /** True where a row could not attend; drawn as masked, never as zero. */
  masked?: (row: number, column: number) => boolean;
  /** The number at the end of the color scale; 1 unless the view says otherwise in words. */
  maximum?: number;
  /** Numbers may be negative: a scale from −maximum to maximum. */
  signed?: boolean;
  /** The sentence of a cell, where it is not the usual one. */
  sentence?: (row: number, column: number) => string;
  /** A column whose label stands apart, such as `</s>`. */
  apart?: number[];
  selectedRow?: number | null;
  /** The cell that was chosen. */
  selected?: [number, number] | null;
  /** Rows from here on are still to come, while steps are played. */
  revealed?: number;
  /** Numbers came rounded; tables say so. */
  rounded?: boolean;
  /** Of rounded numbers, a row as it is, where it is known by now. */
  exact?: (row: number) => number[] | null;
}

export interface Pointing {
  /** The cursor came to a cell, by pointer or keys. */
  point?: (row: number, column: number) => void;
  /** A cell was clicked, or Enter pressed. */
  pick?: (row: number, column: number) => void;
  /** The pointer has left. */
  leave?: () => void;
  /** The height that the picture may take; by default that of a part of a page. */
  height?: () => number;
}

/** What a picture of cells can do, drawn in SVG or on a canvas. */
export interface Drawn {
  readonly element: Element;
  show(picture: MatrixPicture): void;
  mark(row: number, column: number): void;
  unmark(): void;
  find(event: PointerEvent): [number, number] | null;
  reveal(row: number, column: number, stage: HTMLElement): void;
  busy(): boolean;
}

const MOST_DRAWN = 64;

/** The picture alone, with its cursor; it fits its box and draws itself anew when that changes. */
export class MatrixView {
  readonly element: HTMLElement;
  private drawn: Drawn | null = null;
  private picture: MatrixPicture | null = null;
  private cursor = { row: 0, column: 0 };

  constructor(private pointing: Pointing = {}) {
    this.element = h("div", {
      class: "stage",
      tabindex: 0,
      role: "application",
      id: unique("matrix"),
      "aria-roledescription": "matrix",
      onfocus: () => this.point(this.cursor.row, this.cursor.column),
      onkeydown: (event: KeyboardEvent) => this.key(event),
      onpointermove: (event: PointerEvent) => {
        const position = this.drawn?.find(event);
        if (position && !this.drawn!.busy()) this.point(...position);
      },
      onpointerleave: () => {
        if (document.activeElement === this.element) return;
        this.drawn?.unmark();
        this.pointing.leave?.();
      },
      onclick: (event: PointerEvent) => {
        const position = this.drawn?.find(event);
        if (!position || this.drawn!.busy()) return;
        this.point(...position);
        this.pointing.pick?.(...position);
      },
    });
  }

  show(picture: MatrixPicture): void {
    const { rows, columns } = picture.matrix,
      large = rows > MOST_DRAWN || columns > MOST_DRAWN;
    this.picture = picture;
    this.element.setAttribute(
      "aria-label",
      `${picture.label}. ${rows} rows, ${columns} columns; arrow keys read cells.`,
    );
    const kind = large ? MatrixCanvas : MatrixSvg;
    if (!(this.drawn instanceof kind)) {
      this.drawn = new kind(this.element, this.pointing.height ?? (() => 460));
      this.element.replaceChildren(this.drawn.element);
    }
    if (picture.selected) [this.cursor.row, this.cursor.column] = picture.selected;
    this.cursor = { row: Math.min(this.cursor.row, rows - 1), column: Math.min(this.cursor.column, columns - 1) };
    this.drawn.show(picture);
  }

  /** Move the cursor, as a view does that has a row of its own. */
  moveTo(row: number): void {
    this.cursor.row = row;
  }

  private point(row: number, column: number): void {
    const { rows, columns } = this.picture!.matrix;
    if (row < 0 || column < 0 || row >= rows || column >= columns) return;
    this.cursor = { row, column };
    this.drawn!.mark(row, column);
    this.pointing.point?.(row, column);
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.element || !this.picture) return; // the buttons that zoom have keys of their own
    const { rows, columns } = this.picture.matrix,
      { row, column } = this.cursor;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      Home: [0, -column],
      End: [0, columns - 1 - column],
      PageUp: [-10, 0],
      PageDown: [10, 0],
    };
    const move = moves[event.key];
    if (!move && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!move) return this.pointing.pick?.(row, column);
    const within = (value: number, most: number) => Math.min(Math.max(value, 0), most - 1);
    this.point(within(row + move[0], rows), within(column + move[1], columns));
    this.drawn!.reveal(this.cursor.row, this.cursor.column, this.element);
  }
}

/** "house → casa: 0.8732 · row sums to 1.0000". */
export function describeCell(picture: MatrixPicture, row: number, column: number): string {
  const names = `${picture.rows[row]} → ${picture.columns[column]}`;
  if (picture.masked?.(row, column)) return `${names}: masked, could not be attended to`;
  const exact = picture.exact?.(row) ?? null,
    value = exact ? exact[column]! : at(picture.matrix, row, column);
  if (picture.sentence) return picture.sentence(row, column);
  if (picture.signed) return `${names}: ${number(value)}`;
  if (picture.rounded && !exact) return `${names}: about ${number(value)}`;
  return `${names}: ${number(value)} · row sums to ${number(total(exact ?? rowOf(picture.matrix, row)))}`;
}

/** A whole figure: picture, sentence, scale and, folded, all numbers as a table. */
export function matrix(picture: MatrixPicture, pointing: Pointing = {}): HTMLElement {
  if (!picture.matrix.rows || !picture.matrix.columns)
    return h("figure", { class: "matrix" }, h("p", { class: "dim" }, "Nothing to show."));
  const readout = h("output", { class: "readout", "aria-live": "polite" }, "Point at a cell, or use the arrow keys.");
  const large = Math.max(picture.matrix.rows, picture.matrix.columns) > MOST_DRAWN;
  const listed: Listed | null = large ? rowTable(picture) : null;
  const view = new MatrixView({
    ...pointing,
    point: (row, column) => {
      readout.textContent = describeCell(picture, row, column);
      listed?.show(row);
      pointing.point?.(row, column);
    },
  });
  view.show(picture);
  return h("figure", { class: "matrix" }, view.element, readout, legend(picture), listed?.element ?? table(picture));
}

/** What colors mean. */
export function legend({ rowTitle, columnTitle, maximum = 1, signed, masked }: MatrixPicture): HTMLElement {
  return h(
    "figcaption",
    { class: "legend" },
    h("span", null, "rows: ", h("b", null, rowTitle), " · columns: ", h("b", null, columnTitle)),
    h(
      "span",
      { class: "scale" },
      signed ? `−${short(maximum)}` : "0",
      scaleStrip(signed),
      `${short(maximum)}${maximum < 1 && !signed ? " or more" : ""}`,
    ),
    masked ? h("span", { class: "scale" }, h("i", { class: "masked-key", "aria-hidden": "true" }), "masked") : null,
  );
}

export function short(value: number): string {
  return Number(value.toPrecision(3)).toString();
}
