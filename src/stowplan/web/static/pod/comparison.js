/** The winner against any other node that will do, bar by bar: what each plugin gives the one and the other. */

import { element, replace } from "../dom.js";
import { count, signed } from "../format.js";
import { versus } from "../parts/bars.js";
import { panel, table } from "../parts/panel.js";
import { suggest } from "../parts/suggest.js";
import { amend, nodeLink } from "../routes.js";

const MOST_SUGGESTED = 12;

/** Make the panel; `against(name)` compares with another node. */
export function comparison(pod, found, query) {
  const row = new Map(found.names.map((name, at) => [name, at]));
  const feasible = [...found.names.keys()].filter((at) => found.feasible[at]);
  feasible.sort((one, other) => found.total[other] - found.total[one]);
  const winner = winnerOf(pod, found, feasible, row);
  const place = element("div", {});
  const rivals = feasible.filter((at) => at !== winner);

  const show = (at) =>
    replace(
      place,
      at === undefined ? element("p", { class: "empty" }, "No other node will do.") : tableOf(found, winner, at),
    );
  const against = (name) => {
    amend({ against: name });
    show(row.get(name));
    made.scrollIntoView({ block: "nearest" });
  };
  const field = suggest({
    label: "Compare with",
    placeholder: "Compare with another node",
    none: "No node that will do has that in its name.",
    find: (text) =>
      rivals
        .filter((at) => found.names[at].includes(text))
        .slice(0, MOST_SUGGESTED)
        .map((at) => ({ text: found.names[at], note: `total ${count(found.total[at])}`, value: found.names[at] })),
    onChoice: against,
  });
  const made = panel(
    "The winner against another",
    { class: "compare", aside: rivals.length ? field.element : null },
    place,
  );
  const asked = row.get(query.against);
  show(asked !== undefined && asked !== winner && found.feasible[asked] ? asked : rivals[0]);
  return { element: made, against };
}

/** Return the node that the pod is on, if that will do, or the one that it would go to. */
function winnerOf(pod, found, feasible, row) {
  const own = row.get(pod.node);
  if (own !== undefined && found.feasible[own]) return own;
  return row.get(pod.explanation.best[0]) ?? feasible[0];
}

function tableOf(found, winner, rival) {
  const scoring = found.plugins.filter((plugin) => plugin.weight !== null);
  const of = (plugin, at) => plugin.weighted[at] ?? 0;
  const most = Math.max(1, ...scoring.flatMap((plugin) => [of(plugin, winner), of(plugin, rival)]));
  const [first, second] = [found.names[winner], found.names[rival]];
  const rows = scoring.map((plugin) => {
    const [one, other] = [of(plugin, winner), of(plugin, rival)];
    return [
      plugin.name,
      plugin.weight,
      count(one),
      versus(one, other, most, `${first} ${one}, ${second} ${other}`),
      count(other),
      signed(one - other),
    ];
  });
  const totals = [found.total[winner], found.total[rival]];
  rows.push([
    element("b", {}, "Total"),
    "",
    element("b", {}, count(totals[0])),
    "",
    element("b", {}, count(totals[1])),
    element("b", {}, signed(totals[0] - totals[1])),
  ]);
  const number = (title) => ({ title, isNumber: true });
  return table(
    `${first} against ${second}`,
    [
      "Plugin",
      number("Weight"),
      number(element("a", { href: nodeLink(first) }, first)),
      { title: unseen("Both as bars"), isNumber: false },
      { title: element("a", { href: nodeLink(second) }, second), isNumber: false },
      number("Lead"),
    ],
    rows,
  );
}

const unseen = (text) => element("span", { class: "unseen" }, text);
