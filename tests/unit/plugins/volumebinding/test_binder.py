"""Claims that wait for a node: the existing volumes that they may get there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plugins.volumes.asking import NO_VOLUME, OUT_OF_REACH, refusals
from tests.unit.plugins.volumes.stored import (
    FAST,
    HOSTNAME,
    LOCAL,
    ZONE,
    affinity,
    bound,
    claim,
    meant_for,
    on,
    storage_class,
    user_of,
    volume,
    where,
)


def free_on_a(**fields: Any) -> Any:
    return volume("disk", **{"nodeAffinity": on("a"), **fields})


@pytest.mark.parametrize(
    ("wanted", "there", "refused"),
    [
        pytest.param(claim(), [free_on_a()], ["b", "c"], id="where there is a free volume"),
        pytest.param(claim(), [volume("disk")], [], id="a volume that can be reached from everywhere"),
        pytest.param(claim(), [], ["a", "b", "c"], id="no volume at all"),
        pytest.param(claim(size="11Gi"), [free_on_a()], ["a", "b", "c"], id="a volume that is too small"),
        pytest.param(claim(size="9Gi"), [free_on_a()], ["b", "c"], id="a volume that is larger"),
        pytest.param(
            claim(size="1500m"), [free_on_a(size="1300m")], ["a", "b", "c"], id="too small by less than a byte"
        ),
        pytest.param(claim(resources={}), [free_on_a(size="0")], ["b", "c"], id="a claim that does not say how large"),
        pytest.param(claim(), [free_on_a(storageClassName=FAST)], ["a", "b", "c"], id="a volume of another class"),
        pytest.param(
            claim(storageClassName=None, metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": LOCAL}}),
            [free_on_a()],
            ["b", "c"],
            id="a claim that names its class as of old",
        ),
        pytest.param(
            claim(),
            [
                free_on_a(
                    storageClassName="", metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": LOCAL}}
                )
            ],
            ["b", "c"],
            id="a volume that names its class as of old",
        ),
        pytest.param(
            claim(accessModes=["ReadWriteMany"]), [free_on_a()], ["a", "b", "c"], id="an access mode it lacks"
        ),
        pytest.param(
            claim(), [free_on_a(accessModes=["ReadWriteMany", "ReadWriteOnce"])], ["b", "c"], id="more access modes"
        ),
        pytest.param(claim(volumeMode="Block"), [free_on_a()], ["a", "b", "c"], id="another volume mode"),
        pytest.param(claim(volumeMode="Block"), [free_on_a(volumeMode="Block")], ["b", "c"], id="the same volume mode"),
        pytest.param(
            claim(volumeAttributesClassName="gold"), [free_on_a()], ["a", "b", "c"], id="attributes that it has not got"
        ),
        pytest.param(
            claim(), [free_on_a(volumeAttributesClassName="gold")], ["a", "b", "c"], id="attributes nobody asked for"
        ),
        pytest.param(
            claim(volumeAttributesClassName=""), [free_on_a()], ["b", "c"], id="no attributes, said in two ways"
        ),
        pytest.param(
            claim(selector={"matchLabels": {"tier": "hot"}}),
            [free_on_a(metadata={"labels": {"tier": "hot"}}), volume("cold", nodeAffinity=on("b"))],
            ["b", "c"],
            id="a volume with certain labels",
        ),
        pytest.param(claim(), [free_on_a(status={"phase": "Released"})], ["a", "b", "c"], id="a volume that was used"),
        pytest.param(
            claim(),
            [free_on_a(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            ["a", "b", "c"],
            id="a volume that is being deleted",
        ),
        pytest.param(
            claim(), [free_on_a(**meant_for("other"))], ["a", "b", "c"], id="a volume meant for another claim"
        ),
        pytest.param(
            claim(), [free_on_a(**meant_for("data", "elsewhere"))], ["a", "b", "c"], id="a volume meant for a namesake"
        ),
        pytest.param(
            claim(),
            [free_on_a(**meant_for("data", uid="of-an-earlier-one"))],
            ["a", "b", "c"],
            id="a volume meant for a claim of that name that is no more",
        ),
        pytest.param(
            claim(), [free_on_a(**meant_for("data", uid="uid-of-data"))], ["b", "c"], id="a volume meant for this claim"
        ),
        pytest.param(
            claim(),
            [free_on_a(**meant_for("data")), volume("free", nodeAffinity=on("b"))],
            ["b", "c"],
            id="a volume meant for it keeps it from all others",
        ),
        pytest.param(
            claim(selector={"matchLabels": {"tier": "hot"}}, accessModes=["ReadWriteMany"]),
            [free_on_a(status={"phase": "Pending"}, **meant_for("data"))],
            ["b", "c"],
            id="labels, access modes and phase do not matter for a volume meant for it",
        ),
        pytest.param(
            claim(size="11Gi"),
            [free_on_a(**meant_for("data")), volume("free", "11Gi", nodeAffinity=on("b"))],
            ["a", "c"],
            id="a volume meant for it that is too small is left aside",
        ),
        pytest.param(
            claim(),
            [free_on_a(storageClassName=FAST, **meant_for("data")), volume("free", nodeAffinity=on("b"))],
            ["a", "c"],
            id="so is one of another class",
        ),
        pytest.param(
            claim(),
            [free_on_a(volumeMode="Block", **meant_for("data")), volume("free", nodeAffinity=on("b"))],
            ["a", "c"],
            id="so is one of another mode",
        ),
        pytest.param(
            claim(),
            [
                volume("zone", nodeAffinity=affinity([where(ZONE, "east"), where(HOSTNAME, "b", "c")])),
                volume("not", nodeAffinity=affinity([where(ZONE, "east", operator="NotIn")])),
            ],
            ["a"],
            id="volumes with several conditions, or with one that names no value",
        ),
    ],
)
def test_a_claim_that_waits_finds_a_volume(wanted: Any, there: list[Any], refused: list[str]) -> None:
    assert refusals(user_of("data"), storage_class(), wanted, *there) == {name: [NO_VOLUME] for name in refused}


@pytest.mark.parametrize(
    ("claims", "there", "refused"),
    [
        pytest.param([claim("x"), claim("y")], ["1 a", "2 a", "3 b"], ["b", "c"], id="a volume serves one claim"),
        pytest.param(
            [claim("x", "30Gi"), claim("y", "10Gi")], ["1 a 30Gi", "2 a 30Gi", "3 b 30Gi"], ["b", "c"], id="of any size"
        ),
        pytest.param(
            [claim("x", "30Gi"), claim("y", "10Gi")],
            ["1 a 30Gi", "2 a 10Gi"],
            ["b", "c"],
            id="the small one gets the small",
        ),
        pytest.param(
            [claim("x"), claim("y"), claim("z")], ["1 a", "2 a", "3 a", "4 b", "5 b"], ["b", "c"], id="three of them"
        ),
        pytest.param(
            [claim("x"), claim("y", storageClassName=FAST)], ["1 a", "2 b"], ["a", "b", "c"], id="of two classes"
        ),
    ],
)
def test_several_claims_need_several_volumes(claims: list[Any], there: list[str], refused: list[str]) -> None:
    made = [line.split() for line in there]
    volumes = [volume(name, *size, nodeAffinity=on(node)) for name, node, *size in made]
    classes = [storage_class(), storage_class(FAST)]
    told = refusals(user_of(*(each.name for each in claims)), *classes, *claims, *volumes)
    assert told == {name: [NO_VOLUME] for name in refused}


def test_a_claim_that_is_named_twice_needs_two_volumes() -> None:
    there = [volume("1", nodeAffinity=on("a")), volume("2", nodeAffinity=on("a")), volume("3", nodeAffinity=on("b"))]
    told = refusals(user_of("data", "data"), storage_class(), claim(), *there)
    assert told == {"b": [NO_VOLUME], "c": [NO_VOLUME]}


def test_a_claim_that_is_named_twice_gets_what_is_meant_for_it_once() -> None:
    there = [
        volume("1", nodeAffinity=affinity([where(ZONE, "east")]), **meant_for("data")),
        volume("2", nodeAffinity=on("a")),
    ]
    told = refusals(user_of("data", "data"), storage_class(), claim(), *there)
    assert told == {"b": [NO_VOLUME], "c": [NO_VOLUME]}


def test_a_node_may_be_wrong_for_two_claims() -> None:
    there = [volume("disk", nodeAffinity=on("a"), **meant_for("ready")), volume("free", nodeAffinity=on("b"))]
    told = refusals(user_of("ready", "data"), bound("ready"), claim(), storage_class(), *there)
    assert told == {"a": [NO_VOLUME], "b": [OUT_OF_REACH], "c": [OUT_OF_REACH, NO_VOLUME]}
