"""What a pod weighs: the requests a node must have free for it, and what it takes once it is there; its quality of
service; and the families of resource names.

    pod = max(sum of containers + sum of sidecars,
              the heaviest moment of the init phase: one init container + the sidecars started before it)
          replaced by pod-level requests where those are set, plus overhead

While a resize is under way the node holds the larger of what is asked, promised and in force: see `accounted`. Whether
that is looked at container by container or for the pod as a whole depends on the release. `table/` keeps the sums per
node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from stowplan.model.label_syntax import key_problems
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Container, ContainerStatus, NodeAllocatableResourceClaimStatus, Pod
from stowplan.model.quantity import Quantity

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
HUGE_PAGES_PREFIX = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX = "attachable-volumes-"
NATIVE_DOMAIN = "kubernetes.io/"
# What quotas put before a resource name; a resource of that name would be mistaken for one.
_QUOTA_PREFIX = "requests."

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

_DEFAULT_CPU = Quantity.of_milli(DEFAULT_MILLI_CPU)
_DEFAULT_MEMORY = Quantity.of(DEFAULT_MEMORY)
NOTHING: Final[ResourceList] = {}


class Requests(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod's weight in whole numbers.

    `scalar` has extended resources, huge pages and attachable volumes. The `non_zero` values, which only scoring
    reads, count 100m and 200Mi for a container that says nothing.
    """

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalar: Mapping[str, int] = {}
    non_zero_milli_cpu: int = 0
    non_zero_memory: int = 0


class RequestRules(msgspec.Struct, frozen=True):
    """Which fields of a pod count; feature gates say so."""

    #: Whether requests that are set on the pod itself replace those of its containers (PodLevelResources).
    pod_level: bool = True
    #: Whether those can be resized (InPlacePodLevelResourcesVerticalScaling).
    pod_level_resize: bool = True
    #: Whether what devices take of a node's own resources counts on the node (DRANodeAllocatableResources).
    device_claims: bool = False
    #: Whether a resize holds the most of three sums; else it is the sum of the most of every container.
    most_of_sums: bool = True


USUAL: Final = RequestRules()


def incoming(pod: Pod, rules: RequestRules = USUAL) -> Requests:
    """What a node must have free for a pod that is being scheduled."""
    return _weigh(pod, _Reading(rules, uses_status=False))


def accounted(pod: Pod, rules: RequestRules = USUAL) -> Requests:
    """What a pod weighs on its node: the most of what it asks for, was promised and holds, resize included."""
    claims = pod.status.node_allocatable_resource_claim_statuses if rules.device_claims else ()
    return _weigh(pod, _Reading(rules, uses_status=True, beside=tuple(map(taken_by_devices, claims))))


def request_list(pod: Pod, rules: RequestRules = USUAL, beside: tuple[ResourceList, ...] = ()) -> ResourceList:
    """The requests of a pod that is being scheduled, by resource, as quantities.

    `beside` is what is taken for it besides what its containers request.
    """
    return _pod_requests(pod, _Reading(rules, uses_status=False, beside=beside))


def accounted_list(pod: Pod, rules: RequestRules = USUAL) -> ResourceList:
    """What a pod weighs on its node, by resource, as quantities."""
    return _pod_requests(pod, _Reading(rules, uses_status=True))


def taken_by_devices(status: NodeAllocatableResourceClaimStatus) -> ResourceList:
    """What the devices of a claim take of the node's own resources; some of it once for each container that uses it."""
    taken = dict(status.resources)
    for mapped in status.mapping:
        if mapped.quantity is not None:
            _add(taken, {mapped.name: mapped.quantity})
    for overhead in status.overhead:
        per_container = [overhead.per_container] * len(status.containers)
        for amount in (overhead.per_pod, *per_container):
            if amount is not None:
                _add(taken, {overhead.name: amount})
    return taken


def taken_by_container(name: str, statuses: Iterable[NodeAllocatableResourceClaimStatus]) -> ResourceList:
    """What devices take of the node's own resources for one container, and for the pod as a whole."""
    taken: ResourceList = {}
    for status in statuses:
        if name in status.containers:
            _add(taken, taken_by_devices(msgspec.structs.replace(status, containers=(name,))))
    return taken


def container_request_list(pod: Pod, beside: tuple[ResourceList, ...] = ()) -> ResourceList:
    """The requests of a pod's containers together, by resource, with what is taken for them besides."""
    return _sum_with(pod, _spec_requests, NOTHING, beside)


def container_limit_list(pod: Pod, beside: tuple[ResourceList, ...] = ()) -> ResourceList:
    """The limits of a pod's containers together, by resource, with what is taken for them besides."""
    return _sum_with(pod, lambda container: container.resources.limits, NOTHING, beside)


