// The picture that views share: maps of attention as a matrix or as lines, with all layers and heads beside it, a slim
// bar of controls above, and below what is pointed at. What is chosen stands in the address, for every view alike.

import {
  choose,
  isExact,
  isMean,
  MEAN,
  MAP_TITLES,
  meanEntropy,
  measuresOf,
  placeOf,
  shiftOf,
  usualHead,
  usualLayer,
  type AttentionMap,
  type Choice,
  type Chosen,
} from "./attention.ts";
import { checkbox, keepingFocus, popover, segmented, select } from "./controls.ts";
import { fill, h, type Child } from "./dom.ts";
import { headStrip } from "./draw/heads.ts";
import { LinesView } from "./draw/lines.ts";
import { describeCell, legend, MatrixView, type MatrixPicture } from "./draw/matrix.ts";
import { rowTable, table, type Listed } from "./draw/matrix_table.ts";
import { isStill, type Steps } from "./playing.ts";
import type { State } from "./state.ts";
import { number, slice, type Matrix } from "./tensor.ts";
import { largest } from "./tensor.ts";
import { named, term, type TermName } from "./terms.ts";

/** Columns up to which colors end at 1; with more, weights are small, and eight equal shares are drawn in full. */
const FEW = 24,
  SHARES = 8;
const TERM_OF: Record<AttentionMap["id"], TermName> = {
  cross: "cross",
  source: "self",
  target: "self",
  text: "self",
  pooling: "pooling",
};

export interface StageOptions {
  state: State;
  /** The height that the picture may take. */
  height: () => number;
  /** What can be done with a cell: links to other views. */
  actions?: (map: AttentionMap) => { text: string; href: string; title: string }[];
  /** What is chosen has changed: another map, layer, head, measure, row. */
  changed: () => void;
  /** The hidden states of what is shown, in a panel. */
  states?: () => HTMLElement;
  /** Rows are steps that can be played. */
  steps?: Steps | null;
  /** Of rounded maps, a row as it is; asks for it where it is not there yet, and calls `then`. */
  exact?: (map: AttentionMap, choice: Choice, row: number[], then: (() => void) | null) => number[] | null;
}

export class AttentionStage {
  readonly element: HTMLElement;
  readonly drawer = h("div", { class: "drawer" });
  private maps: AttentionMap[] = [];
  private title = h("div", { class: "map-title" });
  private toggle = h(
    "button",
    { type: "button", class: "button", onclick: () => this.set({ picture: this.isLines ? null : "lines" }) },
    "Lines",
  );
  private more = popover("Options", () => this.moreOptions());
  private strip = h("div", { class: "strip-box" });
  private picture = h("div", { class: "picture-box" });
  private readout = h("output", { class: "readout", "aria-live": "polite" });
  private actions = h("span", { class: "cell-actions" });
  private scale = h("div");
  private listed: Listed | null = null;
  private matrix: MatrixView;
  private lines: LinesView;
  private previewed: [number, number] | null = null;
  private pointed: [number, number] | null = null;

  constructor(private options: StageOptions) {
    this.matrix = new MatrixView({
      point: (row, column) => this.point(row, column),
      pick: (row, column) => this.pick(row, column),
      leave: () => this.leave(),
      height: options.height,
    });
    this.lines = new LinesView({
      point: (text) => (text === null ? this.describe() : fill(this.readout, text)),
      pick: (row) => this.pick(row, -1),
      height: options.height,
    });
    this.element = h(
      "figure",
      { class: "map-stage" },
      h(
        "div",
        { class: "map-bar" },
        this.title,
        h("div", { class: "map-buttons" }, this.toggle, this.more.element, options.steps?.button ?? null),
      ),
      h("div", { class: "map-body" }, this.strip, this.picture),
      h("div", { class: "map-foot" }, h("div", { class: "told" }, this.readout, this.actions), this.scale),
    );
  }

  /** Show other maps; what the address has of them is chosen. */
  show(maps: AttentionMap[]): void {
    this.maps = maps;
    fill(this.drawer);
    this.draw();
  }

  get map(): AttentionMap {
    return this.maps.find((one) => one.id === this.options.state.get("map")) ?? this.maps[0]!;
  }

