"""Nodes and pods that are nothing but amounts, among enough others that plugins answer with arrays and by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from stowplan.framework.contract import Filter, PreFilter
from stowplan.framework.kept.asking import ask_filter
from stowplan.framework.kept.incremental import FEW_ROWS
from stowplan.framework.verdict import Code, Rejection, Vocabulary
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

GPU = "example.com/gpu"

Said = tuple[str, ...]


def node_of(name: str = "node", **allocatable: str) -> Node:
    """Make a node that takes 110 pods and has these amounts; `gpu` and underscores stand for the longer names."""
    return make_node(name, status={"allocatable": {"pods": "110"} | _named(allocatable)})


def pod_of(**requests: str) -> Pod:
    """Make a pod of one container with these requests."""
    return make_pod(containers=[{"name": "main", "resources": {"requests": _named(requests)}}])


def _named(amounts: dict[str, str]) -> dict[str, str]:
    return {GPU if name == "gpu" else name.replace("_", "-"): amount for name, amount in amounts.items()}


class ResourceCluster(SmallCluster):
    """The nodes given, then others that nobody asks about."""

    def __init__(self, *nodes: Node) -> None:
        super().__init__(*nodes, *(make_node(f"other-{number}") for number in range(FEW_ROWS)))
        self._asked = [node.name for node in nodes]

    def said(self, plugin: Any, pod: Pod, supposed: Nodes | None = None) -> dict[str, Said]:
        """Return, by node, the reasons in order, after the word `unresolvable` if so; nothing for nodes that fit."""
        state = plugin.pre_filter(pod, self.nodes)
        if supposed is not None:
            return self._words(plugin, pod, supposed, state)
        together = self._words(plugin, pod, self.nodes, state)
        alone: dict[str, Said] = {}
        for row in range(len(self.table)):
            alone |= self._words(plugin, pod, self.nodes.take(np.array([row])), state)
        assert alone == together
        return {name: said for name, said in together.items() if name in self._asked}

    def score_of(self, plugin: Any, pod: Pod) -> int:
        """Return the score of the first node."""
        return self.scores(plugin, pod)[self._asked[0]]

    def _words(self, plugin: Any, pod: Pod, nodes: Nodes, state: Any) -> dict[str, Said]:
        assert isinstance(plugin, Filter)
        assert isinstance(plugin, PreFilter)
        vocabulary = Vocabulary()
        words = ask_filter(plugin, pod, nodes, state, vocabulary)
        if words is None:
            return {}
        numbered = zip(nodes.all_rows.tolist(), words.tolist(), strict=True)
        return {self.table.nodes[row].name: _told(vocabulary[word]) for row, word in numbered if word}


def _told(rejection: Rejection) -> Said:
    return ("unresolvable", *rejection.reasons) if rejection.code is Code.UNRESOLVABLE else rejection.reasons
