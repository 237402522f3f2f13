/** A manifest to edit, and one of three questions about it: would it fit, how many, whom would it push out. */

import * as api from "../api.js";
import { element } from "../dom.js";
import { count } from "../format.js";
import { state } from "../live/store.js";
import { asNew, copies, EXAMPLE, ManifestError, readManifest } from "../manifest.js";
import { awaited, notice } from "../parts/notice.js";
import { panel } from "../parts/panel.js";
import { amend } from "../routes.js";
import { YamlError } from "../yaml/scalars.js";
import { writeYaml } from "../yaml/write.js";
import { answerOf } from "./answers.js";

const DRAFT = "stowplan-draft";
/** Longer manifests are not put into the address: browsers and chats cut it. */
const LONGEST_LINK = 6000;
const MOST_COPIES = 1000;

export function podForm(ask, query, alive) {
  if (!query.pod || query.manifest)
    return form(ask, query.manifest ?? sessionStorage.getItem(DRAFT) ?? EXAMPLE, query, alive);
  const path = `pods/${query.pod.split("/").map(encodeURIComponent).join("/")}`;
  return awaited(
    alive,
    `Reading the manifest of ${query.pod}`,
    () => api.get(path, {}, alive),
    (pod) => form(ask, writeYaml(asNew(pod.manifest)), query, alive),
  );
}

