/** What a pod asks for, and whom it would push out. */

import { element } from "../dom.js";
import { counted } from "../format.js";
import { facts, panel, table } from "../parts/panel.js";
import { groupLink, nodeLink, podLink } from "../routes.js";

export function factsPanel(pod) {
  const { spec = {}, metadata = {} } = pod.manifest;
  const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return panel(
    "What it asks for",
    {},
    facts([
      ...Object.entries(requestsOf(spec)),
      ["priority", spec.priority === undefined ? "" : String(spec.priority)],
      ["priority class", spec.priorityClassName],
      [
        "node selector",
        Object.entries(spec.nodeSelector ?? {})
          .map(([key, value]) => `${key}=${value}`)
          .join(", "),
      ],
      ["labels", labels.join(", ")],
      ["group", pod.group ? element("a", { href: groupLink(pod.group) }, pod.group) : ""],
      ["extenders", (pod.explanation?.extenders ?? []).map((one) => `${one.extender}: ${one.says}`).join("; ")],
      ["faults", (pod.explanation?.faults ?? []).join("; ")],
    ]),
  );
}

/** Whom it would push out; null if nobody. */
export function preemptionPanel(preemption) {
  if (!preemption) return null;
  const against = preemption.pdbViolations
    ? `, ${counted(preemption.pdbViolations, "time")} against a disruption budget`
    : "";
  return panel(
    "Whom it would push out",
    {},
    element(
      "p",
      {},
      `Evicting ${counted(preemption.victims.length, "pod")}${against} makes room on `,
      element("a", { href: nodeLink(preemption.node) }, preemption.node),
      ".",
    ),
    table(
      "Victims",
      [{ title: "Priority", isNumber: true }, "Pod"],
      preemption.victims.map((victim) => [victim.priority, element("a", { href: podLink(victim.pod) }, victim.pod)]),
    ),
  );
}

/** Requests as they are written, container by container. */
function requestsOf(spec) {
  const found = {};
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const [resource, wanted] of Object.entries(container.resources?.requests ?? {})) {
      found[resource] = found[resource] === undefined ? String(wanted) : `${found[resource]} + ${wanted}`;
    }
  }
  return found;
}
