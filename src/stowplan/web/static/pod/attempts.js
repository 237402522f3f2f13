/** What became of a pod in the queue so far, attempt by attempt, each with an address of its own. */

import { element } from "../dom.js";
import { clock, counted, secondsBetween, span } from "../format.js";
import { now } from "../live/store.js";
import { panel, tag } from "../parts/panel.js";
import { nodeLink, podLink } from "../routes.js";
import { messagePanel } from "./funnel.js";

const WORDS = { bound: "placed", refused: "refused", error: "failed", dropped: "given up" };
const KINDS = { bound: "good", refused: "warn", error: "bad", dropped: "" };

export function attemptsPanel(pod, chosen) {
  const { queue, attempts } = pod;
  if (!queue && !attempts.length) return null;
  const newest = [...attempts].reverse();
  const lines = newest.map((attempt, at) => line(attempt, newest[at - 1], pod, attempt === chosen));
  return panel(
    "In the queue",
    {},
    queue ? waits(queue) : null,
    lines.length ? [element("h3", {}, "Attempts, newest first"), element("ol", { class: "attempts" }, lines)] : null,
  );
}

/** An attempt that is over, as far as it is kept. */
export function pastAttempt(attempt, pod) {
  const ago = span(Math.max(0, secondsBetween(attempt.endedAt, now())));
  const back = element("a", { href: podLink(pod.pod) }, "Show it as of now");
  return panel(
    `Attempt at ${clock(attempt.startedAt ?? attempt.endedAt)}, ${ago} ago`,
    { aside: back },
    element("p", {}, verdict(attempt)),
    attempt.outcome === "bound" ? null : messagePanel(attempt.message),
  );
}

function waits(queue) {
  const since = span(Math.max(0, secondsBetween(queue.since, now())));
  const latest = queue.nextTryAt
    ? `, at the latest in ${span(Math.max(0, (new Date(queue.nextTryAt) - now()) / 1000))}`
    : "";
  const woken = Object.entries(queue.wokenBy);
  return [
    element(
      "p",
      {},
      tag(queue.place, "warn"),
      ` for ${since}, after ${counted(queue.attempts, "attempt")}. It is tried ${queue.nextTry}${latest}.`,
    ),
    queue.nominatedNode
      ? element(
          "p",
          {},
          "Room is kept for it on ",
          element("a", { href: nodeLink(queue.nominatedNode) }, queue.nominatedNode),
          ".",
        )
      : null,
    woken.length
      ? [
          element("h3", {}, "What may bring it back"),
          element(
            "ul",
            {},
            woken.map(([plugin, awaited]) => element("li", {}, element("b", {}, plugin), ` ${awaited.join("; ")}`)),
          ),
        ]
      : null,
  ];
}

function line(attempt, later, pod, isChosen) {
  const at = attempt.startedAt ?? attempt.endedAt;
  const took = attempt.startedAt ? span(Math.max(0, secondsBetween(attempt.startedAt, attempt.endedAt))) : "";
  return element(
    "li",
    { class: isChosen ? "chosen" : null },
    element(
      "a",
      { href: podLink(pod.pod, { attempt: attempt.id }), "aria-current": isChosen ? "true" : null },
      element("time", { datetime: at }, clock(at)),
    ),
    element("span", { class: "note" }, took),
    element(
      "span",
      {},
      verdict(attempt),
      attempt.outcome === "bound"
        ? null
        : element(
            "div",
            { class: "said" },
            later?.message === attempt.message ? "For the same reasons." : attempt.message,
          ),
      attempt.extenders.map((one) =>
        element("div", { class: "said" }, `extender ${one.extender}, ${one.verb}: ${one.said}`),
      ),
    ),
  );
}

function verdict(attempt) {
  const node = attempt.node ? element("a", { href: nodeLink(attempt.node) }, attempt.node) : null;
  const by = attempt.plugins.length ? ` by ${attempt.plugins.join(", ")}` : "";
  return [
    tag(WORDS[attempt.outcome] ?? attempt.outcome, KINDS[attempt.outcome] ?? ""),
    attempt.outcome === "bound" ? [" on ", node] : [by, node ? [", makes room on ", node] : ""],
  ];
}
