"""Scores by the space that claims would take, where the gate for them is on."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.config import feature_gates
from stowplan.framework.contract import INDIFFERENT, SKIP
from stowplan.model.pod import Pod
from stowplan.plugins.shape_score import UtilizationShapePoint, curve_of
from stowplan.plugins.volumebinding.binder import VolumeNeeds
from stowplan.plugins.volumebinding.plugin import VolumeBinding, VolumeBindingArgs
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.unit.plugins.volumes.asking import NODES
from tests.unit.plugins.volumes.stored import (
    BETA_CLASS,
    DRIVER,
    FAST,
    LOCAL,
    ZONE,
    bound,
    capacity,
    claim,
    driver,
    on,
    storage_class,
    user_of,
    volume,
)

RISING = (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10))
CLASSES: list[Any] = [storage_class(), storage_class(FAST, DRIVER), driver()]


def scores(pod: Pod, *objects: Any, shape: tuple[UtilizationShapePoint, ...] | None = RISING) -> dict[str, int]:
    return _scores(LocalHandle(*NODES, *CLASSES, *objects), pod, shape)


def _scores(handle: LocalHandle, pod: Pod, shape: tuple[UtilizationShapePoint, ...] | None) -> dict[str, int]:
    plugin = VolumeBinding(handle, VolumeBindingArgs(shape=shape))
    state = plugin.pre_score(pod, Nodes(handle.table))
    assert isinstance(state, VolumeNeeds)
    told = plugin.score(pod, Nodes(handle.table), state)
    return dict(zip([node.name for node in NODES], told.tolist(), strict=True))


def test_without_the_gate_it_does_not_score() -> None:
    handle = LocalHandle(*NODES, *CLASSES, claim(), volume("disk"))
    handle.feature_gates = feature_gates.parse("StorageCapacityScoring=false")
    assert VolumeBinding(handle).pre_score(user_of("data"), Nodes(handle.table)) is SKIP


def test_before_1_37_the_gate_was_off() -> None:
    handle = LocalHandle(*NODES, *CLASSES, claim(), volume("disk"))
    handle.feature_gates = feature_gates.default_gates("1.36")
    assert VolumeBinding(handle).pre_score(user_of("data"), Nodes(handle.table)) is SKIP


@pytest.mark.parametrize(
    ("pod", "objects"),
    [
        pytest.param(user_of(), [], id="a pod without claims"),
        pytest.param(user_of("data"), [bound(), volume("disk")], id="a pod whose claims are bound"),
    ],
)
def test_where_nothing_is_left_to_choose_every_node_scores_0_unasked(pod: Pod, objects: list[Any]) -> None:
    handle = LocalHandle(*NODES, *CLASSES, *objects)
    assert VolumeBinding(handle).pre_score(pod, Nodes(handle.table)) is INDIFFERENT


def test_listed_for_scores_alone_it_finds_out_for_itself() -> None:
    handle = LocalHandle(*NODES, *CLASSES, claim(), volume("disk", "40Gi"))
    pod, nodes = user_of("data"), Nodes(handle.table)
    assert VolumeBinding(handle).score(pod, nodes, None).tolist() == [75, 75, 75]
    handle.feature_gates = feature_gates.parse("StorageCapacityScoring=false")
    assert VolumeBinding(handle).score(pod, nodes, None).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(
            user_of("data"),
            [
                claim(),
                volume("x", "10Gi", nodeAffinity=on("a")),
                volume("y", "20Gi", nodeAffinity=on("b")),
                volume("z", "40Gi", nodeAffinity=on("c")),
            ],
            (100, 50, 25),
            id="the part of a volume that is asked for",
        ),
        pytest.param(
            user_of("data"),
            [claim(size="1Gi"), volume("disk", "3Gi")],
            (33, 33, 33),
            id="cut to whole percents",
        ),
        pytest.param(
            user_of("x", "y"),
            [claim("x"), claim("y"), volume("1", "20Gi"), volume("2", "60Gi")],
            (25, 25, 25),
            id="volumes of one class are added up",
        ),
        pytest.param(
            user_of("x", "y"),
            [
                claim("x"),
                claim("y", storageClassName=FAST),
                volume("1", "20Gi"),
                volume("2", "15Gi", storageClassName=FAST),
            ],
            (58, 58, 58),
            id="classes are averaged and rounded: 50 and 66",
        ),
        pytest.param(
            user_of("x", "y"),
            [
                claim("x"),
                claim("y"),
                volume("1", "20Gi"),
                volume("2", "40Gi", metadata={"annotations": {BETA_CLASS: LOCAL}}, storageClassName=""),
            ],
            (38, 38, 38),
            id="the class is the one in the spec of the volume: 50 and 25, averaged, not 33 of one class",
        ),
        pytest.param(
            user_of("data"),
            [
                claim(storageClassName=FAST),
                capacity("r", "100Gi", {"matchLabels": {ZONE: "east"}}),
                capacity("s", "20Gi", {"matchLabels": {ZONE: "west"}}),
            ],
            (10, 10, 50),
            id="the part of the free space that is asked for",
        ),
        pytest.param(
            user_of("x", "y"),
            [claim("x", storageClassName=FAST), claim("y", storageClassName=FAST), capacity("r", "100Gi", {})],
            (20, 20, 20),
            id="free space is there once for all claims",
        ),
        pytest.param(
            user_of("x", "y"),
            [
                claim("x", storageClassName=FAST),
                claim("y"),
                capacity("r", "100Gi", {}),
                volume("disk", "20Gi", nodeAffinity=on("a")),
            ],
            (50, 10, 10),
            id="where there are volumes, free space does not count",
        ),
        pytest.param(
            user_of("data"),
            [claim(storageClassName=FAST), capacity("r", "5Gi", {}, maximumVolumeSize="10Gi")],
            (100, 100, 100),
            id="more than there is counts as full",
        ),
        pytest.param(
            user_of("data"),
            [claim(storageClassName="other"), storage_class("other", "maker")],
            (0, 0, 0),
            id="space of which nobody tells",
        ),
    ],
)
def test_scores(pod: Pod, objects: list[Any], expected: tuple[int, int, int]) -> None:
    assert scores(pod, *objects) == dict(zip("abc", expected, strict=True))


def test_space_of_which_only_the_largest_volume_is_told_is_left_out_and_that_is_told_once() -> None:
    objects = [
        claim("x", storageClassName=FAST),
        claim("y", storageClassName=FAST),
        capacity("east", None, {"matchLabels": {ZONE: "east"}}, maximumVolumeSize="50Gi"),
        capacity("west", "20Gi", {"matchLabels": {ZONE: "west"}}),
    ]
    handle = LocalHandle(*NODES, *CLASSES, *objects)
    assert _scores(handle, user_of("x", "y"), RISING) == {"a": 0, "b": 0, "c": 100}
    _scores(handle, user_of("x", "y"), RISING)
    [told] = handle.reported
    assert told.startswith("CSIStorageCapacity default/east has maximumVolumeSize and no capacity: the volume is taken")


def test_a_claim_whose_class_only_an_annotation_names_is_left_out_and_that_is_told_once() -> None:
    annotated = claim("x", metadata={"annotations": {BETA_CLASS: FAST}}, storageClassName=None)
    handle = LocalHandle(*NODES, *CLASSES, annotated, claim("y", storageClassName=FAST), capacity("r", "100Gi", {}))
    assert _scores(handle, user_of("x", "y"), RISING) == {"a": 10, "b": 10, "c": 10}
    _scores(handle, user_of("x", "y"), RISING)
    [told] = handle.reported
    assert told.startswith(f"PersistentVolumeClaim 'default/x' names its class by the annotation {BETA_CLASS} alone")


def test_more_than_64_bits_of_percents_count_as_nothing_used() -> None:
    wanted = [claim(size="100Pi", storageClassName=FAST), capacity("r", "200Pi", {})]
    assert scores(user_of("data"), *wanted, shape=None) == {"a": 100, "b": 100, "c": 100}


def test_without_a_shape_empty_space_is_best() -> None:
    assert scores(user_of("data"), claim(), volume("disk", "40Gi"), shape=None) == {"a": 75, "b": 75, "c": 75}


@pytest.mark.parametrize(
    ("points", "at", "expected"),
    [
        pytest.param([(0, 0), (100, 10)], 37, 37, id="a line"),
        pytest.param([(0, 10), (100, 0)], 37, 63, id="a falling line"),
        pytest.param([(20, 3), (60, 7)], 10, 30, id="level before the first point"),
        pytest.param([(20, 3), (60, 7)], 90, 70, id="level after the last point"),
        pytest.param([(20, 3), (60, 7)], 60, 70, id="at a point"),
        pytest.param([(0, 0), (3, 1)], 2, 6, id="cut down"),
        pytest.param([(0, 1), (3, 0)], 1, 7, id="cut towards zero where it falls: 10 less 3"),
    ],
)
def test_the_curve(points: list[tuple[int, int]], at: int, expected: int) -> None:
    assert curve_of([UtilizationShapePoint(*point) for point in points])[at] == expected
