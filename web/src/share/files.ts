// Files of a picture: SVG, PNG, and GIF of its steps, made in the browser.

import { s } from "../dom.ts";
import { encodeGif } from "./gif.ts";
import type { Drawing } from "./marks.ts";

/** Pixels of a PNG to one of the page, and the most on a side. */
const SHARP = 3,
  MOST = 6000,
  /** Of a GIF. */
  WIDEST = 900;

export interface About {
  title: string;
  description: string;
  /** A PNG as an address of its own, `data:image/png;base64,…`. */
  picture?: string | null;
}

/** The picture as an SVG file, with its title and description; texts stay texts. */
export function svgText({ width, height, marks, background }: Drawing, { title, description }: About): string {
  const family = getComputedStyle(document.body).fontFamily || "sans-serif",
    margin = 8;
  const drawn = marks.map((mark) => {
    const common = { transform: `matrix(${mark.matrix.map(tidy).join(" ")})`, opacity: opaque(mark.opacity) };
    if (mark.text)
      return s(
        "text",
        {
          ...common,
          "font-size": tidy(mark.size!),
          "font-weight": mark.bold ? "600" : null,
          "text-anchor": mark.anchor === "start" ? null : mark.anchor,
          fill: mark.fill,
        },
        mark.text,
      );
    if (mark.image)
      return s("image", {
        ...common,
        href: `data:image/png;base64,${mark.image}`,
        width: tidy(mark.width!),
        height: tidy(mark.height!),
        preserveAspectRatio: "none",
        "image-rendering": "pixelated",
      });
    return s("path", {
      ...common,
      d: mark.path!.replace(/-?\d*\.\d+/g, (one) => tidy(Number(one))),
      fill: mark.hatched ? "url(#masked)" : (mark.fill ?? "none"),
      stroke: mark.stroke,
      "stroke-width": mark.stroke ? tidy(mark.stroke_width!) : null,
      "stroke-dasharray": mark.dashes?.length ? mark.dashes.join(" ") : null,
      "stroke-linecap": mark.stroke ? "round" : null,
    });
  });
  const svg = s(
    "svg",
    {
      viewBox: `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`,
      width: width + 2 * margin,
      height: height + 2 * margin,
      "font-family": family,
      role: "img",
    },
    s("title", null, title),
    s("desc", null, description),
    marks.some((mark) => mark.hatched)
      ? s(
          "pattern",
          { id: "masked", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
          s("path", { d: "M0 0H6V6H0z", fill: "#eceef1" }),
          s("path", { d: "M-1 7L7 -1", stroke: "#9aa1ab" }),
        )
      : null,
    s("path", {
      d: `M${-margin} ${-margin}h${width + 2 * margin}v${height + 2 * margin}H${-margin}z`,
      fill: background,
    }),
    drawn,
  );
  return new XMLSerializer().serializeToString(svg);
}

function tidy(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function opaque(value: number | undefined): string | null {
  return value === undefined || value > 0.995 ? null : tidy(value);
}

/** Paint an SVG, so many times as large. */
async function painted(svg: string, scale: (width: number, height: number) => number): Promise<HTMLCanvasElement> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas"),
    times = scale(image.naturalWidth, image.naturalHeight);
  canvas.width = Math.round(image.naturalWidth * times);
  canvas.height = Math.round(image.naturalHeight * times);
  canvas.getContext("2d", { willReadFrequently: true })!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** The picture as a PNG file, three pixels for one of the page, or as wide as `widest`. */
export async function pngOf(drawing: Drawing, about: About, widest?: number): Promise<Blob> {
  const canvas = await painted(svgText(drawing, about), (width, height) =>
    widest ? Math.min(SHARP, widest / width) : Math.min(SHARP, MOST / Math.max(width, height)),
  );
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no picture."))), "image/png"),
  );
}

/** The steps as an animated GIF; the last stays longest. */
export async function gifOf(drawings: Drawing[], pace: number, about: About): Promise<Blob> {
  const width = Math.max(...drawings.map((one) => one.width)),
    height = Math.max(...drawings.map((one) => one.height));
  const frames: ImageData[] = [];
  for (const one of drawings) {
    const canvas = await painted(svgText({ ...one, width, height }, about), (wide) => Math.min(1.5, WIDEST / wide));
    frames.push(canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height));
  }
  const delays = frames.map((_, index) => (index === frames.length - 1 ? 2500 : pace));
  return new Blob([encodeGif(frames, delays)], { type: "image/gif" });
}
