// The shell: menu, theme, the address; it mounts one view at a time.

import { fill, h } from "./dom.ts";
import { LiveHost, type Host, type Overview } from "./host.ts";
import { preparing } from "./preparing.ts";
import { FrozenHost, Recording, type Recorded } from "./recording.ts";
import { saveButton } from "./saving.ts";
import { State } from "./state.ts";
import type { Shown, View } from "./view.ts";
import { VIEWS } from "./views.ts";

const root = document.getElementById("studio")!;
const recorded = readRecorded();
if (recorded && !location.hash) history.replaceState(null, "", `#${recorded.address}`);
const host: Host = recorded ? new FrozenHost(recorded) : new LiveHost();
const state = new State();
const views = recorded ? VIEWS.filter((view) => view.id === recorded.view) : VIEWS;
const main = h("main", { id: "main", tabindex: -1 });
const menu = h("nav", { "aria-label": "Views" });
let shown: Shown | void, last = "";

restoreTheme();
fill(root,
  h("a", { class: "skip", href: "#main", onclick: (event: Event) => (event.preventDefault(), main.focus()) }, "Skip to the view"),
  h("header", { class: "top" },
    h("a", { class: "mark", href: recorded ? `#${recorded.address}` : "#" + views[0]!.id },
      h("span", { class: "eye", "aria-hidden": "true" }), "regard ", h("span", { class: "dim" }, recorded ? "recording" : "studio")),
    menu, themeButton()),
  main);
state.on(() => mount());
void begin();

async function begin(): Promise<void> {
  if (host.live) {
    try {
      host.overview = await host.ask<Overview>("overview", {}, { keep: false });
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
      host.overview = await host.ask<Overview>("overview", {}, { keep: false });
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
  const view = views.find((one) => one.id === state.view) ?? views[0]!;
  state.view = view.id;
  document.title = `${view.title} · ${recorded ? "saved from " : ""}regard studio`;
  fill(menu, views.map((one) => h("a", { href: state.link(one.id, { model: state.get("model") || null, text: state.get("text") || null }), "aria-current": one === view ? "page" : null }, one.title)));
  const body = h("div", { class: `view ${view.id}` });
  if (host instanceof LiveHost && view.id !== last) host.recording = new Recording();
  last = view.id;
  const head = h("div", { class: "head" }, h("div", null, h("h1", null, view.title), h("p", { class: "lede" }, view.lede)));
  fill(main, head, body);
  if (missing(view)) fill(body, absent(view));
  else shown = view.render(body, host, state);
  if (shown && host instanceof LiveHost) head.append(saveButton(host, view.id, shown));
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

function readRecorded(): Recorded | null {
  const text = document.getElementById("recorded")?.textContent;
  return text ? (JSON.parse(text) as Recorded) : null;
}

function restoreTheme(): void {
  const chosen = remembered();
  if (chosen) document.documentElement.dataset.theme = chosen;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => mount());
}

function themeButton(): HTMLElement {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", { type: "button", class: "theme", onclick: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("regard-theme", document.documentElement.dataset.theme!);
    } catch {}
    name();
    mount();
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
