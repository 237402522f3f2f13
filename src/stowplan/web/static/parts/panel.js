/** The pieces that views are built of: panels, small tables, pairs of name and value, choices. */

import { element } from "../dom.js";

/** Values with more letters have a line of their own. */
const LONG = 24;

let made = 0;

/** A part of a view with a heading of its own. */
export function panel(title, options, ...children) {
  made += 1;
  const id = `panel-${made}`;
  const aside = options.aside ? element("div", { class: "aside" }, options.aside) : null;
  return element(
    "section",
    { class: `panel ${options.class ?? ""}`, "aria-labelledby": id },
    element("div", { class: "panel-head" }, element("h2", { id }, title), aside),
    children,
  );
}

/**
 * A table of few rows.
 * @param {string} label
 * @param {(string|{title: string, isNumber: boolean})[]} headings
 * @param {any[][]} rows
 */
export function table(label, headings, rows) {
  const columns = headings.map((one) => (typeof one === "string" ? { title: one, isNumber: false } : one));
  const kind = (column) => (column.isNumber ? "number" : null);
  return element(
    "div",
    { class: "scrolls", tabindex: "0", role: "group", "aria-label": `${label}, scrolls` },
    element(
      "table",
      { "aria-label": label },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          columns.map((one) => element("th", { scope: "col", class: kind(one) }, one.title)),
        ),
      ),
      element(
        "tbody",
        {},
        rows.map((row) =>
          element(
            "tr",
            {},
            row.map((cell, at) => element("td", { class: kind(columns[at]) }, cell)),
          ),
        ),
      ),
    ),
  );
}

/** Names and values; those without a value are left out. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element(
    "dl",
    { class: "facts" },
    given.map(([name, value]) =>
      element("div", { class: value.length > LONG ? "long" : null }, element("dt", {}, name), element("dd", {}, value)),
    ),
  );
}

/**
 * A list to choose one of.
 * @param {string} label
 * @param {(string|[string, string])[]} choices texts, or values with their texts
 * @param {string} chosen
 * @param {(value: string) => void} onChange
 */
export function choice(label, choices, chosen, onChange) {
  const options = choices.map((one) => (Array.isArray(one) ? one : [one, one]));
  const list = element(
    "select",
    { on: { change: () => onChange(list.value) } },
    options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)),
  );
  return element("label", { class: "field" }, element("span", {}, label), list);
}

/** A short text with a meaning that its colour only repeats. */
export const tag = (text, kind = "") => element("span", { class: `tag ${kind}` }, text);
