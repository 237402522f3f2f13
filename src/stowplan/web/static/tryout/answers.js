/** Shows what the scheduler answers to a question: yes or no first, then what it comes to. */

import { element, joined } from "../dom.js";
import { count, counted } from "../format.js";
import { bar } from "../parts/bars.js";
import { table, tag } from "../parts/panel.js";
import { nodeLink, podLink } from "../routes.js";
import { state } from "../live/store.js";

const MOST_ROWS = 300;
const MOST_CANDIDATES = 12;
const MOST_VICTIMS = 4;

/** Return the elements of an answer to what was asked. */
export function answerOf(said, asked = {}) {
  const kind = Object.keys(SHOWS).find((one) => said[one]);
  return [
    kind
      ? SHOWS[kind](said[kind], asked)
      : element("p", {}, "The answer has a form that this page does not know: load it anew."),
    said.notTakingPart.length
      ? element("p", { class: "note" }, `These take no part in the answer: ${said.notTakingPart.join(", ")}.`)
      : null,
  ];
}

const SHOWS = {
  fits(found, asked) {
    const daemons = asked.question?.fits?.everyNode ?? [];
    const isOne = found.pods.length === 1 && !daemons.length;
    return [
      isOne ? verdict(found.fits, oneText(found.pods[0])) : verdicts(found.pods, asked, daemons),
      isOne ? null : placements(found.pods),
      found.explanations.map((one) => explanationOf(one)),
    ];
  },

  headroom(found) {
    const pods = Object.entries(found.pods);
    const isOne = pods.length === 1;
    const number = isOne ? pods[0][1] : found.rounds;
    const unit = isOne
      ? counted(number, "more of it", "more of it")
      : counted(number, "round of the mix", "rounds of the mix");
    const most = Math.max(1, ...found.runsOut.map((one) => one.nodes), state.nodes?.names.length ?? 1);
    return [
      verdict(number > 0, [
        number === 0
          ? "No more of it fits."
          : found.limited
            ? `At least ${unit} fit.`
            : `${unit} ${number === 1 ? "fits" : "fit"}.`,
      ]),
      isOne
        ? null
        : table(
            "By template",
            ["Pod", { title: "Fit", isNumber: true }],
            pods.map(([pod, fit]) => [pod, count(fit)]),
          ),
      found.runsOut.length ? element("h3", {}, "What runs out then, on how many nodes") : null,
      element(
        "ol",
        { class: "funnel" },
        found.runsOut.map((one) =>
          element(
            "li",
            {},
            element("span", { class: "step" }, one.reason),
            bar(one.nodes, most, counted(one.nodes, "node"), "warn"),
            element("span", { class: "left" }, count(one.nodes)),
          ),
        ),
      ),
      found.message ? element("p", { class: "note" }, found.message) : null,
    ];
  },

  preempt(found) {
    const placed = found.placed?.node;
    const text = !found.findsRoom
      ? ["No, also evicting others makes no room for it."]
      : found.needsPreemption
        ? [
            "It pushes out ",
            counted(found.candidates[0]?.victims.length ?? 0, "pod"),
            " and goes to ",
            node(placed),
            ".",
          ]
        : ["Nobody: it fits as it is, and goes to ", node(placed), "."];
    return [
      verdict(found.findsRoom, text),
      found.message ? element("p", { class: "note" }, found.message) : null,
      found.victims.length ? [element("h3", {}, "What becomes of them"), moves(found.victims)] : null,
      found.candidates.length
        ? [element("h3", {}, "Where room could be made, in the order of choice"), candidates(found.candidates)]
        : null,
    ];
  },

  drain(found) {
    const moved = found.batches.reduce((sum, batch) => sum + batch.moved.length, 0);
    const held = Object.entries(found.heldByBudgets);
    return [
      verdict(found.canBeDrained, [
        found.canBeDrained
          ? `Yes: ${counted(moved, "pod")} would find another node.`
          : `Not without harm: ${counted(found.homeless.length, "pod")} would find no other node${held.length ? ", and budgets stand in the way" : ""}.`,
      ]),
      held.length
        ? [
            element("h3", {}, "Budgets in the way"),
            table(
              "Budgets",
              ["Budget", "Pods"],
              held.map(([budget, pods]) => [budget, pods.join(", ")]),
            ),
          ]
        : null,
      found.batches.map((batch, at) => [
        element("h3", {}, found.batches.length > 1 ? `Batch ${at + 1}: ` : "", joined(batch.nodes.map(node), ", ")),
        batch.moved.length ? moves(batch.moved) : element("p", { class: "empty" }, "Nothing on them has to go."),
      ]),
      found.unmanaged.length
        ? element("p", {}, `No controller makes these anew: ${found.unmanaged.join(", ")}.`)
        : null,
      Object.keys(found.alsoPlaced).length
        ? element(
            "p",
            { class: "note" },
            `On the way these, which wait now, get a node: ${Object.entries(found.alsoPlaced)
              .map(([pod, on]) => `${pod} (${on})`)
              .join(", ")}.`,
          )
        : null,
    ];
  },
};

