"""Pods that hold their place while somebody decides: what Permit plugins ask for with `Wait`.

A plugin finds them by `handle.waiting_pods` and allows or rejects them under its own name. The engine waits for the
decision and says when a plugin's time is over; nothing here knows of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from stowplan.framework.verdict import Code, Rejection
from stowplan.model.duration import Duration
from stowplan.model.pod import Pod, pod_id

OnDecision = Callable[[Rejection | None], None]


class WaitingPod:
    """A pod that is held by one or more plugins; it goes on when all of them allow it, and fails at the first no."""

    def __init__(self, pod: Pod, node_name: str, timeouts: Mapping[str, float]) -> None:
        self.pod = pod
        self.node_name = node_name
        #: Plugins that still hold it, with the seconds that each gives it.
        self.held_by = dict(timeouts)
        self._decided: list[OnDecision] = []
        self.is_decided = False
        self._decision: Rejection | None = None

    def allow(self, plugin: str) -> None:
        """Let the pod go on as far as one plugin is concerned."""
        self.held_by.pop(plugin, None)
        if not self.held_by:
            self._decide(None)

    def reject(self, plugin: str, message: str) -> None:
        """Reject the pod in the name of a plugin."""
        self._decide(Rejection((message,), Code.UNSCHEDULABLE, plugin))

    def time_out(self, plugin: str) -> None:
        """Reject the pod because a plugin's time is over; nothing happens if that plugin has allowed it."""
        seconds = self.held_by.get(plugin)
        if seconds is not None:
            waited = Duration(round(seconds * 1_000_000_000))
            self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def preempt(self, plugin: str) -> bool:
        """Turn the pod back because its room is wanted; say whether it was still time."""
        return self.turn_back(plugin, "preempted")

    def turn_back(self, plugin: str, why: str) -> bool:
        """Have the pod tried again soon, though no plugin rejects it; say whether it was still time."""
        if self.is_decided:
            return False
        self._decide(Rejection((f"waiting on permit for pod: {why}",), Code.ERROR, plugin))
        return True

    def when_decided(self, decided: OnDecision) -> None:
        """Have a function called with the decision, at once if it has been made."""
        if self.is_decided:
            decided(self._decision)
        else:
            self._decided.append(decided)

    def _decide(self, decision: Rejection | None) -> None:
        if self.is_decided:
            return
        self.is_decided, self._decision = True, decision
        for decided in self._decided:
            decided(decision)


class WaitingPods:
    """All pods that are held at this moment."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, pod: Pod) -> WaitingPod | None:
        return self._pods.get(pod_id(pod))

    def add(self, waiting: WaitingPod) -> None:
        self._pods[pod_id(waiting.pod)] = waiting

    def remove(self, waiting: WaitingPod) -> None:
        if self._pods.get(pod_id(waiting.pod)) is waiting:
            del self._pods[pod_id(waiting.pod)]
