"""Plugins that do as a scenario tells them, pod by pod: `does: {web: [refuse no disk, ok]}`.

What a pod has no (more) lines for is "ok". Lines: `ok`, `skip`, `junk`, `refuse TEXT`, `pending TEXT`, `error TEXT`,
`raise TEXT`, `exit NUMBER`, `wait SECONDS` (Permit), `hang SECONDS` (where it is awaited), `block SECONDS` (where it is
not).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from stowplan.framework.attempt import Attempt
from stowplan.framework.changes import NODE, POD, Action
from stowplan.framework.contract import (
    SKIP,
    Awaited,
    Bind,
    Filter,
    Nominated,
    Permit,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reject,
    Requeue,
    Reserve,
    Score,
    Wait,
    Withdrawn,
    reject,
)
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.simulate.virtual_time import VirtualTimeLoop
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

CODES = {"refuse": Code.UNSCHEDULABLE, "pending": Code.PENDING, "error": Code.ERROR}


class Scripted:
    """Follows its lines and writes down when it was called."""

    name: str

    def __init__(self, handle: Any, does: dict[str, list[str]] | None = None) -> None:
        self.handle = handle
        #: Shared by all plugins of a stage, so that there is one order.
        self.calls: list[str] = getattr(handle, "calls", [])
        self._lines = {name: list(lines) for name, lines in (does or {}).items()}

    def cue(self, pod_name: str, line: str) -> None:
        """Add a line for a pod."""
        self._lines.setdefault(pod_name, []).append(line)

    def forget_lines(self) -> None:
        self._lines.clear()

    def sign(self, pod: Pod) -> str:
        return pod.name

    def act(self, point: str, pod: Pod) -> Any:
        """Do what the next line for a pod says, and return the answer."""
        self.calls.append(f"{self.name}.{point} {pod.name}")
        lines = self._lines.get(pod.name, [])
        verb, _, text = (lines.pop(0) if lines else "ok").partition(" ")
        match verb:
            case "refuse" | "pending" | "error":
                return Rejection((text,), CODES[verb])
            case "raise":
                raise RuntimeError(text)
            case "exit":
                raise SystemExit(int(text))
            case "wait":
                return Wait(float(text))
            case "block":
                loop = asyncio.get_running_loop()
                assert isinstance(loop, VirtualTimeLoop)
                loop.jump(float(text))
        return {"ok": None, "block": None, "skip": SKIP, "junk": "junk"}[verb]

    async def act_slowly(self, point: str, pod: Pod) -> Any:
        """Do the same where it is awaited."""
        lines = self._lines.get(pod.name, [])
        if lines and lines[0].startswith("hang "):
            self.calls.append(f"{self.name}.{point} {pod.name}")
            await asyncio.sleep(float(lines.pop(0).removeprefix("hang ")))
            return None
        return self.act(point, pod)


class Gate(Scripted, PreEnqueue):
    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        answer: Rejection | None = self.act("pre_enqueue", pod)
        return answer


class Sorter(Scripted, QueueSort):
    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        self.act("sort_key", pod)
        return queued_at


class PreFilterer(Scripted, PreFilter):
    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        return self.act("pre_filter", pod)


class Filterer(Scripted, Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        answer = self.act("filter", pod)
        if answer is not None:
            yield reject(np.ones(len(nodes) + 1, dtype=bool), "too many rows")


class Ready(Filter):
    """Awaits everything, because it does not say what it awaits."""

    columns: ClassVar = {"ready": lambda node: int(node.metadata.annotations.get("ready", "0"))}

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(nodes.column("ready") == 0, "node(s) were not ready")


class PostFilterer(Scripted, PostFilter):
    """Names the node of the pod's annotation `room`, whatever is there."""

    def post_filter(self, pod: Pod, attempt: Attempt) -> Nominated | Withdrawn | Rejection:
        answer = self.act("post_filter", pod)
        room = pod.metadata.annotations.get("room", "")
        if answer is None and room:
            return Nominated(room)
        return answer if answer is not None else Withdrawn(Rejection(("no room",)))


class PreScorer(Scripted, PreScore):
    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        return self.act("pre_score", pod)


class Scorer(Scripted, Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        answer: Any = self.act("score", pod)
        scores: Scores = np.zeros(len(nodes), dtype=np.int64)
        return scores if answer is None else answer


class Reserver(Scripted, Reserve):
    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        answer: Rejection | None = self.act("reserve", pod)
        return answer

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.calls.append(f"{self.name}.unreserve {pod.name}")


class OtherReserver(Reserver):
    pass


class ClumsyReserver(Reserver):
    def unreserve(self, pod: Pod, node_name: str) -> None:
        super().unreserve(pod, node_name)
        raise RuntimeError("nothing to give back")


class EagerPermitter(Scripted, Permit):
    """Awaits everything, because it does not say what it awaits."""

    def permit(self, pod: Pod, node_name: str) -> Rejection | Wait | None:
        answer: Rejection | Wait | None = self.act("permit", pod)
        return answer

    def allow(self, pod: Pod) -> None:
        self._waiting(pod).allow(self.name)

    def deny(self, pod: Pod) -> None:
        self._waiting(pod).reject(self.name, "changed its mind")

    def _waiting(self, pod: Pod) -> Any:
        waiting = self.handle.waiting_pods.get(pod)
        assert waiting is not None, f"{pod.key} does not wait"
        return waiting


class Permitter(EagerPermitter, Requeue):
    """Awaits nothing."""

    def events(self) -> tuple[()]:
        return ()


class OtherPermitter(Permitter):
    pass


class PickyPermitter(EagerPermitter, Requeue):
    """Awaits nodes, and other labels on pods."""

    def events(self) -> tuple[Awaited, ...]:
        return Awaited(NODE, Action.ADD), Awaited(POD, Action.UPDATE_POD_LABEL)


class PreBinder(Scripted, PreBind):
    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Any:
        return SKIP if "idle" in pod.labels else None

    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        answer: Rejection | None = await self.act_slowly("pre_bind", pod)
        return answer


class StubbornPreBinder(Scripted, PreBind):
    """Does not let itself be cancelled."""

    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        try:
            await self.act_slowly("pre_bind", pod)
        except asyncio.CancelledError:
            self.calls.append(f"{self.name}.cancelled {pod.name}")
        return None


class PreFlighter(Scripted, PreBind):
    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Any:
        return self.act("pre_bind_pre_flight", pod)

    async def pre_bind(self, pod: Pod, node_name: str) -> Rejection | None:
        self.calls.append(f"{self.name}.pre_bind {pod.name}")
        return None


class Binder(Scripted, Bind):
    async def bind(self, pod: Pod, node_name: str) -> Any:
        return await self.act_slowly("bind", pod)


class PostBinder(Scripted, PostBind):
    async def post_bind(self, pod: Pod, node_name: str) -> None:
        await self.act_slowly("post_bind", pod)
