/** What the heat map is to show: measure, groups, size, or a table instead. */

import { element, replace } from "../dom.js";
import * as store from "../live/store.js";
import { choice } from "../parts/panel.js";
import { amend } from "../routes.js";

/**
 * Make the controls of what is shown.
 * @param {{measure: string, isFree: boolean, zoom: number, isTable: boolean}} shown
 * @param {number} zooms how many sizes there are
 * @param {(query: Object<string, string>) => void} change is told what to put into the address
 */
export function heatControls(shown, zooms, change) {
  const set = (name, value, query) => {
    shown[name] = value;
    change(query);
  };
  const measures = choice("Show", [], "", (value) => set("measure", value, { measure: value }));
  const amounts = choice("as", ["requested", "free"], shown.isFree ? "free" : "requested", (value) =>
    set("isFree", value === "free", { show: value }),
  );
  const labels = choice("by", [], "", (value) => {
    store.groupBy(value);
    amend({ group: value || "none" });
  });
  const zoomed = (step, text, title) =>
    element(
      "button",
      { type: "button", "aria-label": title, title, on: { click: () => set("zoom", shown.zoom + step, {}) } },
      text,
    );
  const smaller = zoomed(-1, "−", "Smaller");
  const larger = zoomed(1, "+", "Larger");
  const asTable = element(
    "button",
    { type: "button", on: { click: () => set("isTable", !shown.isTable, { as: shown.isTable ? "" : "table" }) } },
    "Table",
  );

  /** Offer what there is now; a list stays the same element, so that the focus stays in it. */
  const refresh = () => {
    const { cluster, nodes, label } = store.state;
    const known = Object.keys(nodes?.resources ?? {});
    offer(
      measures,
      (known.includes(shown.measure) ? known : [...known, shown.measure]).map((name) => [name, name]),
      shown.measure,
    );
    const keys = (cluster?.labels ?? []).map((one) => [one.key, `${one.key} (${one.values})`]);
    offer(labels, [["", "nothing"], ...keys], label ?? "");
    smaller.disabled = shown.isTable || shown.zoom === 0;
    larger.disabled = shown.isTable || shown.zoom === zooms - 1;
    asTable.setAttribute("aria-pressed", String(shown.isTable));
  };
  const size = element("span", { class: "pair" }, smaller, larger);
  return { element: element("div", { class: "row controls" }, measures, amounts, labels, size, asTable), refresh };
}

function offer(field, options, chosen) {
  const list = field.querySelector("select");
  const text = options.flat().join("\n");
  if (list.dataset.offered !== text) {
    list.dataset.offered = text;
    replace(
      list,
      options.map(([value, title]) => element("option", { value }, title)),
    );
  }
  list.value = chosen;
}
