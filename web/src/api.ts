// What page and studio send each other, made by `npm run types` from src/regard/studio/schema.
// schema 394a6b869df91d2a2e16070b5bb53601b10a54b61dc2ab6b3758e4aaab067591

export interface Verbs {
  overview: {
    request: {};
    answer: Overview;
  };
  "translate/search": {
    request: SearchRequest;
    answer: SearchAnswer;
  };
  "translate/attention": {
    request: OutputRequest;
    answer: AttentionAnswer;
  };
  "translate/row": {
    request: RowRequest;
    answer: RowAnswer;
  };
  "translate/checks": {
    request: OutputRequest;
    answer: ChecksAnswer;
  };
  "steps/read": {
    request: ReadRequest;
    answer: Reading;
  };
  "steps/apart": {
    request: QueryRequest;
    answer: ApartAnswer;
  };
  "steps/maps": {
    request: HeadRequest;
    answer: HeadMaps;
  };
  "whatif/begin": {
    request: Sentence;
    answer: BeginAnswer;
  };
  "whatif/change": {
    request: ChangeRequest;
    answer: ChangeAnswer;
  };
  "whatif/another": {
    request: WeightsRequest;
    answer: WeightsAnswer;
  };
  "whatif/tokens": {
    request: Sentence;
    answer: TokensAnswer;
  };
  "whatif/label": {
    request: LabelRequest;
    answer: LabelAnswer;
  };
  "mechanisms/attend": {
    request: AttendRequest;
    answer: AttendAnswer;
  };
  "mechanisms/waves": {
    request: WavesRequest;
    answer: WavesAnswer;
  };
  "mechanisms/lookup": {
    request: LookupRequest;
    answer: LookupAnswer;
  };
  "compare/attention": {
    request: PairRequest;
    answer: PairAnswer;
  };
  "compare/measure": {
    request: NamesRequest;
    answer: LengthsAnswer;
  };
  "compare/lengths": {
    request: NamesRequest;
    answer: LengthsAnswer;
  };
  "compare/runs": {
    request: EmptyRequest;
    answer: RunsAnswer;
  };
  "compare/curve": {
    request: CurveRequest;
    answer: CurveAnswer;
  };
  "ask/picture": {
    request: PictureRequest;
    answer: PictureAnswer;
  };
  "ask/answer": {
    request: QuestionRequest;
    answer: VisionAnswer;
  };
  "ask/checks": {
    request: QuestionRequest;
    answer: PictureChecks;
  };
  "classify/read": {
    request: Sentence;
    answer: DecisionAnswer;
  };
  "classify/maps": {
    request: Sentence;
    answer: MapsAnswer;
  };
  "passage/attention": {
    request: Sentence;
    answer: PassageAnswer;
  };
  "keep/likely": {
    request: KeepRequest;
    answer: KeepAnswer;
  };
  "read/text": {
    request: TextRequest;
    answer: ReadAnswer;
  };
  "share/pdf": {
    request: PictureFile;
    answer: PaperAnswer;
  };
  "states/near": {
    request: StatesRequest;
    answer: StatesAnswer;
  };
  "learn/frames": {
    request: CurveRequest;
    answer: FramesAnswer;
  };
  "learn/train": {
    request: EmptyRequest;
    answer: TrainAnswer;
  };
}
/**
 * What a page shows before anything is asked.
 */
export interface Overview {
  version: string;
  models: ModelInfo[];
  /**
   * Runs that have no model yet: each is opened once it is there.
   */
  waiting: string[];
  preparing: Preparing | null;
  /**
   * Whether a run that is open goes on: its model will be another one.
   */
  training?: boolean;
}
/**
 * A model that is open.
 */
export interface ModelInfo {
  name: string;
  kind: "translator" | "aligner" | "classifier" | "language" | "vision";
  about: string;
  examples: Example[];
}
/**
 * A text to begin with, what it shows, and its translation in the corpus.
 */
export interface Example {
  text: string;
  about: string;
  reference: string;
}
/**
 * How far the training of a first model is.
 */
export interface Preparing {
  stage: string;
  step: number;
  steps: number;
  loss: number | null;
  seconds: number;
  error: string | null;
}
/**
 * A sentence to translate.
 */
