"""The families of the manifest that need volumes or devices, and the objects that they need.

Everything is such that kube-scheduler has nothing to draw lots for: a claim finds one volume, devices of a class are
alike on a node, and no pod has to wait for what is just being written for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.e2e.api import Object
from tests.e2e.devices import (
    device_claim,
    device_class,
    devices_on,
    driver_of,
    given,
    model,
    of_model,
    request,
)
from tests.e2e.manifests import ZONE
from tests.e2e.storage import (
    attachable,
    bound,
    claim,
    csi_node,
    labelled,
    reached_from,
    scratch,
    storage_class,
    volume,
    volumes_of,
)

TURNS: Final = 5
NODES: Final = tuple(f"node-{number:02}" for number in range(14))
LOCAL, MADE, SCRATCH, CSI = "parity-local", "parity-made", "parity-scratch", "parity.csi.example.test"
SERVED: Final = "example.test/served"
DULL: Final = {"key": "example.test/dull", "effect": "NoSchedule"}

Spec = dict[str, Any]
Maker = Callable[[int, Spec], Spec]


def objects(namespace: str) -> list[Object]:
    """Describe all that the pods need, as it is before a scheduler comes."""
    return [*_volumes(namespace), *_devices(namespace)]


def _volumes(namespace: str) -> Iterator[Object]:
    in_two_zones = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "c"]}]}]
    yield storage_class(LOCAL)
    yield storage_class(SCRATCH)
    yield storage_class(MADE, "maker.example.test", allowedTopologies=in_two_zones)
    yield from (csi_node(node, CSI, 1) for node in NODES)
    yield from bound(
        claim(namespace, "shared-volume", LOCAL, accessModes=["ReadWriteMany"]),
        volume("shared-volume", LOCAL, nodeAffinity=reached_from(ZONE, "b")),
    )
    for turn in range(TURNS):
        yield from _volumes_of_turn(namespace, turn)


def _volumes_of_turn(namespace: str, turn: int) -> Iterator[Object]:
    def named(family: str, of_class: str = LOCAL, **spec: Any) -> Object:
        return claim(namespace, f"{family}-{turn}", of_class, **spec)

    here, there = "abc"[turn % 3], "abc"[(turn + 1) % 3]
    yield from bound(
        named("bound-volume"), volume(f"bound-{turn}", LOCAL, nodeAffinity=reached_from(ZONE, here, there))
    )
    mine, zonal = bound(named("zonal-volume"), volume(f"zonal-{turn}", LOCAL))
    yield from (mine, labelled(zonal, {ZONE: there}))
    yield from bound(named("attached-volume"), volume(f"attached-{turn}", LOCAL, csi=attachable(CSI, str(turn))))
    yield from bound(named("lone-volume", accessModes=["ReadWriteOncePod"]), volume(f"lone-{turn}", LOCAL))
    yield named("made-volume", MADE)
    label = {"turn": str(turn)}
    yield named("local-volume", selector={"matchLabels": label})
    yield labelled(volume(f"local-{turn}", LOCAL, [NODES[turn], NODES[turn + 6], NODES[turn + 7]]), label)
    yield labelled(volume(f"scratch-{turn}", SCRATCH, [NODES[turn + 2], NODES[turn + 8]]), label)


def _devices(namespace: str) -> Iterator[Object]:
    for name in ("device", "picked", "shared", "choice", "dull", "paired"):
        yield device_class(name)
    yield device_class("served", SERVED)
    for number, node in enumerate(NODES):
        yield from _devices_of_node(number, node)
    yield given(device_claim(namespace, "shared-device", request("shared")), NODES[5], "d1")
    for turn in range(TURNS):
        yield from _device_claims_of_turn(namespace, turn)


def _devices_of_node(number: int, node: str) -> Iterator[Object]:
    if number % 2 == 0:
        yield devices_on(node, "device", "d1", "d2")
    large = [f"d{one}" for one in (3, 4) if number % one == 0]
    yield devices_on(node, "picked", model("d1", "small"), *(model(name, "large") for name in large))
    if number in (1, 6, 8):
        yield devices_on(node, "choice", *(model(f"d{one}", "large" if number == 1 else "small") for one in range(3)))
    if number in (3, 12):
        yield devices_on(node, "dull", *({"name": f"d{one}", "taints": [DULL]} for one in range(3)))
    if number in (5, 7, 10):
        yield devices_on(node, "shared", "d1")
        yield devices_on(node, "served", "d1", "d2")
    if number in (0, 6, 7, 8, 10, 12):
        yield devices_on(node, "paired", model("d1", "large"), model("d2", "small"), model("d3", "small"))


def _device_claims_of_turn(namespace: str, turn: int) -> Iterator[Object]:
    def named(family: str, *requests: Object, **devices: Any) -> Object:
        return device_claim(namespace, f"{family}-{turn}", *requests, **devices)

    yield named("device", request("device"))
    yield named("picked-device", request("picked", selectors=[of_model("picked", "large")]))
    choices = [
        {"name": wanted, "deviceClassName": "choice", "selectors": [of_model("choice", wanted)]}
        for wanted in ("large", "small")
    ]
    yield named("choice-device", {"name": "main", "firstAvailable": choices})
    yield named("dull-device", request("dull", tolerations=[{"key": DULL["key"], "operator": "Exists"}]))
    alike = [{"matchAttribute": f"{driver_of('paired')}/model"}]
    yield named("paired-device", request("paired", count=2), constraints=alike)


def _with_volume(family: str) -> Maker:
    return lambda turn, requests: {"volumes": volumes_of(f"{family}-{turn}")}


def _with_device(family: str) -> Maker:
    return lambda turn, requests: _using_claim(f"{family}-{turn}", requests)


def _shared_volume(turn: int, requests: Spec) -> Spec:
    return {"volumes": volumes_of("shared-volume")}


def _scratch_volume(turn: int, requests: Spec) -> Spec:
    return {"volumes": scratch("scratch", SCRATCH, selector={"matchLabels": {"turn": str(turn)}})}


def _shared_device(turn: int, requests: Spec) -> Spec:
    return _using_claim("shared-device", requests)


def _served_device(turn: int, requests: Spec) -> Spec:
    served = {SERVED: "1"}
    return {"containers": [_container({"requests": requests | served, "limits": served})]}


def _using_claim(claim: str, requests: Spec) -> Spec:
    return {
        "resourceClaims": [{"name": "device", "resourceClaimName": claim}],
        "containers": [_container({"requests": dict(requests), "claims": [{"name": "device"}]})],
    }


def _container(resources: Object) -> Object:
    return {"name": "main", "image": "example.test/app:1", "resources": resources}


FAMILIES: Final[tuple[tuple[str, Maker], ...]] = (
    *((family, _with_volume(family)) for family in ("bound-volume", "zonal-volume", "local-volume", "made-volume")),
    *((family, _with_volume(family)) for family in ("attached-volume", "lone-volume")),
    ("shared-volume", _shared_volume),
    ("scratch-volume", _scratch_volume),
    *((family, _with_device(family)) for family in ("device", "picked-device", "choice-device")),
    *((family, _with_device(family)) for family in ("dull-device", "paired-device")),
    ("shared-device", _shared_device),
    ("served-device", _served_device),
)
