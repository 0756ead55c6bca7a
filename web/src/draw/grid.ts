// A small matrix with its numbers in the cells, as a table that can be read aloud. Where cells can be chosen, the arrow
// keys move the choice.

import { h } from "../dom.ts";
import { number } from "../tensor.ts";
import { readable, shade, signedShade } from "./colors.ts";

export interface Grid {
  values: number[][];
  rows: string[];
  columns: string[];
  caption: string;
  /** Numbers may be negative: colors from −maximum to maximum. */
  signed?: boolean;
  maximum?: number;
  masked?: (row: number, column: number) => boolean;
  chosen?: [number, number] | null;
  onpick?: (row: number, column: number) => void;
  digits?: number;
}

export function grid({
  values,
  rows,
  columns,
  caption,
  signed,
  maximum = 1,
  masked,
  chosen,
  onpick,
  digits = 3,
}: Grid): HTMLElement {
  const cells: HTMLElement[][] = [];
  const pick = (row: number, column: number) => {
    if (row < 0 || column < 0 || row >= rows.length || column >= columns.length) return;
    onpick!(row, column);
  };
  const moves: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const body = rows.map((name, row) => {
    cells.push(
      columns.map((_, column) => {
        const value = values[row]![column]!,
          hidden = masked?.(row, column) ?? false;
        const color = signed ? signedShade(value / (maximum || 1)) : shade(value / (maximum || 1));
        const own = chosen?.[0] === row && chosen[1] === column;
        const choosable = onpick
          ? {
              role: "gridcell",
              tabindex: own || (!chosen && row + column === 0) ? 0 : -1,
              "aria-selected": String(own),
              onclick: () => pick(row, column),
              onkeydown: (event: KeyboardEvent) => {
                const move = moves[event.key];
                if (!move) return;
                event.preventDefault();
                pick(row + move[0], column + move[1]);
              },
            }
          : {};
        return h(
          "td",
          {
            class: `${hidden ? "masked" : ""} ${own ? "chosen" : chosen?.[0] === row ? "row-on" : ""}`,
            ...choosable,
            style: hidden ? {} : { "background-color": color, color: readable(color) },
          },
          hidden ? "masked" : number(value, digits),
        );
      }),
    );
    return h(
      "tr",
      onpick ? { role: "row" } : null,
      h("th", { scope: "row", ...(onpick ? { role: "rowheader" } : {}) }, name),
      cells[row]!,
    );
  });
  return h(
    "div",
    { class: "scroll grid-scroll", tabindex: onpick ? null : 0, role: "group", "aria-label": caption },
    h(
      "table",
      { class: "grid", ...(onpick ? { role: "grid", "aria-label": `${caption}; arrow keys choose` } : {}) },
      onpick ? null : h("caption", { class: "hidden-caption" }, caption),
      h(
        "thead",
        onpick ? { role: "rowgroup" } : null,
        h(
          "tr",
          onpick ? { role: "row" } : null,
          h("td"),
          columns.map((name) => h("th", { scope: "col", ...(onpick ? { role: "columnheader" } : {}) }, name)),
        ),
      ),
      h("tbody", onpick ? { role: "rowgroup" } : null, body),
    ),
  );
}
