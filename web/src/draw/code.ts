// Code to read and copy.

import { h } from "../dom.ts";

/** Show Python with a button that copies it. */
export function code(text: string, label = "Python"): HTMLElement {
  const says = h("span", { role: "status", class: "dim small" });
  const button = h("button", { type: "button", class: "button small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      says.textContent = "Copied.";
    } catch {
      getSelection()?.selectAllChildren(block);
      says.textContent = "Selected: copy it with the keyboard.";
    }
  } }, "Copy");
  const block = h("code", null, text);
  return h("div", { class: "code" }, h("div", { class: "row code-bar" }, h("span", { class: "dim small" }, label), says, button),
    h("pre", { tabindex: 0, role: "region", "aria-label": label }, block));
}
