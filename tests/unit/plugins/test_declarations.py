"""What the in-tree plugins declare of themselves, written down a second time by hand.

For a plugin that kube-scheduler has, the tables have what kube-scheduler's own say of it; for one of our own, what we
decided. A plugin needs a row in `DEFAULTS` or `OPTIONAL`, one in `LISTED` if it lists kinds, and one in
`DEFAULT_ARGUMENTS` if it takes arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stowplan.config.construct import resolve
from stowplan.config.declarations import POINTS, Declarations
from stowplan.config.defaults import complete
from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates, default_gates
from stowplan.config.load import to_external
from stowplan.config.types import Configuration
from stowplan.framework.registry import Registry
from stowplan.plugins import in_tree
from tests.known_plugins import IN_TREE, KNOWN, default_configuration, known_in

#: The default plugins in the order in which they run, kube-scheduler's as far as it has them: weight, feature gate,
#: extension points.
DEFAULTS = {
    "SchedulingGates": (0, "", "pre_enqueue"),
    "PrioritySort": (0, "", "queue_sort"),
    "NodeName": (0, "", "pre_filter filter"),
    "NodeUnschedulable": (0, "", "pre_filter filter"),
    "TaintToleration": (3, "", "pre_filter filter pre_score score"),
    "NodeAffinity": (2, "", "pre_filter filter pre_score score"),
    "NodePorts": (0, "", "pre_filter filter"),
    "DeferredPodScheduling": (0, "InPlacePodVerticalScalingSchedulerPreemption", "pre_filter filter permit"),
    "NodeResourcesFit": (1, "", "pre_filter filter pre_score score placement_score"),
    "VolumeRestrictions": (0, "", "pre_filter filter"),
    "NodeVolumeLimits": (0, "", "pre_filter filter"),
    "VolumeBinding": (0, "", "pre_filter filter pre_score score reserve pre_bind"),
    "VolumeZone": (0, "", "pre_filter filter"),
    "PodTopologySpread": (2, "", "pre_filter filter pre_score score"),
    "InterPodAffinity": (2, "", "pre_filter filter pre_score score"),
    "DynamicResources": (
        2,
        "",
        "pre_enqueue pre_filter filter post_filter pod_group_post_filter score reserve pre_bind",
    ),
    "DefaultPreemption": (0, "", "pre_enqueue post_filter pod_group_post_filter"),
    "NodeResourcesBalancedAllocation": (1, "", "pre_score score"),
    "ImageLocality": (1, "", "score"),
    "DefaultBinder": (0, "", "bind"),
    "NodeDeclaredFeatures": (0, "NodeDeclaredFeatures", "pre_filter filter"),
    "GangScheduling": (0, "GangScheduling", "pre_enqueue permit"),
    "TopologyPlacementGenerator": (0, "TopologyAwareWorkloadScheduling", "placement_generate"),
    "PodGroupPodsCount": (1, "TopologyAwareWorkloadScheduling", "placement_score"),
}
#: Those that profiles have to list, in their order.
OPTIONAL = ["Coscheduling"]
SHARED_VOLUME_KINDS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")
#: Beyond nodes, pods and namespaces.
LISTED = {
    "PodTopologySpread": ("Service", "ReplicationController", "ReplicaSet", "StatefulSet"),
    "DefaultPreemption": ("PodDisruptionBudget",),
    "NodeResourcesFit": ("DeviceClass",),
    "VolumeRestrictions": ("PersistentVolumeClaim",),
    "NodeVolumeLimits": ("CSINode", "CSIDriver", *SHARED_VOLUME_KINDS, "VolumeAttachment"),
    "VolumeBinding": ("CSINode", "CSIDriver", "CSIStorageCapacity", *SHARED_VOLUME_KINDS),
    "VolumeZone": SHARED_VOLUME_KINDS,
    "DynamicResources": ("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"),
    "GangScheduling": ("PodGroup",),
    "TopologyPlacementGenerator": ("PodGroup",),
    "Coscheduling": ("CommunityPodGroup",),
}
#: With the gates of all plugins.
GATES_ON = FeatureGates(DEFAULT_GATES.on | {one.gate for one in IN_TREE.values()})
HALF_AND_HALF = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
#: As a file has them, with the plugin's feature gate on if it has one.
DEFAULT_ARGUMENTS: dict[str, dict[str, Any]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
    "DynamicResources": {"filterTimeout": "10s", "bindingTimeout": "10m0s"},
    "InterPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
    "NodeAffinity": {},
    "NodeResourcesBalancedAllocation": {"resources": HALF_AND_HALF},
    "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": HALF_AND_HALF}},
    "PodTopologySpread": {"defaultingType": "System"},
    "VolumeBinding": {
        "bindTimeoutSeconds": 600,
        "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
    },
}


def defaults(declared: Declarations) -> dict[str, tuple[int, str, frozenset[str]]]:
    return {name: (one.weight, one.gate, one.points) for name, one in declared.items() if one.is_default}


def with_every_plugin() -> Configuration:
    """Return the configuration of a profile that has every in-tree plugin, also those that are to be listed."""
    return complete({}, {name: replace(one, is_default=True) for name, one in IN_TREE.items()}, GATES_ON)


def test_the_default_plugins_are_declared_in_their_order() -> None:
    expected = {name: (weight, gate, frozenset(points.split())) for name, (weight, gate, points) in DEFAULTS.items()}
    assert defaults(IN_TREE) == expected
    assert list(defaults(IN_TREE)) == list(DEFAULTS)


def test_other_plugins_are_there_for_those_who_list_them() -> None:
    assert [name for name, one in IN_TREE.items() if not one.is_default] == OPTIONAL


@pytest.mark.parametrize("cls", in_tree(), ids=lambda cls: cls.__name__)
def test_a_plugin_names_the_kinds_that_it_lists(cls: Any) -> None:
    assert cls.lists == LISTED.get(cls.__name__, ())


def test_arguments_have_their_defaults() -> None:
    [profile] = to_external(with_every_plugin())["profiles"]
    version = "kubescheduler.config.k8s.io/v1"
    assert {each["name"]: each["args"] for each in profile["pluginConfig"]} == {
        name: {"apiVersion": version, "kind": f"{name}Args", **args} for name, args in DEFAULT_ARGUMENTS.items()
    }


def test_arguments_that_nobody_gave_are_those_of_the_default_configuration() -> None:
    given = default_configuration(GATES_ON).profiles[0].plugin_config
    types = {name: one.args_type for name, one in KNOWN.items() if one.args_type is not None}
    assert {name: args_type().defaulted(GATES_ON) for name, args_type in types.items()} == given
    assert all(isinstance(args, msgspec.Struct) for args in given.values())


def test_only_in_tree_plugins_are_default_ones() -> None:
    registry = Registry(())
    registry.add(next(cls for cls in in_tree() if cls.__name__ == "TaintToleration"))
    assert defaults(registry.declarations()) == {}


def test_the_default_profile_runs_upstreams_plugins() -> None:
    [default] = default_configuration().profiles
    resolved = resolve(default, KNOWN)
    assert set(resolved) == set(POINTS)
    assert resolved["score"] == (
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    )
    assert [name for name, _ in resolved["filter"]] == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]
    assert [name for name, _ in resolved["pre_filter"]][:4] == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
    ]
    assert [name for name, _ in resolved["post_filter"]] == ["DynamicResources", "DefaultPreemption"]
    assert [name for name, _ in resolved["pod_group_post_filter"]] == ["DynamicResources", "DefaultPreemption"]
    assert resolved["permit"] == ()


def test_before_1_37_cordoned_nodes_were_looked_at_first_and_three_filters_were_not_prepared() -> None:
    gates = default_gates("1.36")
    [profile] = default_configuration(gates).profiles
    resolved = resolve(profile, known_in(gates))
    assert [name for name, _ in resolved["filter"]][:3] == ["NodeUnschedulable", "NodeName", "TaintToleration"]
    assert [name for name, _ in resolved["pre_filter"]][:2] == ["NodeAffinity", "NodePorts"]
    assert "DeferredPodScheduling" not in known_in(gates)


def test_deferred_pod_scheduling_comes_before_the_fit_where_its_gate_is_on() -> None:
    [profile] = default_configuration(GATES_ON).profiles
    listed = [plugin.name for plugin in profile.plugins.multi_point.enabled]
    assert listed[listed.index("NodeResourcesFit") - 1] == "DeferredPodScheduling"
