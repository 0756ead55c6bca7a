// Any picture of the view: copied, or saved as PNG, SVG, PDF, or as a GIF of its steps.

import { select } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { forgetTheme, isDark } from "../draw/colors.ts";
import type { Host } from "../host.ts";
import { stepsIn } from "../playing.ts";
import type { Shown } from "../view.ts";
import { gifOf, pngOf, svgText, type About } from "./files.ts";
import { draw, type Drawing } from "./marks.ts";

/** What counts as a picture: drawings, and what is made of HTML but is read as one. */
const PICTURES = ".picture-stage, .heads, .grid-scroll, .shaded, .bars, .passage, svg, canvas",
  LEAST = 60;

interface Picture {
  name: string;
  element: Element;
}

/** The pictures of a view, that of the view itself first, all of it last. */
export function picturesIn(main: HTMLElement, shown: Shown | null): Picture[] {
  const own = shown?.picture?.(),
    kept: Element[] = own ? [own.closest(".picture-stage") ?? own] : [];
  for (const one of main.querySelectorAll(PICTURES)) {
    const { width, height } = one.getBoundingClientRect();
    if (width >= LEAST && height >= LEAST / 2 && !kept.some((other) => other.contains(one))) kept.push(one);
  }
  const whole = main.querySelector(".card, .view") ?? main,
    names = new Map<string, number>();
  return [
    ...kept.map((element) => ({ name: nameOf(element), element })),
    { name: "The whole view", element: whole },
  ].map(({ name, element }) => {
    const count = (names.get(name) ?? 0) + 1;
    names.set(name, count);
    return { name: count > 1 ? `${name} (${count})` : name, element };
  });
}

function nameOf(element: Element): string {
  const labelled = element.closest("[aria-label]") ?? element.querySelector("[aria-label]"),
    heading = element.closest(".panel, section, figure")?.querySelector("h2, h3");
  const label =
    labelled && labelled.tagName !== "SECTION" ? labelled.getAttribute("aria-label")! : heading?.textContent;
  const short = (label || "Picture").split(/[;.:] |, :/)[0]!;
  return short.length > 46 ? `${short.slice(0, 45)}…` : short;
}

/** Let the browser keep a file; give its bytes. */
export function give(content: Blob, name: string): number {
  const address = URL.createObjectURL(content),
    link = h("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return content.size;
}

/** Nothing moves and nothing fades while a picture is taken. */
function still<T>(take: () => T): T {
  const root = document.documentElement;
  root.dataset.still = "";
  try {
    return take();
  } finally {
    delete root.dataset.still;
  }
}

/** The part of Share that is about pictures. */
export class PicturePanel {
  readonly element = h("div", { class: "pictures" });
  private status = h("p", { class: "small dim", role: "status" });
  private preview = h("div", { class: "share-preview" });
  private chosen = "";
  private shown: Shown | null = null;
  private view = "";

  constructor(
    private host: Host,
    private about: () => About,
  ) {}

  show(view: string, shown: Shown | null): void {
    [this.view, this.shown, this.chosen] = [view, shown, ""];
  }

  /** The pictures that there are now. */
  open(): void {
    const pictures = this.pictures();
    if (!pictures.some((one) => one.name === this.chosen)) this.chosen = pictures[0]!.name;
    const steps = stepsIn(this.main),
      button = (text: string, title: string, act: () => Promise<string>) =>
        h("button", { type: "button", class: "button small", title, onclick: () => void this.run(act) }, text);
    fill(this.status);
    fill(
      this.element,
      select(
        "Picture",
        pictures.map(({ name }) => ({ value: name, text: visible(name) })),
        this.chosen,
        (name) => {
          this.chosen = name;
          this.showPreview();
        },
      ),
      this.preview,
      h(
        "div",
        { class: "row" },
        button("Copy", "As PNG, to be pasted elsewhere", () => this.copy()),
        button("PNG", "Pixels, three for each of the page", () => this.png()),
        button("SVG", "Shapes and texts, in light colors", () => this.svg()),
        this.host.live ? button("PDF", "For a paper: light colors, fonts embedded", () => this.pdf()) : null,
        steps && steps.count > 1 ? button("GIF", "All steps, one after another", () => this.gif()) : null,
      ),
      this.host.live
        ? null
        : h("p", { class: "small dim" }, "A PDF is made by `regard studio`, not by a saved file."),
      this.status,
    );
    this.showPreview();
  }

  /** The view as a small PNG, for the card that shows a link to the file. */
  async card(): Promise<string | null> {
    const first = this.pictures()[0]!;
    try {
      const blob = await pngOf(this.light(first.name), this.about(), 640);
      return await new Promise((resolve) => {
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result));
        reader.readAsDataURL(blob);
      });
    } catch {
      return null;
    }
  }

  private get main(): HTMLElement {
    return document.getElementById("main")!;
  }

  private pictures(): Picture[] {
    return picturesIn(this.main, this.shown);
  }

  private drawn(name = this.chosen): Drawing {
    const pictures = this.pictures();
    return still(() => draw((pictures.find((one) => one.name === name) ?? pictures[0]!).element));
  }

  /** The picture in light colors, whatever the page has now. */
  private light(name = this.chosen): Drawing {
    if (!isDark()) return this.drawn(name);
    const root = document.documentElement,
      before = root.dataset.theme;
    const theme = (value: string | undefined) => {
      if (value) root.dataset.theme = value;
      else delete root.dataset.theme;
      forgetTheme();
      this.shown?.recolor?.();
    };
    return still(() => {
      theme("light");
      try {
        return this.drawn(name);
      } finally {
        root.dataset.still = "";
        theme(before);
      }
    });
  }

  private showPreview(): void {
    const svg = svgText(this.drawn(), this.about());
    fill(
      this.preview,
      h("img", {
        src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`,
        alt: `Preview: ${this.chosen}`,
      }),
    );
  }

  private async run(act: () => Promise<string>): Promise<void> {
    fill(this.status, "Making the picture…");
    try {
      fill(this.status, await act());
    } catch (error) {
      fill(this.status, (error as Error).message);
    }
  }

  private save(content: Blob, suffix: string): string {
    const name = `regard-${this.view}.${suffix}`;
    return `Saved ${name}: ${Math.ceil(give(content, name) / 1024).toLocaleString("en")} KB.`;
  }

  private async copy(): Promise<string> {
    const picture = pngOf(this.drawn(), this.about());
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    } catch {
      throw new Error("This browser does not let the page copy a picture. Save it as PNG.");
    }
    return "Copied.";
  }

  private async png(): Promise<string> {
    return this.save(await pngOf(this.drawn(), this.about()), "png");
  }

  private async svg(): Promise<string> {
    return this.save(new Blob([svgText(this.light(), this.about())], { type: "image/svg+xml" }), "svg");
  }

  private async pdf(): Promise<string> {
    const { width, height, marks } = this.light();
    const { pdf } = await this.host.ask("share/pdf", { title: this.about().title, width, height, marks });
    const bytes = Uint8Array.from(atob(pdf), (letter) => letter.charCodeAt(0));
    return this.save(new Blob([bytes], { type: "application/pdf" }), "pdf");
  }

  private async gif(): Promise<string> {
    const steps = stepsIn(this.main)!,
      drawings: Drawing[] = [];
    steps.each(() => drawings.push(this.drawn()));
    return this.save(await gifOf(drawings, steps.pace, this.about()), "gif");
  }
}
