// The numbers of a matrix as a table, to read and to copy.

import { h } from "../dom.ts";
import { at, number, rowOf } from "../tensor.ts";
import type { MatrixPicture } from "./matrix.ts";

export interface Listed {
  element: HTMLElement;
  show(row: number): void;
}

/** All numbers, made when they are unfolded. */
export function table(picture: MatrixPicture): HTMLElement {
  const details = h("details", { class: "numbers" }, h("summary", null, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const { rows, columns } = picture.matrix;
    details.append(
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of numbers" },
        h(
          "table",
          null,
          h("caption", { class: "quiet" }, caption(picture)),
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("td"),
              picture.columns.map((name) => h("th", { scope: "col" }, name)),
            ),
          ),
          h(
            "tbody",
            null,
            Array.from({ length: rows }, (_, row) =>
              h(
                "tr",
                null,
                h("th", { scope: "row" }, picture.rows[row]!),
                Array.from({ length: columns }, (_, column) =>
                  h("td", null, picture.masked?.(row, column) ? "masked" : number(at(picture.matrix, row, column))),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  });
  return details;
}

/** Of very many numbers, those of the row that is pointed at. */
export function rowTable(picture: MatrixPicture): Listed {
  const body = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of the row" });
  let wanted = Math.max(picture.selectedRow ?? 0, 0),
    drawn = "";
  const details = h("details", { class: "numbers" }, h("summary", null, "The row pointed at as a table"), body);
  const draw = () => {
    const exact = picture.exact?.(wanted) ?? null,
      now = `${wanted} ${exact !== null}`;
    if (!details.open || drawn === now) return;
    drawn = now;
    const values = exact ?? rowOf(picture.matrix, wanted);
    body.replaceChildren(
      h(
        "table",
        null,
        h("caption", { class: "quiet" }, exact ? picture.label : caption(picture)),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "col", class: "text" }, picture.columnTitle),
            h("th", { scope: "col" }, picture.rows[wanted]!),
          ),
        ),
        h(
          "tbody",
          null,
          picture.columns.map((name, column) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, name),
              h("td", null, picture.masked?.(wanted, column) ? "masked" : number(values[column]!)),
            ),
          ),
        ),
      ),
    );
  };
  details.addEventListener("toggle", draw);
  return { element: details, show: (row) => ((wanted = row), draw()) };
}

function caption(picture: MatrixPicture): string {
  return picture.rounded ? `${picture.label}, rounded` : picture.label;
}
