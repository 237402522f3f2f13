/** The search in the header: nodes by name from what is known here, pods by name from the scheduler. */

import * as api from "../api.js";
import { replace } from "../dom.js";
import { state } from "../live/store.js";
import { nodeLink, podLink } from "../routes.js";
import { suggest } from "./suggest.js";

const MOST_NODES = 6;
const MOST_PODS = 8;
const PAUSE_MS = 150;

/** Put the search into its place; `/` leads to it from anywhere. */
export function start(place) {
  let asked = new AbortController();
  const find = async (text) => {
    asked.abort();
    if (!text) return [];
    asked = new AbortController();
    const { signal } = asked;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (signal.aborted) return [];
    return [...nodes(text), ...(await pods(text, signal))];
  };
  const { element, field } = suggest({
    label: "Search pods and nodes",
    placeholder: "Search pods and nodes   /",
    none: "No pod and no node has that in its name.",
    find,
    onChoice(address) {
      field.blur();
      location.hash = address;
    },
  });
  replace(place, element);
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    event.preventDefault();
    field.focus();
  });
}

function nodes(text) {
  const found = (state.nodes?.names ?? []).filter((name) => name.includes(text));
  found.sort((one, other) => one.length - other.length);
  return found.slice(0, MOST_NODES).map((name) => ({ text: name, note: "node", value: nodeLink(name) }));
}

async function pods(text, signal) {
  try {
    const found = await api.get("pods", { q: text, limit: MOST_PODS }, signal);
    return found.pods.map((pod) => ({ text: pod.pod, note: whereabouts(pod), value: podLink(pod.pod) }));
  } catch {
    return [];
  }
}

const whereabouts = (pod) => (pod.node ? `pod on ${pod.node}` : `pod, ${pod.place || "waits"}`);
