/** The cluster: how full its nodes are, who waits, how fast pods are placed, and what was decided last. */

import { element, setText } from "../dom.js";
import { count, rough, span } from "../format.js";
import { heatPanel } from "../heat/panel.js";
import * as store from "../live/store.js";
import { decisionsPanel } from "../parts/decisions.js";
import { ratesPanel } from "../parts/rates.js";
import { waitingPanel } from "../parts/waiting.js";

export function open(route, alive) {
  return [
    element("h1", { class: "unseen" }, "Cluster"),
    totals(alive),
    element("div", { class: "cluster" }, heatPanel(route.query, alive), waitingPanel(alive)),
    element("div", { class: "cluster below" }, ratesPanel(alive), decisionsPanel(alive)),
  ];
}

/** The line of figures on top. */
function totals(alive) {
  const figures = {};
  const figure = (key, title) => {
    figures[key] = element("b", {}, "–");
    return element("div", {}, element("dt", {}, title), element("dd", {}, figures[key]));
  };
  const paused = element(
    "p",
    { class: "paused", hidden: true },
    "Scheduling is stopped: this replica is not the leader, or waits for its cluster.",
  );
  const version = element("dd", {});
  const line = element(
    "dl",
    { class: "totals" },
    figure("nodes", "nodes"),
    figure("placed", "pods placed"),
    figure("waiting", "pods waiting"),
    figure("rate", "placed a second"),
    figure("latency", "an attempt takes (median)"),
    element("div", { class: "last" }, element("dt", {}, "Stowplan"), version),
  );
  const show = () => {
    const { cluster, nodes, queue, rates } = store.state;
    paused.hidden = cluster?.isScheduling !== false;
    setText(version, cluster ? `${cluster.version}, as Kubernetes ${cluster.release}` : "–");
    setText(figures.nodes, nodes ? count(nodes.names.length) : "–");
    setText(figures.placed, nodes?.resources.pods ? count(sum(nodes.resources.pods.requested)) : "–");
    setText(figures.waiting, queue ? count(queue.total) : "–");
    const last = rates.at(-1);
    setText(figures.rate, last ? rough(last.placedPerSecond) : "–");
    const timed = rates.findLast((one) => one.attemptSecondsP50 !== null);
    setText(figures.latency, timed ? span(timed.attemptSecondsP50) : "–");
  };
  const ends = ["cluster", "nodes", "queue", "rates"].map((topic) => store.on(topic, show));
  alive.addEventListener("abort", () => ends.forEach((end) => end()));
  show();
  return [paused, line];
}

const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);
