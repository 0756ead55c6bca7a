// Labelled controls that all views share.

import { fill, h, unique, type Child, type Properties } from "./dom.ts";

export interface Choice {
  value: string;
  text: string;
  title?: string;
  /** True where it cannot be taken: a single file has no answer to it. */
  disabled?: boolean;
}

/** A select with its label. */
export function select(
  label: string,
  choices: Choice[],
  value: string,
  onchange: (value: string) => void,
  { quiet = false } = {},
): HTMLElement {
  const id = unique("select");
  const control = h(
    "select",
    { id, onchange: () => onchange(control.value) },
    choices.map((one) =>
      h(
        "option",
        { value: one.value, title: one.title, selected: one.value === value, disabled: one.disabled },
        one.text,
      ),
    ),
  );
  return h(
    "div",
    { class: "field" },
    h("label", { for: id, class: quiet ? "hidden-caption" : null }, label),
    control,
  );
}

/** A few choices side by side, one of them taken: radio buttons in a row. */
export function segmented(
  label: string,
  choices: Choice[],
  value: string,
  onchange: (value: string) => void,
  { quiet = false } = {},
): HTMLElement {
  const name = unique("choice");
  return h(
    "fieldset",
    { class: "field segmented" },
    h("legend", { class: quiet ? "hidden-caption" : null }, label),
    h(
      "div",
      { class: "segments" },
      choices.map((one) =>
        h(
          "label",
          { title: one.title },
          h("input", {
            type: "radio",
            name,
            value: one.value,
            checked: one.value === value,
            disabled: one.disabled,
            onchange: () => onchange(one.value),
          }),
          h("span", null, one.text),
        ),
      ),
    ),
  );
}

export interface Slider {
  min: number;
  max: number;
  step?: number;
  value: number;
  show?: (value: number) => string;
  quiet?: boolean;
}

/** A slider with its label and, beside it, what it stands at. */
export function slider(
  label: string,
  { min, max, step = 1, value, show = String, quiet }: Slider,
  oninput: (value: number) => void,
): HTMLElement {
  const id = unique("slider"),
    output = h("output", { for: id }, show(value));
  const control = h("input", {
    id,
    type: "range",
    min,
    max,
    step,
    "aria-valuetext": show(value),
    oninput: () => {
      output.textContent = show(Number(control.value));
      control.setAttribute("aria-valuetext", show(Number(control.value)));
      oninput(Number(control.value));
    },
  });
  control.value = String(value);
  return h(
    "div",
    { class: "field slider" },
    h("label", { for: id, class: quiet ? "hidden-caption" : null }, label),
    control,
    output,
  );
}

/** Move a slider from outside, without telling it to whom it tells. */
export function setSlider(field: HTMLElement, value: number, text: string): void {
  const control = field.querySelector("input")!;
  control.value = String(value);
  control.setAttribute("aria-valuetext", text);
  field.querySelector("output")!.textContent = text;
}

/** A box to tick. */
export function checkbox(label: Child, checked: boolean, onchange: (checked: boolean) => void): HTMLElement {
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
export function panel(title: Child, ...children: Child[]): HTMLElement {
  const id = unique("panel");
  return h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

export interface Popover {
  /** The button with what it opens. */
  element: HTMLElement;
  button: HTMLButtonElement;
  body: HTMLElement;
  close(): void;
}

/** A button that opens a small window below it; `content` is made each time it opens. */
export function popover(
  label: Child,
  content: () => Child,
  properties: Properties & { class?: string } = {},
): Popover {
  const id = unique("popover"),
    body = h("div", { id, popover: "auto", class: "popover" });
  const button = h(
    "button",
    {
      type: "button",
      popovertarget: id,
      "aria-expanded": "false",
      ...properties,
      class: `drop ${properties.class ?? "button"}`,
    },
    label,
  );
  body.addEventListener("beforetoggle", (event) => {
    if ((event as ToggleEvent).newState === "open") fill(body, content());
  });
  body.addEventListener("toggle", (event) => {
    const open = (event as ToggleEvent).newState === "open";
    button.setAttribute("aria-expanded", String(open));
    body.classList.toggle("placed", open);
    if (open) place(body, button);
  });
  return {
    element: h("span", { class: "drop-box" }, button, body),
    button,
    body,
    close: () => body.matches(":popover-open") && body.hidePopover(),
  };
}

/** Put a window under its button, within the page. */
function place(body: HTMLElement, button: HTMLElement): void {
  const box = button.getBoundingClientRect(),
    margin = 8;
  const left = Math.min(Math.max(margin, box.left), Math.max(margin, innerWidth - body.offsetWidth - margin));
  const below = box.bottom + 6,
    above = box.top - 6 - body.offsetHeight;
  body.style.left = `${left}px`;
  body.style.top = `${below + body.offsetHeight + margin > innerHeight && above >= margin ? above : below}px`;
  body.style.maxHeight = `${Math.max(160, innerHeight - below - margin)}px`;
}

export const FOCUSABLE = "button, select, input, textarea, summary, a[href], [tabindex='0']";

/** Draw anew, and give the focus back to the control at the same position. */
export function keepingFocus(element: HTMLElement, draw: () => void): void {
  const before = [...element.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement!);
  draw();
  if (before >= 0) [...element.querySelectorAll<HTMLElement>(FOCUSABLE)][before]?.focus({ preventScroll: true });
}
