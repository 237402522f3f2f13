/** The nodes as a table: what the heat map shows, for those who would rather read numbers. */

import { element } from "../dom.js";
import { amount, share } from "../format.js";
import { grid } from "../grid.js";
import { state } from "../live/store.js";
import * as ticked from "../live/ticked.js";
import { nodeLink } from "../routes.js";

/** A table is read: it follows the cluster once a second, not every frame. */
const EVERY_MS = 1000;

export function nodesTable(alive) {
  let drawn = 0;
  let timer = 0;
  let shape = "";
  const table = grid({ label: "Nodes", columns: columns(), height: 460, empty: "There are no nodes yet." });
  table.element.setAttribute("aria-busy", "true");
  const draw = () => {
    clearTimeout(timer);
    timer = 0;
    if (!state.nodes) return;
    drawn = performance.now();
    const now = `${Object.keys(state.nodes.resources)} ${state.nodes.group?.key}`;
    if (now !== shape) table.setColumns(columns());
    shape = now;
    table.show([...state.nodes.names.keys()]);
    table.element.removeAttribute("aria-busy");
  };
  alive.addEventListener("abort", () => clearTimeout(timer));
  ticked.onChange(() => table.element.isConnected && draw(), alive);
  return {
    element: table.element,
    /** Show what is new; everything at once if that is asked for. */
    update(changed) {
      const wait = EVERY_MS - (performance.now() - drawn);
      if (changed === null || wait <= 0) draw();
      else timer ||= setTimeout(draw, wait);
    },
  };
}

function columns() {
  const { nodes } = state;
  const found = [
    { title: "Node", width: 210, value: (row) => state.nodes.names[row], cell: link },
    { title: "Status", width: 150, value: (row) => state.nodes.status[row] },
  ];
  if (nodes?.group) {
    found.push({
      title: nodes.group.key,
      width: 140,
      value: (row) => state.nodes.group?.values[state.nodes.group.codes[row]],
    });
  }
  for (const name of Object.keys(nodes?.resources ?? {})) {
    const of = (row) => ({
      has: state.nodes.resources[name].allocatable[row],
      taken: state.nodes.resources[name].requested[row],
    });
    found.push({
      title: name,
      width: 170,
      isNumber: true,
      hint: `${name}: requested of allocatable`,
      value: (row) => (of(row).has ? of(row).taken / of(row).has : null),
      cell: (row) =>
        `${amount(name, of(row).taken)} of ${amount(name, of(row).has)}, ${share(of(row).taken, of(row).has)}`,
    });
  }
  return found;
}

function link(row) {
  const name = state.nodes.names[row];
  return element(
    "span",
    { class: "tickable" },
    element("input", {
      type: "checkbox",
      checked: ticked.has(name),
      "aria-label": `Tick ${name}`,
      on: { change: () => ticked.toggle(name) },
    }),
    element("a", { href: nodeLink(name) }, name),
  );
}