def limit_list(pod: Pod) -> ResourceList:
    """The limits of a pod, by resource; overhead is added only where there is a limit."""
    limits = container_limit_list(pod)
    if pod.spec.resources is not None:
        limits.update((name, limit) for name, limit in pod.spec.resources.limits.items() if is_pod_level(name))
    for name, overhead in pod.spec.overhead.items():
        if name in limits and not limits[name].is_zero:
            limits[name] += overhead
    return limits


def qos_class(pod: Pod) -> str:
    """Return the quality-of-service class, from cpu and memory alone.

    Guaranteed: everyone has cpu and memory limits, and requests equal them. BestEffort: nobody says anything.

    Resources of the pod as a whole, where set, speak for its containers. The status is not asked.
    """
    parts = tuple(container.resources for container in _containers(pod))
    if pod.spec.resources is not None:
        parts = (pod.spec.resources,)
    requests: ResourceList = {}
    limits: ResourceList = {}
    for part in parts:
        _add(requests, _positive(part.requests))
        _add(limits, _positive(part.limits))
    if not requests and not limits:
        return BEST_EFFORT
    is_limited = all(_positive(part.limits).keys() == {CPU, MEMORY} for part in parts)
    return GUARANTEED if is_limited and requests == limits else BURSTABLE


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node has said that it can never grant the resize that is asked for."""
    condition = pod.status.condition("PodResizePending")
    return condition is not None and condition.reason == "Infeasible"


_ResourcesOf = Callable[[Container], ResourceList]


class _Reading(msgspec.Struct, frozen=True):
    """How a pod is read: by which rules, and whether what its node reports counts too."""

    rules: RequestRules
    uses_status: bool
    beside: tuple[ResourceList, ...] = ()


def _weigh(pod: Pod, reading: _Reading) -> Requests:
    requests = _pod_requests(pod, reading)
    defaults = _scoring_defaults(pod, requests, reading.rules)
    non_zero = requests
    silent = (name for container in _containers(pod) for name in defaults if name not in container.resources.requests)
    if reading.uses_status or next(silent, None) is not None:
        non_zero = _pod_requests(pod, reading, defaults)
    zero = Quantity.zero()
    return Requests(
        milli_cpu=requests.get(CPU, zero).milli_counted,
        memory=requests.get(MEMORY, zero).counted,
        ephemeral_storage=requests.get(EPHEMERAL_STORAGE, zero).counted,
        scalar={name: quantity.counted for name, quantity in requests.items() if is_scalar(name)},
        non_zero_milli_cpu=non_zero.get(CPU, zero).milli_counted,
        non_zero_memory=non_zero.get(MEMORY, zero).counted,
    )


def _scoring_defaults(pod: Pod, requests: ResourceList, rules: RequestRules) -> ResourceList:
    """What scoring assumes of a silent container; where pods have requests of their own, only what is in none."""
    defaults = {CPU: _DEFAULT_CPU, MEMORY: _DEFAULT_MEMORY}
    resources = pod.spec.resources
    if not rules.pod_level or resources is None or not any(map(is_pod_level, resources.requests)):
        return defaults
    return {name: quantity for name, quantity in defaults.items() if name not in requests}


def _pod_requests(pod: Pod, reading: _Reading, silent: ResourceList = NOTHING) -> ResourceList:
    """Add up what a pod requests; `silent` is what a container counts for that says nothing."""
    if not reading.uses_status:
        requests = _sum_with(pod, _spec_requests, silent, reading.beside)
    elif reading.rules.most_of_sums:
        requests = _most_of_sums(pod, reading, silent)
    else:
        requests = _sum_with(pod, _most_of_container(pod), silent, reading.beside)
    if reading.rules.pod_level:
        requests.update(_pod_level_requests(pod, reading))
    _add(requests, pod.spec.overhead)
    return requests


def _sum_with(
    pod: Pod, requests_of: _ResourcesOf, silent: ResourceList, beside: tuple[ResourceList, ...] = ()
) -> ResourceList:
    total = _sum_containers(pod, (lambda container: silent | requests_of(container)) if silent else requests_of)
    for more in beside:
        _add(total, more)
    return total


def _most_of_sums(pod: Pod, reading: _Reading, silent: ResourceList) -> ResourceList:
    """Take the most of what is asked, promised and in force, each summed over the pod; not what is never granted.

    Where the node reports on the pod as a whole, these are the sums; what devices take is in them.
    """
    promised, in_force = pod.status.allocated_resources, pod.status.resources
    if not (reading.rules.pod_level_resize and promised and in_force is not None and in_force.requests):
        of_status = _StatusRequests(pod)
        promised = _sum_with(pod, of_status.promised, silent, reading.beside)
        held = _sum_with(pod, of_status.in_force, silent)
    else:
        held = dict(in_force.requests)
    if not is_resize_infeasible(pod):
        _raise(held, _sum_with(pod, _spec_requests, silent, reading.beside))
    _raise(held, promised)
    return held


def _sum_containers(pod: Pod, resources_of: _ResourcesOf) -> ResourceList:
    total: ResourceList = {}
    for container in pod.spec.containers:
        _add(total, resources_of(container))
    sidecars: ResourceList = {}
    heaviest: ResourceList = {}
    for container in pod.spec.init_containers:
        moment = dict(resources_of(container))
        if container.is_restartable_init:
            _add(total, moment)
            _add(sidecars, moment)
            moment = sidecars
        else:
            _add(moment, sidecars)
        _raise(heaviest, moment)
    _raise(total, heaviest)
    return total


def _containers(pod: Pod) -> tuple[Container, ...]:
    return pod.spec.containers + pod.spec.init_containers


def _spec_requests(container: Container) -> ResourceList:
    return container.resources.requests


class _StatusRequests:
    """What the node says of each container; what it says nothing of is as it is asked, unless that is never granted."""

    def __init__(self, pod: Pod) -> None:
        self._status_of = _statuses(pod)
        self._is_infeasible = is_resize_infeasible(pod)

    def promised(self, container: Container) -> ResourceList:
        status = self._status_of.get(container.name)
        if status is not None and status.allocated_resources:
            return status.allocated_resources
        return NOTHING if self._is_infeasible else container.resources.requests

    def in_force(self, container: Container) -> ResourceList:
        status = self._status_of.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return status.resources.requests
        return self.promised(container)


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    # Of two of one name the first counts, and those of containers before those of init containers.
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return {status.name: status for status in reversed(statuses)}


def _most_of_container(pod: Pod) -> _ResourcesOf:
    """How to read a container's requests on its node one by one: init containers that end are never resized."""
    statuses = _statuses(pod)
    if not statuses:
        return _spec_requests
    resizable = {container.name for container in pod.spec.containers}
    resizable |= {container.name for container in pod.spec.init_containers if container.is_restartable_init}
    is_infeasible = is_resize_infeasible(pod)

    def read(container: Container) -> ResourceList:
        status = statuses.get(container.name)
        if status is None or status.resources is None or container.name not in resizable:
            return container.resources.requests
        held = dict(status.resources.requests) if is_infeasible else dict(container.resources.requests)
        _raise(held, status.resources.requests)
        _raise(held, status.allocated_resources)
        return held

    return read


