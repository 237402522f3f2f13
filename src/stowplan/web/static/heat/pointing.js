/** Pointer and keyboard on the heat map: shows what is meant, opens it, ticks it. */

import { element, replace } from "../dom.js";
import { amount, count, share } from "../format.js";
import { state } from "../live/store.js";
import * as ticked from "../live/ticked.js";
import { nodeLink } from "../routes.js";
import { neighbour, rowAt } from "./layout.js";

const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);
const TIP_WIDTH = 260;

/**
 * Have a stage with the canvas of a map react.
 * @param {HTMLElement} stage
 * @param {import("./heatmap.js").HeatMap} map
 * @param {{measure: string}} shown
 */
export function pointing(stage, map, shown) {
  const tip = element("div", { class: "tip", hidden: true });
  // Two, by turns: a screen reader reads an option that becomes the active one, not one whose text changes.
  const options = [0, 1].map((at) =>
    element("div", { id: `heat-option-${at}`, role: "option", class: "unseen", "aria-selected": "false" }, "No node"),
  );
  stage.append(tip, ...options);
  setUp(stage);

  const show = (row) => {
    if (row < 0 || !state.nodes) {
      tip.hidden = true;
      map.moveCursor(-1);
      return;
    }
    map.moveCursor(row);
    replace(tip, tipOf(row, shown.measure));
    tip.hidden = false;
    const { place, size } = map.layout;
    const left = Math.min(place[2 * row] + size + 8, stage.clientWidth - TIP_WIDTH);
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${place[2 * row + 1] + size + 8}px`;
  };
  const speak = (row) => {
    const option = options.find((one) => one.id !== stage.getAttribute("aria-activedescendant"));
    option.textContent = sentence(row, shown.measure);
    option.setAttribute("aria-selected", String(ticked.has(state.nodes.names[row])));
    stage.setAttribute("aria-activedescendant", option.id);
  };
  const at = (event) => {
    const box = stage.getBoundingClientRect();
    return rowAt(map.layout, event.clientX - box.left, event.clientY - box.top + stage.scrollTop);
  };
  const nameOf = (row) => state.nodes?.names[row];

  stage.addEventListener("pointermove", (event) => show(at(event)));
  stage.addEventListener("pointerleave", () => show(-1));
  stage.addEventListener("blur", () => show(-1));
  stage.addEventListener("click", (event) => {
    const name = nameOf(at(event));
    if (!name) return;
    if (event.shiftKey || event.ctrlKey || event.metaKey) ticked.toggle(name);
    else location.hash = nodeLink(name);
  });
  stage.addEventListener("keydown", (event) => {
    const row = map.cursor;
    if (KEYS.has(event.key)) {
      const next = neighbour(map.layout, row, event.key);
      show(next);
      if (next >= 0) {
        speak(next);
        scrollTo(stage, map, next);
      }
    } else if (event.key === "Enter" && row >= 0) {
      location.hash = nodeLink(nameOf(row));
    } else if (event.key === " " && row >= 0) {
      ticked.toggle(nameOf(row));
      speak(row);
    } else if (event.key === "Escape") {
      show(-1);
    } else {
      return;
    }
    event.preventDefault();
  });
}

function setUp(stage) {
  const attributes = {
    role: "listbox",
    tabindex: "0",
    "aria-label": "Nodes: arrow keys move, Enter opens a node, Space ticks it",
    "aria-describedby": "heat-summary",
    "aria-multiselectable": "true",
  };
  for (const [name, value] of Object.entries(attributes)) stage.setAttribute(name, value);
}

function scrollTo(stage, map, row) {
  const top = map.layout.place[2 * row + 1];
  const { size } = map.layout;
  if (top < stage.scrollTop) stage.scrollTop = top - size;
  else if (top + size > stage.scrollTop + stage.clientHeight) stage.scrollTop = top + 2 * size - stage.clientHeight;
}

function tipOf(row, measure) {
  const { names, status, resources, group } = state.nodes;
  const lines = Object.entries(resources).filter(([, one]) => one.allocatable[row] || one.requested[row]);
  return [
    element("b", {}, names[row]),
    element("span", { class: "note" }, [status[row], group?.values[group.codes[row]]].filter(Boolean).join(" · ")),
    element(
      "table",
      {},
      element(
        "tbody",
        {},
        lines.map(([name, one]) =>
          element(
            "tr",
            { class: name === measure ? "chosen" : null },
            element("th", { scope: "row" }, name),
            element(
              "td",
              { class: "number" },
              `${amount(name, one.requested[row])} of ${amount(name, one.allocatable[row])}`,
            ),
            element("td", { class: "number" }, share(one.requested[row], one.allocatable[row])),
          ),
        ),
      ),
    ),
    element("span", { class: "note" }, "Click opens, Shift-click ticks"),
  ];
}

function sentence(row, measure) {
  const { names, status, resources } = state.nodes;
  const one = resources[measure];
  const amounts = one
    ? `${amount(measure, one.requested[row])} of ${amount(measure, one.allocatable[row])} ${measure} requested`
    : "";
  return `${names[row]}, ${status[row]}, ${amounts}, ${count(row + 1)} of ${count(names.length)}`;
}
