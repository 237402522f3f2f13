/** What the colours and marks of the heat map mean. */

import { element } from "../dom.js";
import { LEVELS, NONE, OVER, palette } from "./colours.js";

export function legend() {
  const colours = palette();
  const swatch = (level) => element("i", { class: "swatch", style: { background: colours[level] } });
  const mark = (kind, text) => element("li", {}, element("i", { class: `swatch mark ${kind}` }), text);
  return element(
    "ul",
    { class: "legend heat-legend", "aria-label": "Legend" },
    element(
      "li",
      {},
      "0 %",
      element(
        "span",
        { class: "ramp", "aria-hidden": "true" },
        colours.slice(0, LEVELS).map((colour) => element("i", { style: { background: colour } })),
      ),
      "100 %",
    ),
    element("li", {}, swatch(OVER), "more than there is"),
    element("li", {}, element("i", { class: "swatch framed", style: { background: colours[NONE] } }), "has none"),
    mark("cordoned", "cordoned"),
    mark("not-ready", "not ready"),
    mark("is-ticked", "ticked"),
  );
}
