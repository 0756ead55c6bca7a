// Where answers come from: the studio's server, or what was recorded in a single file.

export interface ModelInfo {
  name: string;
  kind: "translator" | "classifier" | "language" | "vision";
  about: string;
  examples: { text: string; about: string; reference: string }[];
}

export interface Preparing {
  stage: string;
  step: number;
  steps: number;
  seconds: number;
  loss: number | null;
  error: string | null;
}

export interface Overview {
  version: string;
  models: ModelInfo[];
  preparing: Preparing | null;
}

export interface Host {
  /** False in a single file: only what was recorded can be asked. */
  readonly live: boolean;
  /** What the server has loaded; the shell sees to it before a view is drawn. */
  overview: Overview;
  /** Ask `verb`, such as "translate/search"; a refusal is an Error whose message is meant for the visitor. */
  ask<T>(verb: string, body?: object): Promise<T>;
  /** Whether `ask` has an answer to exactly this. */
  knows(verb: string, body?: object): boolean;
}

const NOTHING: Overview = { version: "", models: [], preparing: null };

export class LiveHost implements Host {
  readonly live = true;
  overview = NOTHING;

  async ask<T>(verb: string, body: object = {}): Promise<T> {
    let response: Response;
    try {
      response = await fetch(`api/${verb}`, {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
      });
    } catch {
      throw new Error("The studio does not answer. Is `regard studio` still running?");
    }
    const answer = await response.json().catch(() => null);
    if (!response.ok) throw new Error(answer?.error ?? `The studio answered ${response.status} to ${verb}.`);
    return answer as T;
  }

  knows(): boolean {
    return true;
  }
}

/** What `studio/page.py` writes into a single file. */
export interface Recorded {
  overview: Overview;
  view: string;
  address: string;
  answers: { verb: string; body: object; answer: unknown }[];
}

export class FrozenHost implements Host {
  readonly live = false;
  overview: Overview;
  private answers = new Map<string, unknown>();

  constructor(recorded: Recorded) {
    this.overview = recorded.overview;
    for (const one of recorded.answers) this.answers.set(key(one.verb, one.body), one.answer);
  }

  async ask<T>(verb: string, body: object = {}): Promise<T> {
    const found = this.answers.get(key(verb, body));
    if (found === undefined) throw new Error("This page is a recording: it has no model to ask that. `regard studio` has.");
    return found as T;
  }

  knows(verb: string, body: object = {}): boolean {
    return this.answers.has(key(verb, body));
  }
}

function key(verb: string, body: object): string {
  const sorted = (_: string, value: unknown) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return `${verb} ${JSON.stringify(body, sorted)}`;
}
