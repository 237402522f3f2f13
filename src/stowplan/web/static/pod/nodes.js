/** Every node with what each plugin says of it for a pod, and one node against another. */

import * as api from "../api.js";
import { element } from "../dom.js";
import { count } from "../format.js";
import { grid } from "../grid.js";
import { awaited } from "../parts/notice.js";
import { choice, panel } from "../parts/panel.js";
import { amend, nodeLink } from "../routes.js";
import { comparison } from "./comparison.js";

const SCORES = [
  ["weighted", "weighted scores"],
  ["normalized", "scores of 0 to 100"],
  ["raw", "raw scores"],
];

export function nodesPanel(pod, path, query, alive) {
  return awaited(
    alive,
    "Asking every plugin about every node",
    () => api.get(`${path}/nodes`, {}, alive),
    (found) => show(pod, found, query),
  );
}

function show(pod, found, query) {
  const compare = found.feasible.some(Boolean) ? comparison(pod, found, query) : null;
  const shown = { score: "weighted", verdict: query.only ?? "", reason: "", text: query.name ?? "" };
  const table = grid({
    label: "Nodes and plugins",
    columns: columnsOf(found, shown.score, compare),
    height: 520,
    empty: "No node is like that.",
    sort: { column: found.feasible.some(Boolean) ? 2 : 1, isDescending: true },
  });
  const rows = [...found.names.keys()];
  const filter = () =>
    table.show(
      rows.filter((row) => isWanted(found, row, shown)),
      rows.length,
    );
  const set = (name, value) => {
    shown[name] = value;
    if (name === "score") table.setColumns(columnsOf(found, value, compare));
    filter();
  };
  const field = element("input", {
    type: "search",
    value: shown.text,
    placeholder: "part of a name or reason",
    "aria-label": "Part of a name or reason",
    on: {
      input: () => {
        set("text", field.value.trim());
        amend({ name: field.value.trim() });
      },
    },
  });
  const reasons = [
    ["", "any reason"],
    ...found.reasons.map((one, code) => [String(code), `${one.plugin}: ${one.text}`]),
  ];
  const controls = element(
    "div",
    { class: "row" },
    field,
    choice(
      "Nodes",
      [
        ["", "all"],
        ["feasible", "that will do"],
        ["refused", "refused"],
      ],
      shown.verdict,
      (value) => {
        set("verdict", value);
        amend({ only: value });
      },
    ),
    found.reasons.length ? choice("Refused for", reasons, "", (value) => set("reason", value)) : null,
    choice("Show", SCORES, shown.score, (value) => set("score", value)),
  );
  queueMicrotask(filter);
  return [
    compare?.element ?? null,
    panel(`All ${count(rows.length)} nodes, plugin by plugin`, {}, controls, table.element),
  ];
}

function isWanted(found, row, shown) {
  if (shown.verdict && found.feasible[row] !== (shown.verdict === "feasible")) return false;
  if (shown.reason && !found.reasonCodes[row].includes(Number(shown.reason))) return false;
  return found.names[row].includes(shown.text) || (shown.text !== "" && reasonsOf(found, row).includes(shown.text));
}

function columnsOf(found, score, compare) {
  const scoring = found.plugins.filter((plugin) => plugin.weight !== null);
  return [
    { title: "Node", width: 200, value: (row) => found.names[row], cell: (row) => link(found, row, compare) },
    {
      title: "Will do",
      width: 170,
      value: (row) => verdict(found, row),
      hint: "Whether it will do; if not, the filter that is the first to refuse it",
    },
    {
      title: "Total",
      width: 80,
      isNumber: true,
      value: (row) => found.total[row],
      hint: "The sum of the weighted scores",
    },
    ...scoring.map((plugin) => ({
      title: plugin.name,
      width: Math.max(90, plugin.name.length * 8.2 + 32),
      isNumber: true,
      hint: `${plugin.name}, weight ${plugin.weight}`,
      value: (row) => plugin[score][row] ?? null,
      cell: (row) =>
        plugin[score][row] === null || plugin[score][row] === undefined ? "–" : count(plugin[score][row]),
    })),
    { title: "Every reason against it", width: 460, value: (row) => reasonsOf(found, row) },
  ];
}

function link(found, row, compare) {
  const name = found.names[row];
  const to = element("a", { href: nodeLink(name) }, name);
  if (!compare || !found.feasible[row]) return to;
  return element(
    "span",
    { class: "row" },
    to,
    element(
      "button",
      {
        type: "button",
        class: "quiet small",
        "aria-label": `Compare with ${name}`,
        title: "Compare",
        on: { click: () => compare.against(name) },
      },
      "⇄",
    ),
  );
}

function verdict(found, row) {
  if (found.feasible[row]) return "yes";
  return found.plugins[found.firstPlugin[row]]?.name ?? "no";
}

const cache = new WeakMap();

/** Return all reasons against a node as one text; there are far fewer texts than nodes. */
function reasonsOf(found, row) {
  if (!cache.has(found)) cache.set(found, new Map());
  const texts = cache.get(found);
  const key = found.reasonCodes[row].join();
  if (!texts.has(key)) {
    const byPlugin = new Map();
    for (const code of found.reasonCodes[row]) {
      const { plugin, text } = found.reasons[code];
      byPlugin.set(plugin, [...(byPlugin.get(plugin) ?? []), text]);
    }
    texts.set(key, [...byPlugin].map(([plugin, all]) => `${plugin}: ${all.join(", ")}`).join("; "));
  }
  return texts.get(key);
}
