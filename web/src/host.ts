// Where answers come from: the studio's server here, or a single file that holds some (recording.ts).

import type { Overview, Verbs } from "./api.ts";
/** What can be asked. */
export type Verb = keyof Verbs;

/** Something that can be asked: a verb, such as "translate/search", and what goes with it. */
export interface Question {
  verb: Verb;
  body: object;
  /** What a file has instead of the body, where that is large. */
  as?: object;
}

/** What came of a question: the answer in JSON, or the sentence with which it was refused. */
export type Outcome = { answer: string } | { refusal: string };

export interface Host {
  /** False in a single file: only what was recorded can be asked. */
  readonly live: boolean;
  /** What the server has loaded; the shell sees to it before a view is drawn. */
  overview: Overview;
  /** Ask `verb`, such as "translate/search"; a refusal is an Error whose message is meant for the visitor. */
  ask<V extends Verb>(verb: V, body: Verbs[V]["request"]): Promise<Verbs[V]["answer"]>;
  /** Whether `ask` has an answer to exactly this. */
  knows(verb: Verb, body: object): boolean;
  /** What a single file has of a verb: the bodies of what was asked, in that order; of the server, nothing. */
  requests<V extends Verb>(verb: V): Verbs[V]["request"][];
}

const NOTHING: Overview = { version: "", models: [], waiting: [], preparing: null, training: false };

export class LiveHost implements Host {
  readonly live = true;
  overview = NOTHING;
  private pending = new Set<Promise<unknown>>();

  ask<V extends Verb>(verb: V, body: Verbs[V]["request"]): Promise<Verbs[V]["answer"]> {
    const answer = this.send(verb, body).then((outcome) => {
      if ("refusal" in outcome) throw new Error(outcome.refusal);
      return JSON.parse(outcome.answer) as Verbs[V]["answer"];
    });
    const settled: Promise<unknown> = answer
      .then(
        () => {},
        () => {},
      )
      .then((): boolean => this.pending.delete(settled));
    this.pending.add(settled);
    return answer;
  }

  /** Ask for a file's sake: the answer as it came. */
  async send(verb: string, body: object): Promise<Outcome> {
    let response: Response, text: string;
    try {
      response = await fetch(`api/${verb}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      text = await response.text();
    } catch {
      throw new Error("The studio does not answer. Is `regard studio` still running?");
    }
    if (response.ok) return { answer: text };
    const refusal = errorOf(text) ?? `The studio answered ${response.status} to ${verb}.`;
    if (response.status !== 422) throw new Error(refusal);
    return { refusal };
  }

  /** Whether something is being asked. */
  get busy(): boolean {
    return this.pending.size > 0;
  }

  /** Resolves once nothing is being asked. */
  async idle(): Promise<void> {
    do {
      await Promise.all([...this.pending]);
      await new Promise((resolve) => setTimeout(resolve, 50)); // what is requested because of an answer
    } while (this.busy);
  }

  knows(): boolean {
    return true;
  }

  requests(): [] {
    return [];
  }
}

function errorOf(text: string): string | null {
  try {
    return (JSON.parse(text) as { error?: string } | null)?.error ?? null;
  } catch {
    return null;
  }
}
