"""Every argument of every in-tree plugin changes what is decided, or is refused.

The table has a row for every field of the arguments there is; a field without one fails. A row has arguments and
another value for the field: a small cluster is explained with both, and the plugin must say something else. The cluster
has the plugin, also if it is behind a feature gate that is off, or one that profiles have to list.
"""

from __future__ import annotations

import copy
import importlib
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.config import feature_gates
from stowplan.config.declarations import camel
from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import DEFAULT_GATES
from stowplan.config.load import Reading
from stowplan.framework.profile import listed_by
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.plugins import in_tree
from stowplan.plugins.shape_score import UtilizationShapePoint, curve_of
from tests.known_plugins import IN_TREE
from tests.unit.app.schema_leaves import of_arguments

WORLD = """
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, zone: z1, disk: ssd}},
 spec: {taints: [{key: soft, effect: NoSchedule}]},
 status: {allocatable: {cpu: 8, memory: 16Gi, pods: 20}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, zone: z2, disk: hdd}},
 status: {allocatable: {cpu: 8, memory: 8Gi, pods: 20, example.com/thing: 4}}}
---
{apiVersion: v1, kind: Node, metadata: {name: c, labels: {kubernetes.io/hostname: c, zone: z2, disk: ssd}},
 status: {allocatable: {cpu: 8, memory: 8Gi, pods: 20}}}
---
apiVersion: v1
kind: Pod
metadata: {name: first, uid: first, namespace: default, labels: {app: web, version: old}}
spec:
  nodeName: b
  containers: [{name: c, resources: {requests: {cpu: 2, memory: 1Gi}}}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}
      preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 5, podAffinityTerm: {labelSelector: {matchLabels: {app: web}}, topologyKey: zone}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: next, uid: next, namespace: default, labels: {app: web, version: new}}
spec:
  containers: [{name: c, resources: {requests: {cpu: 1, memory: 4Gi, example.com/thing: 1}}}]
  tolerations: [{operator: Exists}]
  nodeSelector: {disk: ssd}
"""
#: Without what keeps it from some nodes.
FREE = POD.replace("  nodeSelector: {disk: ssd}\n", "").replace(", example.com/thing: 1", "")
#: With one zone to go to.
IN_Z2 = FREE.replace("tolerations:", "nodeSelector: {zone: z2}\n  tolerations:")


@dataclass
class Acts:
    """Other arguments, another opinion of the plugin; `path` leads to the value that is replaced."""

    arguments: dict[str, Any]
    path: tuple[str | int, ...]
    value: Any
    pod: str = FREE


@dataclass
class Refused:
    arguments: dict[str, Any]
    message: str = field(default="")


@dataclass
class Shown:
    """Another test shows the effect."""

    test: str


def term(where: str, key: str, operator: str, *values: str) -> dict[str, Any]:
    return {where: [{"key": key, "operator": operator, "values": list(values)}]}


REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
BY_LABEL = term("matchExpressions", "disk", "In", "ssd")
BY_NAME = term("matchFields", "metadata.name", "In", "a")


def required(selector: dict[str, Any]) -> dict[str, Any]:
    return {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [selector]}}}


def preferred(selector: dict[str, Any]) -> dict[str, Any]:
    """Prefer some nodes, and by another rule another one: of one rule alone the weight would not matter."""
    other = {"weight": 10, "preference": term("matchExpressions", "zone", "In", "z2")}
    return {"addedAffinity": {PREFERRED: [{"weight": 5, "preference": selector}, other]}}