def _pod_level_requests(pod: Pod, reading: _Reading) -> ResourceList:
    """The requests that are set on the pod itself: they replace the sum over its containers."""
    resources = pod.spec.resources
    asked = {name: request for name, request in resources.requests.items() if is_pod_level(name)} if resources else {}
    in_force = pod.status.resources
    if not asked or in_force is None or not (reading.uses_status and reading.rules.pod_level_resize):
        return asked
    held = {} if is_resize_infeasible(pod) else dict(asked)
    _raise(held, in_force.requests)
    _raise(held, pod.status.allocated_resources)
    if reading.rules.most_of_sums:
        return {name: amount for name, amount in held.items() if is_pod_level(name)}
    # What neither the node nor a feasible request mentions counts as nothing.
    return {name: held.get(name, Quantity.zero()) for name in asked}


def _add(total: ResourceList, more: ResourceList) -> None:
    for name, quantity in more.items():
        held = total.get(name)
        total[name] = quantity if held is None else held + quantity


def _raise(total: ResourceList, floor: ResourceList) -> None:
    """Raise each amount in `total` to at least that of `floor`."""
    for name, quantity in floor.items():
        held = total.get(name)
        if held is None or quantity > held:
            total[name] = quantity


def _positive(resources: ResourceList) -> ResourceList:
    return {name: amount for name, amount in resources.items() if name in (CPU, MEMORY) and amount.sign > 0}


def amount_of(resource: str, quantity: Quantity) -> int:
    """Return a quantity in the unit in which a resource is counted: millicores for cpu, whole units for the rest."""
    return quantity.milli_counted if resource == CPU else quantity.counted


def is_extended(name: str) -> bool:
    """Whether the resource belongs to a vendor: a domain that is not Kubernetes' own, and a valid name for quotas."""
    is_native = "/" not in name or NATIVE_DOMAIN in name
    return not is_native and not name.startswith(_QUOTA_PREFIX) and not key_problems(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4096)
def is_scalar(name: str) -> bool:
    """Whether the resource is counted in whole units beside cpu, memory and ephemeral storage."""
    has_scalar_prefix = name.startswith((HUGE_PAGES_PREFIX, ATTACHABLE_VOLUMES_PREFIX))
    return has_scalar_prefix or NATIVE_DOMAIN in name or is_extended(name)


def is_pod_level(name: str) -> bool:
    """Whether the resource may be requested for a pod as a whole."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)
