// A single file holds questions with their answers.

import type { Overview, RecordedAnswer, Recording as Recorded, Verbs } from "./api.ts";
import type { Host, Outcome, Question, Verb } from "./host.ts";
import type { About } from "./share/files.ts";

/** Where the answers go in the empty file that the server gives, and its title. */
const SLOT = '<script type="application/json" id="recorded">null</script>',
  TITLE = "<title>regard studio</title>";

/** What goes into one file: questions, each once, with what came of them. */
export class Recording {
  private entries = new Map<string, string>();
  /** Letters of all answers. */
  size = 0;

  get count(): number {
    return this.entries.size;
  }

  has(question: Question): boolean {
    return this.entries.has(nameOf(question));
  }

  put(question: Question, outcome: Outcome): void {
    const { verb, body, as = body } = question;
    const text = "answer" in outcome ? `"answer":${outcome.answer}` : `"refusal":${JSON.stringify(outcome.refusal)}`;
    const entry = `{"verb":${JSON.stringify(verb)},"body":${JSON.stringify(as)},${text}}`;
    this.entries.set(nameOf(question), entry);
    this.size += entry.length;
  }

  /** Put the answers into the empty file `page`, and into its head what a link to it shows. */
  page(page: string, { overview, view, address, left_out }: Omit<Recorded, "answers">, about: About): string {
    const [before, after, ...more] = page.replace(TITLE, () => head(about)).split(SLOT);
    if (after === undefined || more.length)
      throw new Error(
        "The studio gave no file to put the answers into. Is it of the same version as this page? Reload it.",
      );
    const begun = JSON.stringify({ overview: { ...overview, preparing: null }, view, address, left_out });
    const data = `${begun.slice(0, -1)},"answers":[${[...this.entries.values()].join(",")}]}`;
    // In JSON, `<` occurs within strings alone: so written, no sentence can end the element it stands in.
    return [before, SLOT.replace("null<", () => `${data.replaceAll("<", "\\u003c")}<`), after].join("");
  }
}

/** Title, description and preview picture, as pages have them that are linked to. */
function head({ title, description, picture }: About): string {
  const safe = (text: string) =>
    text.replace(/[&<>"]/g, (letter) => `&${{ "&": "amp", "<": "lt", ">": "gt", '"': "quot" }[letter]};`);
  const meta = (name: string, content: string) => `<meta property="og:${name}" content="${safe(content)}">`;
  return (
    `<title>${safe(title)}</title><meta name="description" content="${safe(description)}">` +
    meta("type", "article") +
    meta("title", title) +
    meta("description", description) +
    (picture ? meta("image", picture) : "")
  );
}

/** Read what a file holds: null where the page is no file. What cannot be read is an Error. */
export function readRecorded(text: string | null | undefined): Recorded | null {
  const result = text ? (JSON.parse(text) as Recorded | null) : null;
  if (result && !(Array.isArray(result.answers) && Array.isArray(result.overview.models)))
    throw new Error("no recording");
  return result;
}

/** What a question that a file has no answer to is about. */
const ABOUT: Record<string, string> = {
  "translate/search": "the translation of this sentence",
  "translate/attention": "the attention of these words",
  "translate/checks": "what weights were checked against here",
  "steps/read": "this text",
  "steps/apart": "this attention step, taken apart",
  "passage/attention": "what pronouns attend to",
  "whatif/begin": "this sentence",
  "whatif/change": "what comes of this change",
  "whatif/another": "other weights for this step",
  "whatif/label": "what comes of this change",
  "mechanisms/attend": "the result of these numbers with this mechanism",
  "mechanisms/waves": "this table of sinusoids",
  "mechanisms/lookup": "this look-up",
  "compare/attention": "these two on this sentence",
  "compare/lengths": "the quality of these by length",
  "compare/runs": "which runs there were",
  "compare/curve": "the figures of this run",
  "ask/picture": "this picture",
  "ask/answer": "the answer to this",
  "ask/checks": "what weights were checked against here",
  "classify/read": "the label of this text",
  "classify/maps": "the maps of this text",
};

/** The sentence for what a file has no answer to. */
export function notRecorded(verb: string): string {
  return `This file does not hold ${ABOUT[verb] ?? "an answer to that"}; \`regard studio\` computes it.`;
}

/** Answers from a file. */
export class FrozenHost implements Host {
  readonly live = false;
  overview: Overview;
  private answers = new Map<string, RecordedAnswer>();

  constructor(recorded: Recorded) {
    this.overview = recorded.overview;
    for (const one of recorded.answers) this.answers.set(nameOf(one), one);
  }

  async ask<V extends Verb>(verb: V, body: Verbs[V]["request"]): Promise<Verbs[V]["answer"]> {
    const result = this.answers.get(nameOf({ verb, body }));
    if (!result) throw new Error(notRecorded(verb));
    if (typeof result.refusal === "string") throw new Error(result.refusal);
    return result.answer as Verbs[V]["answer"];
  }

  knows(verb: Verb, body: object): boolean {
    return this.answers.has(nameOf({ verb, body }));
  }

  requests<V extends Verb>(verb: V): Verbs[V]["request"][] {
    return [...this.answers.values()]
      .filter((one) => one.verb === verb && typeof one.refusal !== "string")
      .map((one) => one.body as Verbs[V]["request"]);
  }
}

/** A question in one word: the same for the same, in whatever order its parts stand. */
export function nameOf({ verb, body, as = body }: { verb: string; body: object; as?: object }): string {
  const sorted = (_: string, value: unknown) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return `${verb} ${JSON.stringify(as, sorted)}`;
}
