// "Save as one file": the view as it stands, with the answers it was given, in a file that opens without a server.

import { fill, h } from "./dom.ts";
import type { LiveHost, Question } from "./host.ts";
import type { Shown } from "./view.ts";

/** Questions that are asked for the file's sake, and the letters of answers up to which they are. */
const MOST_QUESTIONS = 400, ROOM = 10 * 2 ** 20;

/** Draw the button of a view. `shown` says what a reader of the file would ask. */
export function saveButton(host: LiveHost, view: string, shown: Shown | void): HTMLElement {
  const status = h("p", { class: "small dim", role: "status" }), bar = h("progress", { "aria-label": "Asking for the file", hidden: true });
  const recording = host.recording, here = () => host.recording === recording;
  let enough = false;
  const stop = h("button", { type: "button", class: "button small", hidden: true, onclick: () => (enough = true) }, "Save what there is");
  const button = h("button", { type: "button", class: "button small", onclick: async () => {
    button.disabled = true;
    enough = false;
    try {
      await host.idle();
      const left = await gather((await shown?.likely?.()) ?? []);
      await host.idle();
      if (here()) await write(left);
    } catch (error) {
      fill(status, (error as Error).message);
    } finally {
      bar.hidden = stop.hidden = true;
      button.disabled = false;
    }
  } }, "Save as one file");

  /** Ask what a reader may ask; give how many questions there was no room for. */
  const gather = async (questions: Question[]): Promise<number> => {
    const open = questions.filter((one) => !recording.has(one.verb, one.body));
    bar.hidden = stop.hidden = !open.length;
    bar.max = open.length;
    for (const [done, one] of open.entries()) {
      if (!here() || enough || done >= MOST_QUESTIONS || recording.size > ROOM) return open.length - done;
      if (recording.has(one.verb, one.body)) continue;
      bar.value = done;
      fill(status, `Asking what a reader of the file may choose: ${done + 1} of ${open.length}.`);
      await host.ask(one.verb, one.body).catch(() => null); // a refusal is kept too
    }
    return 0;
  };

  const write = async (left: number): Promise<void> => {
    const response = await fetch("single-file.txt").catch(() => null);
    if (!response?.ok) throw new Error("The studio does not answer. Is `regard studio` still running?");
    const page = recording.page(await response.text(), { overview: host.overview, view, address: location.hash.slice(1) });
    const blob = new Blob([page], { type: "text/html" }), name = `regard-${view}.html`, address = URL.createObjectURL(blob);
    const link = h("a", { href: address, download: name, hidden: true });
    status.before(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    fill(status, `Saved ${name}: ${(blob.size / 2 ** 20).toFixed(1)} MB with ${recording.count} answers.`,
      left ? ` ${left} further choices are not in it.` : "",
      recording.dropped ? ` There was no room for ${recording.dropped} answers of before.` : "");
  };
  return h("div", { class: "saving" }, button, bar, stop, status);
}
