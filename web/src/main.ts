// The shell: menu, theme, the address; it mounts one view at a time.

import { fill, h } from "./dom.ts";
import { LiveHost, type Host, type Overview } from "./host.ts";
import { preparing } from "./preparing.ts";
import { FrozenHost, readRecorded, type Recorded } from "./recording.ts";
import { Saving } from "./saving.ts";
import { State } from "./state.ts";
import type { Shown, View } from "./view.ts";
import { VIEWS } from "./views.ts";

const root = document.getElementById("studio")!;
let damaged = false;
const recorded = held();
if (recorded && !location.hash) history.replaceState(null, "", `#${recorded.address}`);
const host: Host = recorded ? new FrozenHost(recorded) : new LiveHost();
const saving = host instanceof LiveHost ? new Saving(host) : null;
const state = new State();
const views = recorded ? VIEWS.filter((view) => view.id === recorded.view) : VIEWS;
const main = h("main", { id: "main", tabindex: -1 });
const menu = h("nav", { "aria-label": "Views" });
let shown: Shown | void;

restoreTheme();
fill(root,
  h("a", { class: "skip", href: "#main", onclick: (event: Event) => (event.preventDefault(), main.focus()) }, "Skip to the view"),
  h("header", { class: "top" },
    h("a", { class: "mark", href: recorded ? `#${recorded.address}` : "#" + views[0]!.id },
      h("span", { class: "eye", "aria-hidden": "true" }), "regard ", h("span", { class: "dim" }, recorded ? "recording" : "studio")),
    menu, themeButton()),
  main);
if (damaged) fill(main, h("p", { class: "alert", role: "alert" }, "What this file holds cannot be read: it is damaged, or was not written to its end. Save it once more with `regard studio`."));
else {
  state.on(() => mount());
  void begin();
}

async function begin(): Promise<void> {
  if (host.live) {
    try {
      host.overview = await host.ask<Overview>("overview");
    } catch (error) {
      fill(main, h("p", { class: "alert", role: "alert" }, (error as Error).message));
      return;
    }
    if (host.overview.preparing) void wait();
  }
  mount();
}

/** Ask again while a model is being trained, and draw the view once it is there. */
async function wait(): Promise<void> {
  while (host.overview.preparing) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    try {
      host.overview = await host.ask<Overview>("overview");
    } catch (error) {
      host.overview.preparing!.error = (error as Error).message;
    }
    const waiting = main.querySelector<HTMLElement>("[data-preparing]");
    if (host.overview.preparing) {
      if (waiting) fill(waiting, preparing(host.overview.preparing));
      if (host.overview.preparing.error) return;
    } else if (waiting) mount();
  }
}

function mount(): void {
  shown?.end();
  shown = undefined;
  const view = views.find((one) => one.id === state.view) ?? first();
  state.view = view.id;
  document.title = `${view.title} · ${recorded ? "saved from " : ""}regard studio`;
  fill(menu, views.map((one) => link(one, one === view)));
  const body = h("div", { class: `view ${view.id}` });
  const head = h("div", { class: "head" }, h("div", null, h("h1", null, view.title), h("p", { class: "lede" }, view.lede)));
  fill(main, head, body);
  if (missing(view)) fill(body, absent(view));
  else shown = view.render(body, host, state);
  saving?.show(view.id, shown ?? null);
  if (shown && saving) head.append(saving.element);
}

/** Where a visitor begins: Translate, unless only models of other kinds are open. */
function first(): View {
  const { models } = host.overview;
  const home = { translator: "translate", classifier: "classify", vision: "ask", language: "steps" };
  const kind = models.some((one) => one.kind === "translator") ? "translator" : (models[0]?.kind ?? "translator");
  return views.find((one) => one.id === home[kind]) ?? views[0]!;
}

/** A way to another view, which takes model and text with it as they are when it is gone. */
function link(view: View, here: boolean): HTMLElement {
  const address = () => state.link(view.id, { model: state.get("model") || null, text: state.get("text") || null });
  const renew = () => way.setAttribute("href", address());
  const way = h("a", { href: address(), "aria-current": here ? "page" : null, onpointerenter: renew, onfocus: renew, onclick: renew }, view.title);
  return way;
}

function missing(view: View): boolean {
  return view.needs !== undefined && !host.overview.models.some((model) => view.needs!.includes(model.kind));
}

function absent(view: View): HTMLElement {
  const busy = host.overview.preparing;
  if (busy && view.needs![0] === "translator") return h("div", { class: "panel", "data-preparing": true }, preparing(busy));
  const commands: Record<string, string> = {
    translator: "regard studio runs/demo/bahdanau", classifier: "regard studio runs/sentiment",
    vision: "regard studio runs/digits", language: "regard studio runs/language",
  };
  return h("div", { class: "panel" }, h("p", null, `This view needs a ${view.needs!.join(" or ")} model, and none was opened. Name one:`),
    h("pre", null, commands[view.needs![0]!]!));
}

/** What the page holds, where it is a single file; nothing of a damaged one. */
function held(): Recorded | null {
  try {
    const result = readRecorded(document.getElementById("recorded")?.textContent);
    if (!result || VIEWS.some((view) => view.id === result.view)) return result;
  } catch {}
  damaged = true;
  return { overview: { version: "", models: [], preparing: null }, view: VIEWS[0]!.id, address: "", answers: [] };
}

function restoreTheme(): void {
  const chosen = remembered();
  if (chosen) document.documentElement.dataset.theme = chosen;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown?.recolor?.());
}

function themeButton(): HTMLElement {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", { type: "button", class: "theme", onclick: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("regard-theme", document.documentElement.dataset.theme!);
    } catch {}
    name();
    shown?.recolor?.();
  } });
  const name = () => {
    button.setAttribute("aria-label", dark() ? "Use light colors" : "Use dark colors");
    button.textContent = dark() ? "☀" : "☾";
  };
  name();
  return button;
}

function remembered(): string | null {
  try {
    return localStorage.getItem("regard-theme");
  } catch {
    return null; // a page opened from a file may have no storage
  }
}