export interface SearchRequest {
  model?: string;
  text: string;
  beam?: number;
}
/**
 * What search gave.
 */
export interface SearchAnswer {
  source: Side;
  /**
   * Tokens of the source that were left out.
   */
  cut: number;
  read: number;
  limit: number;
  attends: boolean;
  outputs: Output[];
  tree: Node[][];
}
/**
 * The tokens of one side, and the words they are parts of; `</s>` is a word of its own.
 */
export interface Side {
  ids: number[];
  tokens: string[];
  words: string[];
  /**
   * For each token the index of its word.
   */
  word_of: number[];
  /**
   * Words that were typed without their accents or case, and how they are read.
   */
  read_as: {
    [k: string]: string;
  };
  /**
   * Words that the model does not know: it reads one and the same token instead of each.
   */
  unknown: number[];
}
/**
 * One of the n best.
 */
export interface Output {
  text: string;
  tokens: number[];
  score: number;
  log_probability: number;
  finished: boolean;
}
/**
 * A hypothesis of one step of beam search.
 */
export interface Node {
  token: string;
  id: number;
  log_probability: number;
  score: number;
  /**
   * Its position in the step before.
   */
  parent: number;
  kept: boolean;
  ended: boolean;
}
/**
 * A hypothesis, by its tokens.
 */
export interface OutputRequest {
  model?: string;
  text: string;
  tokens: number[];
}
/**
 * What the model attends to while it outputs these tokens.
 */
export interface AttentionAnswer {
  source: Side;
  target: Side;
  finished: boolean;
  log_probabilities: number[];
  /**
   * For each step what may come next, likeliest first.
   */
  candidates: NextToken[][];
  maps: MapAnswer[];
  /**
   * (layers, heads, source): the norm of what a weight of one would add, for the map `cross`.
   */
  norms: Packed | null;
  /**
   * (steps, source), of all layers.
   */
  rollout: Packed | null;
}
/**
 * A token that may come next.
 */
export interface NextToken {
  token: string;
  id: number;
  probability: number;
}
/**
 * All layers and heads of one kind of attention.
 */
export interface MapAnswer {
  id: "cross" | "source" | "target" | "text" | "pooling";
  /**
   * Their names in the model.
   */
  layers: string[];
  /**
   * (layers, heads, rows, columns).
   */
  weights: Packed;
  /**
   * 1 where a row could attend to a column; null where all could.
   */
  mask: Packed | null;
  /**
   * The head that was trained on word links, from 0, in the layer that links are read from; null where none was.
   */
  guided_head?: number | null;
}
/**
 * A tensor in JSON, row after row; `web/src/tensor.ts` reads it.
 */
export interface Packed {
  shape: number[];
  /**
   * The numbers as base64 of little-endian IEEE 754.
   */
  float32?: string;
  /**
   * Or the root of each share of `scale`, in steps of 1/95, as bytes, deflated, as base64.
   */
  roots?: string;
  scale?: number;
}
/**
 * One row of a map whose numbers were sent rounded.
 */
export interface RowRequest {
  model?: string;
  text: string;
  tokens: number[];
  map: string;
  row: number;
}
/**
 * One row as it is.
 */
export interface RowAnswer {
  /**
   * (layers, heads, columns).
   */
  weights: Packed;
}
/**
 * What the weights of an output are checked against.
 */
export interface ChecksAnswer {
  occlusion: Packed | null;
  gradient: Packed | null;
  /**
   * Gradient × input with its sign: above zero where a source token speaks for the output, below where against.
   */
  signed: Packed | null;
  /**
   * The log-probability of each token if all attention to the source were uniform.
   */
  uniform: number[] | null;
  skipped: string;
  others: OtherWeights[];
}
/**
 * The same map of another open model.
 */
export interface OtherWeights {
  name: string;
  weights: Packed;
}
/**
 * A text, and what the model is forced to output.
 */
export interface ReadRequest {
  model?: string;
  text: string;
  target?: string | null;
}
/**
 * What was read and output, and what there is to choose from.
 */
