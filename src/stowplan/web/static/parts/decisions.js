/** The newest decisions; it holds still while somebody points at it or is in it. */

import { element, replace, setText } from "../dom.js";
import { clock } from "../format.js";
import * as store from "../live/store.js";
import { nodeLink, podLink } from "../routes.js";
import { empty } from "./notice.js";
import { panel } from "./panel.js";

const SHOWN = 40;
const WORDS = { bound: "placed", refused: "refused", error: "failed", dropped: "given up", preempting: "makes room" };
const KINDS = { bound: "good", refused: "warn", error: "bad", dropped: "", preempting: "warn" };

export function decisionsPanel(alive) {
  const list = element("ol", { class: "decisions" });
  const held = element("span", { class: "note" });
  const place = element("div", { class: "tall", tabindex: "0", role: "group", "aria-label": "Newest decisions" }, list);
  const holders = new Set();
  const draw = () => {
    const decisions = store.state.decisions.slice(0, SHOWN);
    setText(held, holders.size ? "held still" : "");
    if (holders.size) return;
    replace(list, decisions.length ? decisions.map(line) : element("li", {}, empty("Nothing was decided yet.")));
  };
  for (const [comes, goes] of [
    ["pointerenter", "pointerleave"],
    ["focusin", "focusout"],
  ]) {
    place.addEventListener(comes, () => {
      holders.add(comes);
      draw();
    });
    place.addEventListener(goes, ({ relatedTarget }) => {
      // Who goes on to the next link is still in it.
      if (place.contains(relatedTarget)) return;
      holders.delete(comes);
      draw();
    });
  }
  const end = store.on("decisions", draw);
  alive.addEventListener("abort", end);
  draw();
  return panel("Newest decisions", { class: "newest", aside: held }, place);
}

function line(decision) {
  return element(
    "li",
    {},
    element("time", { datetime: decision.at }, clock(decision.at)),
    element("span", { class: `verdict ${KINDS[decision.outcome] ?? ""}` }, WORDS[decision.outcome] ?? decision.outcome),
    element("a", { href: podLink(decision.pod) }, decision.pod),
    element("span", { class: "where" }, where(decision)),
  );
}

function where(decision) {
  const to = decision.node ? ["on ", element("a", { href: nodeLink(decision.node) }, decision.node)] : [];
  return decision.outcome === "bound" ? to : [...to, to.length ? ": " : "", decision.message];
}
