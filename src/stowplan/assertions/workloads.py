"""The pods of a file that is asked about, made as an API server and its controllers would in the cluster at hand.

What decides how a pod comes out (its namespace, priority class, limit ranges, service account) is taken from the
cluster; each file is made once for all that is asked about it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import SourceError
from stowplan.app.what_if import ClusterWorld
from stowplan.model import decode
from stowplan.model.dra import ResourceClaimTemplate
from stowplan.model.kinds import Namespace, PriorityClass
from stowplan.model.pod import Pod
from stowplan.whatif.daemons import for_every_node
from stowplan.whatif.world import QuestionError

#: What a cluster knows of what decides how a pod comes out; one that was read from files knows more.
_KNOWN = (Namespace, PriorityClass, ResourceClaimTemplate)


class WorkloadPods:
    """Makes the pods of files; the same pods each time it is asked for the same."""

    def __init__(self, cluster: Cluster, context: Sequence[Mapping[str, Any]] | None = None) -> None:
        self._cluster = cluster
        self._context = context
        self._made: dict[tuple[str, int | None], tuple[list[Pod], list[Any]]] = {}

    def suppose(self, world: ClusterWorld, path: str, replicas: int | None) -> list[Pod]:
        """Have what comes with the pods of a file be in a world; return the pods, of a DaemonSet one for every node."""
        pods, others = self._make(path, replicas)
        world.add_all(others)
        from stowplan.local.question_files import is_for_every_node

        return [each for pod in pods for each in (for_every_node(world, pod) if is_for_every_node(pod) else [pod])]

    def _make(self, path: str, replicas: int | None) -> tuple[list[Pod], list[Any]]:
        """Return the pods of a file, and what else comes with them: claims, or whatever is written beside them."""
        if (path, replicas) not in self._made:
            self._made[path, replicas] = self._read(path, replicas)
        return self._made[path, replicas]

    def _read(self, path: str, replicas: int | None) -> tuple[list[Pod], list[Any]]:
        if replicas is not None and replicas < 1:
            raise QuestionError(f"{path}: replicas: Invalid value: {replicas!r}: write a number, 1 or more")
        if importlib.util.find_spec("stowplan.local") is None:
            problem = "reading it as an API server would needs the embedded API server, which is left out here"
            raise QuestionError(f"{path}: {problem}; install all of it: pip install stowplan")
        from stowplan.local.question_files import make_pods

        try:
            return make_pods(self._contents(), path, replicas, self._cluster.feature_gates)
        except SourceError as error:
            raise QuestionError(str(error)) from None

    def _contents(self) -> Sequence[Mapping[str, Any]]:
        if self._context is None:
            known = self._cluster.cache.objects
            self._context = [decode.to_builtins(one) for kind in _KNOWN for one in known.list(kind)]
        return self._context
