// Color scales as constants. All are ordered by lightness, so that they can be read without telling colors apart.

type Rgb = [number, number, number];

/** cividis, made for color-blind readers (Nuñez, Anderton and Renslow 2018), at nine places. */
export const CIVIDIS: Rgb[] = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116],
  [195, 179, 105], [254, 232, 56],
];
const LIGHT: Rgb[] = [[244, 246, 250], [190, 208, 243], [118, 157, 228], [47, 98, 200], [16, 37, 104]];
const DARK: Rgb[] = [[24, 28, 39], [33, 55, 105], [54, 98, 184], [121, 165, 245], [231, 240, 255]];
/** From negative over nothing to positive: orange and blue stay apart for color-blind readers. */
const LIGHT_SIGNED: Rgb[] = [[160, 66, 0], [235, 160, 95], [244, 246, 250], [118, 157, 228], [21, 58, 150]];
const DARK_SIGNED: Rgb[] = [[255, 190, 130], [176, 92, 30], [24, 28, 39], [54, 98, 184], [170, 200, 255]];

/** Whether the page is dark now. */
export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The color of a weight from 0 to 1, on the page's theme. */
export function shade(value: number): string {
  return css(between(isDark() ? DARK : LIGHT, value));
}

/** The color of a number from −1 to 1. */
export function signedShade(value: number): string {
  return css(between(isDark() ? DARK_SIGNED : LIGHT_SIGNED, (value + 1) / 2));
}

/** The same as bytes, for canvases. */
export function shadeBytes(value: number): Rgb {
  return between(isDark() ? DARK : LIGHT, value);
}

/** The bytes of `signedShade`. */
export function signedShadeBytes(value: number): Rgb {
  return between(isDark() ? DARK_SIGNED : LIGHT_SIGNED, (value + 1) / 2);
}

/** Ink that can be read on `shade(value)`. */
export function inkOn(value: number): string {
  const [red, green, blue] = between(isDark() ? DARK : LIGHT, value);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10141f" : "#ffffff";
}

export function between(stops: Rgb[], value: number): Rgb {
  const position = Math.min(Math.max(Number.isFinite(value) ? value : 0, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(position), stops.length - 2);
  const from = stops[low]!, to = stops[low + 1]!;
  return [0, 1, 2].map((i) => Math.round(from[i]! + (to[i]! - from[i]!) * (position - low))) as Rgb;
}

function css([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}
