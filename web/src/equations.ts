// Equations of scores, normalizers and positions in MathML: in general, and with the numbers of one pair filled in.

import { h, m, type Child } from "./dom.ts";
import { number } from "./tensor.ts";

export type Numbers = ArrayLike<number>;

/** One query and one key as a score compares them. A score's matrix has been applied already (general, concat). */
export interface Pair {
  kind: string;
  query: Numbers;
  key: Numbers;
  /** v of the tanh scores. */
  vector?: Numbers;
  /** The column of W that belongs to the key's position (location). */
  column?: Numbers;
  activation?: string | null;
  scale?: number | null;
  bandwidth?: number | null;
  temperature?: number | null;
}

/** The computation of one score: a row for each feature, what they add up to, and what becomes of the sum. */
export interface Worked {
  heads: Child[];
  rows: number[][];
  sum: number;
  score: number;
}

export const mi = (name: string) => m("mi", null, name);
export const mo = (sign: string, properties: Record<string, string> = {}) => m("mo", properties, sign);
export const row = (...children: Child[]) => m("mrow", null, ...children);
export const sub = (name: string | Element, index: string) =>
  m(
    "msub",
    null,
    typeof name === "string" ? mi(name) : name,
    index.length > 1 && !/^\d+$/.test(index) ? row(...[...index].map(mi)) : mi(index),
  );
export const fraction = (above: Child, below: Child) => m("mfrac", null, row(above), row(below));
const square = (inside: Child) => m("msup", null, row(inside), m("mn", null, "2"));
const transposed = (name: string, index: string) => m("msubsup", null, mi(name), mi(index), mo("⊤"));
export const bracket = (...inside: Child[]) => row(mo("("), ...inside, mo(")"));
const norm = (...inside: Child[]) => row(mo("‖"), ...inside, mo("‖"));
export const call = (name: string, ...inside: Child[]) => row(mi(name), mo("\u2061"), bracket(...inside));
export const q = () => sub("q", "i"),
  k = () => sub("k", "j"),
  e = () => sub("e", "ij"),
  alpha = () => sub("α", "ij");
export const sum = (index: string) => m("munder", null, mo("∑"), mi(index));

/** A number as it is shown everywhere, with a true minus. */
export function num(value: number, digits = 4): Element {
  const text = number(value, digits);
  return text.startsWith("−") ? row(mo("−", { form: "prefix" }), m("mn", null, text.slice(1))) : m("mn", null, text);
}

/** A factor: in brackets where it is negative. */
function factor(value: number): Element {
  return value < 0 ? bracket(num(value)) : num(value);
}

/** An equation in a line of its own, which scrolls by itself where it is too wide. */
export function equation(...children: Child[]): HTMLElement {
  return h(
    "div",
    { class: "equation", tabindex: 0, role: "group", "aria-label": "Equation" },
    m("math", { displaystyle: "true" }, row(...children)),
  );
}

interface ScoreText {
  title: string;
  text: string;
  formula: () => Child[];
}

