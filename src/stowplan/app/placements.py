"""What came of several pods: the result of each in the order in which they were given, and what they have in common.

`app/schedule_all.py` makes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, assert_never, overload

import numpy as np

from stowplan.app.frames import Frame, text_column
from stowplan.engine.failure import Chosen, Failed, Refused, Result
from stowplan.framework import html_text
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Gated:
    """The pod may not be tried yet; `rejection` says who holds it back."""

    pod: Pod
    rejection: Rejection

    @property
    def message(self) -> str:
        return ", ".join(self.rejection.reasons)

    @property
    def node_name(self) -> None:
        return None

    def __repr__(self) -> str:
        return f"Gated(pod={self.pod.key!r}, message={self.message!r})"

    def _repr_html_(self) -> str:
        return html_text.line(f"Pod {self.pod.key} is held back by {self.rejection.plugin}: {self.message}")


T = TypeVar("T", bound=Result | Gated)


class Placements(Sequence[Result | Gated]):
    """The results of several pods, in the order in which the pods were given."""

    def __init__(self, results: Iterable[Result | Gated]) -> None:
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> Result | Gated: ...

    @overload
    def __getitem__(self, index: slice) -> Placements: ...

    def __getitem__(self, index: int | slice) -> Result | Gated | Placements:
        return Placements(self._results[index]) if isinstance(index, slice) else self._results[index]

    def __repr__(self) -> str:
        return f"Placements({self._summary()})"

    @property
    def placed(self) -> list[Chosen]:
        """Those that have a node now."""
        return self._of(Chosen)

    @property
    def refused(self) -> list[Refused]:
        """Those that no node will do for."""
        return self._of(Refused)

    @property
    def failed(self) -> list[Failed]:
        """Those of which nothing could be decided."""
        return self._of(Failed)

    @property
    def held(self) -> list[Gated]:
        """Those that may not be tried yet."""
        return self._of(Gated)

    def _of(self, kind: type[T]) -> list[T]:
        return [one for one in self._results if isinstance(one, kind)]

    def by_node(self) -> dict[str, list[Pod]]:
        """Return the pods that were placed by their node; nodes that got none are not there."""
        found: dict[str, list[Pod]] = {}
        for chosen in self.placed:
            found.setdefault(chosen.node_name, []).append(chosen.pod)
        return found

    def to_frame(self) -> Frame:
        """Return a row for every pod; what is not known of it is not a number, or empty."""
        return Frame(
            {
                "namespace": text_column([one.pod.namespace for one in self]),
                "name": text_column([one.pod.name for one in self]),
                "result": text_column([_word(one) for one in self]),
                "node": text_column([one.node_name or "" for one in self]),
                "feasible_nodes": np.array([_feasible(one) for one in self], dtype=np.float64),
                "score": np.array([_score(one) for one in self], dtype=np.float64),
                "plugins": text_column([_plugins(one) for one in self]),
                "message": text_column([_message(one) for one in self]),
            }
        )

    def _summary(self) -> str:
        counts = [
            f"{len(some)} {word}"
            for word, some in (
                ("refused", self.refused),
                ("failed", self.failed),
                ("held back", self.held),
            )
            if some
        ]
        return ", ".join((f"{len(self.placed)} of {len(self)} pods placed", *counts))

    def _repr_html_(self) -> str:
        rows = ((one.pod.key, _word(one), one.node_name, _message(one)) for one in self)
        table = html_text.table(("pod", "result", "node", "message"), rows, len(self))
        return html_text.line(self._summary()) + table


def _word(result: Result | Gated) -> str:
    match result:
        case Chosen():
            return "placed"
        case Refused():
            return "refused"
        case Failed():
            return "failed"
        case Gated():
            return "held"
    assert_never(result)


def _feasible(result: Result | Gated) -> float:
    match result:
        case Chosen():
            # Of a pod that is placed with its group it is not told.
            return result.feasible_count or math.nan
        case Refused():
            return 0
        case _:
            return math.nan


def _score(result: Result | Gated) -> float:
    return result.total if isinstance(result, Chosen) and result.total is not None else math.nan


def _plugins(result: Result | Gated) -> str:
    match result:
        case Refused():
            return ", ".join(sorted(result.verdict.unschedulable_plugins()))
        case Failed():
            return result.plugin
        case Gated():
            return result.rejection.plugin
        case _:
            return ""


def _message(result: Result | Gated) -> str:
    return "" if isinstance(result, Chosen) else result.message
