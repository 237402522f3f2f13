/** What the heat map shows of each node: how much of a resource is requested, or free; by groups of a label. */

import { count, counted, share } from "../format.js";
import * as ticked from "../live/ticked.js";
import { levelOf } from "./colours.js";
import { cell, marksOf } from "./heatmap.js";

const MOST_GROUPS = 200;

/** Return how much of a resource is taken, or free, and what there is. */
export function amounts(nodes, row, measure, isFree) {
  const resource = nodes.resources[measure];
  if (!resource) return { part: 0, whole: 0 };
  const whole = resource.allocatable[row];
  const taken = resource.requested[row];
  return { part: isFree ? whole - taken : taken, whole };
}

/** Return what a node looks like. */
export function cellOf(nodes, row, measure, isFree) {
  const { part, whole } = amounts(nodes, row, measure, isFree);
  return cell(levelOf(part, whole), marksOf(nodes.status[row], nodes.unschedulable[row], ticked.has(nodes.names[row])));
}

const byName = (one, other) => one.title.localeCompare(other.title, "en", { numeric: true });

/** Return the nodes by value of the label they are grouped by; the smallest groups as one if there are very many. */
export function groups(nodes) {
  const rows = nodes.names.map((_, row) => row);
  if (!nodes.group) return [{ title: "", rows }];
  const { values, codes } = nodes.group;
  const found = values.map((value) => ({ title: value || "(empty)", rows: [] }));
  const without = { title: "(without)", rows: [] };
  for (const row of rows) (found[codes[row]] ?? without).rows.push(row);
  const there = [...found, without].filter((group) => group.rows.length);
  if (there.length <= MOST_GROUPS) return there.sort(byName);
  const largest = there.sort((one, other) => other.rows.length - one.rows.length);
  const others = largest.slice(MOST_GROUPS - 1);
  const rest = { title: `(${count(others.length)} others)`, rows: others.flatMap((group) => group.rows) };
  return [...largest.slice(0, MOST_GROUPS - 1).sort(byName), rest];
}

/** Return a title with what is known of the group. */
export function titleOf(nodes, block, measure, isFree) {
  const sums = total(nodes, block.rows, measure, isFree);
  return `${block.title}   ${counted(block.rows.length, "node")}   ${share(sums.part, sums.whole)}`;
}

/** Say in words what the picture shows. */
export function summary(nodes, measure, isFree) {
  const rows = nodes.names.map((_, row) => row);
  const { part, whole } = total(nodes, rows, measure, isFree);
  const cordoned = nodes.unschedulable.filter(Boolean).length;
  const notReady = nodes.status.filter((status) => status.split(",")[0] !== "Ready").length;
  const full = rows.filter((row) => {
    const one = amounts(nodes, row, measure, false);
    return one.whole > 0 && one.part >= 0.95 * one.whole;
  }).length;
  const parts = [
    `${share(part, whole)} of ${measure} ${isFree ? "free" : "requested"}`,
    full ? `${counted(full, "node is", "nodes are")} nearly full of it` : "",
    cordoned ? `${count(cordoned)} cordoned` : "",
    notReady ? `${count(notReady)} not ready` : "",
  ];
  return `${parts.filter(Boolean).join(", ")}.`;
}

function total(nodes, rows, measure, isFree) {
  let part = 0;
  let whole = 0;
  for (const row of rows) {
    const one = amounts(nodes, row, measure, isFree);
    part += one.part;
    whole += one.whole;
  }
  return { part, whole };
}
