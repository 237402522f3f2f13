"""Fields of features that are off: what is written in them is dropped, unless it was there before."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.embedded.admission import disabled_fields
from tests.unit.embedded.given import made, resource

GROUPS = resource("podgroups.scheduling.k8s.io", "v1beta1")
GANG = {"gang": {"minCount": 2}}
MOUNT = {"name": "data", "mountPath": "/data"}


@pytest.mark.parametrize(
    ("kind", "spec", "gate", "left"),
    [
        pytest.param(
            "pods",
            {"containers": [], "schedulingGroup": {"podGroupName": "g"}},
            "GenericWorkload",
            {"containers": []},
            id="the group of a pod",
        ),
        pytest.param(
            "pods",
            {"containers": [], "evictionResponders": [{"name": "a"}]},
            "EvictionRequestAPI",
            {"containers": []},
            id="who answers to evictions",
        ),
        pytest.param(
            "pods",
            {"containers": [{"name": "a", "volumeMounts": [{**MOUNT, "bindMountOptions": ["noexec"]}]}]},
            "VolumeBindMountOptions",
            {"containers": [{"name": "a", "volumeMounts": [MOUNT]}]},
            id="options of mounts",
        ),
        pytest.param(
            "deployments.apps",
            {"template": {"spec": {"schedulingGroup": {"podGroupName": "g"}}}},
            "GenericWorkload",
            {"template": {"spec": {}}},
            id="the group in a template",
        ),
        pytest.param(
            "nodes",
            {"podPreemptionPolicy": {"disableResizePreemption": "Always"}},
            "InPlacePodVerticalScalingSchedulerPreemption",
            {},
            id="what a node says of preemption",
        ),
        pytest.param(
            "csidrivers.storage.k8s.io",
            {"preventPodSchedulingIfMissing": True},
            "VolumeLimitScaling",
            {},
            id="whether a driver has to be there",
        ),
    ],
)
def test_a_field_is_kept_only_while_its_gate_is_on(
    kind: str, spec: dict[str, Any], gate: str, left: dict[str, Any]
) -> None:
    kept = made(resource(kind), "a", spec=spec)
    disabled_fields.drop(resource(kind), kept, None, frozenset({gate}))
    assert kept["spec"] == spec
    disabled_fields.drop(resource(kind), kept, None, frozenset())
    assert kept["spec"] == left


def test_of_a_group_each_field_has_a_gate_of_its_own() -> None:
    spec = {
        "schedulingPolicy": GANG,
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "resourceClaims": [{"name": "a", "resourceClaimName": "b"}],
        "preemptionPolicy": "Never",
        "parentCompositePodGroupName": "parent",
    }
    group = made(GROUPS, "g", spec=dict(spec))
    gates = frozenset({"GenericWorkload", "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims"})
    disabled_fields.drop(GROUPS, group, None, gates)
    assert group["spec"].keys() == {"schedulingPolicy", "schedulingConstraints", "resourceClaims"}


def test_what_was_there_before_the_gate_was_switched_off_stays() -> None:
    constraints = {"topology": [{"key": "rack"}]}
    before = made(GROUPS, "g", spec={"schedulingPolicy": GANG, "schedulingConstraints": constraints})
    after = made(GROUPS, "g", spec={"schedulingPolicy": GANG, "schedulingConstraints": constraints})
    disabled_fields.drop(GROUPS, after, before, frozenset())
    assert after["spec"]["schedulingConstraints"] == constraints