/** What each score is called and means; the names are those of `regard.attention`. */
export const SCORES: Record<string, ScoreText> = {
  Dot: {
    title: "Dot product",
    text: "Large where query and key point the same way, and where they are long.",
    formula: () => [transposed("q", "i"), k()],
  },
  ScaledDot: {
    title: "Scaled dot product",
    text: "The dot product, divided by the root of the width, so that it does not grow with it.",
    formula: () => [fraction([transposed("q", "i"), k()], m("msqrt", null, mi("d")))],
  },
  Bilinear: {
    title: "General (bilinear)",
    text: "A learned matrix stands between query and key; their widths may differ.",
    formula: () => [transposed("q", "i"), mi("M"), k()],
  },
  Additive: {
    title: "Additive",
    text: "Query and key, already projected, are added and go through a tanh; a learned vector weighs what comes out.",
    formula: () => [m("msup", null, mi("v"), mo("⊤")), call("tanh", q(), mo("+"), k())],
  },
  Linear: {
    title: "Additive without tanh",
    text:
      "As some lectures print it. Without the tanh the query adds the same to every score of its row, and the " +
      "weights do not depend on it.",
    formula: () => [m("msup", null, mi("v"), mo("⊤")), bracket(q(), mo("+"), k())],
  },
  Concat: {
    title: "Concat",
    text: "Query and key, end to end, go through a layer with a tanh: additive after two projections.",
    formula: () => [
      m("msup", null, mi("v"), mo("⊤")),
      call("tanh", mi("W"), row(mo("["), q(), mo(";"), k(), mo("]"))),
    ],
  },
  Gaussian: {
    title: "Gaussian",
    text: "The nearer the key, the larger: minus the squared distance. With softmax this is kernel regression.",
    formula: () => [
      mo("−", { form: "prefix" }),
      fraction(square(norm(q(), mo("−"), k())), [m("mn", null, "2"), square(mi("σ"))]),
    ],
  },
  Cosine: {
    title: "Cosine",
    text: "Compares directions, whatever the lengths; a small temperature τ makes it sharp.",
    formula: () => [fraction([transposed("q", "i"), k()], [norm(q()), norm(k()), mi("τ")])],
  },
  Location: {
    title: "Location",
    text: "Depends on the query alone: the key's position has a score, whatever stands there.",
    formula: () => [transposed("q", "i"), sub("w", "j")],
  },
  function: {
    title: "A function of its own",
    text: "This model compares by a function that the studio does not know.",
    formula: () => [call("score", q(), mo(","), k())],
  },
};

export const NORMALIZERS: Record<string, ScoreText> = {
  Softmax: {
    title: "Softmax",
    text: "Every key gets a share that grows exponentially with its score; none is zero.",
    formula: () => [fraction(call("exp", e()), [m("munder", null, mo("∑"), mi("l")), call("exp", sub("e", "il"))])],
  },
  Sparsemax: {
    title: "Sparsemax",
    text: "The nearest point of the simplex: weak keys get exactly zero.",
    formula: () => [call("max", m("mn", null, "0"), mo(","), e(), mo("−"), sub("τ", "i"))],
  },
  Entmax: {
    title: "Entmax",
    text: "Between softmax (α = 1) and sparsemax (α = 2).",
    formula: () => [
      m(
        "msup",
        null,
        call(
          "max",
          m("mn", null, "0"),
          mo(","),
          bracket(mi("α"), mo("−"), m("mn", null, "1")),
          e(),
          mo("−"),
          sub("τ", "i"),
        ),
        row(m("mn", null, "1"), mo("/"), bracket(mi("α"), mo("−"), m("mn", null, "1"))),
      ),
    ],
  },
  Sigmoid: {
    title: "Sigmoid",
    text: "Every key is let in or not by itself; a row need not sum to one.",
    formula: () => [
      fraction(m("mn", null, "1"), [
        m("mn", null, "1"),
        mo("+"),
        call("exp", mo("−", { form: "prefix" }), e(), mo("−"), mi("b")),
      ]),
    ],
  },
  Sink: {
    title: "Softmax with a sink",
    text: "Softmax beside one more score s, whose value is zero: a row may sum to less than one.",
    formula: () => [
      fraction(call("exp", e()), [
        call("exp", mi("s")),
        mo("+"),
        m("munder", null, mo("∑"), mi("l")),
        call("exp", sub("e", "il")),
      ]),
    ],
  },
  Hard: {
    title: "Hard",
    text: "The best key takes all, the first of equals.",
    formula: () => [
      row(mo("["), mi("j"), mo("="), m("munder", null, mi("argmax"), mi("l")), sub("e", "il"), mo("]")),
    ],
  },
  Mean: {
    title: "Mean",
    text: "Every allowed key counts the same, whatever the scores.",
    formula: () => [fraction(m("mn", null, "1"), mi("n"))],
  },
};

