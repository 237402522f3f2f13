"""What controllers and the kubelet need to know of each node."""

from __future__ import annotations

import msgspec

from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.stored import Stored
from stowplan.model.meta import Part
from stowplan.model.node import Taint


class KnownNode(msgspec.Struct, frozen=True, gc=False):
    """The extract of one node; `conditions` maps the type of a condition to its status."""

    name: str
    uid: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    is_unschedulable: bool
    conditions: dict[str, str]
    address: str

    @property
    def is_ready(self) -> bool:
        return self.conditions.get("Ready") == "True"


class Nodes:
    """All nodes of the cluster as extracts."""

    def __init__(self, api: Api) -> None:
        self.follower = Follower(api, resources.nodes(api), _read)

    def get(self, name: str) -> KnownNode | None:
        return self.follower.known.get(("", name))

    def all(self) -> list[KnownNode]:
        return list(self.follower.known.values())


def _read(stored: Stored) -> KnownNode:
    node = _DECODER.decode(stored.body)
    address = next((a.address for a in node.status.addresses or () if a.type == "InternalIP"), "")
    return KnownNode(
        name=node.metadata.name,
        uid=node.metadata.uid,
        labels=node.metadata.labels or {},
        taints=node.spec.taints or (),
        is_unschedulable=bool(node.spec.unschedulable),
        conditions={condition.type: condition.status for condition in node.status.conditions or ()},
        address=address,
    )


class _Meta(Part, frozen=True, kw_only=True):
    name: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None


class _Spec(Part, frozen=True, kw_only=True):
    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class _Condition(Part, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""


class _Address(Part, frozen=True, kw_only=True):
    type: str = ""
    address: str = ""


class _Status(Part, frozen=True, kw_only=True):
    conditions: tuple[_Condition, ...] | None = None
    addresses: tuple[_Address, ...] | None = None


class _Node(Part, frozen=True, kw_only=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_DECODER = msgspec.json.Decoder(_Node)
