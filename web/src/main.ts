// The shell: menu, theme, the address; it mounts one view at a time.

import type { ModelInfo, Recording } from "./api.ts";
import { popover } from "./controls.ts";
import { fill, h } from "./dom.ts";
import { forgetTheme, isDark } from "./draw/colors.ts";
import { LiveHost, type Host } from "./host.ts";
import { Learning } from "./learn.ts";
import { preparing } from "./preparing.ts";
import { FrozenHost, readRecorded } from "./recording.ts";
import { Saving } from "./saving.ts";
import { State } from "./state.ts";
import { Tour } from "./tour.ts";
import type { Shown, View } from "./view.ts";
import { VIEWS } from "./views.ts";

/** Milliseconds between two questions whether a model is there by now. */
const OFTEN = 500,
  SELDOM = 2500;
const NOTHING = { version: "", models: [], waiting: [], preparing: null, training: false };

const root = document.getElementById("studio")!;
let damaged = false;
const recorded = held();
const host: Host = recorded ? new FrozenHost(recorded) : new LiveHost();
const saving = new Saving(host);
const state = new State(recorded?.pages, recorded?.address);
const views = recorded ? VIEWS.filter((view) => view.id === recorded.view) : VIEWS;
const main = h("main", { id: "main", tabindex: -1 });
const menu = h("nav", { "aria-label": "Views", id: "views" });
const opener = h("button", {
  type: "button",
  class: "button menu-button",
  "aria-expanded": "false",
  "aria-controls": "views",
  onclick: () => openMenu(!menu.classList.contains("open")),
});
let shown: Shown | void;
let tour: Tour | null = null;
const tourLink = h("span", { class: "drop-box" });
/** Whether models that are being trained are asked about. */
let asking = false;
/** The map that forms while a first model is trained. */
let learning: Learning | null = null;

restoreTheme();
fill(
  root,
  h(
    "a",
    { class: "skip", href: "#main", onclick: (event: Event) => (event.preventDefault(), main.focus()) },
    "Skip to the view",
  ),
  h(
    "header",
    { class: "top" },
    h(
      "a",
      { class: "mark", href: recorded ? `#${recorded.address}` : `#${views[0]!.id}` },
      mark(),
      h("span", null, "regard"),
    ),
    opener,
    menu,
    h("div", { class: "top-buttons" }, tourLink, share(saving), themeButton()),
  ),
  main,
);
if (damaged)
  fill(
    main,
    h(
      "p",
      { class: "alert", role: "alert" },
      "What this file holds cannot be read: it is damaged, or was not written to its end. Save it once more with " +
        "`regard studio`.",
    ),
  );
else {
  state.on(() => mount());
  void begin();
}

async function begin(): Promise<void> {
  if (host.live) {
    try {
      host.overview = await host.ask("overview", {});
    } catch (error) {
      fill(main, h("p", { class: "alert", role: "alert" }, (error as Error).message));
      return;
    }
    addEventListener("training", () => void wait());
    void wait();
  }
  mount();
}

/** Ask again while a model is being trained, and draw the view once it is there; any other is offered. */
async function wait(): Promise<void> {
  if (asking) return;
  const names = () => host.overview.models.map((one) => one.name);
  const busy = ({ preparing, waiting, training } = host.overview) => preparing || waiting.length || training;
  for (asking = true; busy();) {
    await new Promise((resolve) => setTimeout(resolve, host.overview.preparing ? OFTEN : SELDOM));
    const before = names();
    try {
      host.overview = await host.ask("overview", {});
    } catch (error) {
      if (host.overview.preparing) host.overview.preparing.error = (error as Error).message;
    }
    const waiting = main.querySelector<HTMLElement>("[data-preparing]"),
      absent = main.querySelector("[data-absent]");
    const fresh = host.overview.models.find((one) => !before.includes(one.name));
    if (fresh && (waiting || absent)) mount();
    else if (fresh) offer(fresh);
    else if (waiting && host.overview.preparing) fill(waiting, preparing(host.overview.preparing));
    if (host.overview.preparing?.error) break;
  }
  asking = false;
}

/** A model that training has made: it is opened only when the visitor wants. */
function offer(model: ModelInfo): void {
  const view = views.find((one) => one.kinds.includes(model.kind));
  if (!view) return;
  const close = () => box.remove();
  const box = h(
    "p",
    { class: "offer", role: "status" },
    `${model.name} is trained. `,
    h("a", { href: state.link(view.id, { model: model.name }), onclick: close }, `Open it in ${view.title}`),
    h("button", { type: "button", class: "button small", "aria-label": "Close", onclick: close }, "×"),
  );
  root.append(box);
}

function mount(): void {
  shown?.end();
  shown = undefined;
  learning?.end();
  learning = null;
  const view = views.find((one) => one.id === state.view) ?? first();
  state.view = view.id;
  document.title = `${view.title} · ${recorded ? "saved from " : ""}regard studio`;
  fill(
    menu,
    VIEWS.filter((one) => views.includes(one) || recorded?.pages?.[one.id]).map((one) => link(one, view)),
  );
  opener.textContent = view.title;
  openMenu(false);
  const body = h("div", { class: `view ${view.id}` });
  fill(main, h("h1", { class: "hidden-caption" }, view.title), body);
  if (missing(view)) fill(body, absent(view));
  else shown = view.render(body, host, state);
  saving.show(view.id, shown ?? null);
  void guide();
}

