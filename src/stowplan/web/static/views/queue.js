/** The queue: all who wait, where and since when, why, and what will bring each back. */

import * as api from "../api.js";
import { element, replace } from "../dom.js";
import { clock, count, span } from "../format.js";
import { grid } from "../grid.js";
import * as store from "../live/store.js";
import { loading, notice } from "../parts/notice.js";
import { choice, panel } from "../parts/panel.js";
import { ageOf, PLACES, reasonOf } from "../parts/waiting.js";
import { amend, podLink } from "../routes.js";

const MOST = 2000;
const PAUSE_MS = 250;
/** It is asked for anew when the queue changes, but not more often than people read. */
const EVERY_MS = 2000;

export function open(route, alive) {
  const asked = { place: route.query.place ?? "", namespace: route.query.namespace ?? "", q: route.query.q ?? "" };
  const told = element("div", { "aria-busy": "true" }, loading("Reading the queue"));
  const controls = element("div", { class: "row controls" });
  const list = grid({
    label: "Pods that wait",
    columns: COLUMNS,
    height: Math.max(320, innerHeight - 260),
    sort: { column: 2, isDescending: true },
    empty: "Nobody waits here.",
  });
  let drawn = 0;
  let timer = 0;
  let asking = new AbortController();
  const refresh = async () => {
    clearTimeout(timer);
    timer = 0;
    drawn = performance.now();
    asking.abort();
    asking = new AbortController();
    const signal = AbortSignal.any([alive, asking.signal]);
    try {
      const found = await api.get("queue", { ...asked, limit: MOST }, signal);
      if (signal.aborted) return;
      told.removeAttribute("aria-busy");
      replace(
        told,
        found.total > found.pods.length
          ? element(
              "p",
              { class: "note" },
              `The first ${count(found.pods.length)} of ${count(found.total)} are listed, those first that are tried soonest: narrow it down to see the others.`,
            )
          : null,
      );
      list.show(found.pods);
    } catch (error) {
      if (signal.aborted) return;
      told.removeAttribute("aria-busy");
      replace(told, notice(error, refresh));
    }
  };
  const soon = (wait) => {
    timer ||= setTimeout(refresh, wait);
  };
  const set = (name, value) => {
    asked[name] = value;
    amend({ [name]: value });
    clearTimeout(timer);
    timer = 0;
    soon(PAUSE_MS);
  };
  const end = store.on("queue", () => soon(Math.max(0, EVERY_MS - (performance.now() - drawn))));
  alive.addEventListener("abort", () => {
    end();
    clearTimeout(timer);
  });
  const text = (name, label) => {
    const field = element("input", {
      type: "search",
      placeholder: label,
      "aria-label": label,
      value: asked[name],
      on: { input: () => set(name, field.value.trim()) },
    });
    return field;
  };
  const places = [["", "all places"], ...Object.keys(PLACES).map((place) => [place, `${place}: ${PLACES[place]}`])];
  replace(
    controls,
    text("q", "Part of a name"),
    text("namespace", "Namespace"),
    choice("Place", places, asked.place, (value) => set("place", value)),
  );
  refresh();
  return [element("h1", {}, "Queue"), panel("All that wait", { aside: controls }, told, list.element)];
}

const COLUMNS = [
  {
    title: "Pod",
    width: 230,
    value: (pod) => pod.pod,
    cell: (pod) => element("a", { href: podLink(pod.pod) }, pod.pod),
  },
  { title: "Place", width: 115, value: (pod) => pod.place },
  { title: "For", width: 110, isNumber: true, value: ageOf, cell: (pod) => span(ageOf(pod)) },
  { title: "Attempts", width: 95, isNumber: true, value: (pod) => pod.attempts },
  { title: "Priority", width: 95, isNumber: true, value: (pod) => pod.priority },
  { title: "Why", width: 380, value: reasonOf, cell: (pod) => element("span", { title: pod.message }, reasonOf(pod)) },
  { title: "What brings it back", width: 330, value: (pod) => pod.nextTry, cell: back },
];

function back(pod) {
  const woken = Object.entries(pod.wokenBy).map(([plugin, awaited]) => `${plugin}: ${awaited.join("; ")}`);
  const latest = pod.nextTryAt ? `at the latest at ${clock(pod.nextTryAt)}` : "";
  const text = [woken.join(". ") || pod.nextTry, latest].filter(Boolean).join("; ");
  return element("span", { title: text }, text);
}