export interface Reading {
  model: string;
  /**
   * Whether it has an output that can be forced.
   */
  generates: boolean;
  text: string;
  read_as: {
    [k: string]: string;
  };
  target: string | null;
  /**
   * The one that is shown first.
   */
  layer: string;
  layers: LayerInfo[];
}
/**
 * A layer that can be taken apart.
 */
export interface LayerInfo {
  name: string;
  map: "cross" | "source" | "target" | "text" | "pooling";
  /**
   * Which of the layers of that map, from 0.
   */
  number: number;
  heads: number;
  queries: string[];
  keys: string[];
}
/**
 * One query of it.
 */
export interface QueryRequest {
  model?: string;
  text: string;
  target?: string | null;
  layer: string;
  head?: number;
  query?: number;
}
/**
 * The stages of a model's query, with its words.
 */
export interface ApartAnswer {
  score: ScoreInfo;
  normalizer: NormalizerInfo;
  position: string | null;
  query: Packed;
  keys: Packed;
  values: Packed;
  /**
   * Query and keys before the position turned them.
   */
  unturned: [Packed, Packed] | null;
  /**
   * The score alone.
   */
  compared: Packed;
  bias: Packed | null;
  added: Packed | null;
  scores: Packed;
  mask: Packed | null;
  normalized: Packed;
  factors: Packed | null;
  weights: Packed;
  extra: Packed | null;
  context: Packed;
  output: Packed;
  path: PathAnswer;
  query_label: string;
  key_labels: string[];
  weights_recorded: Packed;
  code: Code;
}
/**
 * A score, with what is needed to compute it once more from two vectors.
 */
export interface ScoreInfo {
  kind: string;
  scale?: number | null;
  bandwidth?: number | null;
  temperature?: number | null;
  activation?: string | null;
  vector?: Packed | null;
  projected_query?: Packed | null;
  projected_keys?: Packed | null;
  columns?: Packed | null;
}
/**
 * A normalizer with its settings.
 */
export interface NormalizerInfo {
  kind: string;
  alpha?: number | null;
  bias?: number | null;
  score?: number | null;
}
/**
 * What lies before and after the attention of a query; null where a model has no such part.
 */
export interface PathAnswer {
  /**
   * What the query was made of.
   */
  query_input: Packed | null;
  /**
   * What each key was made of.
   */
  key_inputs: Packed | null;
  /**
   * What all heads give together, after the output map.
   */
  mixed: Packed | null;
  /**
   * The residual stream that it is added to.
   */
  before: Packed | null;
  after: Packed | null;
  /**
   * What the model predicts at this query, likeliest first; none where it leads to no word.
   */
  words: WordLogit[];
  /**
   * The word that is output there.
   */
  taken: number | null;
  /**
   * One for each layer.
   */
  lens: LensAnswer[];
}
/**
 * A word that the output layer predicts.
 */
export interface WordLogit {
  token: string;
  id: number;
  logit: number;
  probability: number;
}
/**
 * What the output layer makes of the state after one layer: the logit lens.
 */
export interface LensAnswer {
  words: WordLogit[];
  /**
   * The probability of the word that is output.
   */
  taken: number;
}
/**
 * Python that gives the same numbers.
 */
export interface Code {
  find: string;
  again: string;
}
/**
 * One head of a layer.
 */
export interface HeadRequest {
  model?: string;
  text: string;
  target?: string | null;
  layer: string;
  head?: number;
}
/**
 * The maps of one head: what makes queries, keys and values, and what takes the context.
 */
export interface HeadMaps {
  query: LinearMap | null;
  key: LinearMap | null;
  value: LinearMap | null;
  output: LinearMap | null;
}
/**
 * A linear map, as far as it belongs to one head.
 */
export interface LinearMap {
  name: string;
  /**
   * (outputs, inputs).
   */
  matrix: Packed;
  bias: Packed | null;
}
/**
 * A text for a model; the first that fits the view where none is named.
 */
export interface Sentence {
  model?: string;
  text: string;
}
/**
 * A translation, undisturbed.
 */
export interface BeginAnswer {
  attention: AttentionAnswer;
  tokens: number[];
  text: string;
  cut: number;
}
/**
 * What is done to it.
 */
