"""Scenes about devices: a pod whose claims keep it from all nodes, or leave it just one.

Each has a class of devices of its own, so that the devices of the others mean nothing to it.
"""

from __future__ import annotations

from typing import Any, Final

from tests.e2e import devices
from tests.e2e.api import Object
from tests.e2e.devices import cel, claims_from, claims_of, device_class, devices_on, given, model, of_model, request
from tests.e2e.manifests import node
from tests.e2e.scenes import HELD, NAMESPACE, WANTED, Scene, wanted

DULL: Final = {"key": "example.test/dull", "effect": "NoSchedule"}
TWO_SLICES: Final = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
SERVED, SCARCE = "example.test/served", "example.test/scarce"


def claim(name: str, *requests: Object, **spec: Any) -> Object:
    """Describe a claim for a device of the class of the same name, unless told otherwise."""
    return devices.device_claim(NAMESPACE, name, *(requests or [request(name)]), **spec)


def wanting(*claims: str) -> Object:
    return wanted(**claims_of(*claims))


def busy(name: str, cpu: str) -> Object:
    """Describe a pod that needs processors besides its device."""
    made = wanting(name)
    made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    return made


def going(item: Object) -> Object:
    return {**item, "metadata": {**item["metadata"], "finalizers": [HELD], "deletionTimestamp": "now"}}


def dull(name: str) -> Object:
    return {"name": name, "taints": [DULL]}


def either(*choices: Object) -> Object:
    """Describe a request with several choices, best first."""
    return {"name": "main", "firstAvailable": list(choices)}


def choice(name: str, device_class: str, *selectors: Object) -> Object:
    return {"name": name, "deviceClassName": device_class, "selectors": list(selectors)}


def part(name: str, memory: str) -> Object:
    """Describe a device that is a part of something."""
    consumed = {"counterSet": "whole", "counters": {"memory": {"value": memory}}}
    return {"name": name, "consumesCounters": [consumed]}


def counters_on_n1(device_class: str, memory: str) -> Object:
    """Describe what the parts of a device have between them."""
    made = devices_on("n1", device_class, pool=TWO_SLICES)
    made["metadata"]["name"] += "-counters"
    del made["spec"]["devices"]
    made["spec"]["sharedCounters"] = [{"name": "whole", "counters": {"memory": {"value": memory}}}]
    return made


def in_rack(rack: str) -> Object:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": [rack]}]}]}


