// Curves over a common axis, with bands of uncertainty where there are any. Arrow keys or the pointer read the numbers.

import { h, s, unique } from "../dom.ts";
import { number } from "../tensor.ts";

export interface Point {
  x: number;
  y: number;
  low?: number;
  high?: number;
  /** Added where the point is read, such as how many sentences it stands for. */
  note?: string;
}

export interface Series {
  name: string;
  points: Point[];
  /** Which of the colors; series of one thing share it. */
  color: number;
  dashed?: boolean;
  /** Draw each point, where there are few. */
  dots?: boolean;
}

export interface CurvePicture {
  series: Series[];
  xTitle: string;
  yTitle: string;
  /** What the picture is, for those who do not see it. */
  label: string;
  digits?: number;
  /** Begin the upright axis at zero. */
  zero?: boolean;
  /** Where the other axis begins at the latest, and ends at the earliest: for pictures that share it. */
  between?: [number, number];
}

const MOST = 600;

export function curve(picture: CurvePicture): HTMLElement {
  const series = picture.series
    .map((one) => ({ ...one, points: thinned(one.points.filter((point) => Number.isFinite(point.y))) }))
    .filter((one) => one.points.length);
  if (!series.length)
    return h("figure", { class: "curve" }, h("p", { class: "dim" }, `${picture.yTitle}: nothing yet.`));
  const width = Math.max(260, Math.min(620, (document.documentElement.clientWidth || 700) - 84)),
    height = Math.round(width * 0.46) + 40;
  const left = 54,
    right = 12,
    top = 12,
    bottom = 40;
  const all = series.flatMap((one) => one.points);
  const range = (values: number[], zero = false): [number, number] => {
    const low = Math.min(...values, ...(zero ? [0] : [])),
      high = Math.max(...values);
    return high > low ? [low, high] : [low - 0.5, high + 0.5];
  };
  const [x0, x1] = range([...all.map((point) => point.x), ...(picture.between ?? [])]),
    [y0, y1] = range(
      all.flatMap((point) => [point.low ?? point.y, point.high ?? point.y]),
      picture.zero,
    );
  const x = (value: number) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
  const y = (value: number) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
  const lines = ticks(y0, y1).map((value) =>
    s(
      "g",
      null,
      s("line", { class: "grid-line", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      s("text", { class: "end tick-text", x: left - 7, y: y(value) }, label(value)),
    ),
  );
  const marks = ticks(x0, x1, width < 400 ? 4 : 6).map((value) =>
    s("text", { class: "middle tick-text", x: x(value), y: height - bottom + 15 }, label(value)),
  );
  const cursor = s("line", { class: "cursor-line", y1: top, y2: height - bottom, visibility: "hidden" });
  const svg = s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    lines,
    marks,
    s("text", { class: "middle title", x: (left + width - right) / 2, y: height - 8 }, picture.xTitle),
    series.map((one) =>
      s(
        "g",
        { class: `series color-${one.color % 6}` },
        one.points.map((point) =>
          point.low === undefined
            ? null
            : s("path", { class: "whisker", d: `M${x(point.x)} ${y(point.low)}V${y(point.high!)}` }),
        ),
        s("path", {
          class: one.dashed ? "path dashed" : "path",
          d: one.points
            .map((point, index) => `${index ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`)
            .join(""),
        }),
        one.dots || one.points.length === 1
          ? one.points.map((point) => dot(x(point.x), y(point.y), one.color))
          : null,
      ),
    ),
    cursor,
  );
  const readout = h(
    "output",
    { class: "readout", "aria-live": "polite" },
    "Point at the curves, or use the arrow keys.",
  );
  const positions = [...new Set(all.map((point) => point.x))].sort((a, b) => a - b);
  let at = positions.length - 1;
  const read = (index: number) => {
    at = Math.min(Math.max(index, 0), positions.length - 1);
    const here = positions[at]!;
    cursor.setAttribute("x1", String(x(here)));
    cursor.setAttribute("x2", String(x(here)));
    cursor.setAttribute("visibility", "visible");
    const text = series.flatMap((one) => {
      const point = nearest(one.points, here);
      if (Math.abs(point.x - here) > (x1 - x0) / 40) return [];
      const between =
        point.low === undefined
          ? ""
          : ` (${number(point.low, picture.digits ?? 3)} to ${number(point.high!, picture.digits ?? 3)})`;
      return [`${one.name} ${number(point.y, picture.digits ?? 3)}${between}${point.note ? `, ${point.note}` : ""}`];
    });
    readout.textContent = `${picture.xTitle} ${label(here)}: ${text.join(" · ")}`;
  };
  const stage = h(
    "div",
    {
      class: "stage curve-stage",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "curves",
      id: unique("curve"),
      "aria-label": `${picture.label}. ${series.length} curves; arrow keys read points.`,
      onfocus: () => read(at),
      onpointermove: (event: PointerEvent) => {
        const box = svg.getBoundingClientRect(),
          value =
            x0 + (((event.clientX - box.left) * (width / box.width) - left) / (width - left - right)) * (x1 - x0);
        read(
          positions.reduce(
            (best, position, index) =>
              Math.abs(position - value) < Math.abs(positions[best]! - value) ? index : best,
            0,
          ),
        );
      },
      onkeydown: (event: KeyboardEvent) => {
        const moves: Record<string, number> = {
          ArrowLeft: -1,
          ArrowRight: 1,
          PageUp: -10,
          PageDown: 10,
          Home: -positions.length,
          End: positions.length,
        };
        if (!(event.key in moves)) return;
        event.preventDefault();
        read(at + moves[event.key]!);
      },
    },
    svg,
  );
  return h(
    "figure",
    { class: "curve" },
    h("figcaption", { class: "curve-title" }, picture.yTitle),
    stage,
    readout,
    h(
      "p",
      { class: "legend" },
      series.map((one) => h("span", { class: `scale color-${one.color % 6}` }, key(one), one.name)),
    ),
    table(picture, series),
  );
}

function key(one: Series): SVGElement {
  return s(
    "svg",
    { width: 26, height: 12, "aria-hidden": "true", class: `series color-${one.color % 6}` },
    s("path", { class: one.dashed ? "path dashed" : "path", d: "M1 6H25" }),
    one.dots ? dot(13, 6, one.color) : null,
  );
}

/** Shapes differ as colors do, for those who do not tell colors apart. */
function dot(x: number, y: number, color: number): SVGElement {
  const shapes = [
    `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`,
    `M${x - 4} ${y - 4}h8v8h-8z`,
    `M${x} ${y - 5}l5 9h-10z`,
    `M${x} ${y - 5}l5 5l-5 5l-5 -5z`,
    `M${x} ${y + 5}l5 -9h-10z`,
    `M${x - 5} ${y - 2}h10v4h-10z`,
  ];
  return s("path", { class: "dot", d: shapes[color % 6]! });
}

function table(picture: CurvePicture, series: Series[]): HTMLElement {
  const details = h("details", { class: "numbers" }, h("summary", null, "Numbers as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const rows = series.flatMap((one) =>
      one.points.map((point) =>
        h(
          "tr",
          null,
          h("th", { scope: "row" }, one.name),
          h("td", null, label(point.x)),
          h("td", null, number(point.y, picture.digits ?? 3)),
          h(
            "td",
            null,
            point.low === undefined
              ? ""
              : `${number(point.low, picture.digits ?? 3)} to ${number(point.high!, picture.digits ?? 3)}`,
          ),
          h("td", null, point.note ?? ""),
        ),
      ),
    );
    details.append(
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${picture.yTitle}` },
        h(
          "table",
          null,
          h("caption", { class: "quiet" }, picture.label),
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              ["curve", picture.xTitle, picture.yTitle, "95 % interval", ""].map((name) =>
                name ? h("th", { scope: "col" }, name) : h("td"),
              ),
            ),
          ),
          h("tbody", null, rows),
        ),
      ),
    );
  });
  return details;
}

function nearest(points: Point[], x: number): Point {
  return points.reduce((best, point) => (Math.abs(point.x - x) < Math.abs(best.x - x) ? point : best));
}

/** At most so many points, the last one kept. */
function thinned(points: Point[]): Point[] {
  const every = Math.ceil(points.length / MOST);
  return every <= 1 ? points : points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

function ticks(low: number, high: number, about = 5): number[] {
  const rough = (high - low) / about,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough)!;
  const first = Math.ceil(low / step),
    result: number[] = [];
  for (let index = first; index * step <= high + step * 1e-9; index++)
    result.push(Number((index * step).toPrecision(12)));
  return result;
}

function label(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 10000) return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  return size < 0.001
    ? value.toExponential(1).replaceAll("-", "−")
    : String(Number(value.toPrecision(4))).replaceAll("-", "−");
}
