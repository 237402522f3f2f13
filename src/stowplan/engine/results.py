"""What an attempt ends in, as values: a node, or a refusal that says why."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.framework.verdict import Verdict
from stowplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Chosen:
    """A node was found. `total` is None where scores played no part: one feasible node, or a nominated one."""

    pod: Pod
    node_name: str
    row: int
    feasible_count: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """No node will do. `message` is upstream's sentence; `verdict` has every node's first reason."""

    pod: Pod
    message: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt could not be made or finished: no nodes at all, or a plugin that failed."""

    pod: Pod
    message: str
    plugin: str = ""


Result = Chosen | Refused | Failed
