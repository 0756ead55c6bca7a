// A matrix of weights: rows attend to columns. Pointing or the arrow keys give the exact number under the picture.

import { h, s, unique } from "../dom.ts";
import { at, number, rowOf, type Matrix } from "../tensor.ts";
import { shade, shadeBytes, signedShade, signedShadeBytes } from "./colors.ts";

export interface MatrixPicture {
  matrix: Matrix;
  rows: string[];
  columns: string[];
  /** What rows and columns are, such as "translation" and "source". */
  rowTitle: string;
  columnTitle: string;
  /** What the picture is, for those who do not see it. */
  label: string;
  /** True where a row could not attend; drawn as masked, never as zero. */
  masked?: (row: number, column: number) => boolean;
  /** The number at the end of the color scale; 1 unless the view says otherwise in words. */
  maximum?: number;
  /** Numbers may be negative: a scale from −maximum to maximum. */
  signed?: boolean;
  /** A column whose label stands apart, such as `</s>`. */
  apart?: number[];
  selectedRow?: number | null;
  /** The cursor came to a cell, by pointer or keys. */
  onpoint?: (row: number, column: number) => void;
  /** A cell was clicked, or Enter pressed. */
  onpick?: (row: number, column: number) => void;
  /** The sentence under the picture; by default row, column, number and the row's sum. `again` asks for it once more. */
  describe?: (row: number, column: number, again: () => void) => string;
  /** Sums at the right of each row; by default shown. */
  sums?: boolean;
  /** Numbers came rounded to steps of 1/255; tables say so. */
  rounded?: boolean;
  /** Of rounded numbers, a row as it is, where it is known by now. */
  exact?: (row: number) => number[] | null;
}

const MOST_DRAWN = 64;
const FONT = 13;

/** Draw it. The figure holds picture, sentence and, folded, all numbers as a table. */
export function matrix(picture: MatrixPicture): HTMLElement {
  const { rows, columns } = picture.matrix;
  const readout = h("output", { class: "readout", "aria-live": "polite" }, "Point at a cell, or use the arrow keys.");
  const cursor = { row: Math.max(picture.selectedRow ?? 0, 0), column: 0 };
  const large = rows > MOST_DRAWN || columns > MOST_DRAWN;
  const drawn = large ? onCanvas(picture) : inSvg(picture);
  const listed = large ? rowTable(picture) : null;
  const point = (row: number, column: number) => {
    if (row < 0 || column < 0 || row >= rows || column >= columns) return;
    cursor.row = row;
    cursor.column = column;
    drawn.mark(row, column);
    readout.textContent = picture.describe ? picture.describe(row, column, () => point(row, column)) : describe(picture, row, column);
    listed?.show(row);
    picture.onpoint?.(row, column);
  };
  const id = unique("matrix");
  const stage = h("div", {
    class: "stage", tabindex: 0, role: "application", id,
    "aria-roledescription": "matrix", "aria-label": `${picture.label}. ${rows} rows, ${columns} columns; arrow keys read cells.`,
    onfocus: () => point(cursor.row, cursor.column),
    onkeydown: (event: KeyboardEvent) => {
      if (event.target !== stage) return; // the buttons that zoom have keys of their own
      const moves: Record<string, [number, number]> = {
        ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
        Home: [0, -cursor.column], End: [0, columns - 1 - cursor.column], PageUp: [-10, 0], PageDown: [10, 0],
      };
      const move = moves[event.key];
      if (move) {
        event.preventDefault();
        const clip = (value: number, most: number) => Math.min(Math.max(value, 0), most - 1);
        point(clip(cursor.row + move[0], rows), clip(cursor.column + move[1], columns));
        drawn.reveal(cursor.row, cursor.column, stage);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        picture.onpick?.(cursor.row, cursor.column);
      }
    },
    onpointermove: (event: PointerEvent) => {
      const position = drawn.find(event);
      if (position && !drawn.busy()) point(...position);
    },
    onclick: (event: PointerEvent) => {
      const position = drawn.find(event);
      if (!position || drawn.busy()) return;
      point(...position);
      picture.onpick?.(...position);
    },
  }, drawn.element);
  if (!rows || !columns) return h("figure", { class: "matrix" }, h("p", { class: "dim" }, "Nothing to show."));
  return h("figure", { class: "matrix" }, stage, readout, legend(picture), listed ? listed.element : table(picture));
}

interface Drawn {
  element: Element;
  mark(row: number, column: number): void;
  find(event: PointerEvent): [number, number] | null;
  reveal(row: number, column: number, stage: HTMLElement): void;
  busy(): boolean;
}