/** What a position adds, turns or multiplies. */
export const POSITIONS: Record<string, ScoreText> = {
  Rotary: {
    title: "Rotary",
    text: "Each pair of features is turned by an angle that grows with the position: scores then see only the distance.",
    formula: () => [e(), mo("="), call("score", sub("R", "i"), q(), mo(","), sub("R", "j"), k())],
  },
  Alibi: {
    title: "ALiBi",
    text: "The score is penalised in proportion to the distance.",
    formula: () => [e(), mo("←"), e(), mo("−"), mi("m"), row(mo("|"), mi("i"), mo("−"), mi("j"), mo("|"))],
  },
  RelativeBias: {
    title: "Relative bias",
    text: "A learned number for each distance, up to a reach, is added.",
    formula: () => [e(), mo("←"), e(), mo("+"), m("msub", null, mi("b"), call("clip", mi("j"), mo("−"), mi("i")))],
  },
  RelativeBuckets: {
    title: "Relative buckets (T5)",
    text: "A learned number for each bucket of distances is added; buckets get wider further away.",
    formula: () => [e(), mo("←"), e(), mo("+"), m("msub", null, mi("b"), call("bucket", mi("i"), mo("−"), mi("j")))],
  },
  Shaw: {
    title: "Relative vectors (Shaw)",
    text: "A learned vector for each distance is added to the key, and one to the value.",
    formula: () => [
      e(),
      mo("="),
      call("score", q(), mo(","), k(), mo("+"), m("msubsup", null, mi("a"), mi("ij"), mi("K"))),
    ],
  },
  TreeShaw: {
    title: "Vectors by the tree",
    text: "A learned vector for where a word stands in the syntax tree is added to the key.",
    formula: () => [
      e(),
      mo("="),
      call("score", q(), mo(","), k(), mo("+"), m("msubsup", null, mi("a"), mi("ij"), mi("K"))),
    ],
  },
  GaussianWindow: {
    title: "Gaussian window",
    text:
      "Only a window around a position p is attended to, and weights fall off from its middle; rows sum to less " +
      "than one.",
    formula: () => [
      alpha(),
      mo("←"),
      alpha(),
      call(
        "exp",
        mo("−", { form: "prefix" }),
        fraction(square(bracket(mi("j"), mo("−"), sub("p", "i"))), [m("mn", null, "2"), square(mi("σ"))]),
      ),
    ],
  },
};

/** What is told of a score; the additive one without its tanh is another. */
export function scoreText(kind: string, activation?: string | null): ScoreText {
  return (activation === "identity" && kind === "Additive" ? SCORES["Linear"] : SCORES[kind]) ?? SCORES["function"]!;
}

/** e = …, in general. */
export function scoreEquation(kind: string, activation?: string | null): HTMLElement {
  return equation(e(), mo("="), ...scoreText(kind, activation).formula());
}

/** α = …, in general. */
export function normalizerEquation(kind: string): HTMLElement {
  const known = NORMALIZERS[kind];
  return equation(alpha(), mo("="), ...(known ? known.formula() : [call("normalize", e())]));
}

/** What a position does, in general. */
export function positionEquation(kind: string): HTMLElement | null {
  const known = POSITIONS[kind];
  return known ? equation(...known.formula()) : null;
}

/** c = Σ α v, in general. */
export function contextEquation(): HTMLElement {
  return equation(sub("c", "i"), mo("="), m("munder", null, mo("∑"), mi("j")), alpha(), sub("v", "j"));
}

