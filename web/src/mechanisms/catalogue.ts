// Every mechanism with its settings, and the tables to begin with.

export interface Sizes {
  queries: number;
  keys: number;
  width: number;
  values: number;
}

/** A setting. `name` is the server's, `key` the address's. */
export interface Setting {
  name: string;
  key: string;
  label: string;
  kind: "number" | "whole" | "row" | "table" | "positions" | "choice" | "limit";
  /** Rows and columns of a table; of a row, 1 and its length. */
  shape?: (sizes: Sizes) => [number, number];
  initial: (row: number, column: number) => number;
  choices?: string[];
  rowName?: (row: number, sizes: Sizes) => string;
  columnName?: (column: number, sizes: Sizes) => string;
  min?: number;
  step?: number;
}

export interface Mechanism {
  kind: string;
  settings: Setting[];
}

const one = (row: number, column: number) => (row === column ? 1 : 0);
const feature = (prefix: string) => (index: number) => `${prefix}${index + 1}`;
const distance = (index: number, count: number) => {
  const by = index - (count - 1) / 2;
  return by > 0 ? `+${by}` : String(by).replace("-", "−");
};
const scalar = (name: string, label: string, initial: number, more: Partial<Setting> = {}): Setting => ({
  name,
  key: name,
  label,
  kind: "number",
  initial: () => initial,
  step: 0.1,
  ...more,
});

export const SCORE_KINDS: Mechanism[] = [
  { kind: "ScaledDot", settings: [] },
  { kind: "Dot", settings: [] },
  {
    kind: "Bilinear",
    settings: [
      {
        name: "matrix",
        key: "M",
        label: "M",
        kind: "table",
        shape: (s) => [s.width, s.width],
        initial: one,
        rowName: feature("q"),
        columnName: feature("k"),
      },
    ],
  },
  {
    kind: "Additive",
    settings: [
      {
        name: "vector",
        key: "vector",
        label: "v",
        kind: "row",
        shape: (s) => [1, s.width],
        initial: () => 1,
        rowName: () => "v",
        columnName: feature(""),
      },
      {
        name: "activation",
        key: "activation",
        label: "Activation",
        kind: "choice",
        choices: ["tanh", "identity"],
        initial: () => 0,
      },
    ],
  },
  {
    kind: "Concat",
    settings: [
      {
        name: "matrix",
        key: "W",
        label: "W",
        kind: "table",
        shape: (s) => [2, 2 * s.width],
        initial: (row, column) => (column % 2 === row ? 1 : 0),
        rowName: feature("h"),
        columnName: (c, s) => (c < s.width ? `q${c + 1}` : `k${c - s.width + 1}`),
      },
      {
        name: "vector",
        key: "u",
        label: "v",
        kind: "row",
        shape: () => [1, 2],
        initial: () => 1,
        rowName: () => "v",
        columnName: feature("h"),
      },
    ],
  },
  { kind: "Gaussian", settings: [scalar("bandwidth", "Bandwidth σ", 1, { min: 0.05, step: 0.05 })] },
  { kind: "Cosine", settings: [scalar("temperature", "Temperature τ", 0.2, { min: 0.05, step: 0.05 })] },
  {
    kind: "Location",
    settings: [
      {
        name: "matrix",
        key: "L",
        label: "W",
        kind: "table",
        shape: (s) => [s.width, s.keys],
        initial: (row, column) => (column % 2 === row % 2 ? 1 : 0),
        rowName: feature("q"),
        columnName: feature("place "),
      },
    ],
  },
];

export const NORMALIZER_KINDS: Mechanism[] = [
  { kind: "Softmax", settings: [] },
  { kind: "Sparsemax", settings: [] },
  { kind: "Entmax", settings: [scalar("alpha", "α, above 1 up to 2", 1.5, { min: 1.05, step: 0.05 })] },
  { kind: "Sigmoid", settings: [scalar("bias", "b", 0, { key: "gate" })] },
  { kind: "Sink", settings: [scalar("score", "s", 0, { key: "sink" })] },
  { kind: "Hard", settings: [] },
  { kind: "Mean", settings: [] },
];

export const MASK_KINDS: Mechanism[] = [
  { kind: "Causal", settings: [] },
  {
    kind: "Window",
    settings: [
      {
        name: "left",
        key: "left",
        label: "Positions before (empty: all)",
        kind: "limit",
        initial: () => 1,
        min: 0,
        step: 1,
      },
      {
        name: "right",
        key: "right",
        label: "Positions after (empty: all)",
        kind: "limit",
        initial: () => 0,
        min: 0,
        step: 1,
      },
    ],
  },
  {
    kind: "Padding",
    settings: [
      {
        name: "lengths",
        key: "length",
        label: "Keys that are no padding",
        kind: "whole",
        initial: () => 2,
        min: 0,
        step: 1,
      },
    ],
  },
  {
    kind: "Documents",
    settings: [
      {
        name: "ids",
        key: "documents",
        label: "Document of each query",
        kind: "positions",
        shape: (s) => [1, s.queries],
        initial: (_, column) => Math.floor(column / 2),
        rowName: () => "document",
        columnName: feature("q"),
      },
      {
        name: "key_ids",
        key: "keydocuments",
        label: "Document of each key",
        kind: "positions",
        shape: (s) => [1, s.keys],
        initial: (_, column) => Math.floor(column / 2),
        rowName: () => "document",
        columnName: feature("k"),
      },
    ],
  },
];

