"""Pods and nodes in one readable line: `make_pod("web").requests(cpu="2").label("app", "web").build()`.

Every method returns a new builder, so a half-built pod or node can be kept and varied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

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
from stowplan.model.meta import LabelSelector, NamespacedMeta, ObjectMeta, OwnerReference
from stowplan.model.node import ContainerImage, Node, Taint
from stowplan.model.pod import Container, ContainerPort, Pod, PodSpec, SchedulingGate
from stowplan.model.quantity import Quantity
from stowplan.model.quantity_text import QuantityError
from stowplan.model.volumes import ResourceRequirements

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

PODS = 110

T = TypeVar("T", Pod, Node)
Nearness = Literal["pod_affinity", "pod_anti_affinity"]


def make_pod(name: str = "pod", namespace: str = "default") -> PodBuilder:
    """Start a pod with one container that requests nothing."""
    meta = NamespacedMeta(name=name, namespace=namespace, uid=f"uid-{namespace}-{name}")
    return PodBuilder(Pod(metadata=meta, spec=PodSpec(containers=(Container(name="main"),))))


def make_node(name: str = "node") -> NodeBuilder:
    """Start a node that takes 110 pods and has its host name as a label, as every kubelet sets them."""
    meta = ObjectMeta(name=name, uid=f"uid-{name}", labels={HOSTNAME: name})
    return NodeBuilder(Node(metadata=meta)).capacity(pods=PODS)


@dataclass(frozen=True, slots=True)
class _Builder(Generic[T]):
    """An object that is not finished yet."""

    built: T

    def build(self) -> T:
        return self.built

    def label(self, key: str, value: str = "") -> Self:
        return self._with("metadata", labels={**self.built.labels, key: value})

    def annotation(self, key: str, value: str) -> Self:
        return self._with("metadata", annotations={**self.built.metadata.annotations, key: value})

    def _with(self, part: Literal["metadata", "spec", "status"], **fields: Any) -> Self:
        changed = replace(getattr(self.built, part), **fields)
        return type(self)(replace(self.built, **{part: changed}))


@dataclass(frozen=True, slots=True)
class PodBuilder(_Builder[Pod]):
    """An unfinished pod; `build` gives it."""

    # Identity

    def name(self, name: str) -> PodBuilder:
        """Rename the pod, its uid with it: for several pods of one make."""
        return self._with("metadata", name=name, uid=f"uid-{self.built.namespace}-{name}")

    def uid(self, uid: str) -> PodBuilder:
        return self._with("metadata", uid=uid)

    def owner(self, kind: str, name: str, api_version: str = "apps/v1") -> PodBuilder:
        """Name the controller of the pod."""
        owner = OwnerReference(api_version=api_version, kind=kind, name=name, uid=f"uid-{name}", controller=True)
        return self._with("metadata", owner_references=(owner,))

    # What it needs

    def requests(self, resources: Mapping[str, str | int] | None = None, **named: str | int) -> PodBuilder:
        """Set requests of the first container: `requests(cpu="2", memory="1Gi")`, `requests({"nvidia.com/gpu": 1})`."""
        first, *others = self.built.spec.containers
        held = {**first.resources.requests, **_quantities(resources, named)}
        first = replace(first, resources=replace(first.resources, requests=held))
        return self._with("spec", containers=(first, *others))

    def container(self, image: str = "", **requests: str | int) -> PodBuilder:
        return self._with("spec", containers=(*self.built.spec.containers, _container(image, requests)))

    def init_container(self, image: str = "", restart_policy: str = "", **requests: str | int) -> PodBuilder:
        """Add an init container; `restart_policy="Always"` makes it a sidecar."""
        added = replace(_container(image, requests), restart_policy=restart_policy)
        return self._with("spec", init_containers=(*self.built.spec.init_containers, added))

    def image(self, image: str) -> PodBuilder:
        """Set the image of the first container."""
        first, *others = self.built.spec.containers
        return self._with("spec", containers=(replace(first, image=image), *others))

    def host_port(self, port: int, protocol: str = "TCP", host_ip: str = "") -> PodBuilder:
        first, *others = self.built.spec.containers
        taken = ContainerPort(container_port=port, host_port=port, protocol=protocol, host_ip=host_ip)
        return self._with("spec", containers=(replace(first, ports=(*first.ports, taken)), *others))

    # Where it may go

    def node_selector(self, key: str, value: str) -> PodBuilder:
        return self._with("spec", node_selector={**self.built.spec.node_selector, key: value})

    def node_affinity(self, key: str, operator: str = "In", *values: str) -> PodBuilder:
        """Require something of a node's labels; several calls must all hold."""
        wanted = self._affinity.node_affinity or NodeAffinity()
        required = wanted.required_during_scheduling_ignored_during_execution or NodeSelector()
        earlier = required.node_selector_terms[0].match_expressions if required.node_selector_terms else ()
        term = NodeSelectorTerm(match_expressions=(*earlier, _requirement(key, operator, values)))
        selector = NodeSelector(node_selector_terms=(term,))
        changed = replace(wanted, required_during_scheduling_ignored_during_execution=selector)
        return self._with("spec", affinity=replace(self._affinity, node_affinity=changed))

    def prefer_node(self, weight: int, key: str, operator: str = "In", *values: str) -> PodBuilder:
        """Prefer nodes by a label."""
        wanted = self._affinity.node_affinity or NodeAffinity()
        term = NodeSelectorTerm(match_expressions=(_requirement(key, operator, values),))
        preferred = PreferredSchedulingTerm(weight=weight, preference=term)
        earlier = wanted.preferred_during_scheduling_ignored_during_execution
        changed = replace(wanted, preferred_during_scheduling_ignored_during_execution=(*earlier, preferred))
        return self._with("spec", affinity=replace(self._affinity, node_affinity=changed))

    def tolerate(self, key: str = "", value: str | None = None, effect: str = "") -> PodBuilder:
        """Tolerate a taint: of that value, or of any if none is given; without a key, every taint."""
        operator = "Exists" if value is None else "Equal"
        toleration = Toleration(key=key, operator=operator, value=value or "", effect=effect)
        return self._with("spec", tolerations=(*self.built.spec.tolerations, toleration))

    # Near whom

    def affinity(self, key: str, value: str, topology_key: str = HOSTNAME) -> PodBuilder:
        """Require a pod with a label in the same topology domain."""
        return self._near("pod_affinity", _term(key, value, topology_key))

    def anti_affinity(self, key: str, value: str, topology_key: str = HOSTNAME) -> PodBuilder:
        """Require that no pod with a label is in the same topology domain."""
        return self._near("pod_anti_affinity", _term(key, value, topology_key))

    def prefer_near(self, weight: int, key: str, value: str, topology_key: str = HOSTNAME) -> PodBuilder:
        return self._near("pod_affinity", _term(key, value, topology_key), weight)

    def prefer_away(self, weight: int, key: str, value: str, topology_key: str = HOSTNAME) -> PodBuilder:
        return self._near("pod_anti_affinity", _term(key, value, topology_key), weight)

    def spread(
        self, topology_key: str = ZONE, *, max_skew: int = 1, soft: bool = False, match: Mapping[str, str] | None = None
    ) -> PodBuilder:
        """Spread over a topology the pods that `match` picks: the pod's own labels if not given."""
        constraint = TopologySpreadConstraint(
            max_skew=max_skew,
            topology_key=topology_key,
            when_unsatisfiable="ScheduleAnyway" if soft else "DoNotSchedule",
            label_selector=LabelSelector(match_labels=dict(self.built.labels if match is None else match)),
        )
        return self._with(
            "spec", topology_spread_constraints=(*self.built.spec.topology_spread_constraints, constraint)
        )

    # Whose turn, and how far it is

    def priority(self, priority: int) -> PodBuilder:
        return self._with("spec", priority=priority)

    def scheduler_name(self, name: str) -> PodBuilder:
        return self._with("spec", scheduler_name=name)

    def gate(self, name: str) -> PodBuilder:
        return self._with("spec", scheduling_gates=(*self.built.spec.scheduling_gates, SchedulingGate(name=name)))

    def on(self, node_name: str) -> PodBuilder:
        """Bind the pod to a node."""
        return self._with("spec", node_name=node_name)

    def nominated_to(self, node_name: str) -> PodBuilder:
        return self._with("status", nominated_node_name=node_name)

    def phase(self, phase: str) -> PodBuilder:
        return self._with("status", phase=phase)

    @property
    def _affinity(self) -> Affinity:
        return self.built.spec.affinity or Affinity()

    def _near(self, kind: Nearness, term: PodAffinityTerm, weight: int | None = None) -> PodBuilder:
        wanted: PodAffinity = getattr(self._affinity, kind) or PodAffinity()
        if weight is None:
            required = (*wanted.required_during_scheduling_ignored_during_execution, term)
            wanted = replace(wanted, required_during_scheduling_ignored_during_execution=required)
        else:
            weighted = WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
            preferred = (*wanted.preferred_during_scheduling_ignored_during_execution, weighted)
            wanted = replace(wanted, preferred_during_scheduling_ignored_during_execution=preferred)
        return self._with("spec", affinity=replace(self._affinity, **{kind: wanted}))


