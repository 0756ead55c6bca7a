// Positions as waves: the map of positions by features, and the clock whose hands one fixed rotation moves on.

import { alertBox, panel, select, slider } from "../controls.ts";
import { code } from "../draw/code.ts";
import { matrix } from "../draw/matrix.ts";
import { fill, h, m, s } from "../dom.ts";
import { equation, mi, mo, num, sub } from "../equations.ts";
import type { WavesRequest } from "../api.ts";
import type { Host, Question } from "../host.ts";
import type { State } from "../state.ts";
import type { Readable } from "./question.ts";
import { scientific } from "../steps/panels.ts";
import { build, number } from "../tensor.ts";

const SHOWN = 32,
  FURTHEST = 16,
  MOST_POSITIONS = SHOWN + FURTHEST;
const SIZES = [4, 8, 16, 32],
  BASES = [100, 1000, 10000, 1000000];

/** Features and base as the address has them. */
function chosen(state: Readable): { size: number; base: number } {
  const one = (name: string, among: number[], otherwise: number) =>
    among.includes(state.number(name, otherwise)) ? state.number(name, otherwise) : otherwise;
  return { size: one("size", SIZES, 16), base: one("wavebase", BASES, 10000) };
}

function question(choice: { size: number; base: number }): Question & { body: WavesRequest } {
  return { verb: "mechanisms/waves", body: { length: MOST_POSITIONS, ...choice } };
}

/** For a file: the table that is shown, and those with another base or another number of features. */
export function likelyWaves(state: Readable): Question[] {
  const own = chosen(state);
  return [own, ...SIZES.map((size) => ({ ...own, size })), ...BASES.map((base) => ({ ...own, base }))].map(question);
}

export class Waves {
  readonly element = h("div", { class: "stack" });
  private alert = alertBox();
  private controls = h("div", { class: "row" });
  private map = h("div");
  private clocks = h("div");
  private table: number[][] | null = null;
  private requests = 0;

  constructor(
    private host: Host,
    private state: State,
  ) {
    this.drawControls();
    this.element.append(
      h(
        "div",
        { class: "waves" },
        panel(
          "Positions by features",
          this.controls,
          h(
            "p",
            { class: "dim small meaning" },
            "Each row is a position as the model reads it; each pair of columns is one wave, sine and cosine, " +
              "the later the slower. Choose a row to set the clock.",
          ),
          this.formula(),
          this.alert.element,
          this.map,
        ),
        panel("A clock with a hand for each pair", this.clocks),
      ),
      panel(
        "Python",
        code(
          "import torch\nfrom regard.layers import SinusoidalPositions\n\npositions = " +
            "SinusoidalPositions(16)\ntable = positions.table(32)\nmoved = table @ positions.rotation(5).mT  # " +
            "every position, five positions on\n(moved[:27] - table[5:]).abs().max()\n",
          "Runs as it stands",
        ),
      ),
    );
    void this.ask();
  }

  end(): void {
    this.requests = -1;
  }

  recolor(): void {
    if (this.table) this.drawMap();
  }

  private get size(): number {
    return chosen(this.state).size;
  }

  private get base(): number {
    return chosen(this.state).base;
  }

  private drawControls(): void {
    const own = chosen(this.state),
      known = (choice: { size: number; base: number }) => this.host.knows("mechanisms/waves", question(choice).body);
    const focused = [...this.controls.querySelectorAll("select")].indexOf(
      document.activeElement as HTMLSelectElement,
    );
    fill(
      this.controls,
      select(
        "Features",
        SIZES.map((size) => ({ value: String(size), text: String(size), disabled: !known({ ...own, size }) })),
        String(own.size),
        (value) => this.again({ size: value }),
      ),
      select(
        "Base",
        BASES.map((base) => ({
          value: String(base),
          text: base.toLocaleString("en"),
          disabled: !known({ ...own, base }),
        })),
        String(own.base),
        (value) => this.again({ wavebase: value }),
      ),
    );
    this.controls.querySelectorAll("select")[focused]?.focus();
  }

  private whole(name: string, most: number, otherwise: number): number {
    return Math.min(Math.max(Math.round(this.state.number(name, otherwise)), 0), most);
  }

  private again(values: Record<string, string>): void {
    this.state.set(values);
    this.drawControls();
    void this.ask();
  }

  private formula(): HTMLElement {
    const angle = (name: string) => [mi(name), m("mrow", null, mo("("), sub("ω", "i"), mi("t"), mo(")"))];
    return equation(
      m("msub", null, mi("p"), m("mrow", null, m("mn", null, "2"), mi("i"))),
      mo("="),
      ...angle("sin"),
      mo(","),
      m("mspace", { width: "1em" }),
      m("msub", null, mi("p"), m("mrow", null, m("mn", null, "2"), mi("i"), mo("+"), m("mn", null, "1"))),
      mo("="),
      ...angle("cos"),
      mo(","),
      m("mspace", { width: "1em" }),
      sub("ω", "i"),
      mo("="),
      m(
        "msup",
        null,
        mi("b"),
        m("mrow", null, mo("−", { form: "prefix" }), m("mn", null, "2"), mi("i"), mo("/"), mi("d")),
      ),
    );
  }

  private async ask(): Promise<void> {
    const number = ++this.requests,
      { body } = question(chosen(this.state));
    try {
      const answer = await this.host.ask("mechanisms/waves", body);
      if (number !== this.requests) return;
      this.alert.show("");
      this.table = answer.table;
      this.drawMap();
      this.drawClocks();
    } catch (error) {
      if (number === this.requests) this.alert.show((error as Error).message);
    }
  }

