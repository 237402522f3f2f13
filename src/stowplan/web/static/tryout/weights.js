/** A slider for the weight of each plugin, and which of the last placements would be others with it. */

import * as api from "../api.js";
import { element, replace } from "../dom.js";
import { count, counted, signed } from "../format.js";
import { grid } from "../grid.js";
import { refreshCluster, state } from "../live/store.js";
import { awaited } from "../parts/notice.js";
import { choice, panel } from "../parts/panel.js";
import { amend, nodeLink, podLink } from "../routes.js";

const PAUSE_MS = 400;
const LARGEST = 100;
const MOST_LEADS = 4;

/** Profiles are read when the form is opened: a new configuration brings others, and no event tells. */
export function weightsForm(ask, query, alive) {
  const place = element("div", {});
  const build = (given, hint) => {
    const again = () => build({}, "The configuration has changed: these are the profiles and weights of now.");
    place.replaceChildren(
      awaited(alive, "Reading the profiles", refreshCluster, () => form({ ask, query: given, hint, alive, again })),
    );
  };
  build(query, "Move a slider to see which placements would change.");
  return place;
}

function form({ ask, query, hint, alive, again }) {
  const profiles = state.cluster?.profiles ?? [];
  const asked = {
    profile: profiles.find((one) => one.name === query.profile) ?? profiles[0],
    last: Number(query.last) || 50,
  };
  if (!asked.profile) return element("p", { class: "empty" }, "There is no profile that scores.");
  const answer = element("div", { class: "awaited" }, element("p", { class: "empty" }, hint));
  const sliders = element("div", {});
  let weights = {};
  let timer = 0;
  let asking = new AbortController();

  const run = () => {
    asking.abort();
    asking = new AbortController();
    const signal = AbortSignal.any([alive, asking.signal]);
    const body = { profile: asked.profile.name, weights: { ...weights }, last: asked.last };
    amend({ ask, profile: asked.profile.name, last: asked.last, weights: changedText(asked.profile, weights) });
    const place = async () => {
      try {
        return await api.post("weights", body, signal);
      } catch (error) {
        // The configuration was read anew since the form was opened.
        if (error.code === 400) profileMayBeGone(asked.profile, again, signal);
        throw error;
      }
    };
    answer.replaceChildren(awaited(signal, "Placing them anew", place, showAnswer));
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE_MS);
  };
  const open = (given = "") => {
    weights = { ...asked.profile.weights, ...read(given, asked.profile) };
    replace(sliders, list(asked.profile, weights, soon));
  };
  alive.addEventListener("abort", () => {
    clearTimeout(timer);
    asking.abort();
  });
  open(query.weights);
  if (query.weights) queueMicrotask(run);
  const heads = element(
    "div",
    { class: "row" },
    choice(
      "Profile",
      profiles.map((one) => one.name),
      asked.profile.name,
      (name) => {
        asked.profile = profiles.find((one) => one.name === name);
        open();
      },
    ),
    choice("of the last", ["20", "50", "100", "200"], String(asked.last), (value) => {
      asked.last = Number(value);
      soon();
    }),
    element(
      "button",
      {
        type: "button",
        on: {
          click: () => {
            open();
            soon();
          },
        },
      },
      "As they are",
    ),
  );
  return element(
    "div",
    { class: "try" },
    panel("Weights", {}, heads, sliders),
    panel("Placements that would change", {}, answer),
  );
}

/** Build the form anew if a profile is not there any more, or scores with other plugins. */
async function profileMayBeGone(profile, readAnew, alive) {
  await refreshCluster().catch(() => {});
  const now = state.cluster.profiles.find((one) => one.name === profile.name);
  const isSame = now && Object.keys(now.weights).join() === Object.keys(profile.weights).join();
  if (!isSame && !alive.aborted) readAnew();
}

function list(profile, weights, onChange) {
  return element(
    "ul",
    { class: "weights" },
    Object.entries(profile.weights).map(([plugin, now]) => {
      const top = Math.max(10, now * 3, weights[plugin]);
      const slider = element("input", {
        type: "range",
        min: "0",
        max: String(top),
        step: "1",
        value: String(weights[plugin]),
        "aria-label": `Weight of ${plugin}`,
      });
      const number = element("input", {
        type: "number",
        min: "0",
        max: String(LARGEST),
        step: "1",
        value: String(weights[plugin]),
        "aria-label": `Weight of ${plugin}, as a number`,
      });
      const set = (from, to) => () => {
        const value = Math.min(LARGEST, Math.max(0, Math.round(Number(from.value)) || 0));
        weights[plugin] = value;
        to.value = String(value);
        onChange();
      };
      slider.addEventListener("input", set(slider, number));
      number.addEventListener("input", set(number, slider));
      return element(
        "li",
        {},
        element("span", {}, plugin, element("span", { class: "note" }, ` now ${now}`)),
        slider,
        number,
      );
    }),
  );
}

function showAnswer(found) {
  const left = found.notAsked
    ? ` ${counted(found.notAsked, "pod")} could not be asked about: gone since, of another profile, or without a node that would do now.`
    : "";
  if (!found.asked) return element("p", { class: "empty" }, `There are no placements to look at.${left}`);
  return [
    element(
      "p",
      { class: "verdict-line" },
      `${count(found.changed.length)} of ${counted(found.asked, "placement")} would change.`,
    ),
    left ? element("p", { class: "note" }, left) : null,
    found.changed.length ? changes(found.changed) : null,
  ];
}

function changes(changed) {
  const to = (name) => (name ? element("a", { href: nodeLink(name) }, name) : "–");
  const list = grid({
    label: "Placements that would change",
    height: 560,
    columns: [
      {
        title: "Pod",
        width: 220,
        value: (one) => one.pod,
        cell: (one) => element("a", { href: podLink(one.pod) }, one.pod),
      },
      { title: "Is on", width: 120, value: (one) => one.node, cell: (one) => to(one.node) },
      {
        title: "Now best",
        width: 120,
        hint: "Where it would go if it were placed now, with the weights in force",
        value: (one) => one.from,
        cell: (one) => to(one.from),
      },
      {
        title: "Then best",
        width: 120,
        hint: "Where it would go with the other weights",
        value: (one) => one.to,
        cell: (one) => to(one.to),
      },
      {
        title: "Lead",
        width: 70,
        isNumber: true,
        hint: "By how much it puts the new node before the other",
        value: (one) => one.totalTo - one.totalFrom,
        cell: (one) => signed(one.totalTo - one.totalFrom),
      },
      { title: "By", width: 260, value: (one) => leads(one.by) },
    ],
  });
  queueMicrotask(() => list.show(changed));
  return list.element;
}

function leads(by) {
  const sorted = Object.entries(by).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  return sorted
    .slice(0, MOST_LEADS)
    .map(([plugin, lead]) => `${plugin} ${signed(lead)}`)
    .join(", ");
}

/** Write the weights that are others: `NodeAffinity:5,ImageLocality:0`. */
function changedText(profile, weights) {
  return Object.entries(weights)
    .filter(([plugin, value]) => value !== profile.weights[plugin])
    .map(([plugin, value]) => `${plugin}:${value}`)
    .join(",");
}

function read(text, profile) {
  const pairs = (text || "").split(",").map((one) => one.split(":"));
  return Object.fromEntries(
    pairs
      .filter(([plugin, value]) => plugin in profile.weights && /^\d+$/.test(value ?? ""))
      .map(([plugin, value]) => [plugin, Math.min(LARGEST, Number(value))]),
  );
}