const oneText = (first) => (first.node ? ["Yes, it goes to ", node(first.node), "."] : ["No, it fits no node."]);

/** Say how many fit: of pods by number, of those of a DaemonSet by the nodes that it is meant for. */
function verdicts(pods, asked, daemons) {
  const named = new Set(
    (asked.question?.fits?.pods ?? []).map(({ metadata: { namespace, name } }) => `${namespace}/${name}`),
  );
  const many = daemons.length ? pods.filter((one) => named.has(one.pod)) : pods;
  const each = daemons.length ? pods.filter((one) => !named.has(one.pod)) : [];
  const line = (all, noun) => {
    const placed = all.filter((one) => one.node).length;
    const isAll = placed === all.length;
    return verdict(isAll, [noun(placed, all.length)]);
  };
  return [
    many.length
      ? line(many, (placed, all) => `${count(placed)} of ${counted(all, "pod")} ${placed === 1 ? "fits" : "fit"}.`)
      : null,
    each.length
      ? line(each, (placed, all) => `It fits ${count(placed)} of ${counted(all, "node")} that it is meant for.`)
      : null,
  ];
}

function candidates(found) {
  const more = found.length - MOST_CANDIDATES;
  const rows = found.slice(0, MOST_CANDIDATES);
  return [
    candidatesTable(rows),
    more > 0 ? element("p", { class: "note" }, `and ${counted(more, "more node", "more nodes")}`) : null,
  ];
}

function candidatesTable(found) {
  return table(
    "Candidates",
    ["Choice", "Node", "Victims (priority)", { title: "Budgets violated", isNumber: true }],
    found.map((one, at) => [String(at + 1), node(one.node), victims(one.victims), one.pdbViolations]),
  );
}

function victims(all) {
  const named = all.slice(0, MOST_VICTIMS).map((victim) => [pod(victim.pod), ` (${victim.priority})`]);
  const more = all.length - named.length;
  return [joined(named, ", "), more > 0 ? ` and ${count(more)} more` : ""];
}

function moves(moved) {
  return table(
    "What becomes of the pods",
    ["Pod", "From", "To"],
    capped(
      moved.map((one) => [
        pod(one.pod),
        node(one.fromNode),
        one.to
          ? [node(one.to), one.unmanaged ? " if made anew" : ""]
          : [
              tag(one.heldBy.length ? `held by ${one.heldBy.join(", ")}` : "homeless", "bad"),
              one.message ? ` ${one.message}` : "",
            ],
      ]),
    ),
  );
}

/** Why a pod of the question fits nowhere, and what would help. */
function explanationOf(found) {
  return element(
    "div",
    { class: "explained" },
    element("h3", {}, `Why ${found.pod} fits no node`),
    element("p", {}, found.message),
    found.nearestMisses.length
      ? element(
          "ul",
          { class: "misses" },
          found.nearestMisses.map((miss) =>
            element(
              "li",
              {},
              element("b", {}, counted(miss.count, "node")),
              " would fit ",
              miss.remedies.join(" and "),
              element(
                "div",
                { class: "note" },
                joined(miss.nodes.slice(0, 4).map(node), ", "),
                miss.count > 4 ? ` and ${count(miss.count - 4)} more` : "",
              ),
            ),
          ),
        )
      : null,
  );
}

/** Where pods go; those that go nowhere are named below, by why. */
function placements(pods) {
  const placed = pods.filter((one) => one.node);
  if (!placed.length) return null;
  return [
    element("p", {}, `They go to ${counted(new Set(placed.map((one) => one.node)).size, "node")}.`),
    table("Where they go", ["Pod", "Node"], capped(placed.map((one) => [one.pod, node(one.node)]))),
  ];
}

function capped(rows) {
  if (rows.length <= MOST_ROWS) return rows;
  return [
    ...rows.slice(0, MOST_ROWS),
    [`and ${count(rows.length - MOST_ROWS)} more`, ...rows[0].slice(1).map(() => "")],
  ];
}

const verdict = (isYes, text) =>
  element("p", { class: "verdict-line" }, tag(isYes ? "✓" : "✕", isYes ? "good" : "bad"), " ", text);
const node = (name) => (name ? element("a", { href: nodeLink(name) }, name) : null);
const pod = (key) => element("a", { href: podLink(key) }, key);