  private drawMap(): void {
    const table = this.table!;
    fill(
      this.map,
      matrix(
        {
          matrix: build(SHOWN, this.size, (row, column) => table[row]![column]!),
          rows: Array.from({ length: SHOWN }, (_, row) => String(row)),
          columns: Array.from({ length: this.size }, (_, column) => String(column)),
          rowTitle: "position",
          columnTitle: "feature",
          label: "Sinusoidal positions",
          signed: true,
          selectedRow: this.whole("t", SHOWN - 1, 3),
          sentence: (row, column) =>
            `position ${row}, feature ${column}: ${number(table[row]![column]!, 6)} = ` +
            `${column % 2 ? "cos" : "sin"}(${row} · ${number(this.frequency(column >> 1))})`,
        },
        {
          pick: (row) => {
            this.state.set({ t: row });
            this.drawMap();
            this.drawClocks();
            this.map.querySelector<HTMLElement>(".stage")?.focus();
          },
        },
      ),
    );
  }

  private frequency(pair: number): number {
    return this.base ** ((-2 * pair) / this.size);
  }

  private drawClocks(): void {
    const shown = h("div");
    const draw = () => fill(shown, this.hands());
    const moved = (name: string) => (value: number) => {
      this.state.set({ [name]: value });
      draw();
    };
    draw();
    fill(
      this.clocks,
      h(
        "p",
        { class: "dim small meaning" },
        "Moving on by k positions turns every hand by its own angle, k ω, from wherever it stands: one fixed " +
          "rotation for each pair. That is why a linear map can find “k words back”.",
      ),
      h(
        "div",
        { class: "halves" },
        slider("Position t", { min: 0, max: SHOWN - 1, value: this.whole("t", SHOWN - 1, 3) }, moved("t")),
        slider("Move on by k", { min: 0, max: FURTHEST, value: this.whole("by", FURTHEST, 4) }, moved("by")),
      ),
      shown,
    );
  }

  private hands(): HTMLElement {
    const t = this.whole("t", SHOWN - 1, 3),
      by = this.whole("by", FURTHEST, 4),
      from = this.table![t]!,
      to = this.table![t + by]!;
    let far = 0;
    const faces = Array.from({ length: this.size / 2 }, (_, pair) => {
      const turn = by * this.frequency(pair),
        sine = from[2 * pair]!,
        cosine = from[2 * pair + 1]!;
      const moved = [
        sine * Math.cos(turn) + cosine * Math.sin(turn),
        cosine * Math.cos(turn) - sine * Math.sin(turn),
      ] as const;
      far = Math.max(far, Math.abs(moved[0] - to[2 * pair]!), Math.abs(moved[1] - to[2 * pair + 1]!));
      return clock(pair, [sine, cosine], [to[2 * pair]!, to[2 * pair + 1]!], turn);
    });
    const turn = by * this.frequency(0),
      cell = (value: number) => m("mtd", null, num(value, 3));
    const vector = (one: number, other: number) =>
      m("mrow", null, mo("("), m("mtable", null, m("mtr", null, cell(one)), m("mtr", null, cell(other))), mo(")"));
    return h(
      "div",
      { class: "stack" },
      h("ul", { class: "clocks" }, faces),
      h(
        "p",
        { class: "small legend-line" },
        h("i", { class: "hand-key before" }),
        ` position ${t}`,
        h("i", { class: "hand-key after" }),
        ` position ${t + by}, ${by} on`,
      ),
      h("p", { class: "dim small" }, "The first pair, turned:"),
      equation(
        m(
          "mrow",
          null,
          mo("("),
          m(
            "mtable",
            null,
            m("mtr", null, cell(Math.cos(turn)), cell(Math.sin(turn))),
            m("mtr", null, cell(-Math.sin(turn)), cell(Math.cos(turn))),
          ),
          mo(")"),
        ),
        vector(from[0]!, from[1]!),
        mo("="),
        vector(to[0]!, to[1]!),
      ),
      h(
        "p",
        { class: "check-line", "data-largest": String(far) },
        `All ${this.size / 2} pairs of position ${t}, turned by k ω, and position ${t + by} of the table: ` +
          `largest difference `,
        h("b", null, scientific(far)),
        ".",
      ),
    );
  }
}

/** A face: twelve o'clock is angle zero, so that the hand's tip is at (sine, cosine). */
function clock(pair: number, before: [number, number], after: [number, number], turn: number): HTMLElement {
  const hand = ([sine, cosine]: [number, number], name: string, reach: number) =>
    s("line", { class: `hand ${name}`, x1: 0, y1: 0, x2: reach * sine, y2: -reach * cosine });
  const label = `pair ${pair}: turns by ${number(turn, 3)} rad`;
  return h(
    "li",
    null,
    s(
      "svg",
      {
        viewBox: "-50 -50 100 100",
        role: "img",
        "aria-label":
          `${label}, from (${before.map((one) => number(one, 3)).join(", ")}) to ` +
          `(${after.map((one) => number(one, 3)).join(", ")})`,
      },
      s("circle", { class: "face", r: 46 }),
      [0, 1, 2, 3].map((tick) =>
        s("line", { class: "tick-line", x1: 0, y1: -46, x2: 0, y2: -41, transform: `rotate(${90 * tick})` }),
      ),
      hand(before, "before", 40),
      hand(after, "after", 40),
      s("circle", { class: "pin", r: 2.5 }),
    ),
    h("span", { class: "small" }, `pair ${pair}`),
    h("span", { class: "dim small" }, `${number(turn, turn && turn < 0.01 ? 5 : 2)} rad`),
  );
}