export const POSITION_KINDS: Mechanism[] = [
  { kind: "Rotary", settings: [scalar("base", "Base", 10000, { min: 2, step: 1 })] },
  { kind: "Alibi", settings: [scalar("slopes", "Slope m", 0.5, { key: "slope" })] },
  {
    kind: "RelativeBias",
    settings: [
      {
        name: "table",
        key: "relative",
        label: "b of each distance",
        kind: "row",
        shape: () => [1, 5],
        initial: (_, column) => [-1, 0, 1, 0, -1][column]!,
        rowName: () => "b",
        columnName: (c) => distance(c, 5),
      },
    ],
  },
  {
    kind: "RelativeBuckets",
    settings: [
      {
        name: "table",
        key: "buckets",
        label: "b of each bucket of distances, from the query back",
        kind: "row",
        shape: () => [1, 4],
        initial: (_, column) => [1, 0.5, 0, -1][column]!,
        rowName: () => "b",
        columnName: feature(""),
      },
      {
        name: "max_distance",
        key: "far",
        label: "Distance from which all share the last bucket",
        kind: "whole",
        initial: () => 8,
        min: 3,
        step: 1,
      },
    ],
  },
  {
    kind: "Shaw",
    settings: [
      {
        name: "keys",
        key: "awayk",
        label: "Vector of each distance, for keys",
        kind: "table",
        shape: (s) => [3, s.width],
        initial: (row, column) => (row - 1) * (column === 0 ? 1 : 0),
        rowName: (r) => distance(r, 3),
        columnName: feature(""),
      },
      {
        name: "values",
        key: "awayv",
        label: "Vector of each distance, for values",
        kind: "table",
        shape: (s) => [3, s.values],
        initial: () => 0,
        rowName: (r) => distance(r, 3),
        columnName: feature(""),
      },
    ],
  },
  {
    kind: "GaussianWindow",
    settings: [
      {
        name: "center",
        key: "center",
        label: "Position p of each query",
        kind: "row",
        shape: (s) => [1, s.queries],
        initial: (_, column) => column,
        rowName: () => "p",
        columnName: feature("q"),
      },
      scalar("half_width", "Half width D", 2, { key: "half", min: 0.1 }),
    ],
  },
];

/** Settings of the address that show something. */
export interface Preset {
  title: string;
  about: string;
  values: Record<string, string>;
}

const words = "1,0,0;0,1,0;0,0,1";
export const PRESETS: Preset[] = [
  {
    title: "One-hot",
    about: "Each query equals one key: lookup, softened. Try Hard.",
    values: { q: words, k: words, v: "1,0;0,1;1,1", score: "Dot", normalizer: "Softmax", mask: "", position: "" },
  },
  {
    title: "Dictionary lookup",
    about: "A sharp cosine finds the value of the key that points the same way.",
    values: {
      q: "0.9,0.1;0.2,1",
      k: "1,0;0,1;-1,0;0,-1",
      v: "10;20;30;40",
      score: "Cosine",
      temperature: "0.1",
      normalizer: "Softmax",
      mask: "",
      position: "",
    },
  },
  {
    title: "Kernel regression",
    about: "Nadaraya and Watson: an average of the near values of x².",
    values: {
      q: "0.5;1.5;2.5",
      k: "0;1;2;3",
      v: "0;1;4;9",
      score: "Gaussian",
      bandwidth: "0.5",
      normalizer: "Softmax",
      mask: "",
      position: "",
    },
  },
  {
    title: "Causal self-attention",
    about: "No query attends ahead, and near positions count more.",
    values: {
      q: "1,0;0,1;1,1;1,-1",
      k: "1,0;0,1;1,1;1,-1",
      v: "1,0;0,1;1,1;1,-1",
      score: "ScaledDot",
      normalizer: "Softmax",
      mask: "Causal",
      position: "Alibi",
      slope: "0.5",
    },
  },
  {
    title: "Additive, sparse",
    about: "A tanh layer compares; weak keys get exactly zero.",
    values: {
      q: "1,-1;0.5,2",
      k: "2,0;-1,1;0,0;1,1",
      v: "1,0;0,1;1,1;2,-1",
      score: "Additive",
      vector: "2,1",
      activation: "tanh",
      normalizer: "Sparsemax",
      mask: "",
      position: "",
    },
  },
  {
    title: "Additive without tanh",
    about: "The score as some lectures print it: the weights are then the same for every query.",
    values: {
      q: "1,-1;0.5,2;-2,0",
      k: "2,0;-1,1;0,0;1,1",
      v: "1,0;0,1;1,1;2,-1",
      score: "Additive",
      vector: "2,1",
      activation: "identity",
      normalizer: "Softmax",
      mask: "",
      position: "",
    },
  },
  {
    title: "Local attention",
    about: "Luong's local-p: a window around a predicted position.",
    values: {
      q: "1,0;0,1",
      k: "1,0;0,1;1,1;1,0;0,1;0,0",
      v: "1;2;3;4;5;6",
      score: "Bilinear",
      M: "1,0;0,1",
      normalizer: "Softmax",
      mask: "",
      position: "GaussianWindow",
      center: "1,3.5",
      half: "2",
    },
  },
  {
    title: "Rotary",
    about: "Equal words, turned by their positions: scores see the distance alone.",
    values: {
      q: "1,0;1,0;1,0;1,0",
      k: "1,0;1,0;1,0;1,0",
      v: "1;2;3;4",
      score: "Dot",
      normalizer: "Softmax",
      mask: "",
      position: "Rotary",
      base: "10000",
    },
  },
];
