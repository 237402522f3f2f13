/** A small line chart on a canvas: some series over the last ten minutes, with the values under the pointer. */

import { element, setText } from "./dom.js";
import { colour } from "./theme.js";

const HEIGHT = 132;
const LEFT = 52;
const BOTTOM = 18;
const TOP = 8;
const SPAN_MS = 600_000;
/** Points come once a second; between two that are further apart there was nothing. */
const GAP_MS = 2500;

/**
 * @typedef {Object} Series
 * @property {string} title
 * @property {string} colour a name of the style sheet
 * @property {(point: any) => number|null} value
 * @property {number[]} [dash]
 * @property {boolean} [isZeroBetween] whether seconds without a point count as 0; else the line is broken there
 */

/**
 * Make a chart; `draw(points, now)` shows points that have `at` in milliseconds.
 * @param {string} title
 * @param {Series[]} series
 * @param {(value: number) => string} write
 */
export function chart(title, series, write) {
  const canvas = element("canvas", { class: "chart", role: "img", "aria-label": title });
  const values = series.map(() => element("b", { class: "figure" }, "–"));
  const legend = element(
    "ul",
    { class: "legend" },
    series.map((one, at) =>
      element(
        "li",
        {},
        element("i", { class: "swatch", style: { background: `var(--${one.colour})` } }),
        `${one.title} `,
        values[at],
      ),
    ),
  );
  const picture = { points: [], now: 0, pointer: null };
  const redraw = () => drawAll(canvas, series, write, picture, values, title);
  canvas.addEventListener("pointermove", (event) => {
    picture.pointer = event.offsetX;
    redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    picture.pointer = null;
    redraw();
  });
  const draw = (points, now) => {
    picture.points = points;
    picture.now = now;
    redraw();
  };
  return { element: element("figure", { class: "charted" }, element("figcaption", {}, title, legend), canvas), draw };
}

function drawAll(canvas, series, write, picture, values, title) {
  const width = canvas.clientWidth;
  if (!width) return;
  const ratio = Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, HEIGHT);
  const from = picture.now - SPAN_MS;
  const shown = picture.points.filter((point) => point.at >= from);
  const top = ceiling(Math.max(0, ...shown.flatMap((point) => series.map((one) => one.value(point) ?? 0))));
  const plot = {
    x: (at) => LEFT + ((at - from) / SPAN_MS) * (width - LEFT - 4),
    y: (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM),
  };
  drawAxes(pen, plot, { width, top, from, write });
  for (const one of series) drawLine(pen, plot, shown, one);
  const meant = picture.pointer === null ? shown.at(-1) : nearest(shown, plot, picture.pointer);
  if (meant && picture.pointer !== null) drawPointer(pen, plot.x(meant.at));
  series.forEach((one, at) => setText(values[at], said(one.value(meant ?? {}), write)));
  canvas.setAttribute(
    "aria-label",
    `${title}, last ten minutes; now ${series
      .map((one) => `${one.title} ${said(one.value(shown.at(-1) ?? {}), write)}`)
      .join(", ")}`,
  );
}

function drawAxes(pen, plot, { width, top, from, write }) {
  pen.font = `11px ${colour("font")}`;
  pen.fillStyle = colour("muted");
  pen.strokeStyle = colour("line");
  pen.lineWidth = 1;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    const y = Math.round(plot.y(top * part)) + 0.5;
    pen.beginPath();
    pen.moveTo(LEFT, y);
    pen.lineTo(width, y);
    pen.stroke();
    pen.fillText(write(top * part), LEFT - 6, y);
  }
  pen.textBaseline = "alphabetic";
  pen.textAlign = "center";
  for (const minutes of width < 400 ? [8, 5, 2] : [8, 6, 4, 2]) {
    pen.fillText(`−${minutes} min`, plot.x(from + SPAN_MS - minutes * 60_000), HEIGHT - 4);
  }
  pen.textAlign = "right";
  pen.fillText("now", width - 2, HEIGHT - 4);
}

function drawLine(pen, plot, points, one) {
  pen.strokeStyle = colour(one.colour);
  pen.lineWidth = 1.75;
  pen.lineJoin = "round";
  // A point without neighbours is seen as a dot.
  pen.lineCap = "round";
  pen.setLineDash(one.dash ?? []);
  pen.beginPath();
  let before = null;
  for (const point of points) {
    const value = one.value(point);
    if (value === null || value === undefined) continue;
    const isGap = before !== null && point.at - before > GAP_MS;
    if (isGap && one.isZeroBetween) {
      pen.lineTo(plot.x(before + 1000), plot.y(0));
      pen.lineTo(plot.x(point.at - 1000), plot.y(0));
    }
    if (before === null || (isGap && !one.isZeroBetween)) pen.moveTo(plot.x(point.at) - 1, plot.y(value));
    pen.lineTo(plot.x(point.at), plot.y(value));
    before = point.at;
  }
  pen.stroke();
  pen.setLineDash([]);
}

function drawPointer(pen, x) {
  pen.strokeStyle = colour("muted");
  pen.beginPath();
  pen.moveTo(x, TOP);
  pen.lineTo(x, HEIGHT - BOTTOM);
  pen.stroke();
}

function nearest(points, plot, pointer) {
  let found = null;
  for (const point of points) {
    const isNearer = !found || Math.abs(plot.x(point.at) - pointer) < Math.abs(plot.x(found.at) - pointer);
    if (isNearer) found = point;
  }
  return found;
}

const said = (value, write) => (value === null || value === undefined ? "–" : write(value));

/** Return the next round number. */
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}