export interface ChangeRequest {
  model?: string;
  text: string;
  tokens: number[];
  step: number;
  /**
   * Which of the layers that attend to the source; −1 for all.
   */
  layer?: number;
  /**
   * Which head; −1 for all.
   */
  head?: number;
  pinned?: Pin[];
  hidden?: number[];
  replaced?: Replacement[];
  onward?: boolean;
}
/**
 * The share of a row's weight that a position gets.
 */
export interface Pin {
  position: number;
  share: number;
}
/**
 * What is read at a source position instead.
 */
export interface Replacement {
  position: number;
  text: string;
}
/**
 * The step, undisturbed and changed.
 */
export interface ChangeAnswer {
  source: Side;
  candidates: BeforeAfter[];
  /**
   * Total variation distance of the two predictions.
   */
  change: number;
  /**
   * (layers, heads, source), undisturbed.
   */
  own: Packed | null;
  /**
   * The same as they were used.
   */
  weights: Packed | null;
  before: Decoded;
  after: Decoded;
}
/**
 * A token or a label, and how likely it is before a change and after.
 */
export interface BeforeAfter {
  id: number;
  token: string;
  before: number;
  after: number;
}
/**
 * A translation.
 */
export interface Decoded {
  tokens: string[];
  ids: number[];
  text: string;
}
/**
 * How far the prediction of the changed step may move while other weights are searched for.
 */
export interface WeightsRequest {
  model?: string;
  text: string;
  tokens: number[];
  step: number;
  /**
   * Which of the layers that attend to the source; −1 for all.
   */
  layer?: number;
  /**
   * Which head; −1 for all.
   */
  head?: number;
  pinned?: Pin[];
  hidden?: number[];
  replaced?: Replacement[];
  onward?: boolean;
  tolerance?: number;
}
/**
 * Weights far from the model's own, and the same for uniform ones.
 */
export interface WeightsAnswer {
  divergence: number;
  change: number;
  tolerance: number;
  within_tolerance: boolean;
  layer: number;
  own: Packed;
  other: Packed;
  steps: number;
  caveat: string;
  candidates: BeforeAfter[];
  uniform: Distance;
}
/**
 * How far other weights are, and how far they move the prediction.
 */
export interface Distance {
  divergence: number;
  change: number;
  tolerance: number;
  within_tolerance: boolean;
}
/**
 * Tokens that begin as what was typed.
 */
export interface TokensAnswer {
  tokens: string[];
}
/**
 * A text, and what is done to its tokens.
 */
export interface LabelRequest {
  model?: string;
  text: string;
  pinned?: Pin[];
  hidden?: number[];
}
/**
 * A label, undisturbed and changed.
 */
export interface LabelAnswer {
  tokens: string[];
  own: number[];
  weights: number[];
  change: number;
  candidates: BeforeAfter[];
}
/**
 * Small tables, and how to compare, mask, position and normalize.
 */
export interface AttendRequest {
  query: number[][];
  key: number[][];
  value: number[][];
  score:
    | DotChoice
    | ScaledDotChoice
    | BilinearChoice
    | AdditiveChoice
    | ConcatChoice
    | GaussianChoice
    | CosineChoice
    | LocationChoice;
  normalizer: PlainNormalizerChoice | EntmaxChoice | SigmoidChoice | SinkChoice;
  mask?: (CausalChoice | WindowChoice | PaddingChoice | DocumentsChoice) | null;
  position?:
    | (RotaryChoice | AlibiChoice | RelativeBiasChoice | RelativeBucketsChoice | ShawChoice | GaussianWindowChoice)
    | null;
}
/**
 * `Dot`.
 */
export interface DotChoice {
  kind: "Dot";
}
/**
 * `ScaledDot`.
 */
export interface ScaledDotChoice {
  kind: "ScaledDot";
  scale?: number | null;
}
/**
 * `Bilinear`.
 */
export interface BilinearChoice {
  kind: "Bilinear";
  matrix: number[][];
}
/**
 * `Additive`.
 */
export interface AdditiveChoice {
  kind: "Additive";
  vector: number[];
  activation?: "tanh" | "identity";
}
/**
 * `Concat`.
 */
