"""What controllers and the kubelet need to know of each node."""

from __future__ import annotations

import msgspec

from stowplan.embedded.informers.informer import Extract, SharedInformer
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model.meta import Part
from stowplan.model.node import Taint


class KnownNode(Extract, frozen=True, gc=False):
    """The extract of one node; `conditions` maps the type of a condition to its status."""

    uid: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    is_unschedulable: bool
    conditions: dict[str, str]
    address: str

    @property
    def is_ready(self) -> bool:
        return self.conditions.get("Ready") == "True"


class NodeInformer(SharedInformer[KnownNode]):
    """All nodes of the cluster as extracts."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, find_resource(api, "v1", "Node"), _read)

    def named(self, name: str) -> KnownNode | None:
        return self.known.get(("", name))


def _read(stored: Stored) -> KnownNode:
    node = _DECODER.decode(stored.body)
    return KnownNode(
        *stored.key,
        uid=stored.uid,
        labels=dict(stored.labels),
        taints=node.spec.taints or (),
        is_unschedulable=bool(node.spec.unschedulable),
        conditions={condition.type: condition.status for condition in node.status.conditions or ()},
        address=next((each.address for each in node.status.addresses or () if each.type == "InternalIP"), ""),
    )


class _NodeSpec(Part, frozen=True, kw_only=True):
    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class _NodeCondition(Part, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""


class _NodeAddress(Part, frozen=True, kw_only=True):
    type: str = ""
    address: str = ""


class _NodeStatus(Part, frozen=True, kw_only=True):
    conditions: tuple[_NodeCondition, ...] | None = None
    addresses: tuple[_NodeAddress, ...] | None = None


class _Node(Part, frozen=True, kw_only=True):
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


_DECODER = msgspec.json.Decoder(_Node)