def _quantities(resources: Mapping[str, str | int] | None, named: Mapping[str, str | int]) -> dict[str, Quantity]:
    # An underscore stands for a dash only where Python has no way to write one.
    amounts = {**(resources or {}), **{name.replace("_", "-"): amount for name, amount in named.items()}}
    return {name: _quantity(name, amount) for name, amount in amounts.items()}


def _quantity(name: str, amount: str | int) -> Quantity:
    try:
        return Quantity.parse(str(amount))
    except QuantityError as error:
        raise QuantityError(f"{name}: Invalid value: {amount!r}: {error}") from None


def _container(image: str, requests: Mapping[str, str | int]) -> Container:
    return Container(image=image, resources=ResourceRequirements(requests=_quantities(None, requests)))


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values or None)


def _term(key: str, value: str, topology_key: str) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=topology_key, label_selector=LabelSelector(match_labels={key: value}))


@dataclass(frozen=True, slots=True)
class NodeBuilder(_Builder[Node]):
    """An unfinished node; `build` gives it."""

    def capacity(self, resources: Mapping[str, str | int] | None = None, **named: str | int) -> NodeBuilder:
        """Set what the node has, all allocatable: `capacity(cpu="8", pods=20)`, `capacity({"nvidia.com/gpu": 4})`."""
        more = _quantities(resources, named)
        status = self.built.status
        return self._with("status", allocatable={**status.allocatable, **more}, capacity={**status.capacity, **more})

    def zone(self, zone: str) -> NodeBuilder:
        return self.label(ZONE, zone)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> NodeBuilder:
        return self._with("spec", taints=(*self.built.spec.taints, Taint(key=key, value=value, effect=effect)))

    def cordon(self) -> NodeBuilder:
        """Make the node unschedulable, without the taint that the node controller would add."""
        return self._with("spec", unschedulable=True)

    def image(self, name: str, size_bytes: int) -> NodeBuilder:
        image = ContainerImage(names=(name,), size_bytes=size_bytes)
        return self._with("status", images=(*self.built.status.images, image))
