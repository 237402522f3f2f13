"""Small clusters whose nodes are full, and what preemption makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.config.releases import DEFAULT
from stowplan.engine import scheduling_cycle
from stowplan.framework.attempt import Attempt
from stowplan.framework.post_filter import PostFiltered, attempt_of, run_post_filter
from stowplan.model.kinds import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from stowplan.model.meta import ApiObject, Condition, LabelSelector, NamespacedMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.defaultpreemption.candidate_nodes import Findings
from stowplan.plugins.defaultpreemption.placed_columns import PlacedColumns
from stowplan.plugins.defaultpreemption.search import VictimSearch
from stowplan.testing import make_node, make_pod

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
BEING_PREEMPTED = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")

Summary = dict[str, list[str]]


def node(name: str, cpu: str = "4") -> Node:
    return make_node(name).capacity(cpu=cpu, memory="32Gi").build()


def placed(name: str, on: str, *, cpu: str = "1", priority: int = 0, started: int | None = 0) -> Pod:
    """Make a pod that runs on a node since `started` seconds after the beginning; None: it has not started."""
    pod = make_pod(name).requests(cpu=cpu).priority(priority).on(on).label("app", name[:1]).build()
    start_time = None if started is None else EPOCH + timedelta(seconds=started)
    return replace(pod, status=replace(pod.status, phase="Running", start_time=start_time))


def terminating(pod: Pod, *conditions: Condition) -> Pod:
    metadata = replace(pod.metadata, deletion_timestamp=EPOCH)
    return replace(pod, metadata=metadata, status=replace(pod.status, conditions=conditions))


def budget(name: str, allowed: int, disrupted: Iterable[str] = (), **labels: str) -> PodDisruptionBudget:
    """Make a budget about pods with these labels."""
    return PodDisruptionBudget(
        metadata=NamespacedMeta(name=name),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=labels)),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, EPOCH)),
    )


def urgent(cpu: str = "2", priority: int = 100) -> Pod:
    return make_pod("urgent").requests(cpu=cpu).priority(priority).build()


def cluster_of(*objects: ApiObject, release: str = DEFAULT) -> Cluster:
    cluster = Cluster(seed=1, release=release)
    cluster.add_all(objects)
    return cluster


def attempt(cluster: Cluster, pod: Pod) -> Attempt:
    """Try a pod that fits nowhere."""
    profile, shape = cluster.profile_of(pod), cluster.cache.table.shape_of(pod)
    found = scheduling_cycle.find_feasible(cluster.field, profile, pod, shape)
    assert not found.count, "the pod fits"
    return attempt_of(found.kept, found.verdict, pod, cluster.field.nominations)


def search(cluster: Cluster, pod: Pod, enough: int = 100) -> Findings:
    """Search all nodes that come into question, in the order they were added."""
    search = VictimSearch(pod, attempt(cluster, pod), cluster.handle, PlacedColumns(cluster.handle.pods))
    return search.run(search.potential_rows(), enough)


def candidates(cluster: Cluster, pod: Pod) -> Summary:
    """Return the victims by node, the most important first."""
    found = search(cluster, pod).candidates
    return {each.node_name: [victim.name for victim in each.victims] for each in found}


def post_filter(cluster: Cluster, pod: Pod) -> PostFiltered:
    return run_post_filter(cluster.profile_of(pod), pod, attempt(cluster, pod))
