// The same weights as lines between two columns of words: thick and dark where much is attended to.

import { h, s } from "../dom.ts";
import { at, number, type Matrix } from "../tensor.ts";
import { clip } from "./matrix.ts";

export interface LinesPicture {
  /** Rows are on the right, columns on the left. */
  matrix: Matrix;
  rows: string[];
  columns: string[];
  rowTitle: string;
  columnTitle: string;
  label: string;
  selectedRow?: number | null;
  onpick?: (row: number) => void;
  apart?: number[];
}

const STEP = 30, TOP = 34;

/** Draw it. Each word can be pointed at or reached with the Tab and arrow keys, and tells its numbers. */
export function lines(picture: LinesPicture): HTMLElement {
  const { rows, columns } = picture.matrix;
  const width = Math.max(260, Math.min(460, innerWidth - 64)), margin = Math.round(width * 0.33);
  const readout = h("output", { class: "readout", "aria-live": "polite" }, "Point at a word, or use the arrow keys.");
  const height = TOP + Math.max(rows, columns) * STEP + 8;
  const yOf = (index: number, count: number) => TOP + (index + 0.5) * STEP + ((Math.max(rows, columns) - count) * STEP) / 2;
  const curves: SVGPathElement[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const weight = at(picture.matrix, row, column);
      if (weight < 0.01) continue;
      const from = yOf(column, columns), to = yOf(row, rows), middle = width / 2;
      curves.push(s("path", {
        d: `M${margin} ${from}C${middle} ${from} ${middle} ${to} ${width - margin} ${to}`, class: "line",
        "stroke-width": (1 + 7 * weight).toFixed(2), "stroke-opacity": Math.min(1, 0.08 + 0.85 * weight).toFixed(3),
        "data-row": row, "data-column": column,
      }));
    }
  }
  const words: SVGElement[] = [];
  let current = 0;
  const focus = (index: number) => {
    words[current]!.setAttribute("tabindex", "-1");
    current = Math.min(Math.max(index, 0), words.length - 1);
    words[current]!.setAttribute("tabindex", "0");
    words[current]!.focus();
  };
  const show = (side: "row" | "column" | null, index = 0) => {
    for (const curve of curves) curve.classList.toggle("off", side !== null && curve.dataset[side] !== String(index));
    if (side === "row") readout.textContent = text(picture, index);
    if (side === "column") readout.textContent = textOfColumn(picture, index);
  };
  const word = (side: "row" | "column", index: number) => {
    const name = side === "row" ? picture.rows[index]! : picture.columns[index]!;
    const number = words.length, y = yOf(index, side === "row" ? rows : columns);
    const x = side === "row" ? width - margin + 10 : margin - 10;
    const classes = ["word", side, side === "row" && picture.selectedRow === index ? "picked" : "",
      side === "column" && picture.apart?.includes(index) ? "apart" : ""].join(" ").trim();
    const pick = () => side === "row" && picture.onpick?.(index);
    words.push(s("g", {
      class: classes, tabindex: number === 0 ? 0 : -1, role: "button", "aria-label": `${clip(name, margin - 24)}, ${side === "row" ? picture.rowTitle : picture.columnTitle}`,
      onpointerenter: () => show(side, index), onpointerleave: () => show(null), onfocus: () => show(side, index), onblur: () => show(null),
      onclick: pick,
      onkeydown: (event: KeyboardEvent) => {
        const along = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (along) focus(number + along);
        else if (event.key === "ArrowRight" && side === "column") focus(columns + Math.min(index, rows - 1));
        else if (event.key === "ArrowLeft" && side === "row") focus(Math.min(index, columns - 1));
        else if (event.key === "Enter" || event.key === " ") pick();
        else return;
        event.preventDefault();
      },
    }, s("rect", { x: side === "row" ? width - margin + 3 : 2, y: y - STEP / 2 + 2, width: margin - 5, height: STEP - 4, rx: 6 }),
      s("text", { x, y, class: side === "row" ? "label" : "label end" }, clip(name, margin - 24)), s("title", null, name)));
  };
  for (let column = 0; column < columns; column++) word("column", column);
  for (let row = 0; row < rows; row++) word("row", row);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width: width, height, role: "group", "aria-label": picture.label },
    s("text", { x: margin - 10, y: 14, class: "label end title" }, picture.columnTitle),
    s("text", { x: width - margin + 10, y: 14, class: "label title" }, picture.rowTitle),
    s("g", { "aria-hidden": "true" }, curves), words);
  return h("figure", { class: "lines" }, h("div", { class: "lines-stage" }, svg), readout);
}

function text(picture: LinesPicture, row: number): string {
  const weights = Array.from({ length: picture.matrix.columns }, (_, column) => ({ column, weight: at(picture.matrix, row, column) }));
  weights.sort((a, b) => b.weight - a.weight);
  return `${picture.rows[row]} → ${weights.slice(0, 4).map((one) => `${picture.columns[one.column]} ${number(one.weight)}`).join(" · ")}`;
}

function textOfColumn(picture: LinesPicture, column: number): string {
  const weights = Array.from({ length: picture.matrix.rows }, (_, row) => ({ row, weight: at(picture.matrix, row, column) }));
  const sum = weights.reduce((total, one) => total + one.weight, 0);
  weights.sort((a, b) => b.weight - a.weight);
  const most = weights.slice(0, 3).map((one) => `${picture.rows[one.row]} ${number(one.weight)}`).join(" · ");
  return `${picture.columns[column]} ← ${most} · in all ${number(sum)}`;
}
