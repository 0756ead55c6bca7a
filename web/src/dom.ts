// Elements without a framework. Whatever comes from outside becomes a text node: nothing here parses HTML.

export type Child = Node | string | number | null | undefined | false | readonly Child[];
type Listener = (event: any) => void;
export type Properties = Record<
  string,
  string | number | boolean | null | undefined | Listener | Record<string, string>
>;

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/**
 * Make an HTML element: `h("button", { class: "quiet", onclick: go }, "Go")`. `style` takes an object of properties.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties?: Properties | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return furnish(document.createElement(tag), properties, children);
}

/** Make an SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  properties?: Properties | null,
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return furnish(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], properties, children);
}

/** Make a MathML element: `m("msub", null, m("mi", null, "α"), m("mi", null, "ij"))`. */
export function m(tag: string, properties?: Properties | null, ...children: Child[]): Element {
  return furnish(document.createElementNS(MATH, tag), properties, children);
}

/** Put new children in place of the old ones. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Draw later, once, however often it is asked for before then. */
export function soon(draw: () => void): () => void {
  let request = 0;
  return () => {
    cancelAnimationFrame(request);
    request = requestAnimationFrame(draw);
  };
}

let last = 0;

/** A name that no other element has, for `id` and what points to it. */
export function unique(stem: string): string {
  return `${stem}-${++last}`;
}

function furnish<E extends Element>(element: E, properties: Properties | null | undefined, children: Child[]): E {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (typeof value === "object") {
      // The content security policy forbids style attributes, not this.
      for (const [key, one] of Object.entries(value)) (element as unknown as HTMLElement).style.setProperty(key, one);
    } else if (name === "value" && "value" in element) (element as unknown as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child as readonly Child[]);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** Make letters visible that a screen hides or that turn the writing around: control and direction marks. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (letter) => {
      const code = letter.charCodeAt(0);
      return code < 32 ? String.fromCharCode(0x2400 + code) : `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
    },
  );
}
