"""DefaultBinder: what is posted to the cluster."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.cache.objects import Objects
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.model.kinds import Binding
from stowplan.model.meta import NamespacedMeta, ObjectReference
from stowplan.plugins.defaultbinder import DefaultBinder
from stowplan.table.journal import Reads
from tests.unit.plugins.small_cluster import make_pod


class FakeHandle:
    """Keeps what is posted; refuses everything if told so."""

    def __init__(self, refuses: bool = False) -> None:
        self.listers = Objects(Reads())
        self.feature_gates = DEFAULT_GATES
        self.posted: list[Binding] = []
        self._refuses = refuses

    @property
    def binder(self) -> FakeHandle:
        return self

    async def bind(self, binding: Binding) -> None:
        if self._refuses:
            raise ConnectionError("no route")
        self.posted.append(binding)


def test_the_binding_names_pod_uid_and_node() -> None:
    handle = FakeHandle()
    asyncio.run(DefaultBinder(handle=handle).bind(make_pod("web-0"), "n1"))
    meta = NamespacedMeta(namespace="default", name="web-0", uid="uid-of-web-0")
    assert handle.posted == [Binding(metadata=meta, target=ObjectReference(kind="Node", name="n1"))]


def test_a_refusal_of_the_cluster_is_a_fault() -> None:
    with pytest.raises(ConnectionError, match="no route"):
        asyncio.run(DefaultBinder(handle=FakeHandle(refuses=True)).bind(make_pod(), "n1"))
