/** One pod: where it goes or why nowhere, first in a sentence, then in ever more detail. */

import * as api from "../api.js";
import { element } from "../dom.js";
import { clock } from "../format.js";
import * as store from "../live/store.js";
import { forReaders } from "../manifest.js";
import { attemptsPanel, pastAttempt } from "../pod/attempts.js";
import { funnelPanel, missesPanel } from "../pod/funnel.js";
import { nodesPanel } from "../pod/nodes.js";
import { factsPanel, preemptionPanel } from "../pod/facts.js";
import { sentence } from "../pod/sentence.js";
import { atMostEveryTwoSeconds, renew } from "../parts/following.js";
import { awaited } from "../parts/notice.js";
import { panel, tag } from "../parts/panel.js";
import { groupLink, link, nodeLink, read } from "../routes.js";
import { writeYaml } from "../yaml/write.js";

const CHECK_MS = 5000;
/** The search is for a part of a name: others may come before the one that is meant. */
const MOST_FOUND = 20;

export function open(route, alive) {
  const [namespace, name] = route.names;
  const path = `pods/${api.path(namespace, name)}`;
  const ask = () => api.get(path, {}, alive);
  const askedAt = store.now();
  return awaited(
    alive,
    `Asking about ${namespace}/${name}`,
    ask,
    (pod) => followed(pod, { ask, askedAt, path, alive }),
    `${namespace}/${name}`,
  );
}

/** Show a pod, and again when it is decided about, has another node, or is gone. */
function followed(pod, { ask, askedAt, path, alive }) {
  const key = pod.pod;
  const gone = element("p", { class: "paused", role: "status", hidden: true }, "It was deleted. This is how it was.");
  const place = element("div", { class: "awaited" });
  const shown = { node: pod.node, at: askedAt, text: "", nodes: null, nodesText: "" };
  const showNow = (found) => {
    const { query } = read(location.hash);
    const text = JSON.stringify(found);
    shown.node = found.node;
    gone.hidden = true;
    if (text === shown.text) return;
    shown.text = text;
    // Every plugin is asked about every node only if something of that changed.
    const nodesText = JSON.stringify([found.node, found.explanation]);
    if (nodesText !== shown.nodesText) {
      shown.nodes = found.explanation ? nodesPanel(found, path, query, alive) : null;
      shown.nodesText = nodesText;
    }
    renew(place, show(found, query, shown.nodes));
  };
  const again = atMostEveryTwoSeconds(alive, async () => {
    // What is decided while the answer is on its way may not be in it.
    shown.at = store.now();
    try {
      showNow(await ask());
    } catch (error) {
      if (error.code === 404) gone.hidden = false;
    }
  });
  showNow(pod);
  const end = store.on("decisions", () => {
    if (store.state.decisions.some((one) => one.pod === key && new Date(one.at) > shown.at)) again();
  });
  const timer = setInterval(async () => {
    if (document.hidden || store.state.connection.state !== "live") return;
    const isSame = await isStillThere(key, shown.node, alive);
    if (!isSame || !gone.hidden) again();
  }, CHECK_MS);
  alive.addEventListener("abort", () => {
    end();
    clearInterval(timer);
  });
  return [gone, place];
}

/** Ask, cheaply, whether a pod is there and on the same node; it is supposed to be if nobody answers. */
async function isStillThere(key, node, alive) {
  try {
    const { pods } = await api.get("pods", { q: key, limit: MOST_FOUND }, alive);
    return pods.some((one) => one.pod === key && (one.node || null) === (node || null));
  } catch {
    return true;
  }
}

function show(pod, query, nodes) {
  const past = pod.attempts.find((attempt) => attempt.id === query.attempt);
  const isUnknown = query.attempt && !past;
  return [
    element(
      "div",
      { class: "row spread" },
      element("h1", {}, pod.pod),
      element("a", { class: "button", href: link("try", [], { ask: "fits", pod: pod.pod }) }, "Try a change"),
    ),
    element("p", { class: "row" }, status(pod)),
    isUnknown
      ? element("p", { class: "note" }, "That attempt is not kept any more; this is how it would go now.")
      : null,
    past ? [pastAttempt(past, pod), ofNow()] : null,
    element("p", { class: "lead" }, sentence(pod)),
    preemptionPanel(pod.preemption ?? pod.explanation?.preemption),
    element(
      "div",
      { class: "columns" },
      element("div", { class: "stack" }, funnelPanel(pod), attemptsPanel(pod, past)),
      element("div", { class: "stack" }, missesPanel(pod), factsPanel(pod)),
    ),
    nodes,
    panel(
      pod.manifestIsWhole === false ? "Manifest, as the scheduler reads it" : "Manifest",
      {},
      element(
        "pre",
        { class: "yaml", tabindex: "0", role: "group", "aria-label": "Manifest as YAML" },
        writeYaml(forReaders(pod.manifest)),
      ),
    ),
  ];
}

/** Tell a past attempt, of which only its message is kept, from what is asked now. */
function ofNow() {
  return element(
    "p",
    { class: "paused" },
    element("b", {}, `All that follows is of now, ${clock(store.now())}, not of that attempt: `),
    "where it goes, which nodes are left, and what every plugin says of every node. Of an attempt, only what is above is kept.",
  );
}

/** Where it is, and what it belongs to. */
function status(pod) {
  const place = pod.queue?.place;
  return [
    pod.node ? ["on ", element("a", { href: nodeLink(pod.node) }, pod.node)] : tag(place ?? "without a node", "warn"),
    element("span", { class: "note" }, `profile ${pod.profile}`),
    pod.group ? element("span", {}, "group ", element("a", { href: groupLink(pod.group) }, pod.group)) : null,
  ];
}
