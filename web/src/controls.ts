// Labelled controls that all views share.

import { h, unique, type Child } from "./dom.ts";

export interface Choice {
  value: string;
  text: string;
  title?: string;
  /** True where it cannot be taken: a single file has no answer to it. */
  disabled?: boolean;
}

/** A select with its label. */
export function select(label: string, choices: Choice[], value: string, onchange: (value: string) => void): HTMLElement {
  const id = unique("select");
  const control = h("select", { id, onchange: () => onchange(control.value) },
    choices.map((one) => h("option", { value: one.value, title: one.title, selected: one.value === value, disabled: one.disabled }, one.text)));
  return h("div", { class: "field" }, h("label", { for: id }, label), control);
}

/** A few choices side by side, one of them taken: radio buttons in a row. */
export function segmented(label: string, choices: Choice[], value: string, onchange: (value: string) => void): HTMLElement {
  const name = unique("choice");
  return h("fieldset", { class: "field segmented" }, h("legend", null, label),
    h("div", { class: "segments" }, choices.map((one) => h("label", { title: one.title },
      h("input", { type: "radio", name, value: one.value, checked: one.value === value, disabled: one.disabled, onchange: () => onchange(one.value) }),
      h("span", null, one.text)))));
}

/** A slider with its label and, beside it, what it stands at. */
export function slider(
  label: string, { min, max, step = 1, value, show = String }: { min: number; max: number; step?: number; value: number; show?: (value: number) => string },
  oninput: (value: number) => void,
): HTMLElement {
  const id = unique("slider");
  const output = h("output", { for: id }, show(value));
  const control = h("input", {
    id, type: "range", min, max, step, "aria-valuetext": show(value),
    oninput: () => {
      output.textContent = show(Number(control.value));
      control.setAttribute("aria-valuetext", show(Number(control.value)));
      oninput(Number(control.value));
    },
  });
  control.value = String(value);
  return h("div", { class: "field slider" }, h("label", { for: id }, label), control, output);
}

/** A box to tick. */
export function checkbox(label: string, checked: boolean, onchange: (checked: boolean) => void): HTMLElement {
  const control = h("input", { type: "checkbox", checked, onchange: () => onchange(control.checked) });
  return h("label", { class: "check" }, control, h("span", null, label));
}

/** A paragraph that screen readers speak at once; an empty one is hidden. */
export function alertBox(): { element: HTMLElement; show(message: string): void } {
  const element = h("p", { class: "alert", role: "alert", hidden: true });
  return {
    element,
    show(message: string): void {
      element.textContent = message;
      element.hidden = message === "";
    },
  };
}

/** A part of a page: a heading with what belongs under it. */
export function panel(title: string, ...children: Child[]): HTMLElement {
  const id = unique("panel");
  return h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), ...children);
}