IN_REQUIRED = ("addedAffinity", REQUIRED, "nodeSelectorTerms", 0)
IN_PREFERRED = ("addedAffinity", PREFERRED, 0, "preference")
LABELS, FIELDS = ("matchExpressions", 0), ("matchFields", 0)
RATIO = {
    "scoringStrategy": {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
        "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
    }
}
SHAPE = ("scoringStrategy", "requestedToCapacityRatio", "shape", 1)
BOTH = {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
SPREAD = {
    "defaultingType": "List",
    "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
}
CONSTRAINT = ("defaultConstraints", 0)
SELECTING = "Forbidden: constraint must not define a selector"
VOLUMES = "tests.unit.plugins.volumebinding.test_reserving:test_what_was_taken_is_written_and_waited_for"
SELF = "tests.unit.app.test_every_argument_acts"
CAPACITY = f"{SELF}:test_the_shape_of_scores_of_storage_reaches_the_plugin_with_its_gate_only"
CANDIDATES = "tests.unit.plugins.defaultpreemption.test_plugin:test_as_many_candidates_are_looked_for_as_configured"
DEVICES = "tests.unit.plugins.dynamicresources.test_plugin"


def selecting(**selector: Any) -> Refused:
    changed = copy.deepcopy(SPREAD)
    changed["defaultConstraints"][0]["labelSelector"] = selector  # type: ignore[index]
    return Refused(changed, SELECTING)


NODE_AFFINITY = {
    f"{side}.{where}[].{name}": Acts(make(selector), (*place, where, 0, *path), value)
    for side, make, place in (
        (f"{REQUIRED}.nodeSelectorTerms[]", required, IN_REQUIRED),
        (f"{PREFERRED}[].preference", preferred, IN_PREFERRED),
    )
    for where, selector, name, path, value in (
        ("matchExpressions", BY_LABEL, "key", ("key",), "zone"),
        ("matchExpressions", BY_LABEL, "operator", ("operator",), "NotIn"),
        ("matchExpressions", BY_LABEL, "values[]", ("values", 0), "hdd"),
        ("matchFields", BY_NAME, "key", ("key",), "metadata.uid"),
        ("matchFields", BY_NAME, "operator", ("operator",), "NotIn"),
        ("matchFields", BY_NAME, "values[]", ("values", 0), "b"),
    )
}

ROWS: dict[str, Acts | Refused | Shown] = {
    "DefaultPreemption: minCandidateNodesPercentage": Shown(CANDIDATES),
    "DefaultPreemption: minCandidateNodesAbsolute": Shown(CANDIDATES),
    "DynamicResources: filterTimeout": Shown(f"{DEVICES}:test_a_search_that_takes_too_long_ends_the_attempt"),
    "DynamicResources: bindingTimeout": Shown(f"{SELF}:test_the_time_for_devices_to_get_ready_reaches_the_plugin"),
    "InterPodAffinity: hardPodAffinityWeight": Acts({}, ("hardPodAffinityWeight",), 100),
    "InterPodAffinity: ignorePreferredTermsOfExistingPods": Acts({}, ("ignorePreferredTermsOfExistingPods",), True),
    **{f"NodeAffinity: addedAffinity.{path}": row for path, row in NODE_AFFINITY.items()},
    f"NodeAffinity: addedAffinity.{PREFERRED}[].weight": Acts(
        preferred(BY_LABEL), ("addedAffinity", PREFERRED, 0, "weight"), 90
    ),
    "NodeResourcesBalancedAllocation: resources[].name": Acts(BOTH, ("resources", 0, "name"), "pods"),
    # Upstream's rule as well: every resource counts alike.
    "NodeResourcesBalancedAllocation: resources[].weight": Refused(
        {"resources": [{"name": "cpu", "weight": 2}]}, "must be 1"
    ),
    "NodeResourcesFit: ignoredResources[]": Acts(
        {"ignoredResources": ["example.com/other"]}, ("ignoredResources", 0), "example.com/thing", POD
    ),
    "NodeResourcesFit: ignoredResourceGroups[]": Acts(
        {"ignoredResourceGroups": ["other.com"]}, ("ignoredResourceGroups", 0), "example.com", POD
    ),
    "NodeResourcesFit: scoringStrategy.type": Acts(
        {"scoringStrategy": {"type": "LeastAllocated"}}, ("scoringStrategy", "type"), "MostAllocated"
    ),
    "NodeResourcesFit: scoringStrategy.resources[].name": Acts(
        RATIO, ("scoringStrategy", "resources", 1, "name"), "ephemeral-storage"
    ),
    "NodeResourcesFit: scoringStrategy.resources[].weight": Acts(
        RATIO, ("scoringStrategy", "resources", 1, "weight"), 9
    ),
    "NodeResourcesFit: scoringStrategy.requestedToCapacityRatio.shape[].utilization": Acts(
        RATIO, (*SHAPE, "utilization"), 50
    ),
    "NodeResourcesFit: scoringStrategy.requestedToCapacityRatio.shape[].score": Acts(RATIO, (*SHAPE, "score"), 5),
    "PodTopologySpread: defaultConstraints[].maxSkew": Acts(SPREAD, (*CONSTRAINT, "maxSkew"), 5),
    "PodTopologySpread: defaultConstraints[].topologyKey": Acts(
        SPREAD, (*CONSTRAINT, "topologyKey"), "kubernetes.io/hostname"
    ),
    "PodTopologySpread: defaultConstraints[].whenUnsatisfiable": Acts(
        SPREAD, (*CONSTRAINT, "whenUnsatisfiable"), "ScheduleAnyway"
    ),
    "PodTopologySpread: defaultConstraints[].labelSelector.matchLabels": selecting(matchLabels={"a": "b"}),
    **{
        f"PodTopologySpread: defaultConstraints[].labelSelector.matchExpressions[].{name}": selecting(
            matchExpressions=[{"key": "a", "operator": "In", "values": ["b"]}]
        )
        for name in ("key", "operator", "values[]")
    },
    "PodTopologySpread: defaultConstraints[].minDomains": Acts(SPREAD, (*CONSTRAINT, "minDomains"), 9, IN_Z2),
    "PodTopologySpread: defaultConstraints[].nodeAffinityPolicy": Acts(
        SPREAD, (*CONSTRAINT, "nodeAffinityPolicy"), "Ignore", IN_Z2
    ),
    "PodTopologySpread: defaultConstraints[].nodeTaintsPolicy": Acts(
        SPREAD,
        (*CONSTRAINT, "nodeTaintsPolicy"),
        "Honor",
        FREE.replace("  tolerations: [{operator: Exists}]\n", ""),
    ),
    "PodTopologySpread: defaultConstraints[].matchLabelKeys[]": Shown(
        f"{SELF}:test_label_keys_of_default_constraints_are_told_to_have_no_effect"
    ),
    "PodTopologySpread: defaultingType": Acts({"defaultingType": "List"}, ("defaultingType",), "System"),
    "VolumeBinding: bindTimeoutSeconds": Shown(VOLUMES),
    "VolumeBinding: shape[].utilization": Shown(CAPACITY),
    "VolumeBinding: shape[].score": Shown(CAPACITY),
}


def of_kind(kind: type) -> list[Any]:
    return [pytest.param(name.partition(":")[0], row, id=name) for name, row in ROWS.items() if isinstance(row, kind)]


ALL = [{"name": "*"}]


def listed(plugin: str) -> dict[str, Any]:
    """Return the lists of a profile that has a plugin: none for a default one; only one plugin sorts the queue."""
    if IN_TREE[plugin].is_default:
        return {}
    lists = {camel(point): {"enabled": [{"name": plugin}]} for point in IN_TREE[plugin].points}
    return {**lists, "queueSort": {**lists["queueSort"], "disabled": ALL}} if "queueSort" in lists else lists


def text_with(plugin: str, arguments: dict[str, Any]) -> str:
    profile = {"plugins": listed(plugin), "pluginConfig": [{"name": plugin, "args": arguments}]}
    text = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    return json.dumps(text)


def cluster_with(plugin: str, arguments: dict[str, Any]) -> Cluster:
    gates = feature_gates.FeatureGates(DEFAULT_GATES.on | {IN_TREE[plugin].gate})
    return Cluster(read_configuration(text_with(plugin, arguments), gates), feature_gates=gates)


def opinions(plugin: str, arguments: dict[str, Any], pod: str) -> dict[str, Any]:
    """Return what everybody says of every node; under the plugin's name, what it says."""
    cluster = cluster_with(plugin, arguments)
    cluster.add_all(decode.decode_yaml(WORLD))
    [asked] = [found for found in decode.decode_yaml(pod) if isinstance(found, Pod)]
    said: dict[str, Any] = {}
    for name, report in cluster.explain(asked).nodes.items():
        for rejection in report.rejections:
            said.setdefault(rejection.plugin, {})[name] = rejection.reasons
        for scorer, score in report.scores.items():
            said.setdefault(scorer, {})[name] = score.weighted
    return said


def with_value(arguments: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(arguments)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    found: dict[str, Any] = changed
    return found


def test_every_argument_has_a_row() -> None:
    assert ROWS.keys() == of_arguments()


@pytest.mark.parametrize("plugin", [cls.__name__ for cls in in_tree()])
def test_the_cluster_of_a_row_has_the_plugin(plugin: str) -> None:
    assert plugin in listed_by(cluster_with(plugin, {}).profiles["default-scheduler"])


@pytest.mark.parametrize(("plugin", "row"), of_kind(Acts))
def test_an_argument_acts(plugin: str, row: Acts) -> None:
    before = opinions(plugin, row.arguments, row.pod)
    after = opinions(plugin, with_value(row.arguments, row.path, row.value), row.pod)
    assert before.get(plugin) != after.get(plugin)


@pytest.mark.parametrize(("plugin", "row"), of_kind(Refused))
def test_an_argument_is_refused(plugin: str, row: Refused) -> None:
    with pytest.raises(ConfigError) as refused:
        cluster_with(plugin, row.arguments)
    assert row.message in str(refused.value)


@pytest.mark.parametrize(("plugin", "row"), of_kind(Shown))
def test_the_test_that_shows_an_argument_is_there(plugin: str, row: Shown) -> None:
    module, _, name = row.test.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_time_for_devices_to_get_ready_reaches_the_plugin() -> None:
    cluster = cluster_with("DynamicResources", {"bindingTimeout": "90s"})
    [plugin] = [one for one in cluster.profiles["default-scheduler"].pre_bind if one.name == "DynamicResources"]
    # That it waits so long is shown by test_binding_waits_for_devices, among the tests of the plugin.
    assert plugin._binding._timeout.seconds == 90  # type: ignore[attr-defined]


def test_label_keys_of_default_constraints_are_told_to_have_no_effect() -> None:
    told: list[str] = []
    arguments = with_value(SPREAD, (*CONSTRAINT, "matchLabelKeys"), ["version"])
    read_configuration(text_with("PodTopologySpread", arguments), reading=Reading(tell=told.append))
    assert told == [
        "profile 'default-scheduler': pluginConfig[0]: defaultConstraints[0].matchLabelKeys has no effect:"
        " default constraints count the pods of the service or the owner of a pod"
    ]


def test_the_shape_of_scores_of_storage_reaches_the_plugin_with_its_gate_only() -> None:
    arguments = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 80, "score": 10}]}
    text = text_with("VolumeBinding", arguments)
    gates = feature_gates.parse("StorageCapacityScoring=true")
    [plugin] = [
        one
        for one in Cluster(read_configuration(text, gates), feature_gates=gates).profiles["default-scheduler"].pre_bind
        if one.name == "VolumeBinding"
    ]
    curve: Any = plugin._curve  # type: ignore[attr-defined]
    assert curve.tolist() == curve_of((UtilizationShapePoint(0, 0), UtilizationShapePoint(80, 10))).tolist()
    with pytest.raises(ConfigError, match="shape: Invalid value"):
        read_configuration(text, feature_gates.parse("StorageCapacityScoring=false"))