  /** What the address says, as far as the map has it. */
  get choice(): Choice {
    const { state } = this.options,
      { map } = this,
      measures = measuresOf(map);
    const layer = state.index("layer", map.layers.length, usualLayer(map));
    return {
      layer,
      head: state.get("head") === MEAN ? -1 : state.index("head", map.weights.shape[1]!, usualHead(map, layer)),
      measure: measures.find((one) => one.value === state.get("measure"))?.value ?? "weights",
      when: state.get("when") === "input" ? "input" : "output",
      unit: state.get("unit") === "tokens" ? "tokens" : "words",
      hideEnd: state.get("end") === "hidden",
    };
  }

  /** The query that is selected, as a position of the model's own tensor. */
  get query(): number {
    return this.options.state.index("query", this.map.weights.shape[2]!, 0);
  }

  get key(): number {
    return this.options.state.index("key", this.map.weights.shape[3]!);
  }

  /** Where the weights that are shown come from: "cross-attention, layer 2 of 4, head 3 of 8". */
  get about(): string {
    return [MAP_TITLES[this.map.id].title, placeOf(this.map, this.choice)].filter(Boolean).join(", ");
  }

  draw(): void {
    this.drawBar();
    this.drawStrip();
    this.drawPicture();
    this.drawDrawer();
    this.describe();
  }

  /** Another row is selected from outside, such as by a slider. */
  redraw(): void {
    this.drawPicture();
    this.describe();
  }

  private set(values: Record<string, string | number | null>): void {
    this.options.state.set(values);
    this.draw();
    if (this.more.body.matches(":popover-open"))
      keepingFocus(this.more.body, () => fill(this.more.body, this.moreOptions()));
    this.options.changed();
  }

  private get isLines(): boolean {
    return this.options.state.get("picture") === "lines";
  }

  private drawBar(): void {
    const { map, choice } = this;
    const title =
      this.maps.length > 1
        ? select(
            "Which attention",
            this.maps.map((one) => ({ value: one.id, text: MAP_TITLES[one.id].title })),
            map.id,
            (id) =>
              this.set({ map: id === this.maps[0]!.id ? null : id, layer: null, head: null, query: null, key: null }),
            { quiet: true },
          )
        : h("h2", null, MAP_TITLES[map.id].title);
    this.toggle.setAttribute("aria-pressed", String(this.isLines));
    keepingFocus(this.title, () =>
      fill(this.title, title, term(TERM_OF[map.id]), h("span", { class: "dim small place" }, placeOf(map, choice))),
    );
  }

  private moreOptions(): HTMLElement {
    const { map, choice } = this,
      { state } = this.options,
      put = (name: string, usual: string) => (value: string) => this.set({ [name]: value === usual ? null : value });
    const measures = measuresOf(map),
      shares = map.columns.tokens.length > FEW;
    return h(
      "div",
      { class: "options" },
      h(
        "p",
        { class: "dim small" },
        named("layer", "layer"),
        " ",
        named("head", "head"),
        " ",
        named("query", "query, key"),
        " ",
        named("mask", "mask"),
      ),
      segmented(
        "Rows and columns",
        [
          { value: "words", text: "Words" },
          { value: "tokens", text: "Tokens" },
        ],
        choice.unit,
        put("unit", "words"),
      ),
      measures.length > 1
        ? h(
            "div",
            null,
            select("Measure", measures, choice.measure, put("measure", "weights")),
            h("p", { class: "dim small" }, named("measure", "norm"), " ", named("rollout", "rollout")),
          )
        : null,
      map.inputs
        ? h(
            "div",
            null,
            segmented(
              "Align with",
              [
                {
                  value: "output",
                  text: "output word",
                  title: "What was attended to when the word was about to be output",
                },
                {
                  value: "input",
                  text: "input word",
                  title: "What was attended to one step later, when the word was the newest input",
                },
              ],
              choice.when,
              put("when", "output"),
            ),
            term("align"),
          )
        : null,
      select(
        "Colors end at",
        [
          { value: "", text: shares ? "8 equal shares" : "1" },
          ...(shares ? [{ value: "one", text: "1" }] : []),
          { value: "largest", text: "the largest weight" },
        ],
        state.get("scale"),
        put("scale", ""),
      ),
      map.columns.end
        ? checkbox("leave out </s>, rows renormalized", choice.hideEnd, (on) =>
            this.set({ end: on ? "hidden" : null }),
          )
        : null,
      h(
        "button",
        {
          type: "button",
          class: "button small",
          "aria-pressed": String(state.get("open") === "table"),
          onclick: () => this.set({ open: state.get("open") === "table" ? null : "table" }),
        },
        "Numbers as a table",
      ),
      this.options.states
        ? h(
            "button",
            {
              type: "button",
              class: "button small",
              "aria-pressed": String(state.get("open") === "states"),
              onclick: () => this.set({ open: state.get("open") === "states" ? null : "states" }),
            },
            "Hidden states and what is near",
          )
        : null,
    );
  }