export interface ConcatChoice {
  kind: "Concat";
  matrix: number[][];
  vector: number[];
}
/**
 * `Gaussian`.
 */
export interface GaussianChoice {
  kind: "Gaussian";
  bandwidth?: number;
}
/**
 * `Cosine`.
 */
export interface CosineChoice {
  kind: "Cosine";
  temperature?: number;
}
/**
 * `Location`.
 */
export interface LocationChoice {
  kind: "Location";
  matrix: number[][];
}
/**
 * A normalizer without settings.
 */
export interface PlainNormalizerChoice {
  kind: "Softmax" | "Sparsemax" | "Hard" | "Mean";
}
/**
 * `Entmax`.
 */
export interface EntmaxChoice {
  kind: "Entmax";
  alpha?: number;
}
/**
 * `Sigmoid`.
 */
export interface SigmoidChoice {
  kind: "Sigmoid";
  bias?: number;
}
/**
 * `Sink`, of one head.
 */
export interface SinkChoice {
  kind: "Sink";
  score?: number;
}
/**
 * `Causal`.
 */
export interface CausalChoice {
  kind: "Causal";
}
/**
 * `Window`; no limit by default.
 */
export interface WindowChoice {
  kind: "Window";
  left?: number | null;
  right?: number | null;
}
/**
 * `Padding`.
 */
export interface PaddingChoice {
  kind: "Padding";
  lengths: number;
}
/**
 * `Documents`.
 */
export interface DocumentsChoice {
  kind: "Documents";
  ids: number[];
  key_ids?: number[] | null;
}
/**
 * `Rotary`.
 */
export interface RotaryChoice {
  kind: "Rotary";
  base?: number;
}
/**
 * `Alibi`, of one head.
 */
export interface AlibiChoice {
  kind: "Alibi";
  slopes?: number;
}
/**
 * `RelativeBias`.
 */
export interface RelativeBiasChoice {
  kind: "RelativeBias";
  table: number[];
}
/**
 * `RelativeBuckets`.
 */
export interface RelativeBucketsChoice {
  kind: "RelativeBuckets";
  table: number[];
  max_distance?: number;
  both_ways?: boolean;
}
/**
 * `Shaw`.
 */
export interface ShawChoice {
  kind: "Shaw";
  keys: number[][];
  values?: number[][] | null;
}
/**
 * `GaussianWindow`.
 */
export interface GaussianWindowChoice {
  kind: "GaussianWindow";
  center: number[];
  half_width: number;
}
/**
 * One call of the operator, and each row's steps.
 */
export interface AttendAnswer {
  query: number[][];
  key: number[][];
  compared: number[][];
  added: number[][] | null;
  scores: number[][];
  mask: boolean[][] | null;
  normalized: number[][];
  factors: number[][] | null;
  extra: number[][] | null;
  weights: number[][];
  context: number[][];
  /**
   * Whether the position turned queries and keys.
   */
  turned: boolean;
  /**
   * For each row.
   */
  score: ScoreInfo[];
  code: string;
}
/**
 * A table of sinusoidal positions.
 */
export interface WavesRequest {
  length?: number;
  size?: number;
  base?: number;
}
/**
 * Positions by features.
 */
export interface WavesAnswer {
  table: number[][];
}
/**
 * A dictionary of words or numbers, and what to look up; `temperature` is how soft.
 */
export interface LookupRequest {
  query: string;
  keys: string[];
  values: string[];
  temperature: number;
}
/**
 * The value of a key, exactly and softly.
 */
export interface LookupAnswer {
  by: string;
  /**
   * Whether values are numbers, of which a mean can be made.
   */
  mixes: boolean;
  exact: string | number | null;
  value: string | number;
  weights: number[];
  code: string;
}
/**
 * A sentence for two models, and what both are forced to output.
 */
export interface PairRequest {
  model?: string;
  text: string;
  other?: string;
  /**
   * Whose translation: that of `model`, of `other`, or `target`.
   */
  forced?: "first" | "second" | "target";
  target?: string;
}
/**
 * Two models, or one twice, on one sentence.
 */
