"""A burst of pods that fills its nodes to the last millicore, among pods that fit nowhere.

It is exact so that nothing can hide: room that leaks leaves a pod without a node, room given twice overcommits one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.e2e.api import Api, Object
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.limits import LIMIT_SECONDS

NODES = tuple(f"node-{number:02}" for number in range(20))
#: Eight on each node of four processors.
FITTING = tuple(f"fits-{number:03}" for number in range(160))
REQUEST = {"cpu": "500m"}
TOO_BIG = tuple(f"too-big-{number}" for number in range(8))
ELSEWHERE = tuple(f"elsewhere-{number}" for number in range(8))
#: What is true of each pod that fits nowhere, whatever else happens.
REASONS: Mapping[str, str] = {
    **dict.fromkeys(TOO_BIG, "0/20 nodes are available: 20 Insufficient cpu. "),
    **dict.fromkeys(ELSEWHERE, "0/20 nodes are available: 20 node(s) didn't match Pod's node affinity/selector. "),
}
#: Slow enough for a fault to fall into the burst: about five seconds for all bindings.
CONFIGURATION: Mapping[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 30, "burst": 20},
    "podMaxBackoffSeconds": 1,
}

_POLL_SECONDS = 0.1


class Burst:
    """The pods of one burst, in a namespace of their own."""

    def __init__(self, api: Api, kubelets: Kubelets, namespace: str) -> None:
        self._api = api
        self.namespace = namespace
        kubelets.register(node(name) for name in NODES)

    def create(self, names: Sequence[str] = FITTING) -> None:
        """Ask for pods that fit, those that do not spread among them."""
        refused = [*TOO_BIG, *ELSEWHERE]
        spread = len(names) // len(refused)
        pods = []
        for number, name in enumerate(names):
            pods.append(pod(self.namespace, name, REQUEST))
            if number % spread == 0 and refused:
                pods.append(_misfit(self.namespace, refused.pop()))
        self._api.create_all(pods)

    def add(self, names: Iterable[str]) -> None:
        """Ask for more pods that fit."""
        self._api.create_all(pod(self.namespace, name, REQUEST) for name in names)

    def remove(self, names: Iterable[str]) -> None:
        """Delete pods, and do not wait for their kubelets."""
        paths = [f"/api/v1/namespaces/{self.namespace}/pods/{name}" for name in names]
        self._api.all(self._api.call("DELETE", path, query={"gracePeriodSeconds": "0"}) for path in paths)

    def pods(self) -> list[Object]:
        return self._api.items(f"/api/v1/namespaces/{self.namespace}/pods")

    def wait_for_bound(self, count: int) -> None:
        """Wait until that many are bound, and make sure that the burst is not over by then."""
        found = self._wait(lambda pods: sum(map(is_bound, pods)) >= count, "a part of the pods is bound")
        assert sum(map(is_bound, found)) < len(FITTING), "the burst was over before the fault; lower its qps"

    def wait_until_over(self) -> list[Object]:
        """Wait until each pod that fits is bound and each other is told why not, and return them."""
        return self._wait(lambda pods: not _unsettled(pods), "every pod is bound, or refused with a reason")

    def _wait(self, is_met: Callable[[list[Object]], bool], what: str, seconds: float = LIMIT_SECONDS) -> list[Object]:
        deadline = time.monotonic() + seconds
        while not is_met(found := self.pods()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {seconds:.0f} s it is not so that {what}; unsettled: {_unsettled(found)}")
            time.sleep(_POLL_SECONDS)
        return found


def is_bound(item: Object) -> bool:
    return bool(item["spec"].get("nodeName"))


def refusal_of(item: Object) -> tuple[str, str]:
    """Return the reason and the message that a pod without a node was given, empty if none was."""
    for condition in item["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition["reason"], condition["message"]
    return "", ""


def _unsettled(pods: list[Object]) -> dict[str, tuple[str, str]]:
    """Return what is known of pods that wait without a reason, or though they fit."""
    waiting = {item["metadata"]["name"]: refusal_of(item) for item in pods if not is_bound(item)}
    return {name: said for name, said in waiting.items() if name not in REASONS or said == ("", "")}


def _misfit(namespace: str, name: str) -> Object:
    if name in TOO_BIG:
        return pod(namespace, name, {"cpu": "9"})
    return pod(namespace, name, REQUEST, nodeSelector={"disk": "tape"})
