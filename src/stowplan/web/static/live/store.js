/** What is known of the cluster right now, fed by the event stream; views are told once a frame what is new. */

import * as api from "../api.js";
import { frame } from "./frames.js";
import { watch } from "./stream.js";

const MOST_DECISIONS = 200;
const MOST_RATES = 600;
const REFRESH_MS = 2000;

/**
 * @typedef {Object} NodeColumns
 * @property {number} revision
 * @property {string[]} names
 * @property {string[]} status
 * @property {boolean[]} unschedulable
 * @property {{key: string, values: string[], codes: number[]}|null} group
 * @property {Object<string, {allocatable: number[], requested: number[]}>} resources
 */

export const state = {
  /** @type {any} */ cluster: null,
  /** @type {NodeColumns|null} */ nodes: null,
  /** @type {any} */ queue: null,
  /** @type {any[]} */ decisions: [],
  /** @type {any[]} */ rates: [],
  /** How much the clock of the scheduler is ahead of that of the reader. */
  aheadMs: 0,
  /** The label that nodes are grouped by; null until somebody chose one, "" for none. */
  /** @type {string|null} */ label: null,
  connection: { state: "connecting", error: null, waitMs: 0 },
};

/** Rows that were changed since views were last told; null if all were. */
let changedRows = new Set();
const listeners = new Map();
let stop = null;
let refreshing = 0;

/** Ask what cluster it is. Nodes are grouped by zone until somebody chooses otherwise. */
export async function start() {
  await refreshCluster();
  state.label ??= defaultLabel(state.cluster.labels);
}

/** Watch, from the beginning if that is done already. */
export function connect() {
  stop?.();
  stop = watch({ label: state.label }, take, (connection, error, waitMs) => {
    // Who answers after a while may be another scheduler than before.
    if (connection === "live" && state.connection.state === "connecting" && state.nodes) refreshSoon();
    state.connection = { state: connection, error, waitMs };
    tell("connection");
  });
}

/** Group nodes by another label. */
export function groupBy(label) {
  if (label === state.label) return;
  state.label = label;
  if (stop) connect();
}

/** Call a listener, once a frame at most, when a topic is new; returns what ends that. */
export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
  return () => listeners.get(topic).delete(listener);
}

/** Return the scheduler's time in milliseconds. */
export const now = () => Date.now() + state.aheadMs;

/** Ask anew about what does not come with the events: version, profiles, labels. */
export async function refreshCluster() {
  const found = await api.get("cluster");
  state.cluster = found;
  state.aheadMs = new Date(found.now).getTime() - Date.now();
  tell("cluster");
}

/** Ask about labels and profiles again once what made that needful is over. */
function refreshSoon() {
  refreshing ||= setTimeout(() => {
    refreshing = 0;
    refreshCluster().catch(() => {});
  }, REFRESH_MS);
}

function defaultLabel(labels) {
  const known = labels.map((label) => label.key);
  return ["topology.kubernetes.io/zone", "zone"].find((key) => known.includes(key)) ?? "";
}

const TAKES = {
  nodes(data) {
    // Nodes that come may bring labels that are new.
    if (state.nodes && state.nodes.names.length !== data.names.length) refreshSoon();
    // An address may ask for any resource: there is none called `constructor`, though every object has that.
    state.nodes = { ...data, resources: Object.assign(Object.create(null), data.resources) };
    changedRows = null;
    tell("nodes");
  },
  rows: takeRows,
  queue(data) {
    state.queue = data;
    tell("queue");
  },
  decisions(data) {
    // After a reconnection the last ones are told again.
    const known = new Set(state.decisions.map(nameOf));
    const fresh = data.filter((decision) => !known.has(nameOf(decision)));
    state.decisions = [...fresh, ...state.decisions].slice(0, MOST_DECISIONS);
    tell("decisions");
  },
  rates(data) {
    state.rates = data.series ? data.series : [...state.rates, data].slice(-MOST_RATES);
    tell("rates");
  },
  scheduling(data) {
    if (state.cluster) state.cluster.isScheduling = data.isScheduling;
    tell("cluster");
  },
};

const nameOf = (decision) => `${decision.at} ${decision.pod} ${decision.outcome}`;

function take(event, data) {
  const started = performance.now();
  TAKES[event]?.(data);
  frame.add(performance.now() - started);
}

function takeRows(data) {
  const nodes = state.nodes;
  if (!nodes) return;
  nodes.revision = data.revision;
  data.rows.forEach((row, at) => {
    for (const [resource, amounts] of Object.entries(data.requested)) {
      if (nodes.resources[resource]) nodes.resources[resource].requested[row] = amounts[at];
    }
    nodes.status[row] = data.status[at];
    nodes.unschedulable[row] = data.unschedulable[at];
    changedRows?.add(row);
  });
  tell("nodes");
}

function tell(topic) {
  frame.ask(topic, () => {
    let what = null;
    if (topic === "nodes") {
      what = changedRows;
      changedRows = new Set();
    }
    for (const listener of listeners.get(topic) ?? []) listener(what);
  });
}
