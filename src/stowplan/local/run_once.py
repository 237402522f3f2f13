"""`stowplan up --once`: see every pod of a cluster decided on, and say what became of them.

A cluster has nothing more to do when controllers and kubelets are done, and every pod is decided on. A pod that is
refused may wait for ever, one that failed with an error again and again may fail for ever, one that was placed may wait
for its volumes; a pod that runs may end some day. None of them keeps a cluster from being settled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stowplan.app.inspection import ExplainQuery, Inspection, as_text
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.engine.ports import Report, VictimsChosen
from stowplan.framework.gangs import group_gates
from stowplan.framework.profile import Profile
from stowplan.local.cluster import EmbeddedCluster
from stowplan.local.manifests import ManifestError
from stowplan.local.outcome import ClusterOutcome, Knowledge, Preempted, find_shortfalls, key_of, outcome_of
from stowplan.local.up import UpOptions, View, open_cluster, published, told_to_stop, until_first
from stowplan.model.pod import Pod
from stowplan.observe.explanation import some
from stowplan.queue.entry import Place, QueuedPod
from stowplan.queue.queue import SchedulingQueue

MOST_EXPLAINED: Final = 5
_MOST_NAMED: Final = 10
_LOOK_AGAIN_SECONDS: Final = 0.02
#: Without it in its text a pod is not being deleted; looked for before a hundred thousand pods are decoded.
_MARK: Final = b'"deletionTimestamp"'


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of all pods, and explanations of refusals by pod."""

    outcome: ClusterOutcome
    explanations: dict[str, str]


async def run_once(options: UpOptions, view: View) -> Decided:
    """Bring up a cluster, see every pod decided on, and say what became of them."""
    cluster = await open_cluster(options, view)
    victims = _Victims()
    cluster.scheduler.listen(victims)
    try:
        before = {key_of(pod): pod for pod in cluster.api.list(cluster.pods)}
        with told_to_stop(view.close) as stopped, published(options, cluster), view.stage("scheduling pods", 0):
            await until_first(cluster, _decide(cluster, options.timeout_seconds), stopped.wait())
        outcome = msgspec.structs.replace(outcome_now(cluster, before), preempted=victims.gone_from(cluster))
        if outcome.is_about_nothing and not cluster.has_data:
            # Most likely the manifests are not those that were meant: green would say that all is well.
            raise ManifestError("nothing to schedule: no pod waits in the cluster; give manifests of pods or workloads")
        return Decided(outcome, await _explain(cluster, outcome, options) if options.explains else {})
    finally:
        await cluster.close()


class _Victims:
    """Remembers who was to be evicted, for whom, and from where."""

    def __init__(self) -> None:
        self._chosen: dict[str, Preempted] = {}

    def __call__(self, report: Report) -> None:
        if isinstance(report, VictimsChosen):
            subject = report.pod
            by = subject.key if isinstance(subject, Pod) else str(subject.group_key)
            for victim in report.pods:
                # Another that counts on the end of the same pod has not evicted it.
                told = Preempted(victim.key, victim.node_name or report.node_name, by)
                self._chosen.setdefault(victim.uid, told)

    def gone_from(self, cluster: EmbeddedCluster) -> tuple[Preempted, ...]:
        """Return those who are gone: one that was only on its way is turned back, and waits again."""
        there = {stored.uid for stored in cluster.api.store.list(cluster.pods)}
        return tuple(told for uid, told in self._chosen.items() if uid not in there)


