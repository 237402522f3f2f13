"""The files of a question: the cluster, if it is in files, and what is asked about, as an API server would have both.

Workloads make their pods in the cluster they are asked for; of that, their pods are what is asked about, and the rest
of the files (claims, classes, budgets, nodes) is supposed to be there. Each file is read once: it may be the standard
input.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from stowplan.app.configuration import STDIN, SourceError, read_text
from stowplan.config.feature_gates import FeatureGates
from stowplan.embedded.controllers.daemon import tolerations_of
from stowplan.local import file_cluster
from stowplan.local.file_cluster import FileCluster
from stowplan.local.initial_objects import node_of_shape, read_shapes
from stowplan.local.manifests import Manifest, in_order
from stowplan.local.manifests import read as read_manifests
from stowplan.model import decode
from stowplan.model.manifests import read as read_documents
from stowplan.model.pod import Pod
from stowplan.whatif.world import QuestionError

#: Where the number of pods is written, by kind.
_REPLICAS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": ("replicas",),
    "ReplicaSet": ("replicas",),
    "ReplicationController": ("replicas",),
    "StatefulSet": ("replicas",),
    "Job": ("parallelism", "completions"),
}
#: What a pod names, and has to be there when it is made.
_CLASSES: Final[Mapping[str, str]] = {"priorityClassName": "PriorityClass", "runtimeClassName": "RuntimeClass"}
_NO_REPLICAS: Final = "it has one pod a node, however many replicas are asked for; leave that out"
_NOT_ALIKE: Final = "it has one pod a node, each for its own; ask whether it fits, or about a pod"
#: Marks the pod of a DaemonSet.
_EVERY_NODE: Final = "stowplan.dev/on-every-node"


def find_node(path: str, name: str, gates: FeatureGates) -> dict[str, Any]:
    """Return a node by its name: of a file of nodes, or of shapes, as `stowplan up --shapes` takes it."""
    if _has_shapes(path):
        shapes = read_shapes(path)
        known, node = [shape.name for shape in shapes.shapes], node_of_shape(shapes, name)
        wanted = [Manifest(path, node)] if node is not None else []
    else:
        nodes = [one for one in read_manifests([path]) if one.kind == "Node"]
        known, wanted = [_name(one) for one in nodes], [one for one in nodes if _name(one) == name]
    if not wanted:
        raise QuestionError(f"{path}: node {name!r} is not there; name one of: {', '.join(known) or 'none'}")
    return dict(decode.to_builtins(file_cluster.make(wanted, gates).nodes[name]))


def _has_shapes(path: str) -> bool:
    if path == STDIN:
        # Read only once, and as manifests.
        return False
    try:
        found = list(read_documents(read_text(path)))
    except (decode.MalformedObject, SourceError):
        # Told by whoever reads it as manifests.
        return False
    return len(found) == 1 and isinstance(found[0], dict) and "shapes" in found[0]


def make_pods(
    context: Sequence[Mapping[str, Any]], path: str, replicas: int | None, gates: FeatureGates
) -> tuple[list[Pod], list[Any]]:
    """Make the pods of a file where some objects are there already; return what else is there then, too.

    Of a DaemonSet there is one pod, which `is_for_every_node`.
    """
    written = read_manifests([path])
    if replicas is not None:
        _refuse_daemons(written, _NO_REPLICAS)
    asked = [_for_every_node(one) if one.kind == "DaemonSet" else one for one in written]
    if replicas is not None:
        asked = [each for one in asked for each in _times(one, replicas)]
    # The same file gives the same names wherever it is, and another one others.
    seed = zlib.crc32(json.dumps([one.content for one in asked], default=str).encode())
    found = file_cluster.make([*(Manifest(path, one) for one in context), *asked], gates, seed)
    if found.unmade:
        one = found.unmade[0]
        raise QuestionError(f"{path}: {one.workload}: {one.pods} pods were not made: {one.message}")
    if not found.pods:
        raise QuestionError(f"{path}: no pod is made; give pods, or a workload that makes some")
    for pod in found.pods.values():
        _check(pod, path)
    known = {_key(one) for one in context}
    names = {(one.kind, _name(one)) for one in written}
    objects = [(one, decode.to_builtins(one)) for one in (*found.nodes.values(), *found.others)]
    return list(found.pods.values()), [
        one
        for one, content in objects
        if _key(content) not in known and (_key(content)[::2] in names or _is_claim(content))
    ]


class QuestionFiles:
    """What was named on the command line, read when it is asked for."""

    def __init__(self, cluster: Sequence[str], workloads: Sequence[str], gates: FeatureGates) -> None:
        if STDIN in cluster and STDIN in workloads:
            raise QuestionError("-f - and --from -: the standard input can be read once; name a file for one of them")
        self._cluster, self._workloads, self._gates = tuple(cluster), tuple(workloads), gates
        self._read: dict[str, list[Manifest]] = {}
        self._whole: FileCluster | None = None
        self._notes: dict[str, None] = {}

    def pods(self, replicas: int | None = None) -> dict[str, Any]:
        """Return the pods that the workloads make; those of DaemonSets once, for there may be more nodes by then."""
        found = self._asked(self._workloads, replicas)
        kinds: dict[str, list[Any]] = {"pods": [], "everyNode": []}
        for pod in found:
            kinds["everyNode" if is_for_every_node(pod) else "pods"].append(decode.to_builtins(pod))
        return kinds

    def only_pod(self) -> dict[str, Any]:
        """Return the one pod that is asked about: the first, where a workload makes several alike."""
        _refuse_daemons(self._manifests(self._workloads), _NOT_ALIKE)
        found = self._asked(self._workloads, None)
        makers = {(owner.uid if owner is not None else pod.key): None for pod in found for owner in (pod.controller,)}
        if len(makers) > 1:
            names = ", ".join(pod.key for pod in found[:5])
            raise QuestionError(f"{len(found)} pods are asked about ({names}); give one pod, or one workload")
        return dict(decode.to_builtins(found[0]))

    def mix(self, counts: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return one pod of each workload, and how many of it are in a round."""
        _refuse_daemons(self._manifests(tuple(counts)), _NOT_ALIKE)
        return [
            {"pod": decode.to_builtins(pod), "count": count}
            for path, count in counts.items()
            for pod in self._asked((path,), 1)
        ]

    def needed(self) -> list[dict[str, Any]]:
        """Return the step that adds what is written beside the pods; nothing if the cluster is in files, too."""
        if self._cluster or self._whole is None:
            return []
        written = {(one.kind, _name(one)) for one in self._manifests(self._workloads)}
        others = [decode.to_builtins(one) for one in (*self._whole.nodes.values(), *self._whole.others)]
        objects = [one for one in others if (one["kind"], one["metadata"]["name"]) in written or _is_claim(one)]
        return [{"add": {"objects": objects}}] if objects else []

    def cluster(self) -> FileCluster:
        """Return the cluster with all that is there but the pods that are asked about."""
        whole = self._whole if self._whole is not None else self._base
        whole.pods = {key: pod for key, pod in whole.pods.items() if key not in whole.later}
        return whole

    def waiting(self) -> list[Pod]:
        """Return the pods of the cluster that look for a node."""
        return self.cluster().pending

    def notes(self) -> list[str]:
        waiting = len(self.waiting())
        told = f"pods of the cluster that wait for a node: {waiting}; `stowplan schedule` says where they go"
        known = self._notes if self._whole is not None else dict.fromkeys(self._base.notes)
        return [*known, *([told] if waiting else [])]

    @cached_property
    def _base(self) -> FileCluster:
        return file_cluster.make(self._manifests(self._cluster), self._gates) if self._cluster else FileCluster()

    def _manifests(self, paths: Sequence[str]) -> list[Manifest]:
        for path in paths:
            if path not in self._read:
                self._read[path] = read_manifests([path])
        return in_order(one for path in paths for one in self._read[path])

    def _asked(self, paths: Sequence[str], replicas: int | None) -> list[Pod]:
        """Have workloads make their pods; raise QuestionError if there is none to ask about."""
        written = self._manifests(paths)
        if not self._cluster:
            _refuse_unknown_classes(written)
        if replicas is not None:
            _refuse_daemons(written, _NO_REPLICAS)
            written = [each for one in written for each in _times(one, replicas)]
        written = [_for_every_node(one) if one.kind == "DaemonSet" else one for one in written]
        # The cluster first: the pods that it makes are not asked about.
        found = file_cluster.make(self._manifests(self._cluster), self._gates, later=written)
        self._notes |= dict.fromkeys(found.notes)
        if found.unmade:
            one = found.unmade[0]
            raise QuestionError(f"{one.workload}: {one.pods} pods were not made: {one.message}")
        self._whole = found if self._whole is None else _joined(self._whole, found)
        asked = [pod for key, pod in found.pods.items() if key in found.later]
        if not asked:
            told = "".join(f" ({note})" for note in found.notes if note not in self._base.notes)
            raise QuestionError(f"{', '.join(paths)}: no pod is made{told}; give pods, or a workload that makes some")
        for pod in asked:
            _check(pod, ", ".join(paths))
        return asked


