"""A hypothetical row is told what that row would be told in a cluster that was changed for real.

Upstream itself breaks this rule in two places, and so do we: a port is free once one of its holders is gone, and spread
constraints count pods that are supposed to come or go even if they are terminating or the selector is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.app.cluster import Cluster
from stowplan.framework.contract import Filter
from stowplan.framework.verdict import Rejection
from stowplan.model.meta import LabelSelector
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from tests.examples import examples
from tests.properties import strategies, world
from tests.properties.strategies import named

# By row: the pods that are supposed to come, and of those there, how many are supposed to go.
Supposition = tuple[list[Pod], int]
suppositions = st.lists(st.tuples(st.lists(strategies.pods, max_size=2), st.integers(0, 2)), min_size=1, max_size=4)


@settings(max_examples=examples(300))
@given(world.settings, strategies.pods, suppositions)
def test_a_supposed_row_is_told_what_the_changed_row_is_told(
    setting: world.Setting, template: Pod, supposed: list[Supposition]
) -> None:
    cluster, pod = setting.build(), named(template, "asked")
    profile, table = cluster.profile_of(pod), cluster.cache.table
    supposed = supposed[: len(table)]
    come = [
        [named(one, f"new-{row}-{number}") for number, one in enumerate(added)]
        for row, (added, _) in enumerate(supposed)
    ]
    gone = [cluster.pods_on(table.names()[row])[:count] for row, (_, count) in enumerate(supposed)]
    shapes = [[[Nodes(table).shape_of(one) for one in pods] for pods in changed] for changed in (come, gone)]
    states = world.filter_states(profile, pod, Nodes(table))
    plugins = [plugin for plugin in profile.filter if plugin.name in states]
    rows = np.arange(len(supposed))
    nodes = Nodes(table).suppose(rows, shapes[0], shapes[1])
    told = {plugin.name: world.words(plugin, pod, nodes, states[plugin.name]) for plugin in plugins}
    for plugin in plugins:
        if not plugin.looks_at_pods:
            as_is = world.words(plugin, pod, Nodes(table).take(rows), states[plugin.name])
            assert told[plugin.name] == as_is, f"{plugin.name} looks at pods"
    for row in rows.tolist():
        with really_changed(cluster, table.names()[row], come[row], gone[row]):
            for plugin in plugins:
                if is_like_upstream(plugin, pod, come[row], gone[row]):
                    assert told[plugin.name][row] == really_told(cluster, plugin.name, pod, row), plugin.name


@contextmanager
def really_changed(cluster: Cluster, node_name: str, come: list[Pod], gone: list[Pod]) -> Iterator[None]:
    """Take away and place pods, for a while."""
    for pod in gone:
        cluster.remove(pod)
    for pod in come:
        cluster.cache.assume(pod, node_name)
    yield
    for pod in come:
        cluster.cache.forget(pod)
    for pod in gone:
        cluster.add(pod)


def really_told(cluster: Cluster, plugin_name: str, pod: Pod, row: int) -> Rejection | None:
    """Return what a plugin says about a row of a cluster as it is."""
    profile, nodes = cluster.profile_of(pod), Nodes(cluster.cache.table)
    states = world.filter_states(profile, pod, nodes)
    plugin: Filter = next(plugin for plugin in profile.filter if plugin.name == plugin_name)
    return world.words(plugin, pod, nodes, states[plugin_name])[row] if plugin_name in states else None


def is_like_upstream(plugin: Filter, pod: Pod, come: list[Pod], gone: list[Pod]) -> bool:
    """Say whether the rule holds for a plugin: see the exceptions above."""
    if plugin.name == "NodePorts":
        return not any(holds_ports(one) for one in gone)
    if plugin.name == "PodTopologySpread":
        selects_all = any(constraint.label_selector == LabelSelector() for constraint in constraints(pod))
        return not selects_all and not any(one.is_terminating for one in come + gone)
    return True


def holds_ports(pod: Pod) -> bool:
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return any(port.host_port for container in containers for port in container.ports)


def constraints(pod: Pod) -> Any:
    return pod.spec.topology_spread_constraints
