/** Bars that show a part of a whole: for what is used, what a filter left, and how one score leads another. */

import { element } from "../dom.js";

/** A bar of which a part is filled, with words for those who do not see it. */
export function bar(part, whole, label, kind = "") {
  const percent = whole ? Math.min(100, (100 * part) / whole) : 0;
  return element(
    "span",
    { class: `bar ${kind}`, role: "img", "aria-label": label },
    element("i", { style: { width: `${percent}%` } }),
  );
}

/** Two bars from one middle line, the first to the left: who gives more. */
export function versus(first, second, most, label) {
  const width = (value) => ({ width: most ? `${(50 * Math.max(0, value)) / most}%` : "0" });
  return element(
    "span",
    { class: "versus", role: "img", "aria-label": label },
    element("i", { class: "first", style: width(first) }),
    element("i", { class: "second", style: width(second) }),
  );
}
