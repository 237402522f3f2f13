"""Keeps pods off nodes that do not declare a feature the pod needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Awaited, Filter, PreFilter, Reject, Requeue, Skip, reject
from stowplan.framework.verdict import WordedError
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(PreFilter, Filter, Requeue):
    """A pod that uses a new feature needs a node that knows it.

    Rejects: nodes whose `status.declaredFeatures` lacks a feature that the pod's spec makes use of:
        RestartAllContainersOnContainerExits (a restart rule with that action), UserNamespacesHostNetworkSupport (host
        network together with `hostUsers: false`), VolumeBindMountOptions (a volume mounted with `bindMountOptions`).
        Unresolvable. Skipped for pods that need none.
    Requeued by: a node added or its declared features changed; an update of the pod that changes what it needs.
    Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures.
    """

    judges_resizes = False
    looks_at_rows_alone = True
    looks_at_pods = False
    feature_gate = "NodeDeclaredFeatures"

    def pre_filter(self, pod: Pod, nodes: Nodes) -> frozenset[str] | Skip:
        return _needed(pod) or SKIP

    def filter(self, pod: Pod, nodes: Nodes, state: frozenset[str] | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError('error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found')
        lacks = nodes.coded("declared features", _declared).by_meaning(lambda declared: not state <= declared)
        if lacks.any():
            yield reject(lacks, REASON, unresolvable=True)

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, _is_schedulable_after_node_change),
            Awaited(changes.TARGET_POD, Action.UPDATE, _is_schedulable_after_pod_change),
        )


def _is_schedulable_after_node_change(pod: Pod, old: Node | None, new: Node) -> bool:
    return old is None or old.status.declared_features != new.status.declared_features


def _is_schedulable_after_pod_change(pod: Pod, old: Pod, new: Pod) -> bool:
    return _needed(old) != _needed(new)


def _declared(node: Node) -> frozenset[str]:
    return frozenset(node.status.declared_features)


def _needed(pod: Pod) -> frozenset[str]:
    return frozenset(feature for feature, is_needed in NEEDED_WHEN.items() if is_needed(pod))


def _restarts_all_containers(pod: Pod) -> bool:
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return any(rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules)


def _mounts_with_options(pod: Pod) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers, *pod.spec.ephemeral_containers)
    return any(mount.bind_mount_options for each in containers for mount in each.volume_mounts)


# Other features that nodes declare matter when a pod is resized or has its devices, not when it is placed.
NEEDED_WHEN: Final[Mapping[str, Callable[[Pod], bool]]] = {
    "RestartAllContainersOnContainerExits": _restarts_all_containers,
    "UserNamespacesHostNetworkSupport": lambda pod: pod.spec.host_network and pod.spec.host_users is False,
    "VolumeBindMountOptions": _mounts_with_options,
}
