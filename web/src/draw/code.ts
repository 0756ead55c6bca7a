// Code to read and copy.

import { h } from "../dom.ts";

/** Show Python with a button that copies it. */
export function code(text: string, label = "Python"): HTMLElement {
  const readout = h("span", { role: "status", class: "dim small" });
  const button = h(
    "button",
    {
      type: "button",
      class: "button small",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          readout.textContent = "Copied.";
        } catch {
          getSelection()?.selectAllChildren(block);
          readout.textContent = "Selected: copy it with the keyboard.";
        }
      },
    },
    "Copy",
  );
  const block = h("code", null, text);
  return h(
    "div",
    { class: "code" },
    h("div", { class: "row code-bar" }, h("span", { class: "dim small" }, label), readout, button),
    h("pre", { tabindex: 0, role: "region", "aria-label": label }, block),
  );
}
