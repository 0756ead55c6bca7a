// A picture of the page, taken apart: shapes, texts and images with their colors as they are drawn, from which SVG, PNG,
// GIF and PDF are made. HTML, SVG and canvas alike.

import type { Mark } from "../api.ts";

export interface Drawing {
  width: number;
  height: number;
  marks: Mark[];
  background: string;
}

const LEFT_OUT = "script, style, select, input, textarea, progress, .hidden-caption, .zoom";

/** What `root` shows now. */
export function draw(root: Element): Drawing {
  const box = root.getBoundingClientRect(),
    marks: Mark[] = [];
  const at = (x: number, y: number) => [1, 0, 0, 1, x - box.left, y - box.top];

  const element = (one: Element, opacity: number): void => {
    const style = getComputedStyle(one);
    opacity *= Number(style.opacity);
    if (style.display === "none" || opacity < 0.01 || one.matches(LEFT_OUT)) return;
    if (one instanceof SVGGraphicsElement && !(one instanceof SVGSVGElement)) return shape(one, style, opacity);
    if (one instanceof SVGElement && !(one instanceof SVGSVGElement)) return;
    if (style.visibility === "visible" && one !== root) boxed(one, style, opacity);
    if (one instanceof HTMLCanvasElement) return image(one, opacity);
    for (const child of one.childNodes) {
      if (child instanceof Element) element(child, opacity);
      else if (child instanceof Text && style.visibility === "visible") words(child, style, opacity);
    }
  };

  /** The ground and the border of an element. */
  const boxed = (one: Element, style: CSSStyleDeclaration, opacity: number): void => {
    const { left, top, width, height } = one.getBoundingClientRect(),
      fill = color(style.backgroundColor),
      line = parseFloat(style.borderTopWidth),
      stroke = line && style.borderTopStyle !== "none" ? color(style.borderTopColor) : null;
    if (!width || !height || (!fill && !stroke)) return;
    const under = stroke && parseFloat(style.borderBottomWidth) !== line;
    const path = under
      ? `M0 ${line / 2}H${width}`
      : rounded(line / 2, line / 2, width - line, height - line, parseFloat(style.borderTopLeftRadius) || 0);
    marks.push({ matrix: at(left, top), path, ...fillOf(fill, opacity), ...strokeOf(stroke, line) });
  };

  const image = (one: HTMLCanvasElement, opacity: number): void => {
    const { left, top, width, height } = one.getBoundingClientRect();
    if (!width || !height || !one.width || !one.height) return;
    const data = one.toDataURL("image/png").split(",")[1]!;
    marks.push({ matrix: at(left, top), image: data, width, height, opacity });
  };

  /** A text, line by line. */
  const words = (node: Text, style: CSSStyleDeclaration, opacity: number): void => {
    if (!node.data.trim()) return;
    const range = document.createRange(),
      lines: { text: string; left: number; right: number; top: number; height: number }[] = [];
    for (const found of node.data.matchAll(/\S+/g)) {
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      const [first] = range.getClientRects(),
        last = lines.at(-1);
      if (!first || first.width === 0) continue;
      if (last && Math.abs(last.top - first.top) < 2)
        [last.text, last.right] = [`${last.text} ${found[0]}`, first.right];
      else lines.push({ text: found[0], left: first.left, right: first.right, top: first.top, height: first.height });
    }
    const size = parseFloat(style.fontSize);
    for (const { text, left, right, top, height } of lines)
      marks.push({
        matrix: at(left, top + height / 2 + size * 0.35),
        text: style.textTransform === "uppercase" ? text.toUpperCase() : text,
        width: right - left,
        size,
        bold: Number(style.fontWeight) > 500,
        ...fillOf(color(style.color), opacity),
      });
  };

  const shape = (one: SVGGraphicsElement, style: CSSStyleDeclaration, opacity: number): void => {
    if (one instanceof SVGDefsElement) return;
    const tag = one.tagName,
      local = one.getScreenCTM();
    if (tag === "g" || tag === "a") return [...one.children].forEach((child) => element(child, opacity));
    if (!local || style.visibility !== "visible") return;
    const { a, b, c, d, e, f } = local,
      matrix = [a, b, c, d, e - box.left, f - box.top];
    if (one instanceof SVGTextContentElement) {
      const size = parseFloat(style.fontSize),
        x = Number(one.getAttribute("x")),
        y = Number(one.getAttribute("y")) + (/central|middle/.test(style.dominantBaseline) ? size * 0.35 : 0);
      marks.push({
        matrix: [a, b, c, d, matrix[4]! + a * x + c * y, matrix[5]! + b * x + d * y],
        text: one.textContent ?? "",
        width: one.getComputedTextLength(),
        size,
        bold: Number(style.fontWeight) > 500,
        anchor: style.textAnchor as Mark["anchor"],
        ...fillOf(color(style.fill), opacity),
      });
      return;
    }
    const path = pathOf(one),
      hatched = style.fill.startsWith("url("),
      line = style.stroke === "none" ? null : color(style.stroke);
    const fill = hatched || style.fill === "none" ? null : color(style.fill);
    if (!path || (!fill && !line && !hatched)) return;
    const drawn = fill ? Number(style.fillOpacity) : line ? Number(style.strokeOpacity) : 1;
    marks.push({
      matrix,
      path,
      hatched,
      ...fillOf(fill, opacity * drawn),
      ...strokeOf(line, parseFloat(style.strokeWidth)),
      opacity: opacity * drawn,
      // A line that is measured as of length one draws itself; it is no dashed line.
      dashes: one.hasAttribute("pathLength") ? [] : (style.strokeDasharray.match(/[\d.]+/g) ?? []).map(Number),
    });
  };

  element(root, 1);
  return {
    width: Math.ceil(Math.max(box.width, root.scrollWidth)),
    height: Math.ceil(Math.max(box.height, root.scrollHeight)),
    marks,
    background: ground(root),
  };
}

