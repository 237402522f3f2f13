/** How many pods were placed and refused a second, and how long an attempt took, over ten minutes. */

import { chart } from "../chart.js";
import { element } from "../dom.js";
import { rough, span } from "../format.js";
import * as store from "../live/store.js";
import * as theme from "../theme.js";
import { panel } from "./panel.js";

export function ratesPanel(alive) {
  const rate = chart(
    "Pods a second",
    [
      { title: "placed", colour: "series-1", isZeroBetween: true, value: (point) => point.placedPerSecond },
      {
        title: "refused",
        colour: "series-2",
        dash: [4, 3],
        isZeroBetween: true,
        value: (point) => point.refusedPerSecond,
      },
    ],
    rough,
  );
  const latency = chart(
    "Time an attempt takes",
    [
      { title: "median", colour: "series-1", value: (point) => point.attemptSecondsP50 },
      { title: "99 %", colour: "series-2", dash: [4, 3], value: (point) => point.attemptSecondsP99 },
    ],
    span,
  );
  const draw = () => {
    const points = store.state.rates.map((one) => ({ ...one, at: new Date(one.at).getTime() }));
    rate.draw(points, store.now());
    latency.draw(points, store.now());
  };
  const size = new ResizeObserver(draw);
  size.observe(rate.element);
  const ends = [store.on("rates", draw), theme.onChange(draw), () => size.disconnect()];
  alive.addEventListener("abort", () => ends.forEach((end) => end()));
  return panel("Speed", { class: "rates" }, element("div", { class: "charts" }, rate.element, latency.element));
}