export interface PairAnswer {
  /**
   * @minItems 2
   * @maxItems 2
   */
  models: [string, string];
  /**
   * @minItems 2
   * @maxItems 2
   */
  outputs: [PairOutput, PairOutput];
  /**
   * What both are forced to output.
   */
  target: string;
  /**
   * @minItems 2
   * @maxItems 2
   */
  attention: [AttentionAnswer, AttentionAnswer];
}
/**
 * What one of two models outputs by itself.
 */
export interface PairOutput {
  text: string;
  score: number;
  log_probability: number;
  cut: number;
}
/**
 * Open models, by their names.
 */
export interface NamesRequest {
  models: string[];
}
/**
 * What is known of some models on the same sentences.
 */
export interface LengthsAnswer {
  results: {
    [k: string]: Measured;
  };
  progress: Measuring | null;
  error: string | null;
}
/**
 * The quality of one model by length.
 */
export interface Measured {
  test_set: string;
  fingerprint: string;
  sentences: number;
  /**
   * Where the figures come from.
   */
  source: string;
  scores: {
    [k: string]: number;
  };
  bins: Bin[];
}
/**
 * Sentences of about one length.
 */
export interface Bin {
  low: number;
  high: number | null;
  mean_length: number;
  sentences: number;
  few: boolean;
  /**
   * By the name of the measure: BLEU, chrF.
   */
  scores: {
    [k: string]: Interval;
  };
}
/**
 * A figure with its 95 % interval.
 */
export interface Interval {
  value: number;
  low: number;
  high: number;
}
/**
 * How far the measuring is.
 */
export interface Measuring {
  model: string;
  stage: string;
  done: number;
  total: number;
}
/**
 * No settings.
 */
export interface EmptyRequest {}
/**
 * The runs that the studio was started with.
 */
export interface RunsAnswer {
  runs: RunState[];
}
/**
 * Whether a run is going on, and how far it is to go.
 */
export interface RunState {
  run: string;
  state: "finished" | "going" | "stopped" | "begun";
  steps: number | null;
}
/**
 * A run, and how much of its figures is known already.
 */
export interface CurveRequest {
  run: string;
  offset?: number;
  file?: string;
}
/**
 * The figures of a run that were not known yet.
 */
export interface CurveAnswer {
  run: string;
  state: "finished" | "going" | "stopped" | "begun";
  steps: number | null;
  lines: {
    [k: string]: number | boolean | string | null;
  }[];
  offset: number;
  file: string;
  /**
   * Whether they begin from the start: the file is another than before.
   */
  anew: boolean;
  more: boolean;
}
/**
 * A picture for a model, the first that reads images where none is named: a seed, or a file in base64.
 */
export interface PictureRequest {
  model?: string;
  seed?: number | null;
  file?: string | null;
}
/**
 * A picture as the model reads it, and what is known of it.
 */
export interface PictureAnswer {
  model: string;
  task: "questions" | "captions" | "labels";
  /**
   * An address that holds the picture itself.
   */
  picture: string;
  height: number;
  width: number;
  /**
   * Height and width before it was stretched.
   *
   * @minItems 2
   * @maxItems 2
   */
  original: [number, number];
  questions: KnownQuestion[];
  suggestions: string[];
  truth: string | null;
}
/**
 * A question with the one answer that is true of a scene.
 */
export interface KnownQuestion {
  text: string;
  answer: string;
  kind: string;
}
/**
 * A question about it, where the model answers questions.
 */
export interface QuestionRequest {
  model?: string;
  seed?: number | null;
  file?: string | null;
  question?: string;
}
/**
 * What a model answers, describes or labels, with its weights.
 */
export interface VisionAnswer {
  task: "questions" | "captions" | "labels";
  output: string;
  probabilities: Probability[];
  words: string[];
  word_probabilities: number[] | null;
  unknown: string[];
  cut: number;
  finished: boolean;
  /**
   * (layers, heads, words, rows, columns).
   */
  weights: Packed | null;
  maps: PositionMap[];
}
/**
 * A label, or an answer, and how likely it is.
 */
export interface Probability {
  name: string;
  probability: number;
}
/**
 * A map over positions of an image classifier.
 */
