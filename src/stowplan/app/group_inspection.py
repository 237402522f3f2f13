"""Explains a pod group of a running scheduler, between two cycles, and leaves everything as it was.

The pods are those that wait in the queue. Extenders are not asked: they would have to be waited for, with the group on
the table. What is found out is not counted as an attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.pod_groups import GroupDesk, root_of
from stowplan.app.replica import Replica
from stowplan.engine.group_trial import at_once
from stowplan.framework.handle import Unmeasured
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import GroupKey
from stowplan.observe.group_explanation import GroupExplanation
from stowplan.queue.entry import QueuedPod
from stowplan.queue.nominations import Nominations
from stowplan.serving.debug_pages import UnknownObjectError


def explain_group(replica: Replica, name: str) -> GroupExplanation:
    """Explain a group by `namespace/name`, as if it were tried now, and say where it waits."""
    waiting = _waiting(replica, name)
    pods = [entry.pod for entry in waiting]
    cluster = replica.cluster
    root = root_of(cluster.cache, pods[0])
    if root is None:
        raise UnknownObjectError(f"pod group {name!r} is not complete: a group above it is not there")
    with _as_it_was(cluster, replica, pods):
        found = at_once(GroupDesk(cluster.cache, cluster.policy()).explain(root, pods))
    group = waiting[0].group
    return replace(found, place=waiting[0].where.value, attempts=group.attempts if group is not None else 0)


def _waiting(replica: Replica, name: str) -> list[QueuedPod]:
    """Return the pods that wait with a group, in the order in which they are tried."""
    groups, cache = replica.scheduler.state.queue.groups, replica.cluster.cache
    if groups is None:
        raise UnknownObjectError("this scheduler knows no pod groups: switch the feature gate GenericWorkload on")
    namespace, _, short = name.rpartition("/")
    wanted = (namespace or "default", short)

    def is_wanted(key: GroupKey | None) -> bool:
        return key is not None and (key.namespace, key.name) == wanted

    found = [entry for entry in groups if is_wanted(root_of(cache, entry.pod))]
    if not found:
        text = f'pod group "{"/".join(wanted)}": no pod waits with it; write NAMESPACE/NAME of a root group'
        raise UnknownObjectError(text)
    return sorted(found, key=lambda entry: (-entry.pod.priority, -entry.attempts, entry.queued_at_ns, entry.pod.name))


@contextmanager
def _as_it_was(cluster: Cluster, replica: Replica, pods: Sequence[Pod]) -> Iterator[None]:
    """Have nothing measured, and nominations put back in the end: who is tried gives up the node nominated to it."""
    handle, nominations = cluster.handle, cluster.handle.nominations
    measures, handle.measures = handle.measures, Unmeasured()
    kept = [_nomination(nominations, pod) for pod in pods]
    try:
        yield
    finally:
        handle.measures = measures
        replica.metrics.plugins.drop()
        for pod, (nominated, node_name) in zip(pods, kept, strict=True):
            nominations.remove(pod)
            nominations.put(nominated, node_name)


def _nomination(nominations: Nominations, pod: Pod) -> tuple[Pod, str]:
    node_name = nominations.node_of(pod)
    return nominations.by_node.get(node_name, {}).get(pod_id(pod), pod), node_name