/** The color that is seen behind an element. */
function ground(one: Element | null): string {
  for (; one; one = one.parentElement) {
    const found = color(getComputedStyle(one).backgroundColor);
    if (found?.opacity === 1) return found.hex;
  }
  return "#ffffff";
}

function pathOf(one: SVGElement): string {
  const [x, y, width, height, r, cx, cy, x1, y1, x2, y2] = "x y width height rx cx cy x1 y1 x2 y2"
    .split(" ")
    .map((name) => Number(one.getAttribute(name)) || 0) as [number, ...number[]] & number[];
  switch (one.tagName) {
    case "rect":
      return width! && height! ? rounded(x, y!, width!, height!, r!) : "";
    case "circle": {
      const radius = Number(one.getAttribute("r"));
      return `M${cx! - radius} ${cy}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
    }
    case "line":
      return `M${x1} ${y1}L${x2} ${y2}`;
    case "path":
      return one.getAttribute("d") ?? "";
    default:
      return "";
  }
}

function rounded(x: number, y: number, width: number, height: number, radius: number): string {
  const r = Math.max(0, Math.min(radius, width / 2, height / 2));
  return r < 0.2
    ? `M${x} ${y}h${width}v${height}h${-width}z`
    : `M${x + r} ${y}h${width - 2 * r}q${r} 0 ${r} ${r}v${height - 2 * r}q0 ${r} ${-r} ${r}h${2 * r - width}` +
        `q${-r} 0 ${-r} ${-r}v${2 * r - height}q0 ${-r} ${r} ${-r}z`;
}

interface Color {
  hex: string;
  opacity: number;
}

const colors = new Map<string, Color | null>();
let pen: CanvasRenderingContext2D | null = null;

/** Any color of CSS as #rrggbb; null where it is clear. */
function color(text: string): Color | null {
  const known = colors.get(text);
  if (known !== undefined) return known;
  pen ??= new OffscreenCanvas(1, 1).getContext("2d", {
    willReadFrequently: true,
  }) as unknown as CanvasRenderingContext2D;
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = text;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  const hex = `#${[red, green, blue].map((part) => part!.toString(16).padStart(2, "0")).join("")}`;
  const result = alpha! < 3 ? null : { hex, opacity: alpha! / 255 };
  colors.set(text, result);
  return result;
}

function fillOf(fill: Color | null, opacity: number): Pick<Mark, "fill" | "opacity"> {
  return { fill: fill?.hex ?? null, opacity: opacity * (fill?.opacity ?? 1) };
}

function strokeOf(stroke: Color | null, width: number): Pick<Mark, "stroke" | "stroke_width"> {
  return stroke ? { stroke: stroke.hex, stroke_width: width } : {};
}