  private drawStrip(): void {
    const { map, choice } = this,
      [layers, heads] = map.weights.shape as [number, number];
    if (layers * heads < 2) return fill(this.strip);
    const inside = this.strip.contains(document.activeElement),
      maximum = this.maximum(map.columns.tokens.length, null);
    const preview = (layer: number, head: number) => {
      this.previewed = [layer, head];
      this.drawPicture();
    };
    fill(
      this.strip,
      headStrip({
        layers,
        heads,
        maximum,
        chosen: [choice.layer, choice.head],
        preview,
        leave: () => {
          if (!this.previewed) return;
          this.previewed = null;
          this.drawPicture();
        },
        matrix: (layer, head) => (head < 0 ? meanOf(map, layer) : slice(map.weights, layer, head)),
        about: (layer, head) =>
          `entropy ${number(meanEntropy(head < 0 ? meanOf(map, layer) : slice(map.weights, layer, head)), 2)} nats`,
        pick: (layer, head) => {
          this.previewed = null;
          this.options.state.setIndex({ layer, head });
          if (head < 0 && usualHead(map, layer) >= 0) this.options.state.set({ head: MEAN });
          this.set({
            measure: choice.measure === "rollout" ? null : choice.measure === "weights" ? null : choice.measure,
          });
        },
      }),
      h(
        "p",
        { class: "dim small strip-note" },
        layers > 1 ? "layers" : "",
        layers > 1 && heads > 1 ? " × " : "",
        heads > 1 ? "heads" : "",
      ),
    );
    if (inside) this.strip.querySelector<HTMLElement>('[aria-selected="true"]')?.focus({ preventScroll: true });
  }

  /** The number at the end of the color scale: it depends on how many columns there are, not on the weights. */
  private maximum(columns: number, matrix: Matrix | null): number {
    const scale = this.options.state.get("scale");
    if (scale === "largest" && matrix) return largest(matrix.data);
    return scale !== "one" && columns > FEW ? SHARES / columns : 1;
  }

  /** What is drawn now: what is chosen, or the head that is pointed at. */
  private get shown(): { choice: Choice; chosen: Chosen } {
    const [layer, head] = this.previewed ?? [],
      own = this.choice;
    const choice = layer === undefined ? own : { ...own, layer, head: head!, measure: "weights" as const };
    return { choice, chosen: choose(this.map, choice) };
  }

  private drawing(): MatrixPicture {
    const { map } = this,
      { choice, chosen } = this.shown,
      shift = shiftOf(map, choice),
      { steps } = this.options;
    const row = chosen.rowPositions.findIndex((positions) => positions.includes(this.query));
    const column = this.key < 0 ? -1 : chosen.columnPositions.findIndex((positions) => positions.includes(this.key));
    return {
      matrix: chosen.matrix,
      rows: chosen.rows,
      columns: chosen.columns,
      rowTitle: chosen.rowTitle,
      columnTitle: chosen.columnTitle,
      label: `${MAP_TITLES[map.id].title}, ${placeOf(map, choice)}: ${chosen.rowTitle} by ${chosen.columnTitle}`,
      masked: chosen.masked,
      maximum: this.maximum(chosen.columns.length, chosen.matrix),
      apart: chosen.end === null ? [] : [chosen.end],
      selectedRow: row < 0 ? null : row,
      selected: row >= 0 && column >= 0 ? [row, column] : null,
      revealed: steps?.playing
        ? (chosen.rowOfToken[Math.max(0, this.query - shift)] ?? chosen.rows.length) + 1
        : undefined,
      rounded: !isExact(map, choice),
      exact: (at) => this.exactRow(chosen, choice, at, null),
    };
  }