function form(ask, text, query, alive) {
  // What is written for one question stays for the next.
  sessionStorage.setItem(DRAFT, text);
  const area = element("textarea", {
    id: "manifest",
    rows: "24",
    spellcheck: "false",
    autocapitalize: "off",
    value: text,
    "aria-describedby": "manifest-note",
    on: {
      input: () => {
        sessionStorage.setItem(DRAFT, area.value);
        extra.follow(area.value);
      },
    },
  });
  const extra = extraFields(ask, query);
  extra.follow(text);
  const answer = element("div", { class: "awaited" }, element("p", { class: "empty" }, "The answer is shown here."));
  const run = () => {
    remember(ask, area.value, extra);
    answer.replaceChildren(answered(ask, area, extra, alive));
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  if (query.manifest) queueMicrotask(run);
  return element(
    "div",
    { class: "try" },
    panel(
      "Manifest",
      {},
      element("label", { for: "manifest", class: "unseen" }, "Manifest in YAML or JSON"),
      area,
      element(
        "p",
        { class: "note", id: "manifest-note" },
        "A Pod or a workload, as YAML or JSON. What else is in it, such as claims or a PriorityClass, is supposed to be there.",
      ),
      element(
        "div",
        { class: "row spread" },
        element("div", { class: "row" }, extra.fields),
        element("button", { type: "button", class: "main", on: { click: run } }, "Ask"),
      ),
    ),
    panel("Answer", {}, answer),
  );
}

function extraFields(ask, query) {
  const field = (title, attributes) => {
    const input = element("input", { class: attributes.type === "number" ? "short" : "named", ...attributes });
    return { input, label: element("label", { class: "field" }, element("span", {}, title), input) };
  };
  const number = { type: "number", min: "1", max: String(MOST_COPIES), step: "1" };
  const replicas = field("Copies", { ...number, value: query.copies || "1" });
  const more = field("Suppose", { ...number, min: "0", value: query.more || "0" });
  const like = field("more nodes like", {
    type: "text",
    value: query.like || "",
    placeholder: "name of a node",
    spellcheck: "false",
  });
  // What the reader has set stays, whatever manifest comes.
  let isSet = Boolean(query.copies);
  replicas.input.addEventListener("input", () => {
    isSet = replicas.input.value !== "";
  });
  const copiesOf = (wanted) => Math.min(MOST_COPIES, Math.max(1, Math.round(Number(wanted)) || 1));
  return {
    fields: [ask === "fits" ? replicas.label : null, more.label, like.label],
    /** Start the copies from what the manifest says; several workloads keep a number each. */
    follow(text) {
      const found = ask === "fits" ? readable(text) : null;
      if (!found) return;
      const many = found.filter((one) => !one.isForEveryNode);
      replicas.input.disabled = many.length === 0;
      replicas.input.placeholder = many.length ? "as written" : "each node";
      if (many.length === 0) replicas.input.value = "";
      else if (!isSet) replicas.input.value = many.length === 1 ? String(copiesOf(many[0].replicas)) : "";
    },
    /** Return the number in the field, or what a workload says itself. */
    copies: (replicasOfWorkload) => copiesOf(replicas.input.value || replicasOfWorkload),
    /** The number that the reader has set, if one. */
    chosen: () => (isSet && replicas.input.value ? copiesOf(replicas.input.value) : ""),
    more: () => Math.max(0, Math.round(Number(more.input.value)) || 0),
    like: () => like.input.value.trim(),
  };
}

/** Return the pods of a manifest; null while it cannot be read. */
function readable(text) {
  try {
    return readManifest(text, []).pods;
  } catch {
    return null;
  }
}

/** Put the question into the address, so that a link to it asks it again. */
function remember(ask, text, extra) {
  const isShort = encodeURIComponent(text).length <= LONGEST_LINK;
  const more = extra.more();
  amend({
    ask,
    pod: "",
    manifest: isShort ? text : "",
    copies: ask === "fits" ? extra.chosen() : "",
    more: more || "",
    like: more ? extra.like() : "",
  });
}

function answered(ask, area, extra, alive) {
  let found;
  try {
    found = readManifest(
      area.value,
      (state.cluster?.profiles ?? []).map((profile) => profile.name),
    );
  } catch (error) {
    if (!(error instanceof YamlError) && !(error instanceof ManifestError)) throw error;
    if (error instanceof YamlError) showLine(area, error.line);
    return notice(error);
  }
  if (extra.more() && !extra.like()) return notice(new ManifestError("Name a node that the supposed ones are like."));
  const asked = questionOf(ask, found, extra);
  const notes = [...found.notes, ...(ask === "fits" ? cutNotes(found.pods, extra) : [])];
  return awaited(
    alive,
    "Asking the scheduler",
    () => api.post("whatif", asked, alive),
    (said) => [notes.map((note) => element("p", { class: "note" }, note)), answerOf(said, asked)],
  );
}

/** Say of which workloads fewer copies are asked about than they have. */
function cutNotes(pods, extra) {
  return pods
    .filter((one) => !one.isForEveryNode && !extra.chosen() && one.replicas > MOST_COPIES)
    .map(
      ({ pod, replicas }) =>
        `Asked about ${count(MOST_COPIES)} of the ${count(replicas)} pods of ${pod.metadata.name}: more are not asked at once.`,
    );
}

function questionOf(ask, { pods, others }, extra) {
  const more = extra.more();
  const steps = [
    ...(others.length ? [{ add: { objects: others } }] : []),
    ...(more ? [{ addNodes: { like: extra.like(), count: more } }] : []),
  ];
  const questions = {
    fits: () => ({ fits: fitsOf(pods, extra) }),
    headroom: () => ({ headroom: { mix: pods.map(({ pod }) => ({ pod })) } }),
    preempt: () => ({ preempt: { pod: pods[0].pod } }),
  };
  return steps.length ? { question: questions[ask](), steps } : { question: questions[ask]() };
}

/** Ask of a DaemonSet about a pod for every node that it is meant for. */
function fitsOf(pods, extra) {
  const daemons = pods.filter((one) => one.isForEveryNode).map(({ pod }) => pod);
  const many = pods.filter((one) => !one.isForEveryNode);
  const found = { pods: many.flatMap(({ pod, replicas }) => copies(pod, extra.copies(replicas))) };
  return daemons.length ? { ...found, everyNode: daemons } : found;
}

/** Have the line be seen that is wrong. */
function showLine(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((length, one) => length + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}