DEVICE_SCENES: Final = (
    Scene("a claim for devices that does not exist", "conditions=[]", wanting("missing"), [node("n1")], is_held=True),
    Scene(
        "a claim for devices that goes",
        "conditions=[]",
        wanting("leaving"),
        [node("n1")],
        objects=[going(claim("leaving"))],
        is_held=True,
    ),
    Scene(
        "a claim for devices that is still to be made for it",
        "conditions=[]",
        wanted(**claims_from("unmade")),
        [node("n1")],
        is_held=True,
    ),
    Scene(
        "a class of devices that does not exist",
        "request main: device class classless does not exist",
        wanting("classless"),
        [node("n1")],
        objects=[claim("classless")],
    ),
    Scene(
        "no device is free",
        "2 cannot allocate all claims",
        wanting("taken"),
        [node("n1"), node("n2")],
        objects=[
            device_class("taken"),
            devices_on("n1", "taken", "d1"),
            claim("taken"),
            given(claim("taken-already", request("taken")), "n1", "d1", user="other"),
        ],
    ),
    Scene(
        "no device is as wanted",
        "1 Insufficient cpu, 1 cannot allocate all claims",
        busy("picky", "2"),
        [node("n1"), node("n2", {"cpu": "1"})],
        objects=[
            device_class("picky"),
            *(devices_on(name, "picky", model("d1", "small")) for name in ("n1", "n2")),
            claim("picky", request("picky", selectors=[of_model("picky", "large")])),
        ],
    ),
    Scene(
        "an expression that fails",
        "runtime error",
        wanting("faulty"),
        [node("n1")],
        objects=[
            device_class("faulty"),
            devices_on("n1", "faulty", "d1"),
            claim("faulty", request("faulty", selectors=[of_model("faulty", "large")])),
        ],
    ),
    Scene(
        "devices of two kinds that have to match",
        "1 cannot allocate all claims",
        wanting("matching"),
        [node("n1")],
        objects=[
            device_class("matching"),
            devices_on("n1", "matching", model("d1", "small"), model("d2", "large")),
            claim(
                "matching",
                request("matching", count=2),
                constraints=[{"matchAttribute": f"{devices.driver_of('matching')}/model"}],
            ),
        ],
    ),
    Scene(
        "devices that were given on another node",
        "1 Insufficient cpu, 1 resourceclaim not available on the node",
        busy("far", "2"),
        [node("n1", {"cpu": "1"}), node("n2")],
        objects=[
            device_class("far"),
            *(devices_on(name, "far", "d1") for name in ("n1", "n2")),
            given(claim("far"), "n1", "d1", user="other"),
        ],
    ),
    Scene(
        "devices that are of no use are given back",
        "Successfully assigned parity/wanted to n2",
        busy("useless", "2"),
        [node("n1", {"cpu": "1"}), node("n2")],
        events={WANTED: 2},
        objects=[
            device_class("useless"),
            *(devices_on(name, "useless", "d1") for name in ("n1", "n2")),
            given(claim("useless"), "n1", "d1"),
        ],
    ),
    Scene(
        "not even the last choice",
        "2 cannot allocate all claims",
        wanting("choosy"),
        [node("n1"), node("n2")],
        objects=[
            device_class("choosy"),
            *(devices_on(name, "choosy", model("d1", "small")) for name in ("n1", "n2")),
            claim(
                "choosy",
                either(choice("best", "choosy", of_model("choosy", "huge")), choice("rest", "choosy", cel("false"))),
            ),
        ],
    ),
    Scene(
        "it lands where its first choice is",
        "Successfully assigned parity/wanted to n2",
        wanting("content"),
        [node("n1"), node("n2"), node("n3")],
        objects=[
            device_class("content"),
            *(devices_on(name, "content", model("d1", "small")) for name in ("n1", "n3")),
            devices_on("n2", "content", model("d1", "large")),
            claim(
                "content",
                either(choice("best", "content", of_model("content", "large")), choice("rest", "content")),
            ),
        ],
    ),
    Scene(
        "devices with taints",
        "1 cannot allocate all claims",
        wanting("dull"),
        [node("n1")],
        objects=[device_class("dull"), devices_on("n1", "dull", dull("d1")), claim("dull")],
    ),
    Scene(
        "it lands where its device is, taint or not",
        "Successfully assigned parity/wanted to n2",
        wanting("bold"),
        [node("n1"), node("n2")],
        objects=[
            device_class("bold"),
            devices_on("n2", "bold", dull("d1")),
            claim("bold", request("bold", tolerations=[{"key": DULL["key"], "operator": "Exists"}])),
        ],
    ),
    Scene(
        "devices that share what is used up",
        "1 cannot allocate all claims",
        wanting("parts"),
        [node("n1")],
        objects=[
            device_class("parts"),
            devices_on("n1", "parts", *(part(name, "30Gi") for name in ("d1", "d2")), pool=TWO_SLICES),
            counters_on_n1("parts", "40Gi"),
            claim("parts"),
            given(claim("parts-already", request("parts")), "n1", "d1", user="other"),
        ],
    ),
    Scene(
        "too much of a device",
        "1 cannot allocate all claims",
        wanting("much"),
        [node("n1")],
        objects=[
            device_class("much"),
            devices_on(
                "n1",
                "much",
                {"name": "d1", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi"}}},
            ),
            claim("much", request("much", capacity={"requests": {"memory": "11Gi"}})),
        ],
    ),
    Scene(
        "a pool that is not complete",
        "resource pool partial.example.test/n1 is currently being updated",
        wanting("partial"),
        [node("n1")],
        objects=[
            device_class("partial"),
            devices_on("n1", "partial", "d1", pool=TWO_SLICES),
            claim("partial", request("partial", allocationMode="All")),
        ],
    ),
    Scene(
        "devices for one claim but not for both",
        "2 cannot allocate all claims",
        wanting("single", "single-too"),
        [node("n1"), node("n2")],
        objects=[
            device_class("single"),
            *(devices_on(name, "single", "d1") for name in ("n1", "n2")),
            claim("single"),
            claim("single-too", request("single")),
        ],
    ),
    Scene(
        "a device that is not ready yet",
        "waiting for binding conditions for device on node n1",
        wanting("slow"),
        [node("n1")],
        objects=[
            device_class("slow"),
            devices_on(
                "n1",
                "slow",
                {
                    "name": "d1",
                    "bindsToNode": True,
                    "bindingConditions": ["example.test/ready"],
                    "bindingFailureConditions": ["example.test/broken"],
                },
            ),
            claim("slow"),
        ],
    ),
    Scene(
        "it lands where a device is that is reached by a label",
        "Successfully assigned parity/wanted to n2",
        wanting("labelled"),
        [node("n1"), node("n2", labels={"rack": "r1"})],
        objects=[
            device_class("labelled"),
            devices_on("n2", "labelled", "d1", nodeName=None, nodeSelector=in_rack("r1")),
            claim("labelled"),
        ],
    ),
    Scene(
        "a resource by the name of its class",
        "1 cannot allocate all claims",
        wanted({"deviceclass.resource.kubernetes.io/implicit": "2"}),
        [node("n1")],
        objects=[device_class("implicit"), devices_on("n1", "implicit", "d1")],
    ),
    Scene(
        "a resource that devices stand for, which are taken",
        "2 cannot allocate all claims",
        wanted({SCARCE: "1"}),
        [node("n1"), node("n2")],
        objects=[
            device_class("scarce", SCARCE),
            devices_on("n1", "scarce", "d1"),
            given(claim("scarce"), "n1", "d1", user="other"),
        ],
    ),
    Scene(
        "it lands where devices stand for its resource",
        "Successfully assigned parity/wanted to n2",
        wanted({SERVED: "2"}),
        [node("n1"), node("n2"), node("n3")],
        objects=[
            device_class("served", SERVED),
            devices_on("n1", "served", "d1"),
            devices_on("n2", "served", "d1", "d2"),
        ],
    ),
)
