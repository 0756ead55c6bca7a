// Color scales of data, apart from the colors of the interface. All are ordered by lightness, so that they can be read
// without telling colors apart. Each is a table of 256 colors, made once for each theme.

type Rgb = [number, number, number];

/** From nothing over ember to plum; on dark ground from plum over ember to light. */
const LIGHT: Rgb[] = [
  [255, 252, 245],
  [254, 228, 196],
  [251, 178, 122],
  [238, 110, 74],
  [200, 42, 76],
  [128, 14, 88],
  [50, 7, 62],
];
const DARK: Rgb[] = [
  [27, 24, 38],
  [66, 26, 92],
  [124, 30, 108],
  [192, 48, 90],
  [240, 104, 62],
  [253, 182, 96],
  [255, 244, 212],
];
/** From negative over nothing to positive: teal and ember stay apart for color-blind readers. */
const LIGHT_SIGNED: Rgb[] = [
  [0, 62, 70],
  [32, 128, 132],
  [150, 205, 202],
  [255, 252, 245],
  [251, 190, 140],
  [226, 88, 70],
  [112, 12, 80],
];
const DARK_SIGNED: Rgb[] = [
  [190, 244, 238],
  [70, 178, 174],
  [22, 92, 98],
  [27, 24, 38],
  [134, 34, 92],
  [238, 96, 66],
  [255, 214, 150],
];

interface Scale {
  bytes: Uint8Array;
  css: string[];
}

interface Scales {
  plain: Scale;
  signed: Scale;
}

const made: Partial<Record<"light" | "dark", Scales>> = {};
let dark: boolean | null = null;

/** Whether the page is dark now; it is computed once, until the theme changes. */
export function isDark(): boolean {
  if (dark === null) {
    const chosen = document.documentElement.dataset.theme;
    dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  return dark;
}

/** The theme has changed. */
export function forgetTheme(): void {
  dark = null;
}

function scales(): Scales {
  const theme = isDark() ? "dark" : "light";
  return (made[theme] ??= isDark()
    ? { plain: table(DARK), signed: table(DARK_SIGNED) }
    : { plain: table(LIGHT), signed: table(LIGHT_SIGNED) });
}

function table(stops: Rgb[]): Scale {
  const bytes = new Uint8Array(256 * 3),
    css: string[] = [];
  for (let level = 0; level < 256; level++) {
    const position = (level / 255) * (stops.length - 1),
      low = Math.min(Math.floor(position), stops.length - 2);
    const color = [0, 1, 2].map((i) =>
      Math.round(stops[low]![i]! + (stops[low + 1]![i]! - stops[low]![i]!) * (position - low)),
    );
    bytes.set(color, 3 * level);
    css.push(`rgb(${color.join(" ")})`);
  }
  return { bytes, css };
}

function level(value: number): number {
  return Number.isFinite(value) ? Math.round(Math.min(Math.max(value, 0), 1) * 255) : 0;
}

/** The color of a weight from 0 to 1, on the page's theme. */
export function shade(value: number): string {
  return scales().plain.css[level(value)]!;
}

/** The color of a number from −1 to 1. */
export function signedShade(value: number): string {
  return scales().signed.css[level((value + 1) / 2)]!;
}

/** Write the colors of `values / maximum` into pixels; what is `masked` is left clear. */
export function paint(
  pixels: Uint8ClampedArray,
  values: ArrayLike<number>,
  maximum: number,
  { signed = false, masked }: { signed?: boolean; masked?: (position: number) => boolean } = {},
): void {
  const { bytes } = signed ? scales().signed : scales().plain;
  for (let i = 0; i < values.length; i++) {
    if (masked?.(i)) continue;
    const from = 3 * level(signed ? (values[i]! / maximum + 1) / 2 : values[i]! / maximum);
    pixels[4 * i] = bytes[from]!;
    pixels[4 * i + 1] = bytes[from + 1]!;
    pixels[4 * i + 2] = bytes[from + 2]!;
    pixels[4 * i + 3] = 255;
  }
}

/** Black or white, whichever is easier to read on a color. */
export function readable(color: string): string {
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}

/** The scale as a strip for legends: a canvas, since it is data, not interface. */
export function scaleStrip(signed = false): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height, canvas.className] = [64, 1, "scale-strip"];
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d")!,
    pixels = pen.createImageData(64, 1);
  paint(
    pixels.data,
    Array.from({ length: 64 }, (_, i) => (signed ? (i / 63) * 2 - 1 : i / 63)),
    1,
    { signed },
  );
  pen.putImageData(pixels, 0, 0);
  return canvas;
}
