// Up to 64 rows and columns: cells in SVG, as large as they fit.

import { s, unique } from "../dom.ts";
import { at } from "../tensor.ts";
import { readable, shade, signedShade } from "./colors.ts";
import type { Drawn, MatrixPicture } from "./matrix.ts";
import { clip, textWidth } from "./text.ts";

const LARGEST = 72,
  SMALLEST = 9,
  NUMBERED = 36,
  SLANT = (42 * Math.PI) / 180;

interface Layout {
  size: number;
  font: number;
  left: number;
  top: number;
  width: number;
  height: number;
  slanted: boolean;
}

/** As large as the box allows: labels take what they need, cells share the rest. */
export function layout(picture: Pick<MatrixPicture, "rows" | "columns">, width: number, height: number): Layout {
  const rows = Math.max(picture.rows.length, 1),
    columns = Math.max(picture.columns.length, 1);
  const narrow = width < 480,
    font = narrow ? 12 : 14,
    most = narrow ? 84 : 150;
  const widest = (names: string[]) =>
    Math.min(most, Math.max(12, ...names.map((name) => textWidth(name, font, 600))));
  const left = widest(picture.rows) + 14,
    across = widest(picture.columns);
  const fit = (top: number, right: number) =>
    Math.min(LARGEST, Math.max(SMALLEST, Math.min((width - left - right) / columns, (height - top - 4) / rows)));
  let size = fit(font + 14, 6),
    slanted = across > size - 6,
    top = font + 14,
    right = 6;
  if (slanted) {
    top = across * Math.sin(SLANT) + 20;
    right = Math.max(6, textWidth(picture.columns.at(-1) ?? "", font, 600) * Math.cos(SLANT) - 10);
    size = fit(top, Math.min(right, 70));
    right = Math.min(right, 70);
  }
  size = Math.floor(size * 2) / 2;
  return {
    size,
    font: Math.min(font, Math.max(9, size + 1)),
    left,
    top,
    slanted,
    width: left + columns * size + right,
    height: top + rows * size + 4,
  };
}

export class MatrixSvg implements Drawn {
  readonly element = s("svg", { "aria-hidden": "true" });
  private picture: MatrixPicture | null = null;
  private now: Layout | null = null;
  private labels: SVGElement[] = [];
  private heads: SVGElement[] = [];
  private hover = s("rect", { class: "cell-mark", visibility: "hidden" });
  private line = s("rect", { class: "row-mark", visibility: "hidden" });

  constructor(
    private stage: HTMLElement,
    private room: () => number,
  ) {
    new ResizeObserver(() => this.fit()).observe(stage);
    addEventListener("resize", this.resized);
  }

  private resized = (): void => {
    if (this.element.isConnected) this.fit();
    else removeEventListener("resize", this.resized);
  };

  show(picture: MatrixPicture): void {
    const before = this.picture;
    this.picture = picture;
    if (before && this.now && this.recolor(before, picture)) return;
    this.now = null;
    this.fit();
  }

  /** Change the colors of the same cells, which then pass into each other; false where something else has changed. */
  private recolor(before: MatrixPicture, picture: MatrixPicture): boolean {
    const plain = (one: MatrixPicture) =>
      !one.masked && one.revealed === undefined && !one.selected && one.selectedRow === before.selectedRow;
    const names = (one: MatrixPicture) => [...one.rows, "", ...one.columns].join("\n");
    if (!plain(before) || !plain(picture) || names(before) !== names(picture)) return false;
    const { matrix, maximum = 1, signed } = picture,
      cells = this.element.querySelectorAll<SVGElement>(".cell");
    for (const number of this.element.querySelectorAll(".cell-number")) number.remove();
    cells.forEach((cell, index) => {
      const value = matrix.data[index]! / maximum,
        color = signed ? signedShade(value) : shade(value);
      cell.setAttribute("fill", color);
      const number = this.numberOf(Math.floor(index / matrix.columns), index % matrix.columns, color);
      if (number) cell.after(number);
    });
    return true;
  }

  /** The number in a cell, where it is large enough. */
  private numberOf(row: number, column: number, color: string): SVGElement | null {
    const { size, left, top } = this.now!,
      value = at(this.picture!.matrix, row, column);
    if (size < NUMBERED || Math.abs(value) < 0.05) return null;
    const place = {
      x: left + (column + 0.5) * size,
      y: top + (row + 0.5) * size,
      class: "cell-number",
      style: { fill: readable(color) },
      "font-size": Math.min(15, size * 0.3),
    };
    return s("text", place, value.toFixed(2).replace("-", "−"));
  }

  /** Draw, unless the box gives the same cells as before. */
  private fit(): void {
    const picture = this.picture;
    if (!picture) return;
    const width = this.stage.clientWidth || this.stage.parentElement?.clientWidth || 640;
    const next = layout(picture, width, Math.max(this.room(), 160));
    if (this.now && next.size === this.now.size && next.left === this.now.left) return;
    this.now = next;
    this.draw(picture, next);
  }

