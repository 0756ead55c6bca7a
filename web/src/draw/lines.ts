// The same weights as lines between two rows of words: thick and dark where much is attended to. Where words do not fit
// side by side, they stand below each other.

import { h, s } from "../dom.ts";
import { at, number, total, type Matrix } from "../tensor.ts";
import { readable, shade } from "./colors.ts";
import { clip, textWidth } from "./text.ts";

export interface LinesPicture {
  /** Rows are below, or on the right; columns above, or on the left. */
  matrix: Matrix;
  rows: string[];
  columns: string[];
  rowTitle: string;
  columnTitle: string;
  label: string;
  maximum?: number;
  selectedRow?: number | null;
  apart?: number[];
  /** Rows from here on are still to come, while steps are played. */
  revealed?: number;
}

export interface LinesPointing {
  /** A word is pointed at, with what is said of it; null where none is. */
  point: (text: string | null) => void;
  pick: (row: number) => void;
  height: () => number;
}

interface Place {
  x: number;
  y: number;
  width: number;
  /** Where its lines end. */
  joint: [number, number];
}

const GAP = 12,
  LEAST = 0.01,
  STEP = 30;

export class LinesView {
  readonly element = h("div", { class: "lines-stage" });
  private picture: LinesPicture | null = null;
  private width = 0;

  constructor(private pointing: LinesPointing) {
    new ResizeObserver(() => this.element.clientWidth !== this.width && this.draw()).observe(this.element);
  }

  show(picture: LinesPicture): void {
    this.picture = picture;
    this.draw();
  }

