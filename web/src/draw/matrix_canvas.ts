// More than 64 rows or columns: a canvas that is dragged and zoomed, with the labels of what can be seen.

import { h, soon } from "../dom.ts";
import { paint } from "./colors.ts";
import type { Drawn, MatrixPicture } from "./matrix.ts";
import { clip } from "./text.ts";

const LEFT = 96,
  TOP = 26,
  LARGEST = 48,
  TALLEST = 22;

interface Box {
  width: number;
  height: number;
}

export class MatrixCanvas implements Drawn {
  readonly element: HTMLElement;
  private canvas = h("canvas", { class: "large" });
  private image = document.createElement("canvas");
  private picture: MatrixPicture | null = null;
  /** How much larger than what fits whole. */
  private zoom = 1;
  private panX = 0;
  private panY = 0;
  private marked: [number, number] | null = null;
  private from: { x: number; y: number; panX: number; panY: number } | null = null;
  private dragged = 0;
  private redraw = soon(() => this.draw());

  constructor(
    private stage: HTMLElement,
    private room: () => number,
  ) {
    const zoomBy = (factor: number) => () =>
      this.rescale(factor, LEFT + (this.box.width - LEFT) / 2, TOP + (this.box.height - TOP) / 2);
    this.element = h(
      "div",
      { class: "large-matrix" },
      this.canvas,
      h(
        "div",
        { class: "zoom" },
        h("button", { type: "button", "aria-label": "Zoom in", onclick: zoomBy(1.6) }, "+"),
        h("button", { type: "button", "aria-label": "Zoom out", onclick: zoomBy(1 / 1.6) }, "−"),
      ),
    );
    new ResizeObserver(() => this.redraw()).observe(stage);
    this.listen();
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.rescale(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      this.from = { x: event.clientX, y: event.clientY, panX: this.panX, panY: this.panY };
      this.dragged = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.from) return;
      const [cellX, cellY] = this.cell();
      this.dragged = Math.max(this.dragged, Math.hypot(event.clientX - this.from.x, event.clientY - this.from.y));
      this.panX = this.from.panX - (event.clientX - this.from.x) / cellX;
      this.panY = this.from.panY - (event.clientY - this.from.y) / cellY;
      this.redraw();
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.from = null));
  }

  show(picture: MatrixPicture): void {
    const { rows, columns, data } = picture.matrix,
      { masked } = picture;
    if (this.picture && (this.picture.matrix.rows !== rows || this.picture.matrix.columns !== columns))
      [this.zoom, this.panX, this.panY] = [1, 0, 0];
    this.picture = picture;
    [this.image.width, this.image.height] = [columns, rows];
    const pixels = this.image.getContext("2d")!.createImageData(columns, rows);
    // What is masked is left clear: the hatching beneath shows through.
    paint(pixels.data, data, picture.maximum ?? 1, {
      signed: picture.signed,
      masked: masked && ((position) => masked(Math.floor(position / columns), position % columns)),
    });
    this.image.getContext("2d")!.putImageData(pixels, 0, 0);
    this.redraw();
  }

  private get box(): Box {
    const { rows } = this.picture!.matrix,
      height = Math.max(this.room(), 200);
    return { width: this.stage.clientWidth || 640, height: Math.min(height, TOP + rows * this.tall(height)) };
  }

  /** The height of a cell where the whole map fits: at least as tall as wide, so that few rows are no thin strip. */
  private tall(height: number): number {
    const { rows, columns } = this.picture!.matrix,
      wide = Math.min(LARGEST, ((this.stage.clientWidth || 640) - LEFT) / columns);
    return Math.min((height - TOP) / rows, Math.max(wide, TALLEST));
  }

  /** The width and height of a cell now. */
  private cell(): [number, number] {
    const { columns } = this.picture!.matrix,
      { width } = this.box;
    return [
      this.zoom * Math.min(LARGEST, (width - LEFT) / columns),
      this.zoom * this.tall(Math.max(this.room(), 200)),
    ];
  }

  private settle(): void {
    const { rows, columns } = this.picture!.matrix,
      { width, height } = this.box,
      [cellX, cellY] = this.cell();
    this.panX = Math.min(Math.max(this.panX, 0), Math.max(0, columns - (width - LEFT) / cellX));
    this.panY = Math.min(Math.max(this.panY, 0), Math.max(0, rows - (height - TOP) / cellY));
  }

  private rescale(factor: number, atX: number, atY: number): void {
    const [beforeX, beforeY] = this.cell();
    this.zoom = Math.min(
      Math.max(this.zoom * factor, 1),
      Math.max(1, LARGEST / Math.min(beforeX / this.zoom, beforeY / this.zoom)),
    );
    const [cellX, cellY] = this.cell();
    this.panX += (atX - LEFT) / beforeX - (atX - LEFT) / cellX;
    this.panY += (atY - TOP) / beforeY - (atY - TOP) / cellY;
    this.redraw();
  }

  private draw(): void {
    const picture = this.picture;
    if (!picture || !this.canvas.isConnected) return;
    const { width, height } = this.box,
      ratio = devicePixelRatio || 1,
      style = getComputedStyle(this.canvas);
    this.canvas.style.height = `${height}px`;
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
    this.settle();
    const pen = this.canvas.getContext("2d")!,
      { rows, columns } = picture.matrix,
      [cellX, cellY] = this.cell(),
      { panX, panY } = this;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.imageSmoothingEnabled = false;
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP, width - LEFT, height - TOP);
    pen.clip();
    const place = [LEFT - panX * cellX, TOP - panY * cellY, columns * cellX, rows * cellY] as const;
    if (picture.masked) {
      pen.fillStyle = hatching(pen, style);
      pen.fillRect(...place);
    }
    pen.drawImage(this.image, ...place);
    const ring = ([row, column]: [number, number], color: string) => {
      pen.strokeStyle = color;
      pen.lineWidth = 2;
      pen.strokeRect(LEFT + (column - panX) * cellX - 1, TOP + (row - panY) * cellY - 1, cellX + 2, cellY + 2);
    };
    if (picture.selectedRow !== null && picture.selectedRow !== undefined) {
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.lineWidth = 1.5;
      pen.strokeRect(LEFT, TOP + (picture.selectedRow - panY) * cellY - 0.5, width - LEFT - 1, cellY + 1);
    }
    if (picture.selected) ring(picture.selected, style.getPropertyValue("--accent"));
    if (this.marked) ring(this.marked, style.getPropertyValue("--ink"));
    pen.restore();
    this.drawLabels(pen, picture, style.getPropertyValue("--dim"));
  }

  private drawLabels(pen: CanvasRenderingContext2D, picture: MatrixPicture, color: string): void {
    const { width, height } = this.box,
      [cellX, cellY] = this.cell(),
      { panX, panY } = this;
    pen.fillStyle = color;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const every = Math.ceil(15 / cellY),
      apart = Math.ceil(66 / cellX);
    for (
      let row = Math.ceil(panY / every) * every;
      row < Math.min(picture.rows.length, panY + (height - TOP) / cellY);
      row += every
    ) {
      pen.fillText(clip(picture.rows[row]!, LEFT - 12, 12), LEFT - 7, TOP + (row + 0.5 - panY) * cellY);
    }
    pen.textAlign = "left";
    for (
      let column = Math.ceil(panX / apart) * apart;
      column < Math.min(picture.columns.length, panX + (width - LEFT) / cellX);
      column += apart
    ) {
      pen.fillText(clip(picture.columns[column]!, 62, 12), LEFT + (column - panX) * cellX, TOP - 11);
    }
  }

  mark(row: number, column: number): void {
    this.marked = [row, column];
    this.redraw();
  }

  unmark(): void {
    this.marked = null;
    this.redraw();
  }

  find(event: PointerEvent): [number, number] | null {
    if (event.target !== this.canvas) return null;
    const { rows, columns } = this.picture!.matrix,
      box = this.canvas.getBoundingClientRect(),
      [cellX, cellY] = this.cell();
    const inX = event.clientX - box.left - LEFT,
      inY = event.clientY - box.top - TOP;
    const column = Math.floor(inX / cellX + this.panX),
      row = Math.floor(inY / cellY + this.panY);
    return inX >= 0 && inY >= 0 && row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
  }

  reveal(row: number, column: number): void {
    const { width, height } = this.box,
      [cellX, cellY] = this.cell(),
      across = (width - LEFT) / cellX,
      down = (height - TOP) / cellY;
    this.panX = Math.min(Math.max(this.panX, column + 1 - across), column);
    this.panY = Math.min(Math.max(this.panY, row + 1 - down), row);
    this.redraw();
  }

  busy(): boolean {
    return this.from !== null && this.dragged > 4;
  }
}

/** What masked cells are filled with, as in the legend. */
function hatching(pen: CanvasRenderingContext2D, style: CSSStyleDeclaration): CanvasPattern {
  const tile = document.createElement("canvas"),
    side = 6;
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
