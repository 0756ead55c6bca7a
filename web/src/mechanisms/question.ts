// What the address says of the explorer: tables, mechanisms and their settings, as the server is asked about them.

import type { AttendRequest } from "../api.ts";
import type { Question } from "../host.ts";
import type { State } from "../state.ts";
import {
  MASK_KINDS,
  NORMALIZER_KINDS,
  POSITION_KINDS,
  PRESETS,
  SCORE_KINDS,
  type Mechanism,
  type Setting,
  type Sizes,
} from "./catalogue.ts";
import { readTable, sizeOf, type Table } from "./fields.ts";

export type Part = "score" | "normalizer" | "mask" | "position";
export const KINDS: Record<Part, Mechanism[]> = {
  score: SCORE_KINDS,
  normalizer: NORMALIZER_KINDS,
  mask: MASK_KINDS,
  position: POSITION_KINDS,
};

/** What can be read from an address. */
export type Readable = Pick<State, "get" | "number">;

/** The same address with some settings changed, which is not the page's. */
export function changed(state: Readable, values: Record<string, string>): Readable {
  return {
    get: (name, otherwise = "") => (name in values ? values[name]! || otherwise : state.get(name, otherwise)),
    number: (name, otherwise) =>
      name in values
        ? values[name] && Number.isFinite(Number(values[name]))
          ? Number(values[name])
          : otherwise
        : state.number(name, otherwise),
  };
}

export class Chosen {
  constructor(private state: Readable) {}

  get sizes(): Sizes {
    const most = (value: number, least = 1, limit = 6) => Math.min(Math.max(value, least), limit);
    const [queries, width] = sizeOf(this.state.get("q", "1,0")),
      [keys] = sizeOf(this.state.get("k", "1,0;0,1")),
      [, values] = sizeOf(this.state.get("v", "1,0"));
    return { queries: most(queries), keys: most(keys), width: most(width, 1, 4), values: most(values, 1, 4) };
  }

  table(name: "q" | "k" | "v"): Table {
    const { queries, keys, width, values } = this.sizes;
    const [rows, columns] = { q: [queries, width], k: [keys, width], v: [keys, values] }[name] as [number, number];
    return readTable(this.state.get(name), rows, columns, (row, column) => (row % columns === column ? 1 : 0));
  }

  kind(part: Part): Mechanism | null {
    const optional = part === "mask" || part === "position";
    return KINDS[part].find((one) => one.kind === this.state.get(part)) ?? (optional ? null : KINDS[part][0]!);
  }

  scalar(setting: Setting): number {
    const text = this.state.get(setting.key);
    return text === "all" ? NaN : this.state.number(setting.key, setting.initial(0, 0));
  }

  settingTable(setting: Setting): Table {
    const [rows, columns] = setting.shape!(this.sizes);
    return readTable(this.state.get(setting.key), rows, columns, setting.initial);
  }

  choice(part: Part): object | null {
    const own = this.kind(part);
    if (!own) return null;
    const settings = own.settings.map((setting) => {
      const value =
        setting.kind === "choice"
          ? this.state.get(setting.key, setting.choices![0])
          : setting.shape
            ? setting.kind === "table"
              ? this.settingTable(setting)
              : this.settingTable(setting)[0]!
            : Number.isFinite(this.scalar(setting))
              ? this.scalar(setting)
              : null;
      return [setting.name, value];
    });
    return { kind: own.kind, ...Object.fromEntries(settings) };
  }

  get question(): Question & { body: AttendRequest } {
    const body = {
      query: this.table("q"),
      key: this.table("k"),
      value: this.table("v"),
      score: this.choice("score"),
      normalizer: this.choice("normalizer"),
      mask: this.choice("mask"),
      position: this.choice("position"),
    };
    return { verb: "mechanisms/attend", body: body as AttendRequest };
  }
}

/**
 * For a file: every score with every normalizer on these numbers, every mask, every position, and the ready examples.
 */
export function likelyMechanisms(state: Readable): Question[] {
  const now = state.get("q") ? state : changed(state, PRESETS[0]!.values);
  const pairs = KINDS.score.flatMap((score) =>
    KINDS.normalizer.map((normalizer) => ({ score: score.kind, normalizer: normalizer.kind })),
  );
  const single = (part: Part) =>
    ["", ...KINDS[part].map((one) => one.kind)].map((kind): Record<string, string> => ({ [part]: kind }));
  const addresses = [
    {},
    ...single("mask"),
    ...single("position"),
    ...PRESETS.map((preset) => preset.values),
    ...pairs,
  ];
  return addresses.map((values) => new Chosen(changed(now, values)).question);
}
