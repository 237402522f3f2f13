/** Nodes to tick, and what would become of their pods if they went. */

import * as api from "../api.js";
import { element, replace } from "../dom.js";
import { counted } from "../format.js";
import { nodesTable } from "../heat/nodes_table.js";
import * as store from "../live/store.js";
import * as ticked from "../live/ticked.js";
import { awaited } from "../parts/notice.js";
import { panel } from "../parts/panel.js";
import { suggest } from "../parts/suggest.js";
import { amend, nodeLink } from "../routes.js";
import { answerOf } from "./answers.js";

const MOST_NAMED = 40;
const MOST_IN_LINK = 100;

export function drainForm(ask, query, alive) {
  const given = (query.nodes ?? "").split(",").filter(Boolean);
  if (given.length) ticked.set(given);
  const chosen = element("div", {});
  const answer = element("div", { class: "awaited" }, element("p", { class: "empty" }, "Tick nodes, then ask."));
  const batches = element("input", { type: "number", min: "1", max: "100", step: "1", value: query.batches || "1" });
  const button = element("button", { type: "button", class: "main", on: { click: () => run() } }, "What if they go?");
  const run = () => {
    const names = ticked.all();
    const number = Math.max(1, Math.round(Number(batches.value)) || 1);
    amend({ ask, nodes: names.length <= MOST_IN_LINK ? names.join(",") : "", batches: number > 1 ? number : "" });
    answer.replaceChildren(
      awaited(
        alive,
        "Asking the scheduler",
        () => api.post("whatif", { question: { drain: { names, batches: number } } }, alive),
        answerOf,
      ),
    );
  };
  const show = () => {
    button.disabled = ticked.all().length === 0;
    replace(chosen, chips());
  };
  const list = nodesTable(alive);
  const update = (changed) => store.state.nodes && list.update(changed);
  const end = store.on("nodes", update);
  alive.addEventListener("abort", end);
  ticked.onChange(show, alive);
  queueMicrotask(() => {
    show();
    update(null);
    if (given.length) run();
  });
  return element(
    "div",
    { class: "try" },
    panel(
      "Nodes that go",
      {},
      adding().element,
      chosen,
      element(
        "div",
        { class: "row spread" },
        element("label", { class: "field" }, element("span", {}, "in batches"), batches),
        button,
      ),
      element("h3", {}, "All nodes"),
      list.element,
    ),
    panel("Answer", {}, answer),
  );
}

function adding() {
  return suggest({
    label: "Add a node",
    placeholder: "Add a node by its name",
    none: "No node has that in its name.",
    find: (text) =>
      (store.state.nodes?.names ?? [])
        .filter((name) => name.includes(text) && !ticked.has(name))
        .slice(0, 10)
        .map((name) => ({ text: name, value: name })),
    onChoice: (name) => ticked.toggle(name),
  });
}

function chips() {
  const names = ticked.all();
  if (!names.length)
    return element(
      "p",
      { class: "empty" },
      "No node is ticked. Tick some below, or on the heat map with Shift and a click.",
    );
  return [
    element(
      "p",
      { class: "row" },
      `${counted(names.length, "node")} ticked`,
      element("button", { type: "button", on: { click: () => ticked.set([]) } }, "Untick all"),
    ),
    element(
      "ul",
      { class: "tags" },
      names.slice(0, MOST_NAMED).map((name) =>
        element(
          "li",
          { class: "tag" },
          element("a", { href: nodeLink(name) }, name),
          element(
            "button",
            {
              type: "button",
              class: "quiet small",
              "aria-label": `Untick ${name}`,
              on: { click: () => ticked.toggle(name) },
            },
            "×",
          ),
        ),
      ),
    ),
  ];
}