function describe(picture: MatrixPicture, row: number, column: number): string {
  const names = `${picture.rows[row]} → ${picture.columns[column]}`;
  if (picture.masked?.(row, column)) return `${names}: masked, could not be attended to`;
  const text = `${names}: ${number(at(picture.matrix, row, column))}`;
  return picture.sums === false ? text : `${text} · row sums to ${number(rowSum(picture.matrix, row))}`;
}

export function rowSum(matrix: Matrix, row: number): number {
  let sum = 0;
  for (let column = 0; column < matrix.columns; column++) sum += at(matrix, row, column);
  return sum;
}

function color(picture: MatrixPicture, value: number): string {
  const scaled = value / (picture.maximum ?? 1);
  return picture.signed ? signedShade(scaled) : shade(scaled);
}

function inSvg(picture: MatrixPicture): Drawn {
  const { rows, columns } = picture.matrix;
  const size = Math.min(44, Math.max(14, Math.floor(620 / Math.max(columns, rows * 0.8, 1))));
  const left = Math.min(150, Math.max(40, longest(picture.rows) * FONT * 0.62 + 14));
  const slanted = longest(picture.columns) * FONT * 0.62 > size - 4;
  const top = slanted ? Math.min(130, Math.max(34, longest(picture.columns) * FONT * 0.48 + 18)) : 30;
  const right = picture.sums === false ? (slanted ? 40 : 6) : 58;
  const width = left + columns * size + right, height = top + rows * size + 4;
  const x = (column: number) => left + column * size;
  const y = (row: number) => top + row * size;
  const hatch = unique("masked");
  const cells = [], labels: SVGElement[] = [], heads: SVGElement[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const masked = picture.masked?.(row, column) ?? false;
      cells.push(s("rect", {
        x: x(column) + 0.5, y: y(row) + 0.5, width: size - 1, height: size - 1, rx: 2,
        class: masked ? "cell masked" : "cell", fill: masked ? `url(#${hatch})` : color(picture, at(picture.matrix, row, column)),
      }));
    }
    const label = s("text", { x: left - 8, y: y(row) + size / 2, class: "label end" }, clip(picture.rows[row]!, left - 12));
    labels.push(label);
    if (picture.sums !== false) {
      cells.push(s("text", { x: x(columns) + 8, y: y(row) + size / 2, class: "sum" }, rowSum(picture.matrix, row).toFixed(3)));
    }
  }
  for (let column = 0; column < columns; column++) {
    const middle = x(column) + size / 2;
    const classes = picture.apart?.includes(column) ? "label apart" : "label";
    heads.push(slanted
      ? s("text", { class: classes, transform: `translate(${middle + 3} ${top - 6}) rotate(-48)` }, clip(picture.columns[column]!, 150))
      : s("text", { class: `${classes} middle`, x: middle, y: top - 12 }, picture.columns[column]!));
  }
  const rowMark = s("rect", { class: "row-mark", x: left - 2, width: columns * size + 4, height: size, rx: 3, visibility: "hidden" });
  const mark = s("rect", { class: "cell-mark", width: size, height: size, rx: 3, visibility: "hidden" });
  const chosen = picture.selectedRow ?? -1;
  const picked = chosen >= 0 && chosen < rows
    ? s("rect", { class: "picked-row", x: left - 2, y: y(chosen), width: columns * size + 4, height: size, rx: 4 }) : null;
  const sumHead = picture.sums === false ? null : s("text", { class: "sum", x: x(columns) + 8, y: top - 12 }, "Σ");
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    s("defs", null, s("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
      s("rect", { width: 6, height: 6, class: "masked-ground" }), s("path", { d: "M-1 7L7 -1", class: "masked-line" }))),
    cells, labels, heads, sumHead, rowMark, picked, mark);
  return {
    element: svg,
    mark(row, column) {
      mark.setAttribute("x", String(x(column)));
      mark.setAttribute("y", String(y(row)));
      rowMark.setAttribute("y", String(y(row)));
      mark.setAttribute("visibility", "visible");
      rowMark.setAttribute("visibility", "visible");
      labels.forEach((label, index) => label.classList.toggle("on", index === row));
      heads.forEach((label, index) => label.classList.toggle("on", index === column));
    },
    find(event) {
      const box = svg.getBoundingClientRect(), scale = width / box.width;
      const column = Math.floor(((event.clientX - box.left) * scale - left) / size);
      const row = Math.floor(((event.clientY - box.top) * scale - top) / size);
      return row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
    },
    reveal(row, column, stage) {
      reveal(stage, x(column) - left, x(column) + 2 * size, y(row) - top, y(row) + 2 * size);
    },
    busy: () => false,
  };
}

