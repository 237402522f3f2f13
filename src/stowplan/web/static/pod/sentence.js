/** Says in one or two sentences where a pod goes and why, or why nowhere. */

import { element, joined } from "../dom.js";
import { count, counted, signed } from "../format.js";
import { groupLink, nodeLink } from "../routes.js";

const MOST_NAMED = 3;

/** Return texts and links. */
export function sentence(pod) {
  const found = pod.explanation;
  if (!found) return [`It cannot be explained: ${pod.unexplained}`];
  if (found.gate) return [`It is held back by ${found.gate.plugin}: ${found.gate.reasons.join(", ")}.`];
  if (found.failed) return [`It could not be decided: ${found.message}`];
  if (!found.best.length) return nowhere(found);
  if (pod.queue?.group) return withItsGroup(pod.queue, found);
  return pod.isPlaced && pod.node ? placed(pod, found) : goes(pod, found);
}

/** Name the plugins that put one node before another, strongest first. */
export function leads(found, first, second) {
  const of = (name, plugin) => found.scores[name]?.plugins[plugin]?.weighted ?? 0;
  return Object.keys(found.weights)
    .map((plugin) => ({ plugin, by: of(first, plugin) - of(second, plugin) }))
    .filter(({ by }) => by !== 0)
    .sort((one, other) => other.by - one.by);
}

function nowhere(found) {
  const room = found.makingRoom && !found.preemption ? ` ${found.makingRoom}` : "";
  return [element("b", {}, "It fits no node: "), `${found.message}${room}`];
}

/** A node for it alone is not enough: whether there are nodes for the others is what its group says. */
function withItsGroup(queue, found) {
  const group = element("a", { href: groupLink(queue.group) }, queue.group);
  const said = queue.message ? `: ${queue.message}` : "";
  const alone = ` Alone, it would fit ${counted(found.feasibleNodes, "node")}.`;
  return [element("b", {}, "It gets a node together with its group ", group), `${said.replace(/\.?$/, ".")}${alone}`];
}

function goes(pod, found) {
  const fits = `fits ${counted(found.feasibleNodes, "node")}`;
  const many = equallyGood(pod, found);
  if (many > 1) {
    return [`It ${fits} and goes to one of ${count(many)} that are equally good: `, names(found.best, many), "."];
  }
  return [element("b", {}, "It goes to ", node(found.best[0])), ...because(found, found.best[0], fits)];
}

function placed(pod, found) {
  const many = equallyGood(pod, found);
  const head = element("b", {}, "It is on ", node(pod.node));
  const fits = `of the ${counted(found.feasibleNodes, "node")} that it fits now`;
  if (!isAmongBest(pod, found)) {
    const now = ". If it were placed now, it would go to ";
    if (many === 1) return [head, now, node(found.best[0]), ...because(found, found.best[0], fits)];
    return [head, now, `one of ${count(many)} that are equally good: `, names(found.best, many), "."];
  }
  if (many > 1) return [head, `, one of ${count(many)} that are equally good, ${fits}.`];
  if (!found.runnerUp) return [head, `, the best ${fits}.`];
  return [head, ". That is still the best", ...because(found, pod.node, fits)];
}

/** Return how many nodes are best; of so many, `best` names only the first. */
const equallyGood = (pod, found) => pod.equallyGood ?? found.equallyGood ?? found.best.length;

const isAmongBest = (pod, found) => pod.isAmongBest ?? found.isAmongBest ?? found.best.includes(pod.node);

/** Say what puts the best node before the runner-up. */
function because(found, best, fits) {
  const second = found.runnerUp;
  if (!second || !found.scores[best] || !found.scores[second]) return [`: the best ${fits}.`];
  const ahead = leads(found, best, second);
  const total = found.scores[best].total - found.scores[second].total;
  const parts = ahead
    .slice(0, MOST_NAMED)
    .map(({ plugin, by }) => `${plugin} ${signed(by)}`)
    .join(", ");
  return [
    ` because it scores ${count(found.scores[best].total)}, ${count(total)} more than `,
    node(second),
    parts ? ` (${parts}); ${fits}.` : `; ${fits}.`,
  ];
}

const node = (name) => element("a", { href: nodeLink(name) }, name);

function names(all, many) {
  const named = all.slice(0, MOST_NAMED);
  const more = many - named.length;
  return [...joined(named.map(node), ", "), more > 0 ? ` and ${count(more)} more` : ""];
}