  private draw(): void {
    const picture = this.picture;
    if (!picture) return;
    this.width = this.element.clientWidth || this.element.parentElement?.clientWidth || 640;
    const { rows, columns, places, size, height } = arrange(picture, this.width, this.pointing.height());
    const { maximum = 1, revealed = Infinity, selectedRow } = picture,
      across = places === "across";
    const curves: SVGPathElement[] = [];
    for (let row = 0; row < Math.min(rows.length, revealed); row++) {
      for (let column = 0; column < columns.length; column++) {
        const weight = at(picture.matrix, row, column) / maximum;
        if (weight < LEAST) continue;
        const [x0, y0] = columns[column]!.joint,
          [x1, y1] = rows[row]!.joint,
          share = Math.min(weight, 1);
        const d = across
          ? `M${x0} ${y0}C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1}`
          : `M${x0} ${y0}C${(x0 + x1) / 2} ${y0} ${(x0 + x1) / 2} ${y1} ${x1} ${y1}`;
        curves.push(
          s("path", {
            d,
            class: `line${row === revealed - 1 ? " drawing" : ""}`,
            pathLength: 1,
            "data-row": row,
            "data-column": column,
            stroke: shade(0.22 + 0.7 * share),
            "stroke-width": (1 + 9 * share).toFixed(2),
            "stroke-opacity": (0.12 + 0.86 * share).toFixed(3),
          }),
        );
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
    const light = (side: "row" | "column" | null, index: number) => {
      for (const curve of curves)
        curve.classList.toggle("off", side !== null && curve.dataset[side] !== String(index));
      words.slice(0, columns.length).forEach((word, column) => {
        const color = side === "row" ? shade(at(picture.matrix, index, column) / maximum) : "";
        word.querySelector("rect")!.style.fill = color;
        word.querySelector("text")!.style.fill = color ? readable(color) : "";
      });
    };
    const show = (side: "row" | "column" | null, index = 0) => {
      if (side) light(side, index);
      else light(selectedRow === null || selectedRow === undefined ? null : "row", selectedRow ?? 0);
      this.pointing.point(
        side === "row" ? rowText(picture, index) : side === "column" ? columnText(picture, index) : null,
      );
    };
    const word = (side: "row" | "column", index: number) => {
      const name = side === "row" ? picture.rows[index]! : picture.columns[index]!,
        place = (side === "row" ? rows : columns)[index]!;
      const order = words.length,
        pick = () => side === "row" && this.pointing.pick(index);
      const kind = [
        "word",
        side,
        side === "row" && index === selectedRow ? "picked" : "",
        side === "row" && index >= revealed ? "waiting" : "",
        side === "column" && picture.apart?.includes(index) ? "apart" : "",
      ]
        .filter(Boolean)
        .join(" ");
      words.push(
        s(
          "g",
          {
            class: kind,
            tabindex: order === 0 ? 0 : -1,
            role: "button",
            "aria-label": `${clip(name, place.width, size)}, ${side === "row" ? picture.rowTitle : picture.columnTitle}`,
            onpointerenter: () => show(side, index),
            onpointerleave: () => show(null),
            onfocus: () => show(side, index),
            onblur: () => show(null),
            onclick: pick,
            onkeydown: (event: KeyboardEvent) => {
              const along = {
                ArrowDown: across ? 0 : 1,
                ArrowUp: across ? 0 : -1,
                ArrowRight: across ? 1 : 0,
                ArrowLeft: across ? -1 : 0,
              }[event.key];
              const over = event.key === (across ? "ArrowDown" : "ArrowRight"),
                back = event.key === (across ? "ArrowUp" : "ArrowLeft");
              if (along) focus(order + along);
              else if (over && side === "column") focus(columns.length + Math.min(index, rows.length - 1));
              else if (back && side === "row") focus(Math.min(index, columns.length - 1));
              else if (event.key === "Enter" || event.key === " ") pick();
              else return;
              event.preventDefault();
            },
          },
          s("rect", {
            x: place.x - place.width / 2 - 5,
            y: place.y - size * 0.85,
            width: place.width + 10,
            height: size * 1.7,
            rx: 6,
          }),
          s(
            "text",
            { x: place.x, y: place.y, class: "label middle", "font-size": size },
            clip(name, place.width + 1, size),
          ),
          s("title", null, name),
        ),
      );
    };
    columns.forEach((_, column) => word("column", column));
    rows.forEach((_, row) => word("row", row));
    this.element.replaceChildren(
      s(
        "svg",
        {
          viewBox: `0 0 ${this.width} ${height}`,
          width: this.width,
          height,
          role: "group",
          "aria-label": picture.label,
        },
        s("g", { "aria-hidden": "true" }, curves),
        words,
      ),
    );
    light(selectedRow === null || selectedRow === undefined ? null : "row", selectedRow ?? 0);
  }
}

/** Where every word stands. */
function arrange(
  picture: LinesPicture,
  width: number,
  room: number,
): { rows: Place[]; columns: Place[]; places: "across" | "down"; size: number; height: number } {
  for (const size of [20, 18, 16, 14, 13]) {
    const wide = (names: string[]) => names.reduce((sum, name) => sum + textWidth(name, size) + 10 + GAP, 0) - GAP;
    if (Math.max(wide(picture.rows), wide(picture.columns)) > width - 8) continue;
    const height = Math.min(Math.max(room, 200), 460);
    const line = (names: string[], y: number, joint: number): Place[] => {
      let x = (width - wide(names)) / 2;
      return names.map((name) => {
        const own = textWidth(name, size),
          place = { x: x + own / 2 + 5, y, width: own, joint: [x + own / 2 + 5, joint] as [number, number] };
        x += own + 10 + GAP;
        return place;
      });
    };
    return {
      columns: line(picture.columns, size * 1.2, size * 2.3),
      rows: line(picture.rows, height - size * 1.2, height - size * 2.3),
      places: "across",
      size,
      height,
    };
  }
  const most = Math.max(picture.rows.length, picture.columns.length),
    side = Math.min(150, width * 0.32),
    height = most * STEP + 10;
  const line = (names: string[], x: number, joint: number): Place[] =>
    names.map((_, index) => {
      const y = 5 + (index + 0.5) * STEP + ((most - names.length) * STEP) / 2;
      return { x, y, width: side - 16, joint: [joint, y] };
    });
  return {
    columns: line(picture.columns, side / 2, side),
    rows: line(picture.rows, width - side / 2, width - side),
    places: "down",
    size: 14,
    height,
  };
}

function rowText(picture: LinesPicture, row: number): string {
  const weights = picture.columns
    .map((name, column) => ({ name, weight: at(picture.matrix, row, column) }))
    .sort((a, b) => b.weight - a.weight);
  return `${picture.rows[row]} → ${weights
    .slice(0, 4)
    .map((one) => `${one.name} ${number(one.weight)}`)
    .join(" · ")}`;
}

function columnText(picture: LinesPicture, column: number): string {
  const weights = picture.rows.map((name, row) => ({ name, weight: at(picture.matrix, row, column) }));
  const sum = total(weights.map((one) => one.weight)),
    most = [...weights].sort((a, b) => b.weight - a.weight).slice(0, 3);
  return (
    `${picture.columns[column]} ← ${most.map((one) => `${one.name} ${number(one.weight)}`).join(" · ")} · in all ` +
    `${number(sum)}`
  );
}