/** Many cells: a canvas that is dragged and zoomed, with the labels of what can be seen. */
function onCanvas(picture: MatrixPicture): Drawn {
  const { rows, columns } = picture.matrix;
  const canvas = h("canvas", { class: "large" });
  const image = document.createElement("canvas");
  image.width = columns;
  image.height = rows;
  const pixels = image.getContext("2d")!.createImageData(columns, rows);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = at(picture.matrix, row, column) / (picture.maximum ?? 1);
      if (picture.masked?.(row, column)) continue; // left clear: the hatching beneath shows through
      const [red, green, blue] = picture.signed ? signedShadeBytes(value) : shadeBytes(value);
      pixels.data.set([red, green, blue, 255], 4 * (row * columns + column));
    }
  }
  image.getContext("2d")!.putImageData(pixels, 0, 0);
  const left = 96, top = 24;
  let zoom = 0, panX = 0, panY = 0, marked: [number, number] | null = null, dragged = 0, request = 0;
  let from: { x: number; y: number; panX: number; panY: number } | null = null;
  const view = () => ({ width: canvas.clientWidth || 640, height: canvas.clientHeight || 480 });
  const least = () => Math.min((view().width - left) / columns, (view().height - top) / rows);
  const settle = () => {
    zoom = Math.min(Math.max(zoom || least(), least()), 40);
    panX = Math.min(Math.max(panX, 0), Math.max(0, columns - (view().width - left) / zoom));
    panY = Math.min(Math.max(panY, 0), Math.max(0, rows - (view().height - top) / zoom));
  };
  const draw = () => {
    const { width, height } = view(), ratio = devicePixelRatio || 1, style = getComputedStyle(canvas);
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    settle();
    const pen = canvas.getContext("2d")!;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.imageSmoothingEnabled = false;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width - left, height - top);
    pen.clip();
    if (picture.masked) {
      pen.fillStyle = hatching(pen, style);
      pen.fillRect(left - panX * zoom, top - panY * zoom, columns * zoom, rows * zoom);
    }
    pen.drawImage(image, left - panX * zoom, top - panY * zoom, columns * zoom, rows * zoom);
    if (marked) {
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.lineWidth = 2;
      pen.strokeRect(left + (marked[1] - panX) * zoom - 1, top + (marked[0] - panY) * zoom - 1, zoom + 2, zoom + 2);
    }
    pen.restore();
    pen.fillStyle = style.getPropertyValue("--dim");
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const every = Math.ceil(14 / zoom);
    for (let row = Math.ceil(panY / every) * every; row < Math.min(rows, panY + (height - top) / zoom); row += every) {
      pen.textAlign = "right";
      pen.fillText(clip(picture.rows[row]!, left - 12), left - 6, top + (row + 0.5 - panY) * zoom);
    }
    const apart = Math.ceil(64 / zoom);
    for (let column = Math.ceil(panX / apart) * apart; column < Math.min(columns, panX + (width - left) / zoom); column += apart) {
      pen.textAlign = "left";
      pen.fillText(clip(picture.columns[column]!, 60), left + (column - panX) * zoom, top - 10);
    }
  };
  const redraw = () => {
    cancelAnimationFrame(request);
    request = requestAnimationFrame(draw);
  };
  const rescale = (factor: number, atX: number, atY: number) => {
    const before = zoom;
    zoom = Math.min(Math.max(zoom * factor, least()), 40);
    panX += (atX - left) / before - (atX - left) / zoom;
    panY += (atY - top) / before - (atY - top) / zoom;
    redraw();
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    rescale(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, panX, panY };
    dragged = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    dragged = Math.max(dragged, Math.hypot(event.clientX - from.x, event.clientY - from.y));
    panX = from.panX - (event.clientX - from.x) / zoom;
    panY = from.panY - (event.clientY - from.y) / zoom;
    redraw();
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (from = null));
  const zoomBy = (factor: number) => () => rescale(factor, left + (view().width - left) / 2, top + (view().height - top) / 2);
  new ResizeObserver(redraw).observe(canvas);
  const element = h("div", { class: "large-matrix" }, canvas, h("div", { class: "zoom" },
    h("button", { type: "button", "aria-label": "Zoom in", onclick: zoomBy(1.6) }, "+"),
    h("button", { type: "button", "aria-label": "Zoom out", onclick: zoomBy(1 / 1.6) }, "−")));
  return {
    element,
    mark(row, column) {
      marked = [row, column];
      redraw();
    },
    find(event) {
      if (event.target !== canvas) return null;
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left - left) / zoom + panX);
      const row = Math.floor((event.clientY - box.top - top) / zoom + panY);
      const inside = event.clientX - box.left >= left && event.clientY - box.top >= top;
      return inside && row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
    },
    reveal(row, column) {
      const across = (view().width - left) / zoom, down = (view().height - top) / zoom;
      if (column < panX) panX = column;
      if (column + 1 > panX + across) panX = column + 1 - across;
      if (row < panY) panY = row;
      if (row + 1 > panY + down) panY = row + 1 - down;
      redraw();
    },
    busy: () => from !== null && dragged > 4,
  };
}

