// The explorer: small tables, any score, normalizer, mask and position, and what the operator makes of them.

import type { AttendAnswer as Answer, NormalizerInfo } from "../api.ts";
import { alertBox, panel, popover, select, type Choice } from "../controls.ts";
import { code } from "../draw/code.ts";
import { grid } from "../draw/grid.ts";
import { fill, h, m, type Child } from "../dom.ts";
import {
  contextEquation,
  equation,
  filled,
  mi,
  mo,
  NORMALIZERS,
  normalizerEquation,
  num,
  POSITIONS,
  positionEquation,
  scoreEquation,
  SCORES,
  scoreText,
  total,
  work,
} from "../equations.ts";
import type { Host } from "../host.ts";
import type { State } from "../state.ts";
import { pairs } from "../steps/answer.ts";
import { build, number } from "../tensor.ts";
import { named } from "../terms.ts";
import { weigh } from "../weighing.ts";
import { PRESETS, type Preset, type Setting, type Sizes } from "./catalogue.ts";
import { numberField, readTable, tableField, writeTable, type Table } from "./fields.ts";
import { changed, Chosen, KINDS, type Part } from "./question.ts";

const MASKS: Record<string, { title: string; text: string }> = {
  Causal: {
    title: "Causal",
    text: "A query sees its own position and those before; the last query stands at the last key.",
  },
  Window: { title: "Window", text: "A query sees so many positions before and after its own." },
  Padding: { title: "Padding", text: "Keys behind the end of the sentence are masked." },
  Documents: { title: "Documents", text: "A query sees the keys of its own document only." },
};
const TITLES: Record<Part, Record<string, { title: string; text: string }>> = {
  score: SCORES,
  normalizer: NORMALIZERS,
  mask: MASKS,
  position: POSITIONS,
};
const TABLES = [
  ["q", "Queries"],
  ["k", "Keys"],
  ["v", "Values"],
] as const;
const LETTER = { q: "q", k: "k", v: "v" } as const;

