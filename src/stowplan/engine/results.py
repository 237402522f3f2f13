"""What an attempt ends in, as values: a node, or a refusal that says why."""

from __future__ import annotations

import msgspec

from stowplan.framework.verdict import Verdict
from stowplan.model.pod import Pod


class Chosen(msgspec.Struct, frozen=True):
    """A node was found. `total` is None where scores played no part: one feasible node, or a nominated one."""

    pod: Pod
    node_name: str
    row: int
    feasible_count: int
    total: int | None = None

    def __repr__(self) -> str:
        return f"Chosen(pod={self.pod.key!r}, node_name={self.node_name!r}, total={self.total})"


class Refused(msgspec.Struct, frozen=True):
    """No node will do. `message` is upstream's sentence; `verdict` has every node's first reason."""

    pod: Pod
    message: str
    verdict: Verdict

    @property
    def node_name(self) -> None:
        """There is none; asked for by those who only want to know where the pod goes."""
        return None

    def __repr__(self) -> str:
        return f"Refused(pod={self.pod.key!r}, message={self.message!r})"


class Failed(msgspec.Struct, frozen=True):
    """The attempt could not be made or finished: no nodes at all, or a plugin that failed."""

    pod: Pod
    message: str
    plugin: str = ""

    @property
    def node_name(self) -> None:
        """There is none."""
        return None

    def __repr__(self) -> str:
        return f"Failed(pod={self.pod.key!r}, message={self.message!r}, plugin={self.plugin!r})"


Result = Chosen | Refused | Failed
