"""Pods that hold their place while somebody decides: what Permit plugins ask for with `Wait`.

A plugin finds them by `handle.waiting_pods` and allows or rejects them under its own name. The engine waits for the
decision and for the first time-out; nothing here knows of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod

Decided = Callable[[Rejection | None], None]


class WaitingPod:
    """A pod that is held by one or more plugins; it goes on when all of them allow it, and fails at the first no."""

    def __init__(self, pod: Pod, node_name: str, timeouts: Mapping[str, float]) -> None:
        self.pod = pod
        self.node_name = node_name
        #: Plugins that still hold it, with the seconds that each gives it.
        self.held_by = dict(timeouts)
        self._decided: list[Decided] = []
        self._is_decided = False
        self._decision: Rejection | None = None

    @property
    def is_decided(self) -> bool:
        return self._is_decided

    def allow(self, plugin: str) -> None:
        """Let the pod go on as far as one plugin is concerned."""
        self.held_by.pop(plugin, None)
        if not self.held_by:
            self._decide(None)

    def reject(self, plugin: str, message: str) -> None:
        """Refuse the pod in the name of a plugin."""
        self._decide(Rejection((message,), Code.UNSCHEDULABLE, plugin))

    def when_decided(self, decided: Decided) -> None:
        """Have a function called with the decision, at once if it has been made."""
        if self._is_decided:
            decided(self._decision)
        else:
            self._decided.append(decided)

    def _decide(self, decision: Rejection | None) -> None:
        if self._is_decided:
            return
        self._is_decided, self._decision = True, decision
        for decided in self._decided:
            decided(decision)


class WaitingPods:
    """All pods that are held at this moment, by uid."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def add(self, waiting: WaitingPod) -> None:
        self._pods[waiting.pod.uid] = waiting

    def remove(self, waiting: WaitingPod) -> None:
        self._pods.pop(waiting.pod.uid, None)
