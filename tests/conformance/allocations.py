"""What DynamicResources would give a pod on each feasible node, in the form in which the corpus writes it down.

Amounts are compared as numbers and a share by its being one: its id is random in kube-scheduler.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stowplan.app.cluster import Cluster
from stowplan.model import decode
from stowplan.model.affinity import NodeSelector
from stowplan.model.dra import AllocationResult, DeviceConfiguration, DeviceRequestAllocationResult
from stowplan.plugins.dynamicresources.plugin import DynamicResources
from stowplan.plugins.dynamicresources.pre_bind import Allocated
from tests.conformance.answers import Answer, Question

_SHARED = "shared"


def found(cluster: Cluster, question: Question, feasible: list[str]) -> Answer | None:
    """Return what would be allocated on each of the feasible nodes; None if nothing would be on any of them."""
    plugin = next((each for each in question.profile.filter if isinstance(each, DynamicResources)), None)
    if plugin is None:
        return None
    by_node = {name: plugin.allocate(question.pod, name) for name in feasible}
    return {name: _written(given) for name, given in by_node.items() if given and given.results} or None


def expected(theirs: Answer | None) -> Answer | None:
    """Return the recorded allocations with what an API server would fill in left out, as ours are written."""
    if theirs is None:
        return None
    return {
        name: {**on_node, "claims": [_claim(each) for each in on_node["claims"]]} for name, on_node in theirs.items()
    }


def _written(given: Allocated) -> Answer:
    claims = {"claims": [_allocation(each) for each in given.results]}
    if not given.node_allocatable:
        return claims
    taken = msgspec.json.encode(given.node_allocatable, enc_hook=str)
    return {**claims, "nodeAllocatable": msgspec.json.decode(taken)}


def _claim(recorded: Answer) -> Answer:
    results = [{**each, "shareID": _SHARED if each.get("shared") else None} for each in recorded["results"]]
    selector = recorded["nodeSelector"]
    return {
        "results": [_result(decode.convert(DeviceRequestAllocationResult, each)) for each in results],
        "nodeSelector": None if selector is None else msgspec.to_builtins(decode.convert(NodeSelector, selector)),
        "config": [msgspec.to_builtins(decode.convert(DeviceConfiguration, each)) for each in recorded["config"]],
    }


def _allocation(given: AllocationResult) -> Answer:
    return {
        "results": [_result(each) for each in given.devices.results],
        "nodeSelector": None if given.node_selector is None else msgspec.to_builtins(given.node_selector),
        "config": [msgspec.to_builtins(each) for each in given.devices.config],
    }


def _result(given: DeviceRequestAllocationResult) -> dict[str, Any]:
    plain = msgspec.structs.replace(given, share_id=None, consumed_capacity={})
    # Quantities are equal if the numbers are, however they are written.
    consumed = dict(given.consumed_capacity)
    return {**msgspec.to_builtins(plain), "shared": given.share_id is not None, "consumedCapacity": consumed}
