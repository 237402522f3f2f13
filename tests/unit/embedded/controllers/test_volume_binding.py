"""A claim gets the volume that names it, else the smallest free one that suits it."""

from typing import Any

import msgspec
import pytest

from stowplan.embedded.controllers import volume_binding
from stowplan.embedded.informers.volumes import KnownClaim, KnownVolume
from stowplan.model.quantity import Quantity
from stowplan.model.selectors import EVERYTHING, from_labels

VOLUME = KnownVolume(
    namespace="",
    name="plain",
    class_name="",
    modes=("ReadWriteOnce",),
    volume_mode="Filesystem",
    size=Quantity.parse("10Gi"),
    labels={},
    phase="Available",
    claim=None,
    claim_uid="",
    provisioner="",
    is_csi=False,
    policy="Retain",
    is_terminating=False,
)
CLAIM = KnownClaim(
    namespace="shop",
    name="data",
    uid="uid-1",
    class_name="",
    modes=("ReadWriteOnce",),
    volume_mode="Filesystem",
    size=Quantity.parse("5Gi"),
    selector=EVERYTHING,
    volume="",
    is_bind_completed=False,
    selected_node="",
    provisioner="",
    is_terminating=False,
)


def volume(name: str, size: str = "10Gi", **changes: Any) -> KnownVolume:
    return msgspec.structs.replace(VOLUME, name=name, size=Quantity.parse(size), **changes)


def claim(**changes: Any) -> KnownClaim:
    return msgspec.structs.replace(CLAIM, **changes)


BOTH = ("ReadWriteOnce", "ReadOnlyMany")


@pytest.mark.parametrize(
    ("wanted", "volumes", "expected"),
    [
        pytest.param(claim(), [volume("a", "20Gi"), volume("b", "6Gi")], "b", id="the smallest one"),
        pytest.param(claim(), [volume("b"), volume("a")], "a", id="of equal ones the first by name"),
        pytest.param(claim(), [volume("a", "4Gi")], None, id="not one that is too small"),
        pytest.param(claim(), [volume("a", "5Gi")], "a", id="one that is just large enough"),
        pytest.param(
            claim(),
            [volume("a", "6Gi", modes=BOTH), volume("b", "9Gi")],
            "b",
            id="one with fewer access modes before a smaller one",
        ),
        pytest.param(claim(modes=BOTH), [volume("a"), volume("b", modes=BOTH)], "b", id="one with all access modes"),
        pytest.param(claim(class_name="fast"), [volume("a")], None, id="not one without the class"),
        pytest.param(claim(), [volume("a", class_name="fast")], None, id="not one of a class if none is asked for"),
        pytest.param(claim(class_name=None), [volume("a")], "a", id="no class and none said are the same"),
        pytest.param(claim(volume_mode="Block"), [volume("a")], None, id="not a file system for a block device"),
        pytest.param(
            claim(selector=from_labels({"disk": "ssd"})),
            [volume("a"), volume("b", labels={"disk": "ssd"})],
            "b",
            id="one that the selector picks",
        ),
        pytest.param(claim(), [volume("a", phase="Released")], None, id="not one that was somebody else's"),
        pytest.param(claim(), [volume("a", is_terminating=True)], None, id="not one that is being deleted"),
        pytest.param(claim(), [volume("a", claim=("shop", "other"))], None, id="not one that is reserved for another"),
    ],
)
def test_best(wanted: KnownClaim, volumes: list[KnownVolume], expected: str | None) -> None:
    found = volume_binding.find_best(wanted, volumes)
    assert (found.name if found else None) == expected


OURS = ("shop", "data")


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([volume("a", claim=OURS)], "a", id="by name"),
        pytest.param([volume("a", claim=OURS, claim_uid="uid-1")], "a", id="by uid"),
        pytest.param([volume("a", claim=OURS, claim_uid="uid-0")], None, id="not for an earlier claim of that name"),
        pytest.param([volume("a", "1Gi", claim=OURS)], None, id="not if it is too small"),
        pytest.param([volume("a", claim=OURS, volume_mode="Block")], None, id="not a block device for a file system"),
        pytest.param([volume("a", claim=OURS, class_name="x")], "a", id="whatever its class"),
        pytest.param([volume("a", claim=OURS, phase="Bound")], "a", id="whatever its phase"),
    ],
)
def test_reserved(volumes: list[KnownVolume], expected: str | None) -> None:
    found = volume_binding.find_reserved(claim(), volumes)
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(volume("a"), "", id="fine"),
        pytest.param(volume("a", "1Gi"), "requested PV is too small", id="size"),
        pytest.param(volume("a", class_name="x"), "storageClassName does not match", id="class"),
        pytest.param(volume("a", volume_mode="Block"), "incompatible volumeMode", id="volume mode"),
        pytest.param(volume("a", modes=("ReadOnlyMany",)), "incompatible accessMode", id="access mode"),
    ],
)
def test_why_a_volume_cannot_be_had(asked: KnownVolume, expected: str) -> None:
    assert volume_binding.find_mismatch(claim(), asked) == expected
