/** Who waits: how many in each place of the queue, since when, and why. */

import { element, replace, setText } from "../dom.js";
import { count, secondsBetween, span } from "../format.js";
import * as store from "../live/store.js";
import { link, podLink } from "../routes.js";
import { bar } from "./bars.js";
import { empty, loading } from "./notice.js";
import { panel } from "./panel.js";

const AGES_EVERY_MS = 1000;

/** Shown also while nobody is there. */
const ALWAYS = ["active", "unschedulable"];

/** What each place of the queue means. */
export const PLACES = {
  "in flight": "being tried, or held in Permit",
  active: "its turn comes",
  backoff: "waits a little after a refusal",
  "error backoff": "waits a little after a failure",
  unschedulable: "waits for the cluster to change",
  gated: "held back",
  incomplete: "its group is not complete",
  pending: "its group is being tried",
};

export function waitingPanel(alive) {
  const places = placesList();
  const why = element("ol", { class: "waiting" });
  const place = element("div", { class: "tall", tabindex: "0", role: "group", "aria-label": "Why they wait" }, why);
  const draw = () => {
    const { queue } = store.state;
    if (!queue) {
      replace(why, element("li", {}, loading("Loading the queue")));
      return;
    }
    places.show(queue);
    // What somebody points at or is in does not move away.
    if (place.matches(":hover, :focus-within")) return;
    const alike = byReason(queue.pods);
    const isAll = queue.total <= queue.pods.length;
    replace(why, alike.length ? alike.map((pods) => line(pods, isAll)) : element("li", {}, empty("Nobody waits.")));
  };
  const end = store.on("queue", draw);
  // Ages go on although nothing happens.
  const timer = setInterval(draw, AGES_EVERY_MS);
  alive.addEventListener("abort", () => {
    end();
    clearInterval(timer);
  });
  draw();
  const all = element("a", { href: "#/queue" }, "All that wait");
  const heading = element("h3", {}, "Why they wait, oldest first");
  return panel("Queue", { class: "queue-panel", aside: all }, places.element, heading, place);
}

/** The places of the queue; what is shown of each changes without becoming another element. */
function placesList() {
  const list = element("ul", { class: "places" });
  const lines = new Map();
  const show = (queue) => {
    const there = Object.entries(queue.counts).filter(([name, number]) => number || ALWAYS.includes(name));
    const most = Math.max(1, ...there.map(([, number]) => number));
    const names = there.map(([name]) => name);
    if (names.join() !== [...lines.keys()].join()) {
      lines.clear();
      for (const name of names) lines.set(name, placeLine(name));
      replace(
        list,
        [...lines.values()].map((one) => one.element),
      );
    }
    for (const [name, number] of there) {
      const one = lines.get(name);
      const oldest = queue.pods.find((pod) => pod.place === name);
      one.bar.firstChild.style.width = `${(100 * number) / most}%`;
      one.bar.setAttribute("aria-label", `${count(number)} ${name}`);
      setText(one.number, count(number));
      setText(one.age, oldest ? `oldest ${span(ageOf(oldest))}` : "");
    }
  };
  return { element: list, show };
}

function placeLine(name) {
  const line = { bar: bar(0, 1, name), number: element("b"), age: element("span", { class: "note" }) };
  const to = element("a", { href: link("queue", [], { place: name }), title: PLACES[name] ?? "" }, name);
  return { ...line, element: element("li", {}, to, line.bar, line.number, line.age) };
}

/** Put pods together that wait for the same reason; the oldest is the first of each. */
function byReason(pods) {
  const found = new Map();
  for (const pod of pods) {
    const key = `${pod.place} ${reasonOf(pod)}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(pod);
  }
  return [...found.values()];
}

function line(pods, isAll) {
  const [oldest] = pods;
  const alike = `${isAll ? "" : "at least "}${count(pods.length)} pods: `;
  return element(
    "li",
    {},
    element("a", { href: podLink(oldest.pod) }, oldest.pod),
    element("span", { class: "age" }, span(ageOf(oldest))),
    element(
      "span",
      { class: "why", title: oldest.message || oldest.nextTry },
      pods.length > 1 ? element("b", {}, alike) : null,
      reasonOf(oldest),
    ),
  );
}

/** Return how long a pod waits in all, in seconds. */
export const ageOf = (pod) => Math.max(0, secondsBetween(pod.waitingSince, store.now()));

/** Say in short why a pod waits. */
export function reasonOf(pod) {
  const said = pod.message
    .replace(/^\d+\/\d+ nodes are available: /, "")
    .replace(/ (no new claims|preemption): .*$/, "");
  if (said) return said;
  return pod.rejectedBy.length ? `${pod.place}: ${pod.rejectedBy.join(", ")}` : pod.nextTry;
}
