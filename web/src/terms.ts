// The words of the field: one sentence, the equation and the paper of each. A "?" beside a word opens it.

import { popover } from "./controls.ts";
import { h, m, type Child } from "./dom.ts";
import { alpha, bracket, call, e, equation, fraction, k, mi, mo, q, row, sub, sum } from "./equations.ts";

interface Term {
  title: string;
  text: string;
  formula?: () => Child[];
  paper: string;
}

const context = () => [sub("c", "i"), mo("="), sum("j"), alpha(), sub("v", "j")];
const softmax = () => [alpha(), mo("="), fraction(call("exp", e()), [sum("l"), call("exp", sub("e", "il"))])];
const VASWANI = "Vaswani et al. 2017, “Attention is all you need”, arXiv:1706.03762";
const BAHDANAU = "Bahdanau, Cho and Bengio 2015, arXiv:1409.0473";
const JAIN = "Jain and Wallace 2019, “Attention is not explanation”, arXiv:1902.10186";

export const TERMS = {
  cross: {
    title: "Cross-attention",
    text:
      "Each word that is output attends to the words of the source: its query is compared with the key of every " +
      "source word.",
    formula: context,
    paper: BAHDANAU,
  },
  self: {
    title: "Self-attention",
    text: "Words attend to words of the same text: queries, keys and values all come from it.",
    formula: context,
    paper: VASWANI,
  },
  pooling: {
    title: "Pooling attention",
    text: "A learned query attends to all words of a text; the weighted sum of their states stands for the text.",
    formula: context,
    paper: "Lin et al. 2017, arXiv:1703.03130; Yang et al. 2016",
  },
  layer: {
    title: "Layer",
    text:
      "One attention operation of the stack; the next layer attends over what this one has mixed, so deep maps are " +
      "not maps of the words alone.",
    paper: VASWANI,
  },
  head: {
    title: "Head",
    text:
      "Each layer attends several times at once, with projections of its own; their contexts are joined. None has " +
      "to be readable.",
    formula: () => [
      sub("c", "i"),
      mo("="),
      m("msub", null, mi("W"), mi("O")),
      row(mo("["), sub("c", "i1"), mo(";"), mo("…"), mo(";"), sub("c", "iH"), mo("]")),
    ],
    paper: `${VASWANI}, section 3.2.2`,
  },
  query: {
    title: "Query, key, value",
    text:
      "The query is compared with every key, which gives a score; the scores give weights; the output is the " +
      "weighted sum of the values.",
    formula: () => [
      q(),
      mo("="),
      sub("x", "i"),
      m("msub", null, mi("W"), mi("Q")),
      mo(","),
      k(),
      mo("="),
      sub("x", "j"),
      m("msub", null, mi("W"), mi("K")),
      mo(","),
      sub("v", "j"),
      mo("="),
      sub("x", "j"),
      m("msub", null, mi("W"), mi("V")),
    ],
    paper: VASWANI,
  },
  scores: {
    title: "Scores",
    text: "How well a query fits each key, before normalizing; here a dot product divided by the root of the width.",
    formula: () => [e(), mo("="), fraction([q(), mo("·"), k()], m("msqrt", null, mi("d")))],
    paper: VASWANI,
  },
  softmax: {
    title: "Softmax",
    text: "Turns scores into weights that are positive and sum to one.",
    formula: softmax,
    paper: BAHDANAU,
  },
  weights: {
    title: "Weights",
    text: "The shares of a row: how much of each value is taken. They are not importance.",
    formula: softmax,
    paper: JAIN,
  },
  context: {
    title: "Context",
    text: "The weighted sum of the values, which is what attention passes on.",
    formula: context,
    paper: BAHDANAU,
  },
  beam: {
    title: "Beam search",
    text: "Keeps the best few unfinished outputs at every step and extends each; a beam of one is greedy.",
    paper: "Graves 2012, arXiv:1211.3711; Sutskever et al. 2014, arXiv:1409.3215",
  },
  measure: {
    title: "Weight × value norm",
    text: "A weight on a short vector adds little: the weight is multiplied by the norm of the value it takes.",
    formula: () => [row(mo("‖"), alpha(), call("f", sub("x", "j")), mo("‖"))],
    paper: "Kobayashi et al. 2020, arXiv:2004.10102",
  },
  rollout: {
    title: "Rollout",
    text: "The weights of all layers multiplied, half of each state carried along: from the output down to the words.",
    formula: () => [
      mi("R"),
      mo("="),
      sub("A", "L"),
      mo("⋯"),
      sub("A", "1"),
      mo(","),
      sub("A", "l"),
      mo("="),
      bracket(mo("½"), sub("α", "l"), mo("+"), mo("½"), mi("I")),
    ],
    paper: "Abnar and Zuidema 2020, arXiv:2005.00928",
  },
  align: {
    title: "Align with output or input",
    text:
      "A row can be read as the word about to be output, or as the word that was just input; Transformers align " +
      "better with the input.",
    paper: "Chen et al. 2020, arXiv:2010.04245",
  },
  uniform: {
    title: "Uniform baseline",
    text:
      "How likely the word would be if every position had the same weight. Where that changes little, the weights " +
      "matter little.",
    formula: () => [alpha(), mo("="), fraction(m("mn", null, "1"), mi("n"))],
    paper: "Wiegreffe and Pinter 2019, arXiv:1908.04626",
  },
  occlusion: {
    title: "Leave-one-out",
    text:
      "Each word is left out in turn; Kendall's τ compares how far the prediction moves with the weights. 1 is the " +
      "same order, 0 none in common.",
    paper: JAIN,
  },
  gradient: {
    title: "Gradient × input",
    text: "How far the prediction moves per change of a word, to first order; Kendall's τ compares it with the weights.",
    formula: () => [sub("x", "j"), mo("·"), m("msub", null, mo("∇"), sub("x", "j")), call("log", mi("p"))],
    paper: "Simonyan et al. 2014, arXiv:1312.6034; Jain and Wallace 2019",
  },
  entropy: {
    title: "Entropy",
    text: "How flat a row of weights is: 0 where one position has all, log n where all n have alike.",
    formula: () => [mi("H"), mo("="), mo("−", { form: "prefix" }), sum("j"), alpha(), call("log", alpha())],
    paper: "Shannon 1948",
  },
  lens: {
    title: "Logit lens",
    text: "The output layer applied to the state after each layer: what the model would output if it stopped there.",
    formula: () => [call("softmax", m("msub", null, mi("W"), mi("U")), call("norm", sub("x", "l")))],
    paper: "nostalgebraist 2020; Belrose et al. 2023, arXiv:2303.08112",
  },
  residual: {
    title: "Residual",
    text: "What a layer gives is added to what it was given, so that every layer writes onto one stream.",
    formula: () => [sub("y", "i"), mo("="), sub("x", "i"), mo("+"), sub("o", "i")],
    paper: "He et al. 2016, arXiv:1512.03385",
  },
  mask: {
    title: "Mask",
    text: "Positions that may not be attended to: their scores are set to minus infinity before normalizing.",
    paper: VASWANI,
  },
  variation: {
    title: "Total variation",
    text:
      "Half the summed difference of two predictions: 0 where they are the same, 1 where they have no word in " +
      "common.",
    formula: () => [
      fraction(m("mn", null, "1"), m("mn", null, "2")),
      sum("w"),
      row(mo("|"), call("p", mi("w")), mo("−"), call("p′", mi("w")), mo("|")),
    ],
    paper: "Jain and Wallace 2019, section 4.2.2",
  },
  divergence: {
    title: "Jensen-Shannon divergence",
    text: "How far two distributions are apart: 0 for the same, log 2 for distributions that share no position.",
    formula: () => [
      fraction(m("mn", null, "1"), m("mn", null, "2")),
      bracket(call("KL", mi("α"), mo("‖"), mi("m")), mo("+"), call("KL", mi("α′"), mo("‖"), mi("m"))),
    ],
    paper: "Lin 1991; Jain and Wallace 2019",
  },
  saliency: {
    title: "Signed saliency",
    text: "Gradient times input, with its sign: ember speaks for the label, teal against it.",
    formula: () => [sub("x", "j"), mo("·"), m("msub", null, mo("∇"), sub("x", "j")), sub("z", "y")],
    paper: "Shrikumar et al. 2017, arXiv:1704.02685",
  },
  states: {
    title: "Hidden states",
    text: "What a layer has made of each word in its context; words used alike lie near each other.",
    paper: "Strobelt et al. 2018, Seq2Seq-Vis, arXiv:1804.09299",
  },
} satisfies Record<string, Term>;

export type TermName = keyof typeof TERMS;

/** A "?" that explains a word. */
export function term(name: TermName): HTMLElement {
  const known: Term = TERMS[name];
  return popover(
    "?",
    () =>
      h(
        "div",
        { class: "term-text" },
        h("b", null, known.title),
        h("p", null, known.text),
        known.formula ? equation(...known.formula()) : null,
        h("p", { class: "small dim" }, known.paper),
      ),
    { class: "term", "aria-label": `What is: ${known.title}` },
  ).element;
}

/** A word with its "?". */
export function named(name: TermName, text?: string): Child {
  return [text ?? TERMS[name].title, " ", term(name)];
}
