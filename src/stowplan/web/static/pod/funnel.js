/** How many nodes each filter leaves, from all to those that will do; and what would let the pod onto others. */

import { element, joined } from "../dom.js";
import { count, counted } from "../format.js";
import { state } from "../live/store.js";
import { bar } from "../parts/bars.js";
import { empty } from "../parts/notice.js";
import { panel } from "../parts/panel.js";
import { nodeLink } from "../routes.js";

const MOST_NODES = 4;

export function funnelPanel(pod) {
  const steps = pod.funnel;
  if (!steps.length) return null;
  const left = steps[0].left;
  const all = Math.max(left, state.nodes?.names.length ?? left);
  const feasible = pod.explanation?.feasibleNodes ?? steps.at(-1).left;
  const lines = [
    step("All nodes", all, all, []),
    left < all || steps[0].reasons.length ? step("After PreFilter", left, all, steps[0].reasons, all - left) : null,
    steps.slice(1).map((one) => step(one.plugin, one.left, all, one.reasons, one.refused)),
    step("Feasible", feasible, all, [], 0, true),
  ];
  return panel("Which nodes are left", {}, element("ol", { class: "funnel" }, lines));
}

function step(title, left, all, reasons, refused = 0, isLast = false) {
  const text = isLast || !refused ? title : [title, element("span", { class: "note" }, ` −${count(refused)}`)];
  const why = reasons.map((one) => `${count(one.nodes)} × ${one.reason}`).join(", ");
  return element(
    "li",
    {},
    element("span", { class: "step" }, isLast ? element("b", {}, text) : text),
    bar(left, all, `${counted(left, "node")} left`),
    element("span", { class: "left" }, isLast ? element("b", {}, count(left)) : count(left)),
    why ? element("span", { class: "reasons" }, why) : null,
  );
}

/** What would help, on how many nodes. */
export function missesPanel(pod) {
  const misses = pod.explanation?.nearestMisses ?? [];
  if (!misses.length) return null;
  const title = pod.explanation.feasibleNodes ? "What would let it onto others" : "What would help";
  return panel(title, {}, element("ul", { class: "misses" }, misses.map(miss)));
}

function miss(one) {
  const named = one.nodes.slice(0, MOST_NODES).map((name) => element("a", { href: nodeLink(name) }, name));
  const more = one.count - named.length;
  return element(
    "li",
    {},
    element("div", {}, element("b", {}, counted(one.count, "node")), " would fit ", one.remedies.join(" and ")),
    element(
      "div",
      { class: "note" },
      joined(named, ", "),
      more > 0 ? ` and ${count(more)} more` : "",
      one.checked ? "" : "; not checked, for no change of the pod alone does it",
    ),
  );
}

/** The reasons of an attempt that is over, as its message counts them. */
export function messagePanel(message) {
  const found = countsOf(message);
  if (!found) return message ? element("p", {}, message) : empty("Nothing was said.");
  return element(
    "ol",
    { class: "funnel" },
    found.reasons.map(({ nodes, reason }) =>
      element(
        "li",
        {},
        element("span", { class: "step" }, reason),
        bar(nodes, found.all, `${nodes} of ${found.all} nodes`, "warn"),
        element("span", { class: "left" }, count(nodes)),
      ),
    ),
  );
}

/** Read `0/13 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu.`; null if it is another text. */
export function countsOf(message) {
  const found = /^\d+\/(\d+) nodes are available: (.*)$/s.exec(message);
  if (!found) return null;
  const text = found[2].replace(/\.? (?:no new claims|preemption): .*$/s, "").replace(/\.$/, "");
  const reasons = text.split(/, (?=\d+ )/).map((part) => /^(\d+) (.*)$/s.exec(part));
  if (reasons.some((reason) => !reason)) return null;
  return { all: Number(found[1]), reasons: reasons.map(([, nodes, reason]) => ({ nodes: Number(nodes), reason })) };
}
