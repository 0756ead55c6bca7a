// "Save as one file": the view as it stands, with what a reader may ask of it, in a file that opens without a server.

import { fill, h } from "./dom.ts";
import { LiveHost, type Host, type Question, type Verb } from "./host.ts";
import { Recording } from "./recording.ts";
import type { About } from "./share/files.ts";
import { give, PicturePanel } from "./share/pictures.ts";
import type { Shown } from "./view.ts";

/** The button, one for all views, with its progress; the shell says which view is shown. */
export class Saving {
  private link = h(
    "button",
    {
      type: "button",
      class: "button small",
      onclick: () =>
        navigator.clipboard.writeText(location.href).then(
          () => fill(this.status, "The address of what is shown is copied."),
          () => fill(this.status, location.href),
        ),
    },
    "Copy link",
  );
  private button = h(
    "button",
    { type: "button", class: "button small", onclick: () => void this.save() },
    "Save as one file",
  );
  private stop = h(
    "button",
    { type: "button", class: "button small", hidden: true, onclick: () => (this.enough = true) },
    "Save what there is",
  );
  private bar = h("progress", { "aria-label": "Asking for the file", hidden: true });
  private count = h("span", { class: "small dim", "aria-hidden": "true" });
  private status = h("p", { class: "small dim", role: "status" });
  readonly element: HTMLElement;
  private pictures: PicturePanel;
  private view = "";
  private shown: Shown | null = null;
  private busy = false;
  private enough = false;

  constructor(private host: Host) {
    this.pictures = new PicturePanel(host, () => this.about());
    this.element = h(
      "div",
      { class: "saving" },
      this.pictures.element,
      host.live
        ? h("div", { class: "saving" }, this.link, this.button, this.bar, this.count, this.stop, this.status)
        : null,
    );
  }

  /** The menu is opened: the pictures that there are now. */
  open(): HTMLElement {
    this.pictures.open();
    return this.element;
  }

  /** What a file of the view is called, and what it is of. */
  private about(): About {
    const shown = document.querySelector<HTMLElement>("main .result")?.textContent?.trim(),
      field = document.querySelector<HTMLInputElement | HTMLTextAreaElement>("main textarea, main input:not([type])"),
      text = field?.value.trim() ?? "";
    const title = [document.title.split(" · ")[0], short(text), shown && short(shown)].filter(Boolean);
    return {
      title: `${title[0]}${title.length > 1 ? ": " : ""}${title.slice(1).join(" → ")}`,
      description:
        `${title[0]} in regard studio ${this.host.overview.version}` +
        `${text ? `, of “${short(text)}”` : ""}: what the model attends to, with its numbers.`,
    };
  }

  /** Another view is shown, or the same one anew: what was being saved is given up. */
  show(view: string, shown: Shown | null): void {
    [this.view, this.shown] = [view, shown];
    this.pictures.show(view, shown);
    fill(this.status, this.busy ? "Not saved: the view was left before its file was complete." : "");
  }

  /** Save what is shown now; what is chosen meanwhile is not in the file. */
  private async save(): Promise<void> {
    if (this.busy || !this.shown || !(this.host instanceof LiveHost)) return; // one file at a time
    const { shown, view, host } = this,
      left = () => this.shown !== shown;
    this.work(true);
    try {
      if (host.busy) fill(this.status, "Waiting for an answer that is under way.");
      await host.idle();
      if (left()) return;
      fill(this.status, "Asking for what is shown, and for what a reader of the file may choose.");
      const address = location.hash.slice(1),
        overview = host.overview,
        wanted = await shown!.wanted();
      if (left()) return;
      if (!wanted.shown.length) return void fill(this.status, "Nothing is shown that could be saved.");
      const record = new Recording();
      for (const one of wanted.shown) {
        if (left()) return;
        if (!record.has(one)) record.put(one, await host.send(one.verb, one.body));
      }
      const keep = await host.ask("keep/likely", {
        shown: wanted.shown.map(({ verb, body, as = body }) => ({ verb, body: as as {} })),
      });
      const missing =
        keep.left_out +
        (await this.gather(host, record, wanted.likely ?? named(keep.likely, wanted.shown), keep.max_bytes, left));
      if (left()) return;
      const about = { ...this.about(), picture: await this.pictures.card() };
      const response = await fetch("single-file.txt").catch(() => null),
        page = response?.ok ? await response.text() : null;
      if (left()) return;
      if (page === null) throw new Error("The studio does not answer. Is `regard studio` still running?");
      const kept = { ...overview, models: keep.models, waiting: [] };
      const file = record.page(page, { overview: kept, view, address, left_out: missing }, about);
      const size = give(new Blob([file], { type: "text/html" }), `regard-${view}.html`);
      fill(
        this.status,
        `Saved regard-${view}.html: ${(size / 2 ** 20).toFixed(1)} MB with ${record.count} answers.`,
        missing ? ` ${missing} further choices are not in it.` : "",
      );
    } catch (error) {
      if (!left()) fill(this.status, (error as Error).message);
    } finally {
      this.work(false);
    }
  }

  /** Ask what a reader may ask, up to so many letters; give how many questions there was no space for. */
  private async gather(
    host: LiveHost,
    record: Recording,
    likely: Question[],
    most: number,
    left: () => boolean,
  ): Promise<number> {
    const questions = likely.filter((one) => !record.has(one));
    this.bar.hidden = this.stop.hidden = !questions.length;
    this.bar.max = questions.length;
    let missing = 0;
    for (const [done, one] of questions.entries()) {
      if (left() || this.enough || record.size > most) return missing + questions.length - done;
      this.bar.value = done;
      fill(this.count, `${done + 1} of ${questions.length}`);
      const outcome = await host.send(one.verb, one.body).catch(() => null);
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
}

/** A text as a title has it. */
function short(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** Questions as they are asked: where a body names the visitor's own picture by its tag, with the picture itself. */
function named(likely: { verb: string; body: object }[], shown: Question[]): Question[] {
  const own = shown.find((one) => one.as),
    tag = (own?.as as { file?: string } | undefined)?.file;
  return likely.map(({ verb, body }) =>
    tag !== undefined && (body as { file?: string }).file === tag
      ? { verb: verb as Verb, body: { ...body, file: (own!.body as { file: string }).file }, as: body }
      : { verb: verb as Verb, body },
  );
}
