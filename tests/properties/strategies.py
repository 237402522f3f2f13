"""Draws small clusters that are rich in everything the in-tree plugins read. `world.py` lets them happen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.model.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from stowplan.model.kinds import (
    Namespace,
    ReplicaSet,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServiceSpec,
    SetSpec,
    StatefulSet,
)
from stowplan.model.meta import LabelSelector, NamespacedMeta, ObjectMeta, OwnerReference
from stowplan.model.node import ContainerImage, Node, NodeSpec, NodeStatus, Taint
from stowplan.model.pod import Container, ContainerPort, Pod, PodSpec, PodStatus, RestartRule
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import ResourceRequirements

HOST, ZONE, DISK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "disk"
GPU, PAGES = "example.com/gpu", "hugepages-2Mi"
MEBIBYTE = 1024 * 1024
KEYS = (HOST, ZONE, ZONE, DISK)
#: More nodes than are asked one by one (`allocation.FEW_ROWS`), so that both kinds of arithmetic are met.
NODE_NAMES = tuple(f"n{number}" for number in range(11))
#: Stands for the node's own name in its host name label.
NAME = "its-name"
NAMESPACES = ("default", "other", "unheard-of")
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
RESTARTS_ALL = (RestartRule(action="RestartAllContainers"),)
LEAVING = datetime(2026, 1, 1, tzinfo=UTC)

node_names = st.sampled_from(NODE_NAMES)


T = TypeVar("T")
Feature = tuple[str, Any]


def feature(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Feature]:
    """Draw a value for a field that most objects leave alone."""
    return values.map(lambda value: (field, value))


def few(elements: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(elements, min_size=1, max_size=most).map(tuple)


def every(make: Callable[..., T], **options: tuple[Any, ...]) -> st.SearchStrategy[T]:
    """Draw one of all combinations, made beforehand: a single draw is much faster than one for each part."""
    combinations = product(*options.values())
    return st.sampled_from([make(**dict(zip(options, combination, strict=True))) for combination in combinations])


def amounts(**texts: tuple[str | None, ...]) -> st.SearchStrategy[dict[str, Quantity]]:
    """Draw an amount of each resource; None leaves it out."""
    return every(_resource_list, **texts)


def _resource_list(**texts: str | None) -> dict[str, Quantity]:
    names = {"gpu": GPU, "pages": PAGES, "ephemeral": "ephemeral-storage"}
    return {names.get(name, name): Quantity.parse(text) for name, text in texts.items() if text is not None}


# Nodes

taints = st.sampled_from(
    (
        Taint(key="gpu", value="yes", effect="NoSchedule"),
        Taint(key="old", effect="PreferNoSchedule"),
        Taint(key="older", effect="PreferNoSchedule"),
        Taint(key="leave", effect="NoExecute"),
    )
)
images = every(
    lambda name, size: ContainerImage(names=(name, f"registry.example/{name}"), size_bytes=size * MEBIBYTE),
    name=("app:v1", "db:latest"),
    size=(10, 300, 2000),
)
allocatable = amounts(
    cpu=("4", "2", "500m", None),
    memory=("4Gi", "1Gi", None),
    ephemeral=("10Gi", None),
    pods=("110", "3", "1"),
    gpu=(None, None, "1", "3"),
    pages=(None, None, "64Mi"),
)


node_labels = every(
    lambda host, zone, disk: {HOST: host, ZONE: zone, DISK: disk},
    host=(NAME, NAME, NAME, None),
    zone=("x", "y", "z", "", None),
    disk=(None, "ssd", "hdd", "7"),
)
node_features = st.one_of(
    feature("unschedulable", st.just(True)),
    feature("taints", few(taints)),
    feature("taints", few(taints)),
    feature("images", few(images)),
    feature("declared_features", st.sampled_from((FEATURES, FEATURES[:1]))),
)


def make_node(labels: dict[str, str | None], resources: dict[str, Quantity], features: list[Feature]) -> Node:
    """Make a node without a name of what was drawn."""
    fields = dict(features)
    spec = {field: fields.pop(field) for field in ("unschedulable", "taints") if field in fields}
    present = {key: value for key, value in labels.items() if value is not None}
    return Node(
        metadata=ObjectMeta(labels=present), spec=NodeSpec(**spec), status=NodeStatus(allocatable=resources, **fields)
    )


#: Nodes without a name: they may lack a label, be cordoned, tainted, small, or hold images.
nodes = st.builds(make_node, node_labels, allocatable, st.lists(node_features, max_size=2))


def named_node(template: Node, name: str) -> Node:
    """Give a node its name."""
    labels = {key: name if value == NAME else value for key, value in template.metadata.labels.items()}
    return replace(template, metadata=replace(template.metadata, name=name, uid=f"uid-{name}", labels=labels))


# Pods

requests = amounts(
    cpu=(None, "100m", "500m", "3"),
    memory=(None, "64Mi", "1Gi"),
    gpu=(None, None, None, "1"),
    pages=(None, None, None, "2Mi"),
    ephemeral=(None, None, "1Gi"),
)
ports = every(
    ContainerPort, host_port=(80, 443, 0), protocol=("TCP", "TCP", "UDP"), host_ip=("", "10.0.0.1", "10.0.0.2")
)
plain_containers = st.builds(
    lambda image, requests: Container(name="main", image=image, resources=ResourceRequirements(requests=requests)),
    st.sampled_from(("", "app:v1", "registry.example/db")),
    requests,
)
containers = st.one_of(
    plain_containers,
    plain_containers,
    st.builds(replace, plain_containers, ports=few(ports)),
    plain_containers.map(lambda found: replace(found, restart_policy_rules=RESTARTS_ALL)),
)
init_containers = st.builds(replace, containers, name=st.just("init"), restart_policy=st.sampled_from(("", "Always")))
SELECTORS = (
    LabelSelector(match_labels={"app": "a"}),
    LabelSelector(match_labels={"app": "b"}),
    LabelSelector(),
    None,
    LabelSelector(match_labels={"app": "a", "tier": "1"}),
)
node_expressions = st.sampled_from(
    (
        NodeSelectorRequirement(key=ZONE, operator="In", values=("x", "y")),
        NodeSelectorRequirement(key=ZONE, operator="NotIn", values=("x",)),
        NodeSelectorRequirement(key=DISK, operator="Exists"),
        NodeSelectorRequirement(key=DISK, operator="DoesNotExist"),
        NodeSelectorRequirement(key=DISK, operator="Gt", values=("5",)),
    )
)
node_fields = every(
    lambda operator, name: NodeSelectorRequirement(key="metadata.name", operator=operator, values=(name,)),
    operator=("In", "In", "NotIn"),
    name=NODE_NAMES,
)
node_terms = st.one_of(
    st.builds(NodeSelectorTerm, match_expressions=st.lists(node_expressions, max_size=2).map(tuple)),
    st.builds(NodeSelectorTerm, match_fields=st.tuples(node_fields)),
    st.builds(NodeSelectorTerm, match_expressions=st.tuples(node_expressions), match_fields=st.tuples(node_fields)),
)
preferred_nodes = st.builds(PreferredSchedulingTerm, weight=st.sampled_from((1, 7, 100)), preference=node_terms)
node_affinities = st.builds(
    NodeAffinity,
    required_during_scheduling_ignored_during_execution=st.none()
    | st.lists(node_terms, min_size=1, max_size=2).map(lambda found: NodeSelector(node_selector_terms=tuple(found))),
    preferred_during_scheduling_ignored_during_execution=st.lists(preferred_nodes, max_size=2).map(tuple),
)
pod_terms = every(
    PodAffinityTerm,
    topology_key=KEYS,
    label_selector=SELECTORS,
    namespaces=((), (), (), ("other",)),
    namespace_selector=(None, None, None, LabelSelector(), LabelSelector(match_labels={"team": "red"})),
)
weighted_pod_terms = st.builds(
    WeightedPodAffinityTerm, weight=st.sampled_from((1, 30, 100)), pod_affinity_term=pod_terms
)
pod_affinities = st.builds(
    PodAffinity,
    required_during_scheduling_ignored_during_execution=st.lists(pod_terms, max_size=2).map(tuple),
    preferred_during_scheduling_ignored_during_execution=st.lists(weighted_pod_terms, max_size=2).map(tuple),
)
tolerations = st.sampled_from(
    (
        Toleration(operator="Exists"),
        Toleration(key="gpu", operator="Equal", value="yes", effect="NoSchedule"),
        Toleration(key="old", operator="Exists"),
        Toleration(key="leave", operator="Exists", effect="NoExecute"),
    )
)
constraints = every(
    TopologySpreadConstraint,
    max_skew=(1, 2),
    topology_key=KEYS,
    when_unsatisfiable=("DoNotSchedule", "ScheduleAnyway"),
    label_selector=SELECTORS,
    min_domains=(None, None, 3),
    node_affinity_policy=("Honor", "Honor", "Ignore"),
    node_taints_policy=("Ignore", "Honor"),
    match_label_keys=((), (), ("tier",)),
)
owners = st.sampled_from(
    (
        OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="set", controller=True),
        OwnerReference(api_version="apps/v1", kind="StatefulSet", name="set", controller=True),
        OwnerReference(api_version="v1", kind="ReplicationController", name="set", controller=True),
    )
)
labels = st.sampled_from(({}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "1"}, {"tier": "2"}))
pod_features = st.one_of(
    feature("init_containers", few(init_containers)),
    feature("node_name", st.just("n1")),
    feature("priority", st.just(10)),
    feature("node_selector", st.just({DISK: "ssd"})),
    feature("node_affinity", node_affinities),
    feature("node_affinity", node_affinities),
    feature("pod_affinity", pod_affinities),
    feature("pod_affinity", pod_affinities),
    feature("pod_anti_affinity", pod_affinities),
    feature("pod_anti_affinity", pod_affinities),
    feature("tolerations", few(tolerations)),
    feature("topology_spread_constraints", few(constraints, most=3)),
    feature("topology_spread_constraints", few(constraints, most=3)),
    feature("resources", requests.map(lambda found: ResourceRequirements(requests=pod_level(found)))),
    feature("overhead", amounts(cpu=("50m",), memory=("16Mi",))),
    feature("host_network", st.just(True)),
    feature("owner_references", owners.map(lambda owner: (owner,))),
    feature("deletion_timestamp", st.just(LEAVING)),
)
META_FIELDS = ("owner_references", "deletion_timestamp")


def make_pod(where: str, labels: dict[str, str], containers: list[Container], features: list[Feature]) -> Pod:
    """Make a pending pod without a name of what was drawn."""
    fields = dict(features)
    meta = {field: fields.pop(field) for field in META_FIELDS if field in fields}
    near = {field: fields.pop(field) for field in Affinity.__struct_fields__ if field in fields}
    if "host_network" in fields:
        fields["host_users"] = False
    spec = PodSpec(containers=tuple(containers), affinity=Affinity(**near) if near else None, **fields)
    return Pod(metadata=NamespacedMeta(namespace=where, labels=labels, **meta), spec=spec)


def pods_with(features: st.SearchStrategy[Feature], least: int = 0) -> st.SearchStrategy[Pod]:
    """Draw pending pods without a name that have some of the features."""
    return st.builds(
        make_pod,
        st.sampled_from((*NAMESPACES, "default")),
        labels,
        st.lists(containers, min_size=1, max_size=2),
        st.lists(features, min_size=least, max_size=3),
    )


#: Pods of every kind; `named` makes pods of them.
pods = pods_with(pod_features)
#: Pods that look at each other, at services and owners, or at nodes, and little else.
neighbours = pods_with(st.one_of(feature("pod_affinity", pod_affinities), feature("pod_anti_affinity", pod_affinities)))
siblings = pods_with(
    st.one_of(
        feature("owner_references", owners.map(lambda owner: (owner,))),
        feature("topology_spread_constraints", few(constraints)),
    )
)
pickers = pods_with(
    st.one_of(
        feature("node_affinity", node_affinities),
        feature("tolerations", few(tolerations)),
        feature("host_network", st.just(True)),
    )
)


def pod_level(amounts: dict[str, Quantity]) -> dict[str, Quantity]:
    """Keep what a pod as a whole may request."""
    return {name: amount for name, amount in amounts.items() if name in ("cpu", "memory", PAGES)}


def named(template: Pod, name: str, node_name: str | None = None) -> Pod:
    """Make a pod of a template; bound, if a node is named."""
    meta = replace(template.metadata, name=name, uid=f"uid-{name}")
    spec = template.spec if node_name is None else replace(template.spec, node_name=node_name)
    return replace(template, metadata=meta, spec=spec)


def nominated(pod: Pod, node_name: str) -> Pod:
    return replace(pod, status=PodStatus(nominated_node_name=node_name))


# Other objects

namespaces = every(
    lambda name, team: Namespace(metadata=ObjectMeta(name=name, labels={} if team is None else {"team": team})),
    name=NAMESPACES[:2],
    team=("red", "blue", None),
)
object_metas = st.sampled_from([NamespacedMeta(name="set", namespace=namespace) for namespace in NAMESPACES])
selected_labels = st.sampled_from(({"app": "a"}, {"tier": "1"}, {}))
services = st.builds(Service, metadata=object_metas, spec=st.builds(ServiceSpec, selector=selected_labels))
set_specs = every(SetSpec, selector=SELECTORS)
controller_specs = st.builds(ReplicationControllerSpec, selector=selected_labels)
workloads = st.one_of(
    st.builds(ReplicaSet, metadata=object_metas, spec=set_specs),
    st.builds(StatefulSet, metadata=object_metas, spec=set_specs),
    st.builds(ReplicationController, metadata=object_metas, spec=controller_specs),
)
other_objects = st.one_of(namespaces, services, workloads)


def clusters(least: int = 1, most: int = len(NODE_NAMES)) -> st.SearchStrategy[list[Node]]:
    """Draw nodes of different names."""
    drawn = st.lists(nodes, min_size=least, max_size=most)
    return drawn.map(lambda found: [named_node(node, name) for node, name in zip(found, NODE_NAMES, strict=False)])
