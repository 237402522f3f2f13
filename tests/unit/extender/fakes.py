"""Stand-ins: a way to an extender that answers from a list, and an extender that answers what it was told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from stowplan.extender.transport import HttpTransport
from stowplan.framework.contract import Preemption
from stowplan.framework.extender import Filtered, NodesByName, PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.testing import make_node

T = TypeVar("T")


def nodes(*names: str) -> dict[str, Node]:
    return {name: make_node(name).build() for name in names}


class FakeTransport(HttpTransport):
    """Replies with one body, and keeps what it was asked."""

    def __init__(self, reply: str) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.is_closed = False
        self._reply = reply

    async def post(self, verb: str, body: bytes) -> bytes:
        self.asked.append((verb, msgspec.json.decode(body)))
        return self._reply.encode()

    async def retire(self) -> None:
        self.is_closed = True

    async def close(self) -> None:
        self.is_closed = True


@dataclass
class FakeExtender:
    """Answers each verb for which it has an answer; an answer that is an error is raised."""

    name: str = "http://fake"
    is_ignorable: bool = False
    weight: int = 1
    filtered: Filtered | ExtenderError | None = None
    scores: Mapping[str, int] | ExtenderError | None = None
    bound: bool | ExtenderError = False
    agreed: list[Preemption] | ExtenderError | None = None
    wants: bool = True
    asked: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def is_filter(self) -> bool:
        return self.filtered is not None

    @property
    def is_prioritizer(self) -> bool:
        return self.scores is not None

    @property
    def is_binder(self) -> bool:
        return bool(self.bound)

    @property
    def is_preemptor(self) -> bool:
        return self.agreed is not None

    def is_interested(self, pod: Pod) -> bool:
        return self.wants

    async def filter(self, pod: Pod, nodes: NodesByName) -> Filtered:
        self.asked.append(("filter", *nodes))
        assert self.filtered is not None
        return _answer(self.filtered)

    async def prioritize(self, pod: Pod, nodes: NodesByName) -> Mapping[str, int]:
        self.asked.append(("prioritize", *nodes))
        assert self.scores is not None
        return _answer(self.scores)

    async def bind(self, pod: Pod, node_name: str) -> None:
        self.asked.append(("bind", node_name))
        _answer(self.bound)

    async def preempt(self, pod: Pod, candidates: Sequence[Preemption], pods_on: PodsOn) -> list[Preemption]:
        self.asked.append(("preempt", *(candidate.node_name for candidate in candidates)))
        assert self.agreed is not None
        return _answer(self.agreed)

    async def retire(self) -> None:
        self.asked.append(("retire",))

    async def close(self) -> None:
        self.asked.append(("close",))


def _answer(told: T | ExtenderError) -> T:
    if isinstance(told, ExtenderError):
        raise told
    return told