def is_for_every_node(pod: Pod) -> bool:
    """Say whether a pod stands for those of a DaemonSet, one for every node that is meant."""
    return _EVERY_NODE in pod.metadata.annotations


def _check(pod: Pod, origin: str) -> None:
    if pod.spec.node_name:
        problem = f"spec.nodeName: it is on {pod.spec.node_name!r} already"
        raise QuestionError(f"{origin}: pod {pod.key!r}: {problem}; leave the field out to ask where it would go")
    if pod.is_terminal:
        raise QuestionError(f"{origin}: pod {pod.key!r}: status.phase: it has ended; leave status out")


def _joined(one: FileCluster, other: FileCluster) -> FileCluster:
    known = {(type(found), found.metadata.namespace, found.metadata.name) for found in one.others}
    more = [
        found for found in other.others if (type(found), found.metadata.namespace, found.metadata.name) not in known
    ]
    pods = {**one.pods, **{key: other.pods[key] for key in other.later}}
    return FileCluster({**one.nodes, **other.nodes}, pods, [*one.others, *more], later=one.later | other.later)


def _refuse_daemons(manifests: Sequence[Manifest], problem: str) -> None:
    for one in manifests:
        if one.kind == "DaemonSet":
            raise QuestionError(f"{one.title}: {problem}")


