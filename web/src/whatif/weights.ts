// Weights as bars that can be pulled: with the pointer, or with the keys. What is pinned stays; the rest shares.

import { h, visible } from "../dom.ts";
import { shade } from "../draw/colors.ts";
import { number } from "../tensor.ts";

export interface Position {
  token: string;
  /** What is read there instead. */
  instead: string | null;
  weight: number;
  /** The model's own, undisturbed. */
  own: number;
  pinned: boolean;
  hidden: boolean;
}

export interface Pulling {
  /** `share` from 0 to 1. */
  pull(position: number, share: number): void;
  /** Neither pinned nor masked any more. */
  release(position: number): void;
  mask(position: number): void;
  select(position: number): void;
}

export interface Bars {
  element: HTMLElement;
  /** Show other numbers, without losing the focus or what is being dragged. */
  show(positions: Position[], selected: number): void;
}

/** Draw a row for each token. One of them is in the order of the Tab key; up and down choose another. */
export function pullableBars(count: number, label: string, pulling: Pulling): Bars {
  const rows = Array.from({ length: count }, (_, position) =>
    bar(position, pulling, (other) => rows[other]?.track.focus()),
  );
  return {
    element: h(
      "ol",
      { class: "pulls", "aria-label": label },
      rows.map((row) => row.element),
    ),
    show: (positions, selected) =>
      rows.forEach((row, position) => row.show(positions[position]!, position === selected)),
  };
}

function bar(position: number, pulling: Pulling, focus: (position: number) => void) {
  const name = h("span", { class: "name" }),
    value = h("span", { class: "number" });
  const filled = h("span", { class: "bar" }),
    own = h("span", { class: "tick" }),
    thumb = h("span", { class: "thumb" });
  let now = 0,
    hidden = false;
  const set = (share: number) => {
    if (!hidden) pulling.pull(position, Math.min(Math.max(share, 0), 1));
  };
  const at = (event: PointerEvent) => {
    const box = track.getBoundingClientRect();
    return Math.round(((event.clientX - box.left) / box.width) * 200) / 200;
  };
  const track = h(
    "div",
    {
      class: "track",
      role: "slider",
      tabindex: -1,
      "aria-valuemin": 0,
      "aria-valuemax": 1,
      onfocus: () => pulling.select(position),
      onpointerdown: (event: PointerEvent) => {
        if (event.button !== 0) return;
        track.setPointerCapture(event.pointerId);
        track.focus();
        set(at(event));
        event.preventDefault();
      },
      onpointermove: (event: PointerEvent) => track.hasPointerCapture(event.pointerId) && set(at(event)),
      onkeydown: (event: KeyboardEvent) => {
        const steps: Record<string, number> = { ArrowRight: 0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1 };
        if (event.key in steps) set(Math.round((now + steps[event.key]!) * 100) / 100);
        else if (event.key === "ArrowUp") focus(position - 1);
        else if (event.key === "ArrowDown") focus(position + 1);
        else if (event.key === "Home" || event.key === "0") set(0);
        else if (event.key === "End" || event.key === "1") set(1);
        else if (event.key === "Delete" || event.key === "Backspace") pulling.release(position);
        else if (event.key === "m" || event.key === "M") pulling.mask(position);
        else return;
        event.preventDefault();
      },
    },
    filled,
    own,
    thumb,
  );
  const element = h("li", { onclick: () => pulling.select(position) }, name, track, value);
  return {
    element,
    track,
    show(shown: Position, selected: boolean): void {
      now = shown.weight;
      hidden = shown.hidden;
      const text =
        shown.instead === null ? visible(shown.token) : `${visible(shown.token)} → ${visible(shown.instead)}`;
      element.className = [
        selected ? "selected" : "",
        shown.pinned ? "pinned" : "",
        shown.hidden ? "masked" : "",
        shown.instead === null ? "" : "swapped",
      ]
        .filter(Boolean)
        .join(" ");
      name.textContent = name.title = text;
      value.textContent = shown.hidden ? "masked" : number(shown.weight);
      filled.style.width = thumb.style.left = `${Math.min(100 * shown.weight, 100)}%`;
      filled.style.background = shade(0.3 + 0.6 * Math.min(shown.weight, 1));
      own.style.left = `${Math.min(100 * shown.own, 100)}%`;
      track.tabIndex = selected ? 0 : -1;
      track.setAttribute("aria-label", `Weight on ${text}`);
      track.setAttribute("aria-valuenow", String(Number(shown.weight.toFixed(4))));
      track.setAttribute(
        "aria-valuetext",
        shown.hidden
          ? "masked"
          : `${number(shown.weight)}${shown.pinned ? ", pinned" : ""}; the model's own ${number(shown.own)}`,
      );
      track.setAttribute("aria-disabled", String(shown.hidden));
    },
  };
}
