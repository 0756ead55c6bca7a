// Many weights come rounded. Rows that are pointed at are asked for once more, exactly, and kept.

import { at, slice, type Tensor } from "../tensor.ts";

/** Milliseconds of rest on a cell before its row is asked for: the model runs once more for it. */
const REST = 100;

export class ExactRows {
  private known = new Map<number, Tensor>();
  private timer = 0;
  private pointed = 0;

  /** `ask` gives the weights of one row: (layers, heads, positions), or null where they cannot be had. */
  constructor(private ask: (row: number) => Promise<Tensor | null>) {}

  /** The mean of some rows at each position; a head of −1 is the mean over heads. Null where a row is not known yet. */
  read(rows: number[], layer: number, head: number): number[] | null {
    const result = rows.map((row) => this.known.get(row));
    if (!result.length || result.some((one) => !one)) return null;
    const [, heads, positions] = result[0]!.shape as [number, number, number];
    const own = head < 0 ? Array.from({ length: heads }, (_, one) => one) : [head];
    const matrices = result.map((one) => slice(one!, layer));
    const sum = (position: number) =>
      matrices.reduce((all, one) => all + own.reduce((some, each) => some + at(one, each, position), 0), 0);
    return Array.from({ length: positions }, (_, position) => sum(position) / (own.length * rows.length));
  }

  /** Ask for rows after a rest, then call `then`; unless something else is pointed at meanwhile. */
  later(rows: number[], then: () => void): void {
    this.leave();
    const pointed = this.pointed;
    this.timer = window.setTimeout(async () => {
      for (const row of rows) {
        if (this.known.has(row)) continue;
        const answer = await this.ask(row);
        if (answer) this.known.set(row, answer);
        if (!answer || pointed !== this.pointed) return;
      }
      then();
    }, REST);
  }

  /** Something else is pointed at, or nothing. */
  leave(): void {
    this.pointed++;
    clearTimeout(this.timer);
  }
}
