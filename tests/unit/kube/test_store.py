"""What the store tells of what it learns."""

from __future__ import annotations

from typing import Any

from stowplan.kube.store import Store
from stowplan.model.meta import NamespacedMeta
from stowplan.model.node import Node
from stowplan.model.pod import Pod


def pod(name: str, version: str) -> Pod:
    return Pod(metadata=NamespacedMeta(name=name, namespace="ns", resource_version=version))


class Told:
    def __init__(self) -> None:
        self.changes: list[tuple[str | None, str | None]] = []

    def __call__(self, old: Any | None, new: Any | None) -> None:
        self.changes.append((self._text(old), self._text(new)))

    def _text(self, found: Any | None) -> str | None:
        return None if found is None else f"{found.metadata.name}@{found.metadata.resource_version}"


def test_changes_carry_what_was_known_before() -> None:
    told = Told()
    store = Store(told)
    store.put(pod("a", "1"))
    store.put(pod("a", "2"))
    store.remove(pod("a", "3"))
    assert told.changes == [(None, "a@1"), ("a@1", "a@2"), ("a@2", None)]
    assert store.objects == {}


def test_the_same_version_again_is_no_change() -> None:
    told = Told()
    store = Store(told)
    store.put(pod("a", "1"))
    store.put(pod("a", "1"))
    assert told.changes == [(None, "a@1")]


def test_the_end_of_an_unknown_object_is_no_change() -> None:
    told = Told()
    Store(told).remove(pod("a", "1"))
    assert told.changes == []


def test_a_list_tells_what_differs_and_ends_with_what_is_gone() -> None:
    told = Told()
    store = Store(told)
    for name in ("a", "b", "c"):
        store.put(pod(name, "1"))
    told.changes.clear()
    store.replace({"ns/b": pod("b", "2"), "ns/c": pod("c", "1"), "ns/d": pod("d", "3")})
    assert told.changes == [("b@1", "b@2"), (None, "d@3"), ("a@1", None)]
    assert list(store.objects) == ["ns/b", "ns/c", "ns/d"]


def test_objects_without_a_namespace_go_by_name() -> None:
    store = Store(Told())
    store.put(Node())
    assert list(store.objects) == [""]