def _refuse_unknown_classes(manifests: Sequence[Manifest]) -> None:
    """Refuse pods of classes that only the cluster knows: what they come to is decided when pods are made, here."""
    known = {(one.kind, _name(one)) for one in manifests}
    for one in manifests:
        is_made = one.kind == "Pod" and bool((one.content.get("metadata") or {}).get("uid"))
        spec = {} if is_made else _pod_spec(one)
        for name, kind in _CLASSES.items():
            wanted = spec.get(name)
            if wanted and (kind, str(wanted)) not in known and not str(wanted).startswith("system-"):
                problem = f"{name}: {kind} {wanted!r} is not in the files"
                remedy = f"add it, as `kubectl get {kind.lower()} {wanted} -o yaml` prints it"
                raise QuestionError(f"{one.title}: {problem}; {remedy}")


def _pod_spec(manifest: Manifest) -> Mapping[str, Any]:
    """Return the spec of the pods that a workload makes; nothing if it is written in no way that is known."""
    spec = manifest.content.get("spec")
    if manifest.kind != "Pod":
        for part in ("template", "spec"):
            spec = spec.get(part) if isinstance(spec, dict) else None
    return spec if isinstance(spec, dict) else {}


def _times(manifest: Manifest, replicas: int) -> Iterator[Manifest]:
    """Ask for so many pods of a workload."""
    content, spec = manifest.content, manifest.content.get("spec")
    if manifest.kind == "Pod":
        yield from _copies(manifest, replicas)
    elif manifest.kind in _REPLICAS and isinstance(spec, dict):
        counts = dict.fromkeys(_REPLICAS[manifest.kind], replicas)
        yield replace(manifest, content={**content, "spec": {**spec, **counts}})
    else:
        yield manifest


def _copies(manifest: Manifest, replicas: int) -> Iterator[Manifest]:
    meta = manifest.content.get("metadata") or {}
    if replicas == 1 or not meta.get("name"):
        # Without a name each is given one of its own.
        yield from [manifest] * replicas
        return
    for number in range(1, replicas + 1):
        # A uid is one pod's.
        named = {**{key: value for key, value in meta.items() if key != "uid"}, "name": f"{meta['name']}-{number}"}
        yield replace(manifest, content={**manifest.content, "metadata": named})


def _for_every_node(manifest: Manifest) -> Manifest:
    """Return the pod that a DaemonSet makes for a node, whichever that is."""
    meta, spec = manifest.content.get("metadata") or {}, manifest.content.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise QuestionError(f"{manifest.title}: spec.template.spec: Required value: write the pod that it is to make")
    made = template.get("metadata") or {}
    named = {"name": meta.get("name"), "namespace": meta.get("namespace") or "default"}
    annotations = {**(made.get("annotations") or {}), _EVERY_NODE: ""}
    pod = {**template["spec"], "tolerations": tolerations_of(template["spec"])}
    content = {"metadata": {**made, **named, "annotations": annotations}, "spec": pod}
    return replace(manifest, content={"apiVersion": "v1", "kind": "Pod", **content})


def _name(manifest: Manifest) -> str:
    return str((manifest.content.get("metadata") or {}).get("name"))


def _key(content: Mapping[str, Any]) -> tuple[str, str, str]:
    return content["kind"], str(content["metadata"].get("namespace", "")), str(content["metadata"]["name"])


def _is_claim(content: Mapping[str, Any]) -> bool:
    return content["kind"] in ("ResourceClaim", "PersistentVolumeClaim")
