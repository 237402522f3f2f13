"""Plugins that are not built yet: their recorded words stand in for them, and their part is taken out of the rest.

`stowplan.plugins.NOT_BUILT` is the one list; once it is empty, nothing in here has an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.config.points import IN_TREE
from stowplan.framework.contract import Attempt, Filter, PostFilter, Reject, reject
from stowplan.framework.profile import Profile
from stowplan.framework.registry import Registry
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.plugins import NOT_BUILT, in_tree
from stowplan.table.nodes import Nodes

Expected = dict[str, Any]

DYNAMIC_RESOURCES = "DynamicResources"
# In PreFilter they come after it, so that it was prepared if they refuse a pod.
AFTER_DYNAMIC_RESOURCES = ("NodeDeclaredFeatures",)


class Recorded(Filter):
    """Refuses the nodes that the plugin it stands for is known to have refused, in its words."""

    def __init__(self, plugin: str, refused: dict[str, dict[str, Any]]) -> None:
        self.name = plugin
        self._refused = refused

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        for node_name, said in self._refused.items():
            mask = nodes.with_names(frozenset((node_name,)))
            for reason in said["reasons"]:
                yield reject(mask, reason, unresolvable=said["code"] == Code.UNRESOLVABLE.value)


def leave_out_missing(cluster: Cluster) -> None:
    """Have a cluster schedule with the plugins that are built, and nothing in the place of the others."""
    cluster.registry = Registry(in_tree(), {name: IN_TREE[name] for name in NOT_BUILT})
    cluster.use(cluster.config, cluster.build_profiles(cluster.config))


def with_recorded(profile: Profile, order: list[str], expect: Expected) -> Profile:
    """Put stand-ins at their places in the order of the filters."""
    refused: dict[str, dict[str, dict[str, Any]]] = {}
    for node_name, said in expect["filter"].items():
        if said["plugin"] in NOT_BUILT:
            refused.setdefault(said["plugin"], {})[node_name] = said
    if not refused:
        return profile
    filters: dict[str, Filter] = {plugin.name: plugin for plugin in profile.filter}
    filters |= {name: Recorded(name, said) for name, said in refused.items()}
    return replace(profile, filter=tuple(filters[name] for name in order if name in filters))


class RecordedDynamicResources(PostFilter):
    """Says what DynamicResources says of a pod without claims: nothing to give up, or that it was never prepared."""

    def __init__(self) -> None:
        self.name = DYNAMIC_RESOURCES

    def post_filter(self, pod: Pod, attempt: Attempt) -> Rejection:
        refused = attempt.verdict.pre_filter
        if refused is not None and refused.plugin not in AFTER_DYNAMIC_RESOURCES:
            return Rejection(("not found",), Code.ERROR)
        return Rejection(("no new claims to deallocate",))


def with_post_filter(profile: Profile, order: list[str]) -> Profile:
    """Put a stand-in for DynamicResources, while it is missing, at its place among the PostFilter plugins."""
    plugins: dict[str, PostFilter] = {plugin.name: plugin for plugin in profile.post_filter}
    if DYNAMIC_RESOURCES in NOT_BUILT:
        plugins[DYNAMIC_RESOURCES] = RecordedDynamicResources()
    return replace(profile, post_filter=tuple(plugins[name] for name in order if name in plugins))


def decided_early(expect: Expected) -> str:
    """Name the missing plugin that ended the attempt before any node was looked at, so that nothing can be compared."""
    for point in ("enqueue", "prefilter"):
        refusal = expect.get(point)
        if refusal is not None and refusal["plugin"] in NOT_BUILT:
            return str(refusal["plugin"])
    return ""


def spoke(expect: Expected) -> frozenset[str]:
    """Name the missing plugins that refused the pod or a node, gave a node points, or had a say in making room."""
    said = [expect[point]["plugin"] for point in ("enqueue", "prefilter", "status") if expect.get(point)]
    said += [refusal["plugin"] for refusal in expect["filter"].values()]
    for scores in (expect.get("scores") or {}).values():
        said += [plugin for plugin, score in scores.items() if score["weighted"]]
    return frozenset(said) & frozenset(NOT_BUILT)


def without_missing(expect: Expected) -> Expected:
    """Return the expectation without the part of plugins that are not built."""
    kept = dict(expect)
    for field in ("filterSkipped", "scoreSkipped"):
        if expect[field] is not None:
            kept[field] = [plugin for plugin in expect[field] if plugin not in NOT_BUILT]
    if expect["scores"] is not None:
        kept["scores"] = {
            node: {plugin: score for plugin, score in scores.items() if plugin not in NOT_BUILT}
            for node, scores in expect["scores"].items()
        }
        kept["totals"] = {node: total - _missing_part(expect, node) for node, total in expect["totals"].items()}
    return kept


def decides_best(expect: Expected) -> bool:
    """Say whether missing plugins gave some nodes more points than others, so that the best cannot be compared."""
    return len({_missing_part(expect, node) for node in expect["scores"] or ()}) > 1


def _missing_part(expect: Expected, node: str) -> int:
    return sum(score["weighted"] for plugin, score in expect["scores"][node].items() if plugin in NOT_BUILT)


def hands_over(case: dict[str, Any]) -> str:
    """Name DynamicResources if the pod requests an extended resource that a DeviceClass serves.

    NodeResourcesFit then leaves nodes without that resource to DynamicResources. As long as nobody allocates devices,
    leaving them to nobody would place the pod where there are none, so that half of the rule is missing with it.
    """
    if "DynamicResources" not in NOT_BUILT:
        return ""
    classes = [found for found in case["objects"] if found["kind"] == "DeviceClass"]
    served = {found["spec"].get("extendedResourceName") for found in classes}
    served |= {f"deviceclass.resource.kubernetes.io/{found['metadata']['name']}" for found in classes}
    spec = case["pod"]["spec"]
    containers = spec["containers"] + spec.get("initContainers", [])
    requested = {name for container in containers for name in container.get("resources", {}).get("requests", {})}
    return "DynamicResources" if requested & served else ""
