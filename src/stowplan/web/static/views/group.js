/** A group of pods that go together: how many of it are needed, what each placement takes of it, who is in it. */

import * as api from "../api.js";
import { element, joined } from "../dom.js";
import { count, counted, span } from "../format.js";
import { grid } from "../grid.js";
import * as store from "../live/store.js";
import { bar } from "../parts/bars.js";
import { renew } from "../parts/following.js";
import { awaited, empty } from "../parts/notice.js";
import { facts, panel, table, tag } from "../parts/panel.js";
import { ageOf, reasonOf } from "../parts/waiting.js";
import { nodeLink, podLink } from "../routes.js";

const MOST_ASKED = 10_000;
const LOOK_EVERY_MS = 1000;
/** The group is tried for an answer, and the scheduler has better things to do: so many times as long nobody asks. */
const REST_FACTOR = 30;

export function open(route, alive) {
  const [namespace, name] = route.names;
  const about = () => ask(namespace, name, alive);
  const shown = ([group, queue]) => show(group, queue.pods, namespace, name);
  return awaited(
    alive,
    `Asking about the group ${namespace}/${name}`,
    about,
    (found) => followed(found, about, shown, alive),
    `${namespace}/${name}`,
  );
}

/** Show a group, and again after something has changed in the queue or on the nodes. */
function followed(found, about, shown, alive) {
  const gone = element("p", { class: "paused", role: "status", hidden: true }, "It was deleted. This is how it was.");
  const place = element("div", { class: "awaited" }, shown(found));
  let last = JSON.stringify(found);
  let isDue = false;
  let restsUntil = 0;
  const again = async () => {
    const began = performance.now();
    isDue = false;
    restsUntil = Infinity;
    try {
      const now = await about();
      const text = JSON.stringify(now);
      gone.hidden = true;
      if (text !== last) renew(place, shown(now));
      last = text;
    } catch (error) {
      if (error.code === 404) gone.hidden = false;
    }
    restsUntil = performance.now() + REST_FACTOR * (performance.now() - began);
  };
  const ends = ["queue", "nodes"].map((topic) => store.on(topic, () => (isDue = true)));
  const timer = setInterval(() => {
    if (isDue && !document.hidden && performance.now() >= restsUntil) again();
  }, LOOK_EVERY_MS);
  alive.addEventListener("abort", () => {
    ends.forEach((end) => end());
    clearInterval(timer);
  });
  return [gone, place];
}

/** Ask what is to be said of the group, and why pods wait. */
const ask = (namespace, name, alive) =>
  Promise.all([
    api.get(`groups/${api.path(namespace, name)}`, {}, alive),
    api.get("queue", { namespace, limit: MOST_ASKED }, alive),
  ]);

function show(group, waiting, namespace, name) {
  const there = group.pending + group.scheduled;
  return [
    element("h1", {}, `${namespace}/${name}`),
    element("p", { class: "lead" }, sentence(group)),
    element(
      "div",
      { class: "columns" },
      panel(
        "Members",
        {},
        bar(there, Math.max(1, there, group.needed), `${there} of ${Math.max(there, group.needed)} pods are there`),
        facts([
          ["are there", `${count(there)} of ${count(Math.max(there, group.needed))}`],
          ["needed at the same time", group.needed ? count(group.needed) : ""],
          ["without a node", count(group.pending)],
          ["with a node", count(group.scheduled)],
          ["waits in", group.place],
          ["attempts", count(group.attempts)],
        ]),
      ),
      group.makingRoom || group.victims.length
        ? panel(
            "Making room",
            {},
            element("p", {}, group.makingRoom),
            element(
              "ul",
              {},
              group.victims.map((key) => element("li", {}, "evicts ", element("a", { href: podLink(key) }, key))),
            ),
          )
        : null,
    ),
    panel(
      "Placements",
      {},
      group.placements.length
        ? table(
            "Placements",
            ["Where", "Verdict", { title: "Takes", isNumber: true }, "Pods", "Against the next"],
            group.placements.map((one) => placement(one, namespace)),
          )
        : empty(group.pending ? "It is not tried anywhere now." : "All of it has a node; it is not tried any more."),
    ),
    membersPanel(group.members, waiting),
  ];
}

/** All who are in the group: those that wait first, the oldest of them on top. */
function membersPanel(members, waiting) {
  if (!members.length) return panel("Who is in it", {}, empty("Nobody is there yet."));
  const queued = new Map(waiting.map((pod) => [pod.pod, pod]));
  const of = (member, say) => (queued.has(member.pod) ? say(queued.get(member.pod)) : null);
  const columns = [
    {
      title: "Pod",
      width: 280,
      value: (member) => member.pod,
      cell: (member) => element("a", { href: podLink(member.pod) }, member.pod),
    },
    {
      title: "Node",
      width: 200,
      value: (member) => member.node,
      cell: (member) => (member.node ? element("a", { href: nodeLink(member.node) }, member.node) : "–"),
    },
    { title: "Waits in", width: 130, value: (member) => member.place },
    {
      title: "For",
      width: 110,
      isNumber: true,
      value: (member) => of(member, ageOf),
      cell: (member) => of(member, (pod) => span(ageOf(pod))) ?? "–",
    },
    { title: "Attempts", width: 95, isNumber: true, value: (member) => of(member, (pod) => pod.attempts) },
    { title: "Why", width: 380, value: (member) => of(member, reasonOf) },
  ];
  const list = grid({ label: "Members", columns, height: 420, sort: { column: 3, isDescending: true } });
  queueMicrotask(() => list.show(members));
  const without = members.filter((member) => !member.node).length;
  return panel(`${counted(members.length, "member")}, ${count(without)} without a node`, {}, list.element);
}

function sentence(group) {
  if (group.scheduled && !group.pending)
    return [element("b", {}, "It is placed: "), `all ${counted(group.scheduled, "pod")} of it have a node.`];
  if (group.problem.startsWith("is ")) return [`It ${group.problem}.`];
  if (group.problem) return [element("b", {}, "It cannot be tried: "), group.problem];
  const enough = group.placements.find((one) => one.isEnough);
  if (enough)
    return [
      element("b", {}, "It fits"),
      ` ${enough.name ? `in ${enough.name}` : "the cluster"}: all ${count(group.needed)} get a node.`,
    ];
  if (!group.placements.length)
    return [
      element("b", {}, "It is not tried as one: "),
      `${count(group.scheduled)} of ${counted(group.scheduled + group.pending, "pod")} have a node; below is why each of the others waits.`,
    ];
  const best = [...group.placements].sort(
    (one, other) => Object.keys(other.nodes).length - Object.keys(one.nodes).length,
  )[0];
  const most = best ? Object.keys(best.nodes).length : 0;
  const why = best?.why ? ` ${best.missing ? `Next would be ${best.missing}: ` : ""}${best.why}` : "";
  return [
    element("b", {}, "It does not fit: "),
    `of ${counted(group.needed, "pod")} needed at the same time, at most ${count(most)} get a node.${why}`,
  ];
}

function placement(one, namespace) {
  const pods = Object.entries(one.nodes);
  return [
    one.name || "anywhere",
    one.isEnough ? tag("fits", "good") : tag("does not fit", "warn"),
    count(pods.length),
    joined(
      pods.map(([pod, node]) => [
        element("a", { href: podLink(pod.includes("/") ? pod : `${namespace}/${pod}`) }, pod),
        " on ",
        element("a", { href: nodeLink(node) }, node),
      ]),
      ", ",
    ),
    [one.missing, one.why].filter(Boolean).join(": "),
  ];
}
