// The other texts that a single file has answers to.

import { h, visible } from "./dom.ts";
import type { Host } from "./host.ts";
import type { State, Values } from "./state.ts";

/** Links to all texts that were asked with `verb`, where there are several; what was asked goes into the address. */
export function alsoHere(host: Host, state: State, verb: string): HTMLElement | null {
  const asked = host.asked(verb) as ({ text: string } & Values)[];
  const bodies = [...new Map(asked.map((one) => [[one.text, one.model, one.other].join("\n"), one])).values()];
  if (bodies.length < 2) return null;
  const models = new Set(bodies.map((one) => one.model)).size > 1;
  return h("div", { class: "chips", role: "group", "aria-label": "Also in this file" }, bodies.map((one) =>
    h("a", { class: "chip", href: state.link(state.view, plain(one)) }, shortened(visible(one.text)), models && one.model ? h("span", { class: "dim" }, ` · ${one.model}`) : null)));
}

/** What of a question stands in an address: its words and numbers. */
function plain(body: Values): Values {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value === "number" || (typeof value === "string" && value)));
}

/** The first words of a long text. */
export function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 44).replace(/\W+\w*$/, "")} …` : text;
}
