/** The panel with the heat map: what to show, the map with pointer and keyboard, what its colours mean, and as a table. */

import { element, replace, setText } from "../dom.js";
import { count } from "../format.js";
import * as store from "../live/store.js";
import * as ticked from "../live/ticked.js";
import { panel } from "../parts/panel.js";
import { amend, link, nodeLink } from "../routes.js";
import * as theme from "../theme.js";
import { heatControls } from "./controls.js";
import { HeatMap } from "./heatmap.js";
import { legend } from "./legend.js";
import { cellOf, groups, summary, titleOf } from "./measure.js";
import { nodesTable } from "./nodes_table.js";
import { pointing } from "./pointing.js";

const ZOOMS = [1, 1.5, 2.2, 3.2];
const TITLES_EVERY_MS = 1000;

/** Make the panel; `query` says what it shows at first. */
export function heatPanel(query, alive) {
  const shown = {
    measure: query.measure || "cpu",
    isFree: query.show === "free",
    zoom: 0,
    isTable: query.as === "table",
  };
  if (query.group !== undefined) store.groupBy(query.group === "none" ? "" : query.group);

  const canvas = element("canvas", { "aria-hidden": "true" });
  const stage = element("div", { class: "stage" }, canvas);
  const said = element("p", { class: "note", id: "heat-summary" });
  const place = element("div", { class: "heat" }, stage);
  const map = new HeatMap(canvas);
  const list = nodesTable(alive);
  const nodes = () => store.state.nodes;
  /** When numbers were last written in words: not every frame. */
  let told = -Infinity;
  const look = (row) => cellOf(nodes(), row, shown.measure, shown.isFree);

  const arrange = () => {
    const width = stage.clientWidth;
    if (!nodes() || shown.isTable || !width) return;
    const room = { width, height: Math.max(300, Math.min(520, innerHeight - 320)), zoom: ZOOMS[shown.zoom] };
    map.arrange(groups(nodes()), room, look);
    told = -Infinity;
    describe();
  };
  const describe = () => {
    if (!nodes() || performance.now() - told < TITLES_EVERY_MS) return;
    told = performance.now();
    setText(
      said,
      nodes().names.length
        ? summary(nodes(), shown.measure, shown.isFree)
        : "There are no nodes yet. They are shown here as soon as they come.",
    );
    if (!shown.isTable)
      map.drawTitles(map.layout.blocks.map((one) => titleOf(nodes(), one, shown.measure, shown.isFree)));
  };
  const update = (changed) => {
    if (!nodes()) return;
    if (changed === null) controls.refresh();
    if (shown.isTable) list.update(changed);
    else if (changed === null) arrange();
    else map.drawRows(changed, look);
    describe();
  };
  const change = (query) => {
    amend(query);
    told = -Infinity;
    controls.refresh();
    place.replaceChildren(shown.isTable ? list.element : stage);
    if (shown.isTable) list.update(null);
    else arrange();
    describe();
  };
  pointing(stage, map, shown, () => map.drawAll(look));

  const controls = heatControls(shown, ZOOMS.length, change);
  const marked = element("p", { class: "ticked", hidden: true });
  const tick = () => {
    showTicked(marked);
    if (nodes() && !shown.isTable) map.drawRows(nodes().names.keys(), look);
  };
  const colours = element("div", { class: "legend-place" });
  const recolour = () => {
    replace(colours, legend());
    if (nodes() && !shown.isTable) map.drawAll(look);
    told = -Infinity;
    describe();
  };

  const size = new ResizeObserver(arrange);
  size.observe(stage);
  const ends = [
    store.on("nodes", update),
    store.on("cluster", controls.refresh),
    theme.onChange(recolour),
    () => size.disconnect(),
  ];
  alive.addEventListener("abort", () => ends.forEach((end) => end()));
  ticked.onChange(tick, alive);
  queueMicrotask(() => {
    change({});
    recolour();
    showTicked(marked);
  });
  return panel("Nodes", { class: "heat-panel", aside: controls.element }, said, place, marked, colours);
}

function showTicked(place) {
  const names = ticked.all();
  place.hidden = names.length === 0;
  const first = names.slice(0, 3).flatMap((name, at) => [at ? ", " : "", element("a", { href: nodeLink(name) }, name)]);
  const more = names.length > 3 ? ` and ${count(names.length - 3)} more` : "";
  replace(
    place,
    `${count(names.length)} ticked: `,
    first,
    more,
    " ",
    element("a", { class: "button main", href: link("try", [], { ask: "drain" }) }, "What if these go?"),
    element("button", { type: "button", on: { click: () => ticked.set([]) } }, "Untick"),
  );
}
