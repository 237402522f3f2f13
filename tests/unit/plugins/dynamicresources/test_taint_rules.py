"""Rules that taint devices: which devices they mean, and what of a slice changes with them."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model import decode
from stowplan.model.device_pool import Device, DeviceTaint, DeviceTaintRule, ResourceSlice, TaintedSlices, changed_by
from tests.unit.plugins.dynamicresources.offers import DRIVER, make_slice

SLICE = make_slice("s", Device(name="a", taints=(DeviceTaint(key="own"),)), Device(name="b"))


def rule(selector: dict[str, str] | None = None, **taint: str) -> DeviceTaintRule:
    spec: dict[str, Any] = {"deviceSelector": selector, "taint": {"key": "broken", "effect": "NoSchedule", **taint}}
    return decode.convert(DeviceTaintRule, {"metadata": {"name": "rule"}, "spec": spec})


def taints(found: ResourceSlice) -> dict[str, list[str]]:
    return {device.name: [taint.key for taint in device.taints] for device in found.spec.devices}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(None, {"a": ["own"], "b": []}, id="no selector means no device"),
        pytest.param({}, {"a": ["own", "broken"], "b": ["broken"]}, id="an empty one means every device"),
        pytest.param({"device": "b"}, {"a": ["own"], "b": ["broken"]}, id="a device by its name"),
        pytest.param({"driver": DRIVER}, {"a": ["own", "broken"], "b": ["broken"]}, id="a driver"),
        pytest.param({"driver": "nic.example.com"}, {"a": ["own"], "b": []}, id="another driver"),
        pytest.param({"pool": "pool", "device": "b"}, {"a": ["own"], "b": ["broken"]}, id="a device of a pool"),
        pytest.param({"pool": "elsewhere", "device": "b"}, {"a": ["own"], "b": []}, id="a device of another pool"),
    ],
)
def test_which_devices_a_rule_taints(selector: dict[str, str] | None, expected: dict[str, list[str]]) -> None:
    (found,) = TaintedSlices().of([SLICE], [rule(selector)])
    assert taints(found) == expected


@pytest.mark.parametrize("selector", [None, {}], ids=["no selector", "an empty one"])
def test_a_rule_of_1_36_without_a_selector_taints_every_device(selector: dict[str, str] | None) -> None:
    content = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "rule"},
        "spec": {"taint": {"key": "broken"}} | ({} if selector is None else {"deviceSelector": selector}),
    }
    beta = decode.decode_object(content)
    assert isinstance(beta, DeviceTaintRule)
    (found,) = TaintedSlices().of([SLICE], [beta])
    assert taints(found) == {"a": ["own", "broken"], "b": ["broken"]}


def test_what_looks_as_before_is_the_same_object() -> None:
    tainted = TaintedSlices()
    (first,) = tainted.of([SLICE], [rule({"device": "b"})])
    assert tainted.of([SLICE], [rule({"device": "b"}), rule({"device": "c"})])[0] is first
    assert tainted.of([SLICE], [])[0] is SLICE
    assert tainted.of([SLICE], [rule({"device": "b"})])[0] is not first


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, rule({}), ["s"], id="a rule appears"),
        pytest.param(rule({}), None, ["s"], id="a rule goes"),
        pytest.param(None, rule(), [], id="a rule for no device"),
        pytest.param(None, rule({"pool": "elsewhere"}), [], id="a rule for other devices"),
        pytest.param(rule({}), rule({}), [], id="nothing that counts has changed"),
        pytest.param(rule({}), rule({}, effect="NoExecute"), ["s"], id="another effect"),
        pytest.param(rule({"device": "a"}), rule({"device": "b"}), ["s"], id="another device"),
    ],
)
def test_which_slices_change_with_a_rule(
    old: DeviceTaintRule | None, new: DeviceTaintRule | None, expected: list[str]
) -> None:
    assert [found.name for found in changed_by(old, new, [SLICE])] == expected
