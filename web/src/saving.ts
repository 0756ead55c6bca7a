// "Save as one file": the view as it stands, with what a reader may ask of it, in a file that opens without a server.

import { fill, h } from "./dom.ts";
import type { LiveHost, Overview, Question } from "./host.ts";
import { nameOf, Recording } from "./recording.ts";
import type { Shown } from "./view.ts";

/** Questions beyond what is shown, and the letters of answers up to which they are asked. */
const MOST_QUESTIONS = 400, ROOM = 10 * 2 ** 20;

/** The button, one for all views, with its progress; the shell says which view is shown. */
export class Saving {
  private button = h("button", { type: "button", class: "button small", onclick: () => void this.save() }, "Save as one file");
  private stop = h("button", { type: "button", class: "button small", hidden: true, onclick: () => (this.enough = true) }, "Save what there is");
  private bar = h("progress", { "aria-label": "Asking for the file", hidden: true });
  private count = h("span", { class: "small dim", "aria-hidden": "true" });
  private status = h("p", { class: "small dim", role: "status" });
  readonly element = h("div", { class: "saving" }, this.button, this.bar, this.count, this.stop, this.status);
  private view = "";
  private shown: Shown | null = null;
  private busy = false;
  private enough = false;

  constructor(private host: LiveHost) {}

  /** Another view is shown, or the same one anew: what was being saved is given up. */
  show(view: string, shown: Shown | null): void {
    [this.view, this.shown] = [view, shown];
    fill(this.status, this.busy ? "Not saved: the view was left before its file was complete." : "");
  }

  /** Save what is shown now; what is chosen meanwhile is not in the file. */
  private async save(): Promise<void> {
    if (this.busy || !this.shown) return; // one file at a time
    const { shown, view, host } = this, left = () => this.shown !== shown;
    this.work(true);
    try {
      if (host.busy) fill(this.status, "Waiting for an answer that is under way.");
      await host.idle();
      if (left()) return;
      fill(this.status, "Asking for what is shown, and for what a reader of the file may choose.");
      const address = location.hash.slice(1), overview = host.overview, wanted = await shown!.wanted();
      if (left()) return;
      const record = new Recording(), missing = await this.gather(record, wanted.shown, wanted.likely, left);
      if (left()) return;
      const response = await fetch("single-file.txt").catch(() => null), page = response?.ok ? await response.text() : null;
      if (left()) return;
      if (page === null) throw new Error("The studio does not answer. Is `regard studio` still running?");
      const file = record.page(page, { overview: named(overview, [...wanted.shown, ...wanted.likely]), view, address });
      const size = this.give(file, `regard-${view}.html`);
      fill(this.status, `Saved regard-${view}.html: ${(size / 2 ** 20).toFixed(1)} MB with ${record.count} answers.`, missing ? ` ${missing} further choices are not in it.` : "");
    } catch (error) {
      if (!left()) fill(this.status, (error as Error).message);
    } finally {
      this.work(false);
    }
  }

  /** Ask all that is shown, and what a reader may ask as far as there is room; give how many questions there was none for. */
  private async gather(record: Recording, shown: Question[], likely: Question[], left: () => boolean): Promise<number> {
    for (const one of shown) if (!left() && !record.has(one)) record.put(one, await this.host.send(one.verb, one.body));
    const questions = [...new Map(likely.map((one) => [nameOf(one), one])).values()].filter((one) => !record.has(one));
    this.bar.hidden = this.stop.hidden = !questions.length;
    this.bar.max = questions.length;
    let missing = 0;
    for (const [done, one] of questions.entries()) {
      if (left() || this.enough || done >= MOST_QUESTIONS || record.size > ROOM) return missing + questions.length - done;
      this.bar.value = done;
      fill(this.count, `${done + 1} of ${questions.length}`);
      const outcome = await this.host.send(one.verb, one.body).catch(() => null);
      if (outcome) record.put(one, outcome);
      else missing++;
    }
    return missing;
  }

  /** The button keeps the focus while it works: it is only told to be off. */
  private work(busy: boolean): void {
    this.busy = busy;
    this.enough = false;
    if (this.stop.contains(document.activeElement)) this.button.focus();
    this.bar.hidden = this.stop.hidden = true;
    fill(this.count);
    if (busy) this.button.setAttribute("aria-disabled", "true");
    else this.button.removeAttribute("aria-disabled");
  }

  /** Let the browser keep the file; give its bytes. */
  private give(page: string, name: string): number {
    const blob = new Blob([page], { type: "text/html" }), address = URL.createObjectURL(blob);
    const link = h("a", { href: address, download: name, hidden: true });
    this.status.before(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    return blob.size;
  }
}

/** The models that questions name; of those whose curve alone is there, name and kind. No name is the first translator. */
function named(overview: Overview, questions: Question[]): Overview {
  const bodies = questions.map((one) => one.body as { model?: string; other?: string; models?: string[]; run?: string });
  const names = new Set(bodies.flatMap(({ model, other, models = [] }) => [model, other, ...models])), runs = new Set(bodies.map((one) => one.run));
  const first = overview.models.find((one) => one.kind === "translator");
  return { ...overview, models: overview.models.flatMap((one) =>
    names.has(one.name) || (names.has("") && one === first) ? [one] : runs.has(one.name) ? [{ ...one, about: "", examples: [] }] : []) };
}
