"""Plugins that are not built yet: their recorded words stand in for them, and their part is taken out of the rest.

`stowplan.plugins.NOT_BUILT` is the one list; once it is empty, nothing in here has an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.framework.contract import Filter, Reject, reject
from stowplan.framework.profile import Profile
from stowplan.framework.registry import Registry
from stowplan.framework.verdict import Code
from stowplan.model.pod import Pod
from stowplan.plugins import NOT_BUILT, in_tree
from stowplan.table.nodes import Nodes

Expected = dict[str, Any]


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
    cluster.registry = Registry(in_tree(), NOT_BUILT)
    cluster.use(cluster.config, cluster.build(cluster.config))


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
