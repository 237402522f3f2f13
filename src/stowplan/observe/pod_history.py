"""A pod's way through the queue as text: where it waits, what will wake it, and what became of each attempt."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stowplan.model.timestamps import format_micro_time
from stowplan.observe.explanation import columns
from stowplan.observe.queue_state import Waiting
from stowplan.observe.timeline import Try

SECOND_NS: Final = 1_000_000_000


class PodHistory(msgspec.Struct, frozen=True):
    """What is known of a pod beside the opinions about it."""

    #: The node it is on; "" if it is on none.
    node_name: str
    waiting: Waiting | None
    tries: tuple[Try, ...]
    now_ns: int

    def data(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "node": self.node_name or None,
            "queue": waiting_data(self.waiting) if self.waiting is not None else None,
            "attempts": [_try_data(one) for one in self.tries],
        }


def render_history(history: PodHistory, width: int) -> str:
    """Write a history for a terminal."""
    sections = (_place(history, width), _waking(history, width), _attempts(history, width))
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def waiting_data(waiting: Waiting) -> dict[str, Any]:
    """Return a waiting pod for programs, its times as the API writes them."""
    data: dict[str, Any] = msgspec.to_builtins(waiting)
    since, at = data.pop("sinceNs"), data.pop("nextTryAtNs")
    return {**data, "since": timestamp(since), "nextTryAt": timestamp(at) if at is not None else None}


def timestamp(time_ns: int) -> str:
    """Write a time as the API does."""
    return format_micro_time(_moment(time_ns))


def span(seconds: float) -> str:
    """Write a length of time in the one or two units that matter: `2 ms`, `45 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.3g} ms"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _place(history: PodHistory, width: int) -> list[str]:
    waiting = history.waiting
    if waiting is None:
        return []
    since = f"{_clock(waiting.since_ns)}, {span((history.now_ns - waiting.since_ns) / SECOND_NS)} ago"
    attempts = "attempt" if waiting.attempts == 1 else "attempts"
    by = f"; rejected by {', '.join(waiting.rejected_by)}" if waiting.rejected_by else ""
    rows: list[tuple[object, ...]] = [
        ("place", f"{waiting.place} since {since}, after {waiting.attempts} {attempts}{by}"),
        ("next try", f"{waiting.next_try}{_latest(history, waiting)}"),
    ]
    if waiting.nominated_node:
        rows.append(("nominated", f"{waiting.nominated_node} keeps room for it"))
    return ["In the queue", *columns(rows, width)]


def _latest(history: PodHistory, waiting: Waiting) -> str:
    if waiting.next_try_at_ns is None:
        return ""
    left = max(0, waiting.next_try_at_ns - history.now_ns) / SECOND_NS
    return f", at the latest at {_clock(waiting.next_try_at_ns)}, in {span(left)}"


def _waking(history: PodHistory, width: int) -> list[str]:
    woken_by = history.waiting.woken_by if history.waiting is not None else {}
    if not woken_by:
        return []
    rows = [(plugin, "; ".join(awaited)) for plugin, awaited in woken_by.items()]
    return ["What may bring it back", *columns(rows, width)]


def _attempts(history: PodHistory, width: int) -> list[str]:
    if not history.tries:
        return []
    rows: list[Sequence[object]] = [("at", "took", "outcome")]
    rows += [(_clock(one.started_at_ns or one.ended_at_ns), _took(one), _outcome(one)) for one in history.tries]
    return ["Attempts", *columns(rows, width)]


def _took(one: Try) -> str:
    return span((one.ended_at_ns - one.started_at_ns) / SECOND_NS) if one.started_at_ns else ""


def _outcome(one: Try) -> str:
    heard = "".join(f"; extender {said.extender}: {said.verb}: {said.said}" for said in one.extenders)
    return f"{_what_came_of(one)}{heard}"


def _what_came_of(one: Try) -> str:
    match one.outcome:
        case "bound":
            return f"bound to {one.node_name}"
        case "dropped":
            return f"given up: {one.message}"
        case "error":
            return f"failed: {one.message}"
    room = f" (makes room on {one.node_name})" if one.node_name else ""
    return f"refused by {', '.join(one.plugins)}{room}: {one.message}"


def _try_data(one: Try) -> dict[str, Any]:
    return {
        "outcome": one.outcome,
        "startedAt": timestamp(one.started_at_ns) if one.started_at_ns else None,
        "endedAt": timestamp(one.ended_at_ns),
        "node": one.node_name or None,
        "plugins": list(one.plugins),
        "message": one.message,
        "extenders": [msgspec.to_builtins(heard) for heard in one.extenders],
    }


def _clock(time_ns: int) -> str:
    return _moment(time_ns).strftime("%H:%M:%S")


def _moment(time_ns: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time_ns / SECOND_NS, datetime.UTC)