export class AttentionExplorer {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private sizeControls = h("div", { class: "options sizes" });
  private flow = h("div");
  private tables = h("div", { class: "tables" });
  private parts = h("div", { class: "mechanism-parts" });
  private results = h("div", { class: "stack" });
  private status = h("p", { role: "status", class: "hidden-caption" });
  private requests = 0;
  private answer: Answer | null = null;
  private chosen: Chosen;

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.chosen = new Chosen(state);
    if (!state.get("q")) this.apply(PRESETS[0]!);
    this.drawSizes();
    this.drawTables();
    this.drawParts();
    this.element.append(
      host.live
        ? ""
        : h(
            "p",
            { class: "note" },
            "A recording: other mechanisms can be chosen for these numbers. To change the numbers, run `regard " +
              "studio`.",
          ),
      this.alert.element,
      this.status,
      h(
        "section",
        { class: "card mechanism-card", "aria-label": "Attention on small tables" },
        h(
          "div",
          { class: "workbench even" },
          h(
            "div",
            { class: "inputs-side" },
            h(
              "div",
              { class: "map-bar" },
              h("h2", null, named("query", "Queries, keys, values")),
              h("div", { class: "map-buttons" }, this.presetMenu(), this.sizeMenu()),
            ),
            this.tables,
          ),
          h("div", { class: "flow-side" }, this.flow),
        ),
        this.parts,
      ),
      this.results,
    );
    void this.ask();
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.answer) this.draw();
  }

  /** Whether there is an answer to the address with these settings; in a file, not to all. */
  private knows(values: Record<string, string>): boolean {
    const { verb, body } = new Chosen(changed(this.state, values)).question;
    return this.host.knows(verb, body);
  }

  /** In a file numbers stay as they are, and what it has no answer to cannot be chosen. */
  private close(): void {
    if (this.host.live) return;
    for (const field of this.element.querySelectorAll<HTMLInputElement>("input, .settings select, .sizes select"))
      field.disabled = true;
    for (const option of this.parts.querySelectorAll<HTMLOptionElement>(":scope > div > .field option")) {
      option.disabled = !this.knows({ [option.closest<HTMLElement>("[data-part]")!.dataset.part!]: option.value });
    }
  }

  private apply(preset: Preset): void {
    this.state.set({ ...preset.values, row: null, column: null });
  }

  private presetMenu(): HTMLElement {
    const menu = popover("Examples", () =>
      h(
        "ul",
        { class: "menu" },
        PRESETS.map((preset) =>
          h(
            "li",
            null,
            h(
              "button",
              {
                type: "button",
                disabled: !this.knows(preset.values),
                onclick: () => {
                  menu.close();
                  this.apply(preset);
                  this.drawSizes();
                  this.drawTables();
                  this.drawParts();
                  void this.ask();
                },
              },
              h("span", null, preset.title),
              h("span", { class: "dim small" }, preset.about),
            ),
          ),
        ),
      ),
    );
    return menu.element;
  }

  private sizeMenu(): HTMLElement {
    return popover("Sizes", () => this.sizeControls).element;
  }

  private drawSizes(): void {
    const sizes = this.chosen.sizes;
    const counts = (least: number, most: number): Choice[] =>
      Array.from({ length: most - least + 1 }, (_, i) => ({ value: String(i + least), text: String(i + least) }));
    const change = (changed: Partial<Sizes>) => {
      const now = { ...this.chosen.sizes, ...changed },
        old = { q: this.chosen.table("q"), k: this.chosen.table("k"), v: this.chosen.table("v") };
      const grown = (table: Table, rows: number, columns: number) =>
        writeTable(readTable(writeTable(table), rows, columns, (row, column) => (row % columns === column ? 1 : 0)));
      this.state.set({
        q: grown(old.q, now.queries, now.width),
        k: grown(old.k, now.keys, now.width),
        v: grown(old.v, now.keys, now.values),
      });
      this.drawTables();
      this.drawParts();
      void this.ask();
    };
    fill(
      this.sizeControls,
      select("Number of queries", counts(1, 6), String(sizes.queries), (value) => change({ queries: Number(value) })),
      select("Number of keys", counts(1, 6), String(sizes.keys), (value) => change({ keys: Number(value) })),
      select("Width of queries and keys", counts(1, 4), String(sizes.width), (value) =>
        change({ width: Number(value) }),
      ),
      select("Width of values", counts(1, 4), String(sizes.values), (value) => change({ values: Number(value) })),
    );
  }

  private drawTables(): void {
    fill(
      this.tables,
      TABLES.map(([name, label]) => {
        const table = this.chosen.table(name);
        return tableField({
          label,
          table,
          rowNames: table.map((_, row) => `${LETTER[name]}${row + 1}`),
          columnNames: table[0]!.map((_, column) => String(column + 1)),
          onchange: (now) => this.edited(name, now),
        });
      }),
    );
  }

  /** Keep what was typed and compute; while something is no number, say so instead. */
  private edited(key: string, now: Table): void {
    if (now.some((row) => row.some((value) => !Number.isFinite(value)))) {
      this.requests++;
      this.alert.show("A field holds no number. Type one.");
      return;
    }
    this.state.set({ [key]: writeTable(now) });
    void this.ask();
  }

  private drawParts(): void {
    const labels: Record<Part, string> = {
      score: "Score",
      normalizer: "Normalizer",
      mask: "Mask",
      position: "Position",
    };
    fill(
      this.parts,
      (Object.keys(KINDS) as Part[]).map((part) => {
        const optional = part === "mask" || part === "position";
        const choices = [
          ...(optional ? [{ value: "", text: "None" }] : []),
          ...KINDS[part].map((one) => ({ value: one.kind, text: TITLES[part][one.kind]!.title })),
        ];
        const below = h("div", { class: "settings" });
        const readout = h("p", { class: "dim small" });
        const describe = () => {
          const own = this.chosen.kind(part);
          readout.textContent = !own
            ? ""
            : part === "score"
              ? scoreText(own.kind, this.state.get("activation")).text
              : TITLES[part][own.kind]!.text;
        };
        const draw = () => {
          const own = this.chosen.kind(part);
          describe();
          fill(below, own ? [readout, own.settings.map((setting) => this.field(setting, describe))] : null);
        };
        draw();
        return h(
          "div",
          { class: "mechanism-part", "data-part": part },
          select(labels[part], choices, this.chosen.kind(part)?.kind ?? "", (kind) => {
            this.state.set({ [part]: kind });
            draw();
            void this.ask();
          }),
          below,
        );
      }),
    );
  }

  /** A setting's control; `chosen` is told of another choice. */
  private field(setting: Setting, chosen: () => void): HTMLElement {
    const sizes = this.chosen.sizes,
      { key, label } = setting;
    if (setting.kind === "choice") {
      return select(
        label,
        setting.choices!.map((one) => ({ value: one, text: one })),
        this.state.get(key, setting.choices![0]),
        (value) => {
          this.state.set({ [key]: value });
          chosen();
          void this.ask();
        },
      );
    }
    if (!setting.shape) {
      return numberField(label, this.chosen.scalar(setting), setting, (value) => {
        if (!Number.isFinite(value) && setting.kind !== "limit") return this.edited(key, [[NaN]]);
        this.state.set({ [key]: Number.isFinite(value) ? String(value) : "all" });
        void this.ask();
      });
    }
    const table = this.chosen.settingTable(setting);
    return tableField({
      label,
      table,
      whole: setting.kind === "positions",
      rowNames: table.map((_, row) => setting.rowName!(row, sizes)),
      columnNames: table[0]!.map((_, column) => setting.columnName!(column, sizes)),
      onchange: (now) => this.edited(key, now),
    });
  }

  private async ask(): Promise<void> {
    const number = ++this.requests,
      { body } = this.chosen.question;
    this.close();
    try {
      const answer = await this.host.ask("mechanisms/attend", body);
      if (number !== this.requests) return;
      this.alert.show("");
      this.answer = answer;
      for (const part of [this.flow, this.results]) part.removeAttribute("aria-busy");
      this.draw();
    } catch (error) {
      if (number !== this.requests) return;
      this.alert.show((error as Error).message);
      for (const part of [this.flow, this.results]) part.setAttribute("aria-busy", "true"); // not of these numbers
    }
  }

  private draw(): void {
    const answer = this.answer!,
      { queries, keys, values } = this.chosen.sizes;
    const row = this.state.index("row", queries, 0),
      column = this.state.index("column", keys, 0);
    const queryNames = Array.from({ length: queries }, (_, i) => `q${i + 1}`),
      keyNames = Array.from({ length: keys }, (_, i) => `k${i + 1}`);
    const features = Array.from({ length: values }, (_, i) => String(i + 1));
    const most = (table: Table) => Math.max(1e-9, ...table.flat().map(Math.abs));
    const masked = answer.mask ? (r: number, c: number) => !answer.mask![r]![c] : undefined;
    const pick = (r: number, c: number) => {
      this.state.setIndex({ row: r, column: c });
      const own = document.activeElement?.closest("[data-grid]")?.getAttribute("data-grid");
      this.draw();
      if (own) this.flow.querySelector<HTMLElement>(`[data-grid="${own}"] [aria-selected="true"]`)?.focus();
    };
    const open = answer.mask?.[row]![column] ?? true;
    this.status.textContent = open
      ? `q${row + 1} and k${column + 1}: score ${number(answer.scores[row]![column]!)}, weight ` +
        `${number(answer.weights[row]![column]!)}`
      : `q${row + 1} and k${column + 1}: masked`;
    const shared = { rows: queryNames, columns: keyNames, chosen: [row, column] as [number, number], onpick: pick };
    const cell = (name: string, title: Child, ...inside: Child[]) =>
      h("div", { class: "grid-part", "data-grid": name }, h("h3", null, title), ...inside);
    const plain = (name: string, title: string, values: Table, columns: string[], rows = queryNames) =>
      cell(name, title, grid({ rows, columns, values, caption: title, signed: true, maximum: most(values) }));
    fill(
      this.flow,
      h(
        "div",
        { class: "grids" },
        cell(
          "scores",
          named("scores", "Scores e"),
          grid({
            ...shared,
            values: answer.scores,
            caption: "Scores",
            signed: true,
            maximum: most(answer.scores),
            masked,
          }),
        ),
        cell(
          "weights",
          named("softmax", "Weights α"),
          grid({ ...shared, values: answer.weights, caption: "Weights", masked }),
          h(
            "p",
            { class: "dim small" },
            "rows sum to ",
            answer.weights
              .map((weights) =>
                number(
                  weights.reduce((sum, one) => sum + one, 0),
                  3,
                ),
              )
              .join(", "),
          ),
        ),
        cell(
          "context",
          named("context", "Context c"),
          grid({
            rows: queryNames,
            columns: features,
            values: answer.context,
            caption: "Context",
            signed: true,
            maximum: most(answer.context),
          }),
        ),
      ),
      this.linearNote(answer),
    );
    const widths = answer.query[0]!.map((_, i) => String(i + 1));
    fill(
      this.results,
      h(
        "div",
        { class: "columns even" },
        this.pairPanel(answer, row, column),
        this.rowPanel(answer, row, keyNames),
        this.contextPanel(answer, row),
      ),
      answer.added || answer.factors || answer.turned
        ? panel(
            "What the position does",
            h(
              "div",
              { class: "grids" },
              answer.added ? plain("added", "Added to scores", answer.added, keyNames) : null,
              answer.factors
                ? cell(
                    "factors",
                    "Weights multiplied by",
                    grid({
                      rows: queryNames,
                      columns: keyNames,
                      values: answer.factors,
                      caption: "Factors of the weights",
                    }),
                  )
                : null,
              answer.extra ? plain("extra", "Added to the context", answer.extra, features) : null,
              answer.turned
                ? [
                    plain("turned-q", "Queries, turned", answer.query, widths),
                    plain("turned-k", "Keys, turned", answer.key, widths, keyNames),
                  ]
                : null,
            ),
          )
        : null,
      panel("Python", code(answer.code, "Runs as it stands")),
    );
  }

  /** What leaving out the tanh does to these weights; nothing for any other score. */
  private linearNote({ score, weights }: Answer): HTMLElement | null {
    if (score[0]!.kind !== "Additive" || score[0]!.activation !== "identity") return null;
    const same = weights.every((row) => row.every((weight, key) => Math.abs(weight - weights[0]![key]!) < 1e-6));
    return h(
      "p",
      { class: "note" },
      same
        ? "Every query has the same weights, and so the same context: without the tanh it adds v⊤q to all scores " +
            "of its row alike, which normalizing drops."
        : "Without the tanh a query adds v⊤q to all scores of its row alike. Rows differ here because of the mask, " +
            "the position, or a normalizer that takes each score by itself.",
    );
  }

  /** The chosen score with its numbers. */
  private pairPanel(answer: Answer, row: number, column: number): HTMLElement {
    const keys = build(answer.key.length, answer.key[0]!.length, (r, c) => answer.key[r]![c]!);
    const pair = pairs(answer.score[row]!, answer.query[row]!, keys)(column),
      worked = work(pair),
      position = this.chosen.kind("position");
    return panel(
      `The score of q${row + 1} and k${column + 1}`,
      h(
        "div",
        null,
        scoreEquation(pair.kind, pair.activation),
        worked ? filled(pair, worked).slice(1) : null,
        position && !answer.factors ? positionEquation(position.kind) : null,
        answer.added
          ? h(
              "p",
              { class: "figures-line" },
              `with what the position adds: ${number(answer.compared[row]![column]!)} + ` +
                `${number(answer.added[row]![column]!)} = ${number(answer.scores[row]![column]!)}`,
            )
          : null,
        answer.mask && !answer.mask[row]![column] ? h("p", { class: "note" }, "Masked: not attended to.") : null,
      ),
    );
  }

  /** From the chosen row's scores to its weights. */
  private rowPanel(answer: Answer, row: number, names: string[]): HTMLElement {
    const normalizer = this.chosen.choice("normalizer") as NormalizerInfo,
      scores = answer.scores[row]!;
    const weighed = weigh(normalizer, scores, (key) => answer.mask?.[row]![key] ?? true)!;
    const notes = weighed.notes.map((one) => `${one.name} = ${number(one.value)}`).join(" · ");
    return panel(
      `The weights of q${row + 1}`,
      normalizerEquation(normalizer.kind),
      answer.factors ? positionEquation(this.chosen.kind("position")!.kind) : null,
      notes ? h("p", { class: "figures-line" }, notes) : null,
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "From scores to weights" },
        h(
          "table",
          null,
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("th", { scope: "col", class: "text" }, "Key"),
              ["e", ...weighed.heads, ...(answer.factors ? ["× window"] : []), "α"].map((head) =>
                h("th", { scope: "col" }, head),
              ),
            ),
          ),
          h(
            "tbody",
            null,
            names.map((name, key) =>
              h(
                "tr",
                null,
                h("th", { scope: "row", class: "text" }, name),
                h("td", null, weighed.rows[key] ? number(scores[key]!) : "masked"),
                weighed.heads.map((_, index) =>
                  h("td", null, weighed.rows[key] ? number(weighed.rows[key]![index]!) : ""),
                ),
                answer.factors ? h("td", null, number(answer.factors[row]![key]!)) : null,
                h("td", null, h("b", null, number(answer.weights[row]![key]!))),
              ),
            ),
          ),
        ),
      ),
    );
  }

  /** The chosen row's values, weighted and added up, a line for each feature. */
  private contextPanel(answer: Answer, row: number): HTMLElement {
    const values = this.chosen.table("v"),
      weights = answer.weights[row]!;
    return panel(
      `The context of q${row + 1}`,
      contextEquation(),
      answer.context[row]!.map((_, feature) =>
        equation(
          m("msub", null, mi("c"), m("mn", null, String(feature + 1))),
          mo("="),
          ...total(
            weights.map((weight, key) => [weight, values[key]![feature]!]),
            6,
          ),
          answer.extra ? [mo("+"), num(answer.extra[row]![feature]!)] : null,
        ),
      ),
      h(
        "p",
        { class: "figures-line" },
        answer.context[row]!.map((value, feature) => `c${feature + 1} = ${number(value, 6)}`).join(" · "),
      ),
    );
  }
}