  /** The numbers of a rounded row as they are, where plain weights of whole rows are shown. */
  private exactRow(chosen: Chosen, choice: Choice, row: number, then: (() => void) | null): number[] | null {
    const { map } = this,
      able = !isExact(map, choice) && choice.measure === "weights" && !choice.hideEnd;
    const result = able ? (this.options.exact?.(map, choice, chosen.rowPositions[row]!, then) ?? null) : null;
    return (
      result &&
      chosen.columnPositions.map((positions) => positions.reduce((sum, position) => sum + result[position]!, 0))
    );
  }

  private drawPicture(): void {
    const drawing = this.drawing(),
      lines = this.isLines;
    const view = lines ? this.lines : this.matrix;
    if (this.picture.firstChild !== view.element) fill(this.picture, view.element);
    if (lines) this.lines.show(drawing);
    else this.matrix.show(drawing);
    if (drawing.selectedRow !== null && drawing.selectedRow !== undefined && !this.pointed)
      this.matrix.moveTo(drawing.selectedRow);
    fill(this.scale, legend(drawing));
  }

  private drawDrawer(): void {
    this.listed = null;
    const { states } = this.options;
    if (states && this.options.state.get("open") === "states") {
      if (!this.drawer.querySelector(".scatter, [role=status]")) fill(this.drawer, states());
      return;
    }
    if (this.options.state.get("open") !== "table") return fill(this.drawer);
    const drawing = this.drawing(),
      large = Math.max(drawing.rows.length, drawing.columns.length) > 64;
    this.listed = large ? rowTable(drawing) : null;
    const element = this.listed?.element ?? table(drawing);
    (element as HTMLDetailsElement).open = true;
    fill(this.drawer, h("div", { class: "panel" }, element));
  }

  private point(row: number, column: number): void {
    this.pointed = [row, column];
    const { choice, chosen } = this.shown,
      drawing = this.drawing();
    const again = () => this.pointed?.[0] === row && this.pointed[1] === column && this.point(row, column);
    this.exactRow(chosen, choice, row, again);
    const end = column === chosen.end ? " · the end of the source, no word" : "";
    fill(this.readout, describeCell(drawing, row, column), end);
    this.listed?.show(row);
  }

  private leave(): void {
    this.pointed = null;
    this.describe();
  }

  /** What is selected, in a sentence, and what can be done with it; where nothing is, how to select. */
  private describe(): void {
    const { map } = this,
      drawing = this.drawing(),
      cell = drawing.selected;
    if (cell) fill(this.readout, describeCell(drawing, ...cell));
    else
      fill(
        this.readout,
        this.isLines ? "Point at a word, or use the arrow keys." : "Point at a cell, or use the arrow keys.",
      );
    fill(
      this.actions,
      cell
        ? (this.options
            .actions?.(map)
            .map((one) => h("a", { class: "button small", href: one.href, title: one.title }, one.text)) ?? null)
        : null,
    );
  }

  /** A cell is taken: it is selected in every view. A second click lets it go. */
  private pick(row: number, column: number): void {
    const { chosen } = this.shown,
      query = chosen.rowPositions[row]![0]!;
    const key = column < 0 ? -1 : chosen.columnPositions[column]![0]!,
      same = query === this.query && key === this.key;
    this.options.state.setIndex({ query, key: same ? -1 : key });
    this.redraw();
    this.options.changed();
  }
}

function meanOf(map: AttentionMap, layer: number): Matrix {
  return choose(
    { ...map, mask: null },
    { layer, head: -1, measure: "weights", when: "output", unit: "tokens", hideEnd: false },
  ).matrix;
}

/** What the numbers are, in words. */
export function meaning(map: AttentionMap, choice: Choice): Child {
  if (choice.measure === "rollout")
    return (
      "Rollout: the weights of all layers multiplied, half of each state carried along. What a row lacks to one " +
      "lies on the output itself."
    );
  return [
    isMean(map, choice) ? "The average of all heads of the layer. " : "",
    map.inputs && choice.when === "input" ? "Each row: when the word was the model's newest input. " : "",
    choice.measure === "norms" ? "Weights times the norm of what they take, rows made to sum to one. " : "",
    choice.hideEnd ? "The column </s> is left out and rows are made to sum to one again. " : "",
    choice.unit === "words" ? "Of a word in several tokens: sums over columns, means over rows." : "",
  ];
}

export { isStill };