export interface PositionMap {
  name: string;
  limit: number;
  signed: boolean;
  weights: Packed;
}
/**
 * What weights over positions are checked against.
 */
export interface PictureChecks {
  occlusion: Packed;
  gradient: Packed;
  uniform: number[] | null;
}
/**
 * The label of a text.
 */
export interface DecisionAnswer {
  label: string;
  labels: number;
  probabilities: Probability[];
  words: string[];
  /**
   * Words that the model does not know: it reads one and the same token instead of each.
   */
  unknown: number[];
  cut: number;
  kind: string;
  meaning: string;
  weighs: boolean;
  shares: Shares;
  skipped: string;
  /**
   * The label's probability if all weights were uniform.
   */
  uniform: number | null;
  others: OtherShares[];
}
/**
 * How much each word counts, in three ways; each sums to one.
 */
export interface Shares {
  model: number[];
  gradient: number[];
  removal: number[] | null;
  /**
   * Gradient × input with its sign, above zero for the label; the sizes sum to one over tokens.
   */
  signed: number[] | null;
}
/**
 * The same text by another open classifier of the kind.
 */
export interface OtherShares {
  name: string;
  label: string;
  shares: number[];
}
/**
 * All maps of a text, or why there are none.
 */
export interface MapsAnswer {
  maps: TextMap[];
  skipped: string;
}
/**
 * The weights of a layer over a text.
 */
export interface TextMap {
  layer: string;
  map: "cross" | "source" | "target" | "text" | "pooling";
  queries: string[];
  keys: string[];
  /**
   * (heads, queries, keys).
   */
  weights: Packed;
}
/**
 * What the pronouns of a text attend to, or why there is nothing to give.
 */
export interface PassageAnswer {
  attention: Pronoun[];
  heads: number;
  why: string;
  unknown: string[];
}
/**
 * What a pronoun attends to.
 */
export interface Pronoun {
  word: string;
  position: number;
  /**
   * Counted from one, without `</s>`.
   */
  number: number;
  visible: number;
  uniform: number;
  top: AttendedWord[];
  heads: HeadWord[];
  readings: ReadingWord[];
}
/**
 * A word that a pronoun attends to.
 */
export interface AttendedWord {
  word: string;
  position: number;
  weight: number;
}
/**
 * What one head alone attends to most.
 */
export interface HeadWord {
  word: string;
  position: number;
  weight: number;
  head: string;
}
/**
 * A word that a reader may take a pronoun for.
 */
export interface ReadingWord {
  word: string;
  position: number;
  weight: number;
  rank: number;
  head: string;
  head_weight: number;
}
/**
 * What a view shows: the questions that it asks when it is opened at its address.
 */
export interface KeepRequest {
  shown: Question[];
}
/**
 * Something that can be asked: a verb, such as translate/search, and its request.
 */
export interface Question {
  verb: string;
  body: {
    [k: string]: unknown;
  };
}
/**
 * What a file of it holds besides, most wanted first, as far as `max_bytes` reach.
 */
export interface KeepAnswer {
  likely: Question[];
  /**
   * Questions beyond `MAX_QUESTIONS`.
   */
  left_out: number;
  /**
   * Those that are shown: a file names no others.
   */
  models: ModelInfo[];
  max_bytes: number;
}
/**
 * A text, and what follows it as token numbers.
 */
export interface TextRequest {
  model?: string;
  text: string;
  output?: number[];
}
/**
 * What a model attends to while it reads, and what it predicts.
 */
export interface ReadAnswer {
  /**
   * What it predicts: the next word, a word that is hidden, the words of an output, or none.
   */
  reads: "causal" | "masked" | "both" | "encoder";
  /**
   * The text as it is read; of a decoder alone with its output behind it.
   */
  source: Side;
  /**
   * How many of its tokens are the text's own.
   */
  typed: number;
  /**
   * The output of an encoder-decoder.
   */
  target: Side | null;
  cut: number;
  maps: MapAnswer[];
  /**
   * For each position what comes next; of a model that predicts hidden words, what stands there.
   */
  candidates: NextToken[][];
  /**
   * For each position the probability of the word that does follow, or stand there.
   */
  chances: (number | null)[];
  output: string;
  finished: boolean;
  /**
   * How a word to be predicted is written in the text.
   */
  hidden: string | null;
  labels: Probability[];
}
/**
 * A picture of the page.
 */
