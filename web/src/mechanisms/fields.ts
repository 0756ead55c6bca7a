// Small tables of numbers that the visitor edits, and how they stand in the address: rows by ";", numbers by ",".

import { h, unique } from "../dom.ts";

export type Table = number[][];

export function writeTable(table: Table): string {
  return table.map((row) => row.map((value) => (Number.isFinite(value) ? String(value) : "")).join(",")).join(";");
}

/** Read a table and make it fit: what is missing, or no number, comes from `initial`. */
export function readTable(
  text: string,
  rows: number,
  columns: number,
  initial: (row: number, column: number) => number,
): Table {
  const entered = text
    ? text.split(";").map((row) => row.split(",").map((one) => (one.trim() === "" ? NaN : Number(one))))
    : [];
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => {
      const value = entered[row]?.[column];
      return value !== undefined && Number.isFinite(value) ? value : initial(row, column);
    }),
  );
}

/** How many rows and columns a table of the address has. */
export function sizeOf(text: string): [number, number] {
  const rows = text.split(";");
  return [rows.length, rows[0]!.split(",").length];
}

export interface TableField {
  label: string;
  table: Table;
  rowNames: string[];
  columnNames: string[];
  whole?: boolean;
  /** Told of every change; a number that is none is NaN. */
  onchange: (table: Table) => void;
}

export function tableField({ label, table, rowNames, columnNames, whole, onchange }: TableField): HTMLElement {
  const id = unique("table");
  const now = table.map((row) => [...row]);
  return h(
    "div",
    { class: "field table-field", role: "group", "aria-labelledby": id },
    h("span", { class: "field-name", id }, label),
    h(
      "div",
      { class: "table-scroll" },
      h(
        "table",
        { class: "inputs" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td"),
            columnNames.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          null,
          now.map((row, r) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, rowNames[r]!),
              row.map((value, c) => {
                const input = h("input", {
                  type: "number",
                  step: whole ? 1 : "any",
                  value: String(value),
                  "aria-label": `${label}, ${rowNames[r]}, ${columnNames[c]}`,
                  oninput: () => {
                    now[r]![c] = input.value.trim() === "" ? NaN : input.valueAsNumber;
                    input.setAttribute("aria-invalid", String(!Number.isFinite(now[r]![c]!)));
                    onchange(now);
                  },
                });
                return h("td", null, input);
              }),
            ),
          ),
        ),
      ),
    ),
  );
}

/** One number with its label; `empty` may be left so, and is then NaN. */
export function numberField(
  label: string,
  value: number,
  { min, step = 0.1 }: { min?: number; step?: number },
  onchange: (value: number) => void,
): HTMLElement {
  const id = unique("number");
  const input = h("input", {
    id,
    type: "number",
    step: step === 1 ? 1 : "any",
    min,
    value: Number.isFinite(value) ? String(value) : "",
    oninput: () => onchange(input.value.trim() === "" ? NaN : input.valueAsNumber),
  });
  return h("div", { class: "field" }, h("label", { for: id }, label), input);
}
