/** Makes of a manifest what can be asked about: pods as the API server would give them back, and what comes with them. */

import { unknownFields } from "./pod_fields.js";
import { readYaml } from "./yaml/read.js";

/** What the DaemonSet controller has its pods tolerate. */
const DAEMON_TOLERATIONS = [
  ["node.kubernetes.io/not-ready", "NoExecute"],
  ["node.kubernetes.io/unreachable", "NoExecute"],
  ["node.kubernetes.io/disk-pressure", "NoSchedule"],
  ["node.kubernetes.io/memory-pressure", "NoSchedule"],
  ["node.kubernetes.io/pid-pressure", "NoSchedule"],
  ["node.kubernetes.io/unschedulable", "NoSchedule"],
];
const TEMPLATES = new Set(["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"]);
const PRIORITIES = { "system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000 };
/** What a pod that is there has and a new one has not. */
const GIVEN = [
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "managedFields",
  "generateName",
  "generation",
  "selfLink",
];

export const EXAMPLE = `apiVersion: v1
kind: Pod
metadata:
  name: trial
  namespace: default
spec:
  containers:
  - name: main
    image: registry.example/app:v1
    resources:
      requests:
        cpu: 500m
        memory: 1Gi
`;

/** A manifest that nothing can be asked about. */
export class ManifestError extends Error {}

/**
 * Read a manifest.
 * @param {string} text YAML or JSON
 * @param {string[]} profiles the scheduler names that somebody is responsible for
 * @returns {{pods: {pod: any, replicas: number, isForEveryNode: boolean}[], others: any[], notes: string[]}}
 *     `pods` has one for each Pod or workload
 */
export function readManifest(text, profiles) {
  const documents = read(text).flatMap((one) => (one?.kind === "List" ? (one.items ?? []) : [one]));
  const pods = [];
  const others = [];
  const notes = [];
  for (const one of documents) {
    if (typeof one !== "object" || one === null || Array.isArray(one)) {
      throw new ManifestError("That is no manifest: write apiVersion, kind, metadata and spec.");
    }
    if (one.kind === "Pod" || (one.kind === undefined && one.spec?.containers)) {
      check(one, "");
      pods.push({ pod: one, replicas: 1, isForEveryNode: false });
    } else if (TEMPLATES.has(one.kind)) {
      const isForEveryNode = one.kind === "DaemonSet";
      pods.push({ pod: ofWorkload(one, notes), replicas: replicasOf(one), isForEveryNode });
    } else others.push(one);
  }
  if (!pods.length) {
    throw new ManifestError(`There is no pod in it: write a Pod, or a ${[...TEMPLATES].join(", ")}.`);
  }
  const classes = new Map(
    others.filter((one) => one.kind === "PriorityClass").map((one) => [one.metadata?.name, one.value]),
  );
  const found = pods.map((one) => ({ ...one, pod: admitted(one.pod, profiles, classes) }));
  return { pods: found, others, notes };
}

/** Refuse what the API server would not take for a pod, where the answer would be about something else than is meant. */
function check(pod, path) {
  const unknown = unknownFields(pod).map((one) => `${path}${one}`);
  if (unknown.length) {
    throw new ManifestError(`${unknown.join(", ")}: a pod has no such field; correct the name, or leave it out.`);
  }
  if (!pod.spec?.containers?.length) {
    throw new ManifestError(`${path}spec.containers: a pod needs a container; write one.`);
  }
}

function read(text) {
  try {
    const found = readYaml(text);
    // It is to be sent as well.
    JSON.stringify(found);
    return found;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ManifestError("The manifest nests too deeply to be read: no field of Kubernetes is that deep.");
  }
}

/** Return how many pods a workload makes. */
function replicasOf({ kind, spec }) {
  const wanted = Number((kind === "Job" ? spec.parallelism : spec.replicas) ?? 1);
  return Number.isInteger(wanted) && wanted > 0 ? wanted : 1;
}

/** Make so many copies of a pod, each with a name of its own. */
export function copies(pod, number) {
  if (number === 1) return [pod];
  return Array.from({ length: number }, (_, at) => ({
    ...pod,
    metadata: { ...pod.metadata, name: `${pod.metadata.name}-${at + 1}` },
  }));
}

/** Make of a pod that is there the manifest of another like it. */
export function asNew(manifest) {
  const { status: _, ...pod } = manifest;
  const metadata = Object.fromEntries(Object.entries(pod.metadata ?? {}).filter(([key]) => !GIVEN.includes(key)));
  const { nodeName: __, ...spec } = pod.spec ?? {};
  return inOrder({ ...pod, metadata: { ...metadata, name: `${metadata.name}-trial` }, spec });
}

/** Leave out who set which field, as kubectl does. */
export function forReaders(manifest) {
  const { managedFields: _, ...metadata } = manifest.metadata ?? {};
  return inOrder({ ...manifest, metadata });
}

/** Put what an object is before what it says. */
function inOrder({ apiVersion, kind, metadata, spec, status, ...rest }) {
  const fields = Object.entries({ apiVersion, kind, metadata, spec, ...rest, status });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function ofWorkload(workload, notes) {
  const template = workload.spec?.template;
  if (!template?.spec) throw new ManifestError(`The ${workload.kind} has no spec.template.spec.`);
  check({ metadata: template.metadata, spec: template.spec }, "spec.template.");
  const what = workload.kind === "DaemonSet" ? "the pods" : "a pod";
  notes.push(`Asked about ${what} that the ${workload.kind} ${workload.metadata?.name ?? ""} would make.`);
  const { namespace, name } = workload.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...template.metadata, namespace, name: name ?? "trial" },
    spec: workload.kind === "DaemonSet" ? ofDaemon(template.spec) : template.spec,
  };
}

function ofDaemon(spec) {
  const added = [
    ...DAEMON_TOLERATIONS,
    ...(spec.hostNetwork ? [["node.kubernetes.io/network-unavailable", "NoSchedule"]] : []),
  ].map(([key, effect]) => ({ key, operator: "Exists", effect }));
  const given = Array.isArray(spec.tolerations) ? spec.tolerations : [];
  return { ...spec, tolerations: [...given, ...added] };
}

/** Fill in what the API server would, as far as it decides where a pod goes. */
function admitted(pod, profiles, classes) {
  const metadata = { ...pod.metadata };
  metadata.name ??= "trial";
  metadata.namespace ??= "default";
  if (pod.spec?.nodeName) throw new ManifestError("spec.nodeName: it names its node already; leave the field out.");
  const spec = { ...pod.spec };
  spec.schedulerName ??= profiles.includes("default-scheduler") || !profiles.length ? "default-scheduler" : profiles[0];
  for (const kind of ["containers", "initContainers"]) {
    if (Array.isArray(spec[kind])) spec[kind] = spec[kind].map(withRequests);
  }
  if (spec.priorityClassName && spec.priority === undefined) {
    const name = spec.priorityClassName;
    spec.priority = classes.get(name) ?? PRIORITIES[name];
    if (spec.priority === undefined) {
      throw new ManifestError(
        `spec.priorityClassName: what ${name} stands for is not known here: add the PriorityClass to the manifest, or write spec.priority.`,
      );
    }
  }
  return { apiVersion: "v1", kind: "Pod", metadata, spec };
}

/** What has a limit and no request requests its limit. */
function withRequests(container) {
  const { limits } = container?.resources ?? {};
  if (!limits) return container;
  return {
    ...container,
    resources: { ...container.resources, requests: { ...limits, ...container.resources.requests } },
  };
}