export interface PictureFile {
  title: string;
  width: number;
  height: number;
  marks: Mark[];
}
/**
 * A shape, a text or an image, in pixels of its own that `matrix` carries to those of the picture.
 */
export interface Mark {
  /**
   * a, b, c, d, e, f of x′ = a x + c y + e, y′ = b x + d y + f, as in SVG.
   */
  matrix: number[];
  /**
   * A shape: commands of an SVG path.
   */
  path?: string;
  /**
   * A text that begins, is centered or ends at the origin, on its baseline.
   */
  text?: string;
  /**
   * A PNG file in base64, as large as `width` and `height`.
   */
  image?: string;
  /**
   * Of an image, or of a text as the page draws it.
   */
  width?: number;
  height?: number;
  /**
   * Of the letters.
   */
  size?: number;
  bold?: boolean;
  anchor?: "start" | "middle" | "end";
  fill?: string | null;
  stroke?: string | null;
  stroke_width?: number;
  dashes?: number[];
  opacity?: number;
  /**
   * Whether it is drawn as masked.
   */
  hatched?: boolean;
}
/**
 * A PDF file, in base64.
 */
export interface PaperAnswer {
  pdf: string;
}
/**
 * A text, and the layer whose states are shown, by its index; the last where none is named.
 */
export interface StatesRequest {
  model?: string;
  text: string;
  layer?: number | null;
}
/**
 * The states of a text among those of others, and what is near to each of its own.
 */
export interface StatesAnswer {
  layers: string[];
  layer: number;
  texts: string[];
  /**
   * Those of the text that was asked for first.
   */
  points: StatePoint[];
  /**
   * Of the variance, along each axis.
   *
   * @minItems 2
   * @maxItems 2
   */
  shares: [number, number];
  /**
   * For each token of the text, nearest first; none of the text itself.
   */
  nearest: Neighbor[][];
  /**
   * Why there is nothing to show, where there is nothing.
   */
  skipped: string;
}
/**
 * The state of a token, on the plane of the first two principal components.
 */
export interface StatePoint {
  token: string;
  /**
   * The index of its text; 0 is the text that was asked for.
   */
  text: number;
  position: number;
  x: number;
  y: number;
}
/**
 * A state that is near, and the cosine of the angle.
 */
export interface Neighbor {
  point: number;
  cosine: number;
}
/**
 * The validations of a run that were not known yet.
 */
export interface FramesAnswer {
  run: string;
  state: "finished" | "going" | "stopped" | "begun";
  steps: number | null;
  frames: Frame[];
  offset: number;
  file: string;
  /**
   * Whether they begin from the start: the file is another than before.
   */
  anew: boolean;
  more: boolean;
}
/**
 * One validation.
 */
export interface Frame {
  step: number;
  loss: number | null;
  bleu: number | null;
  samples: AlignedSample[];
}
/**
 * A sentence of the validation: what the run outputs by now, and its attention while forced to the reference.
 */
export interface AlignedSample {
  source: string;
  reference: string;
  hypothesis: string;
  source_tokens: string[];
  target_tokens: string[];
  /**
   * A row for each target token.
   */
  weights: number[][];
}
/**
 * The run that the studio trains itself, or has trained before.
 */
export interface TrainAnswer {
  run: string;
  trained: boolean;
}
/**
 * A question with what came of it: an answer, or a refusal.
 */
export interface RecordedAnswer {
  verb: string;
  body: {
    [k: string]: unknown;
  };
  answer?: unknown;
  refusal?: string | null;
}
/**
 * All that a single file can show.
 */
export interface Recording {
  overview: Overview;
  view: string;
  address: string;
  answers: RecordedAnswer[];
  /**
   * Questions of a reader that are not answered, because the file would be too large.
   */
  left_out?: number;
  /**
   * Of a site: for each view that is in it, the file.
   */
  pages?: {
    [k: string]: string;
  };
}
