"""What could be different about a pod, or a node, for the two to go together.

A remedy says itself in words that complete "3 nodes would fit ..."; most can also give the pod as it would then be, so
that `nearest` can let the filters check the claim. `ways_out` decides which remedy a refused row needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from stowplan.model.affinity import Affinity, NodeAffinity, PodAffinity, Toleration
from stowplan.model.meta import ResourceList
from stowplan.model.node import Taint
from stowplan.model.pod import Container, Pod, PodSpec
from stowplan.model.quantity import Quantity
from stowplan.model.quantity_text import BINARY_SI
from stowplan.model.requests import request_list

MEBIBYTE = 1024 * 1024
BYTES = ("memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class RequestLess:
    """Request less of a resource: `least` for the nearest node, `amount` for all (millicores for cpu, else units)."""

    resource: str
    least: int = 0
    amount: int = 0

    def relax(self, pod: Pod) -> Pod:
        return with_request(pod, self.resource, request_list(pod)[self.resource] - exact(self.resource, self.amount))

    def __str__(self) -> str:
        low, high = amount_text(self.resource, self.least), amount_text(self.resource, self.amount)
        return f"with {high if low == high else f'{low} to {high}'} less {self.resource}"


@dataclass(frozen=True, slots=True)
class RequestNone:
    """Request nothing of a resource: the node has none of it left, or never had any."""

    resource: str

    def relax(self, pod: Pod) -> Pod:
        return with_request(pod, self.resource, None)

    def __str__(self) -> str:
        return f"without the pod's request for {self.resource}"


@dataclass(frozen=True, slots=True)
class Tolerate:
    """Tolerate a taint."""

    taint: Taint

    def relax(self, pod: Pod) -> Pod:
        taint = self.taint
        more = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        return _with_spec(pod, replace(pod.spec, tolerations=(*pod.spec.tolerations, more)))

    def __str__(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        return f"if the pod tolerated {self.taint.key}{value}:{self.taint.effect}"


@dataclass(frozen=True, slots=True)
class DropSelector:
    """Do not ask for a label in `nodeSelector`."""

    key: str
    value: str

    def relax(self, pod: Pod) -> Pod:
        kept = {key: value for key, value in pod.spec.node_selector.items() if key != self.key}
        return _with_spec(pod, replace(pod.spec, node_selector=kept))

    def __str__(self) -> str:
        return f"without the node selector {self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class DropNodeAffinity:
    """Do without the required node affinity."""

    def relax(self, pod: Pod) -> Pod:
        return _with_affinity(pod, node_affinity=NodeAffinity())

    def __str__(self) -> str:
        return "without the pod's required node affinity"


@dataclass(frozen=True, slots=True)
class DropPodAffinity:
    """Do without required affinity to other pods, anti-affinity, or both."""

    kinds: tuple[Literal["pod_affinity", "pod_anti_affinity"], ...]

    def relax(self, pod: Pod) -> Pod:
        return _with_affinity(pod, **dict.fromkeys(self.kinds, PodAffinity()))

    def __str__(self) -> str:
        words = {"pod_affinity": "pod affinity", "pod_anti_affinity": "pod anti-affinity"}
        return f"without the pod's required {' and '.join(words[kind] for kind in self.kinds)}"


@dataclass(frozen=True, slots=True)
class DropSpread:
    """Do without the hard spread constraints over some topology keys."""

    keys: tuple[str, ...]

    def relax(self, pod: Pod) -> Pod:
        kept = tuple(
            constraint
            for constraint in pod.spec.topology_spread_constraints
            if constraint.topology_key not in self.keys or constraint.when_unsatisfiable != "DoNotSchedule"
        )
        return _with_spec(pod, replace(pod.spec, topology_spread_constraints=kept))

    def __str__(self) -> str:
        return f"without spreading over {' and '.join(self.keys)}"


@dataclass(frozen=True, slots=True)
class DropHostPorts:
    """Do without ports of the node."""

    def relax(self, pod: Pod) -> Pod:
        return _with_containers(pod, lambda container: replace(container, ports=()))

    def __str__(self) -> str:
        return "without the pod's host ports"


@dataclass(frozen=True, slots=True)
class DropNodeName:
    """Do not name a node."""

    def relax(self, pod: Pod) -> Pod:
        return _with_spec(pod, replace(pod.spec, node_name=""))

    def __str__(self) -> str:
        return "if the pod did not name its node"


@dataclass(frozen=True, slots=True)
class FewerPods:
    """Have fewer pods on the node; nothing about this pod would help."""

    def relax(self, pod: Pod) -> None:
        return None

    def __str__(self) -> str:
        return "with fewer pods on the node"


@dataclass(frozen=True, slots=True)
class Satisfy:
    """Satisfy a plugin of which nobody knows what would change its mind."""

    plugin: str
    reasons: tuple[str, ...]

    def relax(self, pod: Pod) -> None:
        return None

    def __str__(self) -> str:
        return f"if {self.plugin} did not object: {', '.join(self.reasons)}"


Remedy = (
    RequestLess
    | RequestNone
    | Tolerate
    | DropSelector
    | DropNodeAffinity
    | DropPodAffinity
    | DropSpread
    | DropHostPorts
    | DropNodeName
    | FewerPods
    | Satisfy
)


def exact(resource: str, amount: int) -> Quantity:
    """Return an amount in the table's units as a quantity."""
    if resource == "cpu":
        return Quantity.of_milli(amount)
    return Quantity.of(amount, BINARY_SI) if resource in BYTES else Quantity.of(amount)


def amount_text(resource: str, amount: int) -> str:
    """Write an amount for a reader: bytes beyond a mebibyte are rounded up to whole ones."""
    if resource in BYTES and amount > MEBIBYTE:
        amount = -(-amount // MEBIBYTE) * MEBIBYTE
    return str(exact(resource, amount))


def with_request(pod: Pod, resource: str, total: Quantity | None) -> Pod:
    """Return the pod as if it requested `total` of a resource (None: nothing), all of it in its first container."""
    bare = _with_containers(pod, lambda container: _requesting(container, resource, None))
    spec = replace(bare.spec, overhead=_without(bare.spec.overhead, resource))
    if spec.resources is not None:
        resources = replace(spec.resources, requests=_without(spec.resources.requests, resource))
        spec = replace(spec, resources=resources)
    if total is not None and spec.containers:
        first, *others = spec.containers
        spec = replace(spec, containers=(_requesting(first, resource, total), *others))
    return _with_spec(pod, spec)


def _requesting(container: Container, resource: str, amount: Quantity | None) -> Container:
    requests = _without(container.resources.requests, resource)
    if amount is not None:
        requests[resource] = amount
    return replace(container, resources=replace(container.resources, requests=requests))


def _without(resources: ResourceList, resource: str) -> ResourceList:
    return {name: amount for name, amount in resources.items() if name != resource}


def _with_containers(pod: Pod, change: Callable[[Container], Container]) -> Pod:
    spec = pod.spec
    containers, init_containers = map(change, spec.containers), map(change, spec.init_containers)
    return _with_spec(pod, replace(spec, containers=tuple(containers), init_containers=tuple(init_containers)))


def _with_affinity(pod: Pod, **parts: NodeAffinity | PodAffinity) -> Pod:
    """Replace parts of the affinity; only what is required of a node matters to filters, so preferences may go too."""
    return _with_spec(pod, replace(pod.spec, affinity=replace(pod.spec.affinity or Affinity(), **parts)))


def _with_spec(pod: Pod, spec: PodSpec) -> Pod:
    return replace(pod, spec=spec)
