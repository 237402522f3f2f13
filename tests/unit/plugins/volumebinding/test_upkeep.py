"""What is derived of volumes and of reports of space follows them as they come, change and go."""

from __future__ import annotations

from typing import Any

from stowplan.plugins.volumebinding.plugin import VolumeBinding
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.unit.plugins.volumes.asking import NODES, feasible
from tests.unit.plugins.volumes.stored import (
    DRIVER,
    FAST,
    ZONE,
    capacity,
    claim,
    driver,
    meant_for,
    on,
    storage_class,
    user_of,
    volume,
)

FAST_CLASS = storage_class(FAST, DRIVER)


def in_zone(zone: str) -> dict[str, Any]:
    return {"matchLabels": {ZONE: zone}}


def test_answers_follow_the_volumes_as_they_come_and_go() -> None:
    handle = LocalHandle(*NODES, storage_class(), claim(), volume("1", nodeAffinity=on("a")))
    plugin, pod, nodes = VolumeBinding(handle), user_of("data"), Nodes(handle.table)

    assert feasible(plugin, pod, nodes) == "a"
    handle.put(volume("2", "20Gi", nodeAffinity=on("b")))
    assert feasible(plugin, pod, nodes) == "ab"
    handle.put(volume("1", nodeAffinity=on("a"), **meant_for("other")))
    assert feasible(plugin, pod, nodes) == "b"
    handle.put(volume("1", nodeAffinity=on("a")))
    assert feasible(plugin, pod, nodes) == "ab"
    handle.put(volume("1", nodeAffinity=on("c")))
    assert feasible(plugin, pod, nodes) == "bc"
    handle.put(volume("1", "9Gi", nodeAffinity=on("c")))
    assert feasible(plugin, pod, nodes) == "b"
    handle.listers.remove("PersistentVolume", "", "2")
    assert feasible(plugin, pod, nodes) == ""
    handle.put(volume("3", nodeAffinity=on("c"), **meant_for("data")))
    assert feasible(plugin, pod, nodes) == "c"
    handle.listers.remove("PersistentVolume", "", "3")
    assert feasible(plugin, pod, nodes) == ""


def test_answers_follow_the_reports_of_space() -> None:
    handle = LocalHandle(*NODES, FAST_CLASS, driver(), claim(storageClassName=FAST))
    plugin, pod, nodes = VolumeBinding(handle), user_of("data"), Nodes(handle.table)

    assert feasible(plugin, pod, nodes) == ""
    handle.put(capacity("r", "10Gi", in_zone("east")))
    assert feasible(plugin, pod, nodes) == "ab"
    handle.put(capacity("r", "5Gi", in_zone("east")))
    assert feasible(plugin, pod, nodes) == ""
    handle.put(capacity("r", "15Gi", in_zone("east")), capacity("s", "15Gi", in_zone("west")))
    assert feasible(plugin, pod, nodes) == "abc"
    handle.put(capacity("r", "15Gi", in_zone("west")))
    assert feasible(plugin, pod, nodes) == "c"
    handle.put(capacity("s", "15Gi", in_zone("west"), storageClassName="other"))
    assert feasible(plugin, pod, nodes) == "c"
    handle.listers.remove("CSIStorageCapacity", "default", "r")
    assert feasible(plugin, pod, nodes) == ""