/** Compute a score once more, in double precision, feature by feature; null where the score is not known here. */
export function work(pair: Pair): Worked | null {
  const { query, key } = pair;
  const each = (length: number, make: (i: number) => number[]) => Array.from({ length }, (_, i) => make(i));
  const add = (rows: number[][]) => rows.reduce((sum, one) => sum + one.at(-1)!, 0);
  const made = (heads: Child[], rows: number[][], finish: (sum: number) => number): Worked => {
    const sum = add(rows);
    return { heads, rows, sum, score: finish(sum) };
  };
  const product = () => each(query.length, (i) => [query[i]!, key[i]!, query[i]! * key[i]!]);
  switch (pair.kind) {
    case "Dot":
      return made(["q", "k", "q · k"], product(), (sum) => sum);
    case "ScaledDot":
      return made(["q", "k", "q · k"], product(), (sum) => sum * pair.scale!);
    case "Bilinear":
      return made(["qM", "k", "qM · k"], product(), (sum) => sum);
    case "Additive":
    case "Concat": {
      const names = pair.kind === "Concat" ? ["W₁q", "W₂k"] : ["q", "k"];
      const bend = pair.activation === "identity" ? (x: number) => x : Math.tanh;
      const bent = pair.activation === "identity" ? `${names[0]} + ${names[1]}` : `tanh(${names[0]} + ${names[1]})`;
      return made(
        [...names, bent, "v", "product"],
        each(query.length, (i) => {
          const hidden = bend(query[i]! + key[i]!);
          return [query[i]!, key[i]!, hidden, pair.vector![i]!, pair.vector![i]! * hidden];
        }),
        (sum) => sum,
      );
    }
    case "Gaussian":
      return made(
        ["q", "k", "(q − k)²"],
        each(query.length, (i) => [query[i]!, key[i]!, (query[i]! - key[i]!) ** 2]),
        (sum) => sum / (-2 * pair.bandwidth! ** 2),
      );
    case "Cosine": {
      const lengths = length(query) * length(key);
      return made(["q", "k", "q · k"], product(), (sum) => (lengths ? sum / lengths / pair.temperature! : 0));
    }
    case "Location":
      return made(
        ["q", "w", "q · w"],
        each(query.length, (i) => [query[i]!, pair.column![i]!, query[i]! * pair.column![i]!]),
        (sum) => sum,
      );
    default:
      return null;
  }
}

export function length(vector: Numbers): number {
  return Math.hypot(...Array.from(vector));
}

/** The score of one pair with its numbers: formula, numbers, result; a line each. */
export function filled(pair: Pair, worked: Worked): HTMLElement[] {
  const sum = total(
    worked.rows.map((one) =>
      one.length > 4 ? [one[3]!, one[2]!] : pair.kind === "Gaussian" ? [one[2]!] : [one[0]!, one[1]!],
    ),
  );
  const shown = (): Child[] => {
    switch (pair.kind) {
      case "ScaledDot": {
        const width = 1 / pair.scale! ** 2;
        return Math.abs(width - pair.query.length) < 1e-6 * width
          ? [fraction(sum, m("msqrt", null, m("mn", null, String(pair.query.length))))]
          : [bracket(...sum), mo("·"), num(pair.scale!)];
      }
      case "Gaussian":
        return [
          mo("−", { form: "prefix" }),
          fraction(sum, [m("mn", null, "2"), mo("·"), square(num(pair.bandwidth!))]),
        ];
      case "Cosine":
        return [
          fraction(sum, [num(length(pair.query)), mo("·"), num(length(pair.key)), mo("·"), num(pair.temperature!)]),
        ];
      default:
        return sum;
    }
  };
  const formula = scoreText(pair.kind, pair.activation).formula();
  return [
    equation(mi("e"), mo("="), ...formula),
    equation(mo("="), ...shown()),
    equation(mo("="), num(worked.score, 6)),
  ];
}

/** Products added up; of more than `most`, the first three and the last. */
export function total(terms: number[][], most = 5): Child[] {
  const one = (factors: number[]): Child[] =>
    factors.flatMap((value, index) => (index ? [mo("·"), factor(value)] : [factor(value)]));
  const shown: (number[] | null)[] = terms.length > most ? [...terms.slice(0, 3), null, terms.at(-1)!] : terms;
  return shown.flatMap((term, index) => [...(index ? [mo("+")] : []), ...(term ? one(term) : [mo("…")])]);
}
