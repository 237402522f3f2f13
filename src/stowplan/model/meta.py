"""What every object carries: its metadata, its label selectors, references to others, and the shape all structs share.

Objects are read-only values. Only the fields that scheduling reads are declared; others are ignored on decoding.
A missing list is an empty tuple, a missing map an empty dict. `decode.py` turns text into these.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from stowplan.model.quantity import Quantity

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# Without a zone two times could not be compared; Kubernetes always writes one.
Time = Annotated[datetime, msgspec.Meta(tz=True)]
# Kubernetes insists on exactly six decimals in a MicroTime, so it stays text: see `timestamps.py`.
MicroTime = str
ResourceList = dict[str, Quantity]


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """A piece of an API object: immutable, camelCase on the wire, never part of a reference cycle."""


class OwnerReference(Part, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Part, frozen=True, kw_only=True):
    """The metadata of a cluster-scoped object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class NamespacedMeta(ObjectMeta, frozen=True, kw_only=True):
    """The metadata of a namespaced object: without a namespace it lives in "default", as kubectl would put it.

    The default comes from a factory so that it is written out again on encoding.
    """

    namespace: str = msgspec.field(default_factory=lambda: "default")


class LabelSelectorRequirement(Part, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Part, frozen=True, kw_only=True):
    """A metav1.LabelSelector as written; `selectors.compile_label_selector` makes it answer."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Part, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class Condition(Part, frozen=True, kw_only=True):
    """One entry of `status.conditions`, of any kind of object."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_probe_time: Time | None = None
    last_heartbeat_time: Time | None = None
    last_transition_time: Time | None = None


class ApiObject(Part, frozen=True, kw_only=True):
    """What every object shares; each kind has defaults of its own for `api_version` and `kind`."""

    metadata: ObjectMeta = ObjectMeta()
    api_version: str = ""
    kind: str = ""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)


class Namespaced(ApiObject, frozen=True, kw_only=True):
    metadata: NamespacedMeta = NamespacedMeta()

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def key(self) -> str:
        """`namespace/name`, the name of the object among those of its kind."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


def always(text: str) -> str:
    """Declare a field that defaults to `text` and is written even when it has that value."""
    return msgspec.field(default_factory=lambda: text)