/** Show the step of the tour that the address names. */
async function guide(): Promise<void> {
  if (!tour || (!tourLink.firstChild && host.live)) fill(tourLink, (tour = new Tour(host, state)).link());
  const element = state.get("tour") ? await tour.show() : null;
  document.body.classList.toggle("touring", element !== null);
  root.querySelector(".guide")?.remove();
  if (element) root.append(element);
}

/** Where a visitor begins: Translate, unless only models of other kinds are open. */
function first(): View {
  const { models } = host.overview;
  const fitting = views.find((one) => one.kinds[0] === models[0]?.kind && one.kinds.length === 1);
  return models.some((one) => one.kind === "translator") ? views[0]! : (fitting ?? views[0]!);
}

/** The model that a view shows: the one that is named, or the first of its kinds. */
function modelOf(view: View): ModelInfo | undefined {
  const fitting = host.overview.models.filter((one) => view.kinds.includes(one.kind));
  return fitting.find((one) => one.name === state.get("model")) ?? fitting[0];
}

/** A way to another view, which takes along what is selected, as it is when it is gone; a text only to its own task. */
function link(view: View, here: View): HTMLElement {
  const address = () => {
    const model = modelOf(here),
      carried = model && view.kinds.includes(model.kind);
    return state.link(
      view.id,
      carried
        ? { ...state.selection(), model: state.get("model") || (modelOf(view) === model ? null : model.name) }
        : {},
    );
  };
  const renew = () => way.setAttribute("href", address());
  const way = h(
    "a",
    {
      href: address(),
      "aria-current": view === here ? "page" : null,
      onpointerenter: renew,
      onfocus: renew,
      onclick: renew,
    },
    view.title,
  );
  return way;
}

function openMenu(open: boolean): void {
  menu.classList.toggle("open", open);
  opener.setAttribute("aria-expanded", String(open));
}

function missing(view: View): boolean {
  return !view.always && view.kinds.length > 0 && !modelOf(view);
}

const COMMANDS: Record<Exclude<ModelInfo["kind"], "aligner">, { needs: string; command: string; time: string }> = {
  translator: {
    needs: "a translator",
    command: "regard train --data builtin:es-en --out runs/es-en\nregard studio runs/es-en",
    time: "three minutes on one core",
  },
  language: {
    needs: "a language model",
    command:
      "regard train --task language --preset transformer --data builtin:stories --out runs/stories\nregard " +
      "studio runs/stories",
    time: "some minutes on one core",
  },
  classifier: {
    needs: "a classifier of texts",
    command: "regard train --task classify --data builtin:opinions --out runs/opinions\nregard studio runs/opinions",
    time: "a minute on one core",
  },
  vision: {
    needs: "a model that reads images",
    command:
      "regard train --task questions --data builtin:simple-shapes --out runs/questions\nregard studio runs/questions",
    time: "more than an hour on one core, minutes on a GPU",
  },
};

function absent(view: View): HTMLElement {
  const { preparing: busy, waiting } = host.overview,
    { needs, command, time } = COMMANDS[view.kinds[0] as keyof typeof COMMANDS];
  if (busy && view.kinds.includes("translator")) {
    learning = new Learning(host, state, "bahdanau");
    return h(
      "div",
      { class: "stack" },
      h("div", { class: "panel", "data-preparing": true }, preparing(busy)),
      learning.element,
    );
  }
  return h(
    "div",
    { class: "panel absent", "data-absent": true },
    h("p", null, `This view shows ${needs}, and none is open.`),
    waiting.length
      ? h(
          "p",
          { role: "status" },
          `${waiting.join(", ")} ${waiting.length > 1 ? "are" : "is"} still being trained: the view opens by ` +
            `itself once the first validation has left a model. `,
          h("a", { href: state.link("learn") }, "Watch it learn"),
        )
      : [h("p", null, `Train one on built-in data, ${time}, and open it:`), h("pre", null, command)],
  );
}

/** What the page holds, where it is a single file; nothing of a damaged one. */
function held(): Recording | null {
  try {
    const result = readRecorded(document.getElementById("recorded")?.textContent);
    if (!result || VIEWS.some((view) => view.id === result.view)) return result;
  } catch {}
  damaged = true;
  return { overview: NOTHING, view: VIEWS[0]!.id, address: "", answers: [] };
}

function share(saving: Saving): HTMLElement {
  return popover("Share", () => saving.open(), { class: "button" }).element;
}

/** The mark: an eye whose iris is a small map of attention. */
function mark(): HTMLElement {
  return h("span", { class: "eye", "aria-hidden": "true" });
}

function restoreTheme(): void {
  const chosen = remembered();
  if (chosen) document.documentElement.dataset.theme = chosen;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forgetTheme();
    shown?.recolor?.();
  });
}

function themeButton(): HTMLElement {
  const button = h("button", {
    type: "button",
    class: "button theme",
    onclick: () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      forgetTheme();
      try {
        localStorage.setItem("regard-theme", document.documentElement.dataset.theme!);
      } catch {}
      name();
      shown?.recolor?.();
    },
  });
  const name = () => {
    button.setAttribute("aria-label", isDark() ? "Use light colors" : "Use dark colors");
    button.textContent = isDark() ? "☀" : "☾";
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