/** What masked cells are filled with, as in the legend. */
function hatching(pen: CanvasRenderingContext2D, style: CSSStyleDeclaration): CanvasPattern {
  const tile = document.createElement("canvas"), side = 6;
  tile.width = tile.height = side;
  const drawing = tile.getContext("2d")!;
  drawing.fillStyle = style.getPropertyValue("--faint");
  drawing.fillRect(0, 0, side, side);
  drawing.strokeStyle = style.getPropertyValue("--dim");
  drawing.beginPath();
  for (const shift of [-side, 0, side]) {
    drawing.moveTo(shift - 1, side + 1);
    drawing.lineTo(shift + side + 1, -1);
  }
  drawing.stroke();
  return pen.createPattern(tile, "repeat")!;
}

function legend(picture: MatrixPicture): HTMLElement {
  const most = picture.maximum ?? 1;
  const steps = Array.from({ length: 24 }, (_, i) => s("rect", {
    x: i * 5, y: 0, width: 5.5, height: 10, fill: picture.signed ? signedShade((i / 23) * 2 - 1) : shade(i / 23),
  }));
  return h("figcaption", { class: "legend" },
    h("span", null, "rows: ", h("b", null, picture.rowTitle), " · columns: ", h("b", null, picture.columnTitle)),
    h("span", { class: "scale" }, picture.signed ? `−${short(most)}` : "0",
      s("svg", { width: 120, height: 10, "aria-hidden": "true" }, steps), short(most)),
    picture.masked ? h("span", { class: "scale" }, h("i", { class: "masked-key", "aria-hidden": "true" }), "masked") : null);
}

/** All numbers, for those who read rather than look, and to copy. */
function table(picture: MatrixPicture): HTMLElement {
  const details = h("details", { class: "numbers" }, h("summary", null, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const { rows, columns } = picture.matrix;
    details.append(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of numbers" }, h("table", null,
      h("caption", { class: "quiet" }, caption(picture)),
      h("thead", null, h("tr", null, h("td"), picture.columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, Array.from({ length: rows }, (_, row) => h("tr", null, h("th", { scope: "row" }, picture.rows[row]!),
        Array.from({ length: columns }, (_, column) => h("td", null,
          picture.masked?.(row, column) ? "masked" : number(at(picture.matrix, row, column))))))))));
  });
  return details;
}

/** Of very many numbers, those of the row that is pointed at. */
function rowTable(picture: MatrixPicture): { element: HTMLElement; show(row: number): void } {
  const body = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of the row" });
  let wanted = Math.max(picture.selectedRow ?? 0, 0), drawn = "";
  const details = h("details", { class: "numbers" }, h("summary", null, "The row pointed at as a table"), body);
  const draw = () => {
    const exact = picture.exact?.(wanted) ?? null, now = `${wanted} ${exact !== null}`;
    if (!details.open || drawn === now) return;
    drawn = now;
    const values = exact ?? rowOf(picture.matrix, wanted);
    body.replaceChildren(h("table", null,
      h("caption", { class: "quiet" }, exact ? picture.label : caption(picture)),
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "text" }, picture.columnTitle), h("th", { scope: "col" }, picture.rows[wanted]!))),
      h("tbody", null, picture.columns.map((name, column) => h("tr", null, h("th", { scope: "row" }, name),
        h("td", null, picture.masked?.(wanted, column) ? "masked" : number(values[column]!)))))));
  };
  details.addEventListener("toggle", draw);
  return { element: details, show: (row) => ((wanted = row), draw()) };
}

function caption(picture: MatrixPicture): string {
  return picture.rounded ? `${picture.label}, rounded to steps of 1/255` : picture.label;
}

function reveal(stage: HTMLElement, left: number, right: number, top: number, bottom: number): void {
  if (left < stage.scrollLeft) stage.scrollLeft = left;
  if (right > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = right - stage.clientWidth;
  if (top < stage.scrollTop) stage.scrollTop = top;
  if (bottom > stage.scrollTop + stage.clientHeight) stage.scrollTop = bottom - stage.clientHeight;
}

function longest(names: string[]): number {
  return Math.min(Math.max(0, ...names.map((name) => [...name].length)), 24);
}

/** Cut a label that has more letters than fit, with an ellipsis. */
export function clip(name: string, width: number): string {
  const most = Math.max(2, Math.floor(width / (FONT * 0.58)));
  const letters = [...name];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}

function short(value: number): string {
  return Number(value.toPrecision(3)).toString();
}
