"""Claims that wait for a node: where their volumes can be made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plugins.volumes.asking import NO_SPACE, NO_VOLUME, everywhere, refusals
from tests.unit.plugins.volumes.stored import (
    DRIVER,
    FAST,
    HOSTNAME,
    LOCAL,
    ZONE,
    capacity,
    claim,
    driver,
    on,
    selected,
    storage_class,
    user_of,
    volume,
    where,
)

FAST_CLASS = storage_class(FAST, DRIVER)
EVERYWHERE: dict[str, Any] = {}


def in_zone(zone: str) -> dict[str, Any]:
    return {"matchLabels": {ZONE: zone}}


def topology(*conditions: tuple[str, str]) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": key, "values": values.split()} for key, values in conditions]}


@pytest.mark.parametrize(
    ("topologies", "refused"),
    [
        pytest.param([], [], id="everywhere"),
        pytest.param([topology((ZONE, "east"))], ["c"], id="in one zone"),
        pytest.param([topology((ZONE, "east west"))], [], id="in two zones"),
        pytest.param([topology((ZONE, "west")), topology((HOSTNAME, "a"))], ["b"], id="in one of two topologies"),
        pytest.param([topology((ZONE, "east"), (HOSTNAME, "a"))], ["b", "c"], id="in both"),
        pytest.param([topology()], ["a", "b", "c"], id="a topology without conditions allows nothing"),
        pytest.param([topology((ZONE, ""))], ["a", "b", "c"], id="nor does one without values"),
        pytest.param([topology(("rack", "1"))], ["a", "b", "c"], id="no node has the label"),
    ],
)
def test_a_volume_is_made_where_the_class_allows_it(topologies: list[Any], refused: list[str]) -> None:
    made = storage_class(FAST, DRIVER, allowedTopologies=topologies)
    told = refusals(user_of("data"), made, claim(storageClassName=FAST))
    assert told == {name: [NO_VOLUME] for name in refused}


@pytest.mark.parametrize(
    ("reports", "refused"),
    [
        pytest.param([], ["a", "b", "c"], id="nobody tells of space"),
        pytest.param([capacity("r", "10Gi", EVERYWHERE)], [], id="enough everywhere"),
        pytest.param([capacity("r", "9Gi", EVERYWHERE)], ["a", "b", "c"], id="too little"),
        pytest.param([capacity("r", "10Gi", None)], ["a", "b", "c"], id="nobody says where"),
        pytest.param([capacity("r", None, EVERYWHERE)], ["a", "b", "c"], id="nobody says how much"),
        pytest.param([capacity("r", "10Gi", in_zone("east"))], ["c"], id="in one zone"),
        pytest.param(
            [capacity("r", "9Gi", in_zone("east")), capacity("s", "99Gi", in_zone("west"))], ["a", "b"], id="by zone"
        ),
        pytest.param(
            [capacity("r", "9Gi", in_zone("east")), capacity("s", "99Gi", in_zone("east"))],
            ["c"],
            id="one report is enough",
        ),
        pytest.param(
            [capacity("r", "99Gi", EVERYWHERE, maximumVolumeSize="9Gi")], ["a", "b", "c"], id="not in one volume"
        ),
        pytest.param(
            [capacity("r", "1Gi", EVERYWHERE, maximumVolumeSize="10Gi")], [], id="the size of a volume is what counts"
        ),
        pytest.param(
            [capacity("r", "99Gi", EVERYWHERE, storageClassName=LOCAL)], ["a", "b", "c"], id="of another class"
        ),
        pytest.param(
            [capacity("r", "99Gi", {"matchExpressions": [where(ZONE, "west", operator="NotIn")]})],
            ["c"],
            id="by a condition",
        ),
        pytest.param(
            [capacity("r", "99Gi", {"matchExpressions": [where(ZONE, operator="In")]})],
            ["a", "b", "c"],
            id="where, nobody understands",
        ),
        pytest.param(
            [capacity("r", "99Gi", EVERYWHERE, metadata={"name": "r", "namespace": "elsewhere"})],
            [],
            id="a report in any namespace",
        ),
    ],
)
def test_a_volume_is_made_where_there_is_space(reports: list[Any], refused: list[str]) -> None:
    told = refusals(user_of("data"), FAST_CLASS, driver(), claim(storageClassName=FAST), *reports)
    assert told == {name: [NO_SPACE] for name in refused}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([driver(storage_capacity=False)], {}, id="a driver that does not report"),
        pytest.param([], {}, id="a driver that is not known"),
        pytest.param(
            [driver(), claim(storageClassName=FAST, resources={})], {}, id="a claim that does not say how large"
        ),
        pytest.param([driver(), volume("free", storageClassName=FAST)], {}, id="a claim that needs none made"),
    ],
)
def test_nobody_asks_for_space(objects: list[Any], expected: dict[str, list[str]]) -> None:
    assert refusals(user_of("data"), FAST_CLASS, claim(storageClassName=FAST), *objects) == expected


@pytest.mark.parametrize(
    "provisioner",
    [pytest.param("", id="none"), pytest.param("kubernetes.io/no-provisioner", id="the one that is none")],
)
def test_nothing_is_made_without_a_provisioner(provisioner: str) -> None:
    told = refusals(
        user_of("data"), storage_class(FAST, provisioner), driver(provisioner), claim(storageClassName=FAST)
    )
    assert told == everywhere(NO_VOLUME)


def test_what_is_not_found_is_made() -> None:
    """On `a` one of the two claims finds a volume; for the other, one can be made in the west."""
    west = storage_class(FAST, DRIVER, allowedTopologies=[topology((ZONE, "west"))])
    found = volume("disk", storageClassName=FAST, nodeAffinity=on("a"))
    claims = [claim("x", storageClassName=FAST), claim("y", storageClassName=FAST)]
    assert refusals(user_of("x"), west, found, *claims) == {"b": [NO_VOLUME]}
    assert refusals(user_of("x", "y"), west, found, *claims) == {"a": [NO_VOLUME], "b": [NO_VOLUME]}


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(
            [claim("x", "1Gi", storageClassName=FAST), claim("y", "2Gi", storageClassName="west")],
            everywhere(NO_SPACE),
            id="the smaller one first: no space",
        ),
        pytest.param(
            [claim("x", "2Gi", storageClassName=FAST), claim("y", "1Gi", storageClassName="west")],
            {"a": [NO_VOLUME], "b": [NO_VOLUME], "c": [NO_SPACE]},
            id="the smaller one first: the wrong zone",
        ),
        pytest.param(
            [claim("x", "1Gi", storageClassName=FAST), selected("y", "a", size="2Gi", storageClassName="west")],
            everywhere(NO_VOLUME),
            id="the one that is being made before all others",
        ),
    ],
)
def test_the_first_claim_that_fails_gives_the_reason(claims: list[Any], expected: dict[str, list[str]]) -> None:
    west = storage_class("west", "maker", allowedTopologies=[topology((ZONE, "west"))])
    assert refusals(user_of("x", "y"), FAST_CLASS, west, driver(), *claims) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param([selected("x", "b", storageClassName=FAST)], ["a", "c"], id="only there"),
        pytest.param(
            [selected("x", "gone", storageClassName=FAST)], ["a", "b", "c"], id="on a node that is gone: nowhere"
        ),
        pytest.param(
            [selected("x", "b", storageClassName=FAST), selected("y", "c", storageClassName=FAST)],
            ["a", "b", "c"],
            id="two volumes on two nodes",
        ),
        pytest.param(
            [selected("x", "b", storageClassName=FAST), claim("y", storageClassName=LOCAL)],
            ["a", "b", "c"],
            id="where the other claim finds none",
        ),
    ],
)
def test_a_volume_that_is_being_made_ties_the_pod_to_its_node(claims: list[Any], expected: list[str]) -> None:
    free = volume("disk", nodeAffinity=on("a"))
    told = refusals(user_of(*(each.name for each in claims)), FAST_CLASS, storage_class(), free, *claims)
    assert told == {name: [NO_VOLUME] for name in expected}


def test_a_volume_that_is_being_made_does_not_end_in_a_free_one() -> None:
    """There is a free volume, but what is being made must be allowed: it is not."""
    west = storage_class(FAST, DRIVER, allowedTopologies=[topology((ZONE, "west"))])
    free = volume("disk", storageClassName=FAST)
    assert refusals(user_of("x"), west, free, selected("x", "a", storageClassName=FAST)) == everywhere(NO_VOLUME)