async def _decide(cluster: EmbeddedCluster, timeout_seconds: float) -> None:
    """Schedule until every pod is decided on, or the time is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_seconds):
            await cluster.schedule()
            while not is_settled(cluster):  # noqa: ASYNC110 (many places, none of which tells)
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)


def is_settled(cluster: EmbeddedCluster) -> bool:
    """Say whether there is nothing more to do; to be asked again and again, until it is so."""
    # Asked at every look: it counts them.
    is_quiet = cluster.components.is_quiet()
    return is_quiet and cluster.scheduler.is_idle and _is_running(cluster) and _is_seen(cluster)


def why_unsettled(cluster: EmbeddedCluster) -> str:
    """Name the pods that are waited for; if it is none of them, those who are still at work."""
    undecided = [f"{one.pod} ({one.message})" for one in outcome_now(cluster, {}).undecided]
    if undecided:
        return f"pods that are not decided on: {some(undecided, _MOST_NAMED)}"
    return "every pod is decided on, but controllers, kubelets or the scheduler still have something to do"


def _is_seen(cluster: EmbeddedCluster) -> bool:
    """Say whether the scheduler knows every pod and node as it is now; of pods that have ended it need not."""
    watching = cluster.scheduler.replica.watching
    phase_at = cluster.pods.fields.index("status.phase")
    for resource, kind in ((cluster.pods, "Pod"), (cluster.nodes, "Node")):
        seen = {one.metadata.uid: one.metadata.resource_version for one in watching.objects(kind)}
        for stored in cluster.api.store.list(resource):
            has_ended = kind == "Pod" and stored.fields[phase_at] in ("Succeeded", "Failed")
            if not has_ended and seen.get(stored.uid) != str(stored.version):
                return False
    return True


def _is_running(cluster: EmbeddedCluster) -> bool:
    """Say whether every bound pod has been taken on by a kubelet, and every pod that is to go has gone."""
    pods = cluster.pods
    node_at, phase_at = pods.fields.index("spec.nodeName"), pods.fields.index("status.phase")
    for stored in cluster.api.store.list(pods):
        is_pending = stored.fields[node_at] and stored.fields[phase_at] in ("", "Pending")
        if is_pending and not reading.text(stored.object, "status", "startTime"):
            return False
        if _MARK in stored.body and _is_going(stored.object["metadata"]):
            return False
    return True


def _is_going(metadata: Object) -> bool:
    """Say whether a pod is about to go; one with finalizers waits for somebody we do not know."""
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")


def outcome_now(cluster: EmbeddedCluster, before: dict[str, dict[str, Any]]) -> ClusterOutcome:
    """Say what became of the pods that had no node at first; `before` are the pods that were there."""
    placed_before = {pod["metadata"]["uid"] for pod in before.values() if pod["spec"].get("nodeName")}
    pods = {key_of(pod): pod for pod in cluster.api.list(cluster.pods)}
    ours = [pod for pod in pods.values() if pod["metadata"]["uid"] not in placed_before]
    replica = cluster.scheduler.replica
    queue = replica.scheduler.state.queue
    entries = [*queue.places.entries.values(), *(queue.groups or ())]
    held = {entry.pod.key: _why_gated(entry) for entry in entries if entry.where is Place.GATED}
    incomplete = _incomplete(replica.cluster.profiles, queue)
    faults = {entry.pod.key: entry.gate_fault for entry in entries if entry.gate_fault}
    cache = replica.scheduler.state.cache
    on_nodes = (one for name in cache.table.row_of for one in cache.pods_on(name))
    assumed = {one.pod.key: one.node_name for one in on_nodes if one.is_assumed}
    known = Knowledge(replica.cluster.profiles, held, faults, assumed, incomplete)
    outcome = outcome_of(ours, known, before.keys() - pods.keys())
    return msgspec.structs.replace(outcome, unmade=find_shortfalls(cluster.api))


def _incomplete(profiles: Mapping[str, Profile], queue: SchedulingQueue) -> dict[str, str]:
    """Find the pods that wait for others of their group, or for the group: nobody comes any more."""
    found = {}
    for entry in (*queue.places.entries.values(), *(queue.groups or ())):
        by = entry.gated_by or (entry.group.gated_by if entry.group is not None else "")
        if entry.where is Place.GATED and by in group_gates(profiles[entry.pod.spec.scheduler_name]):
            found[entry.pod.key] = _why_gated(entry)
        elif entry.where is Place.INCOMPLETE and queue.groups is not None:
            found[entry.pod.key] = queue.groups.why_incomplete(entry.pod)
    return found


def _why_gated(entry: QueuedPod) -> str:
    reasons = entry.gate_reasons or (entry.group.gate_reasons if entry.group is not None else ())
    return ", ".join(reasons)


async def _explain(cluster: EmbeddedCluster, outcome: ClusterOutcome, options: UpOptions) -> dict[str, str]:
    found, inspection = {}, Inspection(cluster.scheduler.replica)
    for unplaced in (*outcome.refused, *outcome.failed)[:MOST_EXPLAINED]:
        query = ExplainQuery(unplaced.pod, width=options.width)
        found[unplaced.pod] = await inspection.explain(query, as_text)
    return found
