// How wide letters are, to lay out labels before they are drawn.

let pen: CanvasRenderingContext2D | null = null;
const known = new Map<string, number>();

/** The width of a text in the page's own font, in pixels. */
export function textWidth(text: string, size = 13, weight = 400): number {
  const name = `${size} ${weight} ${text}`,
    before = known.get(name);
  if (before !== undefined) return before;
  pen ??= document.createElement("canvas").getContext("2d")!;
  pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily || "sans-serif"}`;
  const width = pen.measureText(text).width;
  if (known.size > 20_000) known.clear();
  known.set(name, width);
  return width;
}

/** Cut a label that is wider than fits, with an ellipsis. */
export function clip(text: string, width: number, size = 13): string {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  let low = 1,
    high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${letters.slice(0, middle).join("")}…`, size) <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}
