/** One node: how full it is, what of the rest can still be used, what is on it, and who was refused here and why. */

import * as api from "../api.js";
import { element } from "../dom.js";
import { amount, clock, count, counted, share } from "../format.js";
import { grid } from "../grid.js";
import * as store from "../live/store.js";
import { bar } from "../parts/bars.js";
import { atMostEveryTwoSeconds, renew } from "../parts/following.js";
import { awaited, empty } from "../parts/notice.js";
import { panel, table, tag } from "../parts/panel.js";
import { groupLink, link, podLink } from "../routes.js";

export function open(route, alive) {
  const [name] = route.names;
  const ask = () => api.get(`nodes/${api.path(name)}`, {}, alive);
  return awaited(alive, `Asking about ${name}`, ask, (node) => followed(node, ask, alive), name);
}

/** Show a node, and again whenever the live events say that it changed. */
function followed(node, ask, alive) {
  const gone = element("p", { class: "paused", role: "status", hidden: true }, "It was deleted. This is how it was.");
  const place = element("div", { class: "awaited" }, show(node));
  let shown = JSON.stringify(node);
  const again = atMostEveryTwoSeconds(alive, async () => {
    try {
      const found = await ask();
      gone.hidden = true;
      const text = JSON.stringify(found);
      if (text === shown) return;
      shown = text;
      renew(place, show(found));
    } catch (error) {
      if (error.code === 404) gone.hidden = false;
    }
  });
  const end = store.on("nodes", (changed) => {
    const row = store.state.nodes.names.indexOf(node.name);
    if (!changed || row < 0 || changed.has(row)) again();
  });
  alive.addEventListener("abort", end);
  return [gone, place];
}

function show(node) {
  return [
    element(
      "div",
      { class: "row spread" },
      element("h1", {}, node.name),
      element("a", { class: "button", href: link("try", [], { ask: "drain", nodes: node.name }) }, "What if it goes?"),
    ),
    element(
      "p",
      { class: "row" },
      node.status.split(",").map((one) => tag(one, one === "Ready" ? "good" : "warn")),
      node.taints.map((one) => tag(`taint ${one}`)),
    ),
    element("div", { class: "columns" }, usagePanel(node), fragmentsPanel(node.fragmentation)),
    refusedPanel(node.refusedLately),
    podsPanel(node.pods),
    element("div", { class: "columns" }, labelsPanel(node.labels), conditionsPanel(node.conditions)),
  ];
}

function usagePanel(node) {
  const lines = Object.keys(node.allocatable)
    .filter((name) => node.allocatable[name] || node.requested[name])
    .map((name) => {
      const [has, taken] = [node.allocatable[name], node.requested[name] ?? 0];
      const text = `${amount(name, taken)} of ${amount(name, has)}, ${share(taken, has)}`;
      return element(
        "li",
        {},
        element("span", {}, name),
        bar(taken, has, `${name}: ${text}`, taken > has ? "warn" : ""),
        element("span", { class: "amounts" }, text),
      );
    });
  return panel("Requested", {}, element("ul", { class: "usage" }, lines));
}

/** What is free, and how much of it pods of the commonest shapes could still use. */
function fragmentsPanel({ free, shapes }) {
  const rest = Object.entries(free)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => `${amount(name, value)} ${name}`);
  const rows = shapes.map((shape) => [
    shapeText(shape.requests),
    count(shape.placed),
    count(shape.waiting),
    count(shape.roomFor),
    unusable(free, shape),
  ]);
  const number = (title) => ({ title, isNumber: true });
  return panel(
    "Free, and for whom",
    {},
    element("p", {}, rest.length ? `Free: ${rest.join(", ")}.` : "Nothing is free."),
    rows.length
      ? table(
          "Shapes of pods",
          ["Pods that request", number("Placed"), number("Waiting"), number("Room for"), "Left over then"],
          rows,
        )
      : empty("No pod requests anything yet."),
  );
}

/** Say what stays free when as many pods of a shape are placed as there is room for. */
function unusable(free, shape) {
  const parts = Object.keys(shape.requests)
    .filter((name) => name !== "pods" && free[name] > 0)
    .map((name) => `${share(free[name] - (shape.usable[name] ?? 0), free[name])} of ${name}`);
  return parts.join(", ") || "–";
}

const shapeText = (requests) =>
  Object.entries(requests)
    .filter(([name, value]) => name !== "pods" && value)
    .map(([name, value]) => `${amount(name, value)} ${name}`)
    .join(", ") || "nothing";

function refusedPanel(refused) {
  if (!refused.length) return panel("Refused here lately", {}, empty("Nobody who waits was refused here."));
  return panel(
    "Refused here lately",
    {},
    table(
      "Pods that wait and are refused here",
      ["Pod", "By", "Reasons", "Last refused"],
      refused.map((one) => [
        [element("a", { href: podLink(one.pod) }, one.pod), one.pods > 1 ? ` and ${count(one.pods - 1)} like it` : ""],
        one.plugin || tag("would fit now", "good"),
        one.reasons.join(", "),
        clock(one.at),
      ]),
    ),
  );
}

function podsPanel(pods) {
  if (!pods.length) return panel("Pods", {}, empty("No pod is on this node."));
  const resources = [...new Set(pods.flatMap((pod) => Object.keys(pod.requests)))].filter((name) => name !== "pods");
  const columns = [
    {
      title: "Pod",
      width: 320,
      value: (pod) => pod.pod,
      cell: (pod) => element("a", { href: podLink(pod.pod) }, pod.pod),
    },
    { title: "Priority", width: 110, isNumber: true, value: (pod) => pod.priority },
    ...resources.map((name) => ({
      title: name,
      width: 120,
      isNumber: true,
      value: (pod) => pod.requests[name] ?? null,
      cell: (pod) => amount(name, pod.requests[name]),
    })),
    {
      title: "Group",
      width: 180,
      value: (pod) => pod.group,
      cell: (pod) => (pod.group ? element("a", { href: groupLink(pod.group) }, pod.group) : ""),
    },
    {
      title: "Started",
      width: 170,
      value: (pod) => pod.startedAt,
      cell: (pod) => (pod.startedAt ? clock(pod.startedAt) : "not yet"),
    },
  ];
  const list = grid({ label: "Pods on this node", columns, height: 360 });
  queueMicrotask(() => list.show(pods));
  return panel(counted(pods.length, "pod"), {}, list.element);
}

const labelsPanel = (labels) =>
  panel(
    "Labels",
    {},
    Object.keys(labels).length ? table("Labels", ["Key", "Value"], Object.entries(labels)) : empty("It has no labels."),
  );

const conditionsPanel = (conditions) =>
  panel(
    "Conditions",
    {},
    conditions.length
      ? table(
          "Conditions",
          ["Type", "Status", "Reason"],
          conditions.map((one) => [one.type, one.status, one.message || one.reason]),
        )
      : empty("It tells no conditions."),
  );
