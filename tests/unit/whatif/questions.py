"""Small clusters, and how they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stowplan.app import what_if
from stowplan.app.cluster import Cluster
from stowplan.model import decode
from stowplan.model.kinds import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from stowplan.model.meta import LabelSelector, NamespacedMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod, SchedulingGroup
from stowplan.testing import make_node, make_pod
from stowplan.whatif import requests


def cluster_of(*objects: Any, **options: Any) -> Cluster:
    cluster = Cluster(ties="upstream", **options)
    cluster.add_all(objects)
    return cluster


def node(name: str, cpu: str | int = 4, zone: str = "") -> Node:
    made = make_node(name).capacity(cpu=cpu, memory="32Gi", pods=110)
    return (made.zone(zone) if zone else made).build()


def pod(name: str, cpu: str | int = 1, on: str = "", app: str = "", owner: str = "ReplicaSet") -> Pod:
    """Make a pod of a controller, "" for one without; its app is what comes before the last dash."""
    made = make_pod(name).requests(cpu=cpu).label("app", app or name.rpartition("-")[0] or name)
    made = made.owner(owner, made.built.labels["app"]) if owner else made
    return (made.on(on) if on else made).build()


#: Whose the gangs are: Kubernetes' own, or the community's.
FLAVOURS: Final = ("own", "community")


def cluster_with_gang(flavour: str, *objects: Any, needed: int) -> Cluster:
    """Make a cluster where so many pods of the gang `train` have to find a node at the same time."""
    spec = {"schedulingPolicy": {"gang": {"minCount": needed}}} if flavour == "own" else {"minMember": needed}
    version = "scheduling.k8s.io/v1beta1" if flavour == "own" else "scheduling.x-k8s.io/v1alpha1"
    meta = {"name": "train", "namespace": "default"}
    group = decode.decode_object({"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": spec})
    enabled = {"enabled": [{"name": "Coscheduling"}]}
    plugins = {"multiPoint": enabled, "queueSort": {**enabled, "disabled": [{"name": "*"}]}}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    options: dict[str, Any] = (
        {"feature_gates": {"GenericWorkload": True}}
        if flavour == "own"
        else {"config": {**head, "profiles": [{"plugins": plugins}]}}
    )
    return cluster_of(group, *objects, **options)


def in_gang(name: str, cpu: int = 1, on: str = "") -> Pod:
    """Make a pod that is in the gang `train`, of either flavour."""
    made = make_pod(name).requests(cpu=cpu).label("scheduling.x-k8s.io/pod-group", "train").owner("Job", "train")
    found = (made.on(on) if on else made).build()
    group = SchedulingGroup(pod_group_name="train")
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, scheduling_group=group))


def budget(
    name: str,
    selector: LabelSelector | None = None,
    status: PodDisruptionBudgetStatus | None = None,
    **rules: int | str | None,
) -> PodDisruptionBudget:
    """Make a budget about the pods of the app of that name, if nothing else is said."""
    chosen = selector if selector is not None else LabelSelector(match_labels={"app": name})
    return PodDisruptionBudget(
        metadata=NamespacedMeta(name=name),
        spec=PodDisruptionBudgetSpec(selector=chosen, **rules),  # type: ignore[arg-type]
        status=status or PodDisruptionBudgetStatus(),
    )


def data(found: Any) -> dict[str, Any]:
    return dict(decode.to_builtins(found))


def answer(
    cluster: Cluster, question: dict[str, Any], *steps: dict[str, Any], waiting: Sequence[Pod] = ()
) -> dict[str, Any]:
    """Ask, and return all that is answered."""
    asked = requests.read(msgspec.json.encode({"steps": steps, "question": question}))
    return what_if.ask(cluster, asked, waiting)


def ask(cluster: Cluster, kind: str, *steps: dict[str, Any], waiting: Sequence[Pod] = (), **fields: Any) -> Any:
    """Ask one kind of question, and return its answer."""
    return answer(cluster, {kind: fields}, *steps, waiting=waiting)[kind]