  private draw(picture: MatrixPicture, { size, font, left, top, slanted, width, height }: Layout): void {
    const { matrix, maximum = 1, signed, masked, apart = [], revealed = Infinity, selectedRow } = picture;
    const hatch = unique("masked"),
      gap = size > 20 ? 1.5 : size > 12 ? 1 : 0.5,
      round = Math.min(5, size / 7);
    const rows: SVGElement[] = [],
      x = (column: number) => left + column * size,
      y = (row: number) => top + row * size;
    for (let row = 0; row < matrix.rows; row++) {
      const cells: SVGElement[] = [];
      for (let column = 0; column < matrix.columns; column++) {
        const hidden = masked?.(row, column) ?? false,
          value = at(matrix, row, column);
        const color = signed ? signedShade(value / maximum) : shade(value / maximum);
        cells.push(
          s("rect", {
            x: x(column) + gap / 2,
            y: y(row) + gap / 2,
            width: size - gap,
            height: size - gap,
            rx: round,
            class: hidden ? "cell masked" : "cell",
            fill: hidden ? `url(#${hatch})` : color,
            style: { "--i": String(column) },
          }),
        );
        const number = hidden ? null : this.numberOf(row, column, color);
        if (number) cells.push(number);
      }
      rows.push(
        s("g", { class: `cells${row === revealed - 1 ? " filling" : row >= revealed ? " waiting" : ""}` }, cells),
      );
    }
    this.labels = picture.rows.map((name, row) =>
      s(
        "text",
        {
          x: left - 10,
          y: y(row) + size / 2,
          class: `label end${row === selectedRow ? " chosen" : ""}${row >= revealed ? " waiting" : ""}`,
          "font-size": font,
        },
        clip(name, left - 14, font),
      ),
    );
    this.heads = picture.columns.map((name, column) => {
      const middle = x(column) + size / 2,
        kind = apart.includes(column) ? "label apart" : "label";
      return slanted
        ? s(
            "text",
            { class: kind, "font-size": font, transform: `translate(${middle + 2} ${top - 8}) rotate(-42)` },
            clip(name, 150, font),
          )
        : s("text", { class: `${kind} middle`, "font-size": font, x: middle, y: top - 14 }, name);
    });
    for (const one of [this.hover, this.line]) one.setAttribute("visibility", "hidden");
    const chosen = selectedRow ?? -1,
      cell = picture.selected;
    const band =
      chosen >= 0 && chosen < matrix.rows
        ? s("rect", {
            class: "picked-row",
            x: left - 3,
            y: y(chosen) - 1,
            width: matrix.columns * size + 6,
            height: size + 2,
            rx: round + 2,
          })
        : null;
    const ring = cell
      ? s("rect", {
          class: "picked-cell",
          x: x(cell[1]) - 0.5,
          y: y(cell[0]) - 0.5,
          width: size + 1,
          height: size + 1,
          rx: round + 1,
        })
      : null;
    this.element.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.element.setAttribute("width", String(width));
    this.element.setAttribute("height", String(height));
    this.element.replaceChildren(
      s(
        "defs",
        null,
        s(
          "pattern",
          { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
          s("rect", { width: 6, height: 6, class: "masked-ground" }),
          s("path", { d: "M-1 7L7 -1", class: "masked-line" }),
        ),
      ),
      ...rows,
      ...this.labels,
      ...this.heads,
      this.line,
      ...(band ? [band] : []),
      ...(ring ? [ring] : []),
      this.hover,
    );
  }

  mark(row: number, column: number): void {
    const { size, left, top } = this.now!,
      columns = this.picture!.matrix.columns;
    place(this.hover, left + column * size - 0.5, top + row * size - 0.5, size + 1, size + 1, Math.min(6, size / 7));
    place(this.line, left - 3, top + row * size - 1, columns * size + 6, size + 2, Math.min(7, size / 6));
    this.labels.forEach((label, index) => label.classList.toggle("on", index === row));
    this.heads.forEach((label, index) => label.classList.toggle("on", index === column));
  }

  unmark(): void {
    for (const one of [this.hover, this.line]) one.setAttribute("visibility", "hidden");
    for (const label of [...this.labels, ...this.heads]) label.classList.remove("on");
  }

  find(event: PointerEvent): [number, number] | null {
    const { size, left, top, width } = this.now!,
      { rows, columns } = this.picture!.matrix;
    const box = this.element.getBoundingClientRect(),
      scale = width / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale - left) / size),
      row = Math.floor(((event.clientY - box.top) * scale - top) / size);
    return row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
  }

  reveal(row: number, column: number, stage: HTMLElement): void {
    const { size, left, top } = this.now!,
      x = left + column * size,
      y = top + row * size;
    if (x - left < stage.scrollLeft) stage.scrollLeft = x - left;
    if (x + 2 * size > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = x + 2 * size - stage.clientWidth;
    if (y - top < stage.scrollTop) stage.scrollTop = y - top;
    if (y + 2 * size > stage.scrollTop + stage.clientHeight) stage.scrollTop = y + 2 * size - stage.clientHeight;
  }

  busy(): boolean {
    return false;
  }
}

function place(rect: SVGElement, x: number, y: number, width: number, height: number, rx: number): void {
  for (const [name, value] of Object.entries({ x, y, width, height, rx, visibility: "visible" }))
    rect.setAttribute(name, String(value));
}
