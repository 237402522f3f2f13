"""Answers for people: tables, and sentences below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class AnswerTable(NamedTuple):
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def of(kind: str, answer: Mapping[str, Any]) -> list[AnswerTable]:
    """Return the tables of an answer for people, the most telling first."""
    match kind:
        case "fits":
            return [_placements(answer["pods"])]
        case "cheapest":
            return [_placements(answer["answer"]["pods"])]
        case "headroom":
            return [_headroom(answer), _shortages(answer)]
        case "drain":
            return [_drain(answer)]
        case _:
            return [_candidates(answer), _moves(answer["victims"])]


def records(kind: str, answer: Mapping[str, Any]) -> AnswerTable:
    """Return the one table of an answer for programs: a fact a column, and nothing in words that is not a message."""
    match kind:
        case "fits":
            return _records(("pod", "node", "message"), answer["pods"])
        case "cheapest":
            return _records(("pod", "node", "message"), answer["answer"]["pods"])
        case "headroom":
            return _headroom(answer)
        case "drain":
            moves = [{"batch": at, **one} for at, batch in enumerate(answer["batches"], 1) for one in batch["moved"]]
            return _records(("batch", "pod", "fromNode", "to", "unmanaged", "heldBy", "message"), moves)
        case _:
            found = [
                {"choice": rank, "node": one["node"], "pdbViolations": one["pdbViolations"], **victim}
                for rank, one in enumerate(answer["candidates"], 1)
                for victim in one["victims"]
            ]
            return _records(("choice", "node", "pdbViolations", "pod", "priority"), found)


def _records(headings: tuple[str, ...], found: Sequence[Mapping[str, Any]]) -> AnswerTable:
    return AnswerTable(headings, [tuple(_cell(one[name]) for name in headings) for one in found])


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list() | tuple():
            return " ".join(value)
        case _:
            return str(value)


def sentences(kind: str, answer: Mapping[str, Any]) -> list[str]:
    """Return what is to be said beside the tables."""
    match kind:
        case "fits":
            return list(_fits(answer))
        case "cheapest":
            return list(_cheapest(answer))
        case "headroom":
            return list(_of_headroom(answer))
        case "drain":
            return list(_of_drain(answer))
        case _:
            return list(_preempt(answer))


def _placements(pods: Sequence[Mapping[str, Any]]) -> AnswerTable:
    return AnswerTable(("pod", "node"), [(one["pod"], one["node"] or "-") for one in pods])


def _fits(answer: Mapping[str, Any]) -> Iterator[str]:
    yield f"{answer['placed']} of {len(answer['pods'])} pods fit"
    for message in dict.fromkeys(one["message"] for one in answer["pods"] if one["message"]):
        yield f"refused: {message}"
    for explained in answer["explanations"]:
        yield from _misses(explained)


def _misses(explained: Mapping[str, Any]) -> Iterator[str]:
    # Where some nodes would do, it is not for the others that the pod has none: it is held back, or its group is.
    for miss in explained["nearestMisses"] if not explained["feasibleNodes"] else ():
        more = ", ..." if miss["count"] > len(miss["nodes"]) else ""
        where = f"{counted(miss['count'], 'node')} ({', '.join(miss['nodes'])}{more})"
        yield f"nearest miss for {explained['pod']}: {' and '.join(miss['remedies'])}, on {where}"


def _cheapest(answer: Mapping[str, Any]) -> Iterator[str]:
    shape = answer["shape"]
    if answer["nodes"] is None:
        yield f"{answer['most']} more nodes like {shape} are not enough"
    elif not answer["nodes"]:
        yield "no node more is needed"
    else:
        yield f"{counted(answer['nodes'], 'node')} more like {shape} {'is' if answer['nodes'] == 1 else 'are'} enough"
    yield from _fits(answer["answer"])


def _headroom(answer: Mapping[str, Any]) -> AnswerTable:
    return AnswerTable(("pod", "fit"), [(pod, str(count)) for pod, count in answer["pods"].items()])


def _shortages(answer: Mapping[str, Any]) -> AnswerTable:
    return AnswerTable(("runs out", "nodes"), [(one["reason"], str(one["nodes"])) for one in answer["runsOut"]])


def _of_headroom(answer: Mapping[str, Any]) -> Iterator[str]:
    at_least = "at least " if answer["limited"] else ""
    yield f"{at_least}{counted(answer['rounds'], 'round')} of the mix fit"
    if answer["stoppedBy"]:
        told = [f"{one['reason']} on {counted(one['nodes'], 'node')}" for one in answer["runsOut"][:1]]
        yield from (f"what runs out first: {one}" for one in told)
        yield f"then no more of {answer['stoppedBy']}: {answer['message']}"


def _drain(answer: Mapping[str, Any]) -> AnswerTable:
    rows = [
        (str(number), one["pod"], one["fromNode"], _goes(one))
        for number, batch in enumerate(answer["batches"], 1)
        for one in batch["moved"]
    ]
    return AnswerTable(("batch", "pod", "from", "to"), rows)


def _goes(moved: Mapping[str, Any]) -> str:
    if moved["to"]:
        return f"{moved['to']}{', if made anew' if moved['unmanaged'] else ''}"
    if moved["heldBy"]:
        return f"stays: held by {', '.join(moved['heldBy'])}"
    return "homeless"


def _of_drain(answer: Mapping[str, Any]) -> Iterator[str]:
    for number, batch in enumerate(answer["batches"], 1):
        yield f"batch {number}: {', '.join(batch['nodes'])}"
    told: dict[str, list[str]] = {}
    for one in (one for batch in answer["batches"] for one in batch["moved"] if one["message"]):
        told.setdefault(one["message"], []).append(one["pod"])
    for message, pods in told.items():
        yield f"{', '.join(pods)}: {message}"
    for key, pods in answer["heldByBudgets"].items():
        yield f"budget {key} stands in the way of {', '.join(pods)}"
    for pod, node in answer["alsoPlaced"].items():
        yield f"{pod}, which waits, gets a node on the way: {node}"
    if answer["unmanaged"]:
        yield f"no controller makes these anew: {', '.join(answer['unmanaged'])}"
    yield "can be drained" if answer["canBeDrained"] else "cannot be drained without harm"


def _candidates(answer: Mapping[str, Any]) -> AnswerTable:
    rows = [
        (
            str(rank),
            one["node"],
            ", ".join(f"{victim['pod']} ({victim['priority']})" for victim in one["victims"]),
            str(one["pdbViolations"]),
        )
        for rank, one in enumerate(answer["candidates"], 1)
    ]
    return AnswerTable(("choice", "node", "victims (priority)", "budgets violated"), rows)


def _moves(moved: Sequence[Mapping[str, Any]]) -> AnswerTable:
    return AnswerTable(("victim", "from", "to"), [(one["pod"], one["fromNode"], _goes(one)) for one in moved])


def _preempt(answer: Mapping[str, Any]) -> Iterator[str]:
    if not answer["needsPreemption"]:
        placed = answer["placed"]
        yield (
            f"{placed['pod']} fits on {placed['node']} as it is" if placed["node"] else f"refused: {placed['message']}"
        )
        return
    yield f"does not fit as it is: {answer['message']}"
    placed = answer["placed"]
    if placed is not None and placed["node"]:
        yield f"{placed['pod']} would go to {placed['node']}"
    elif not answer["candidates"]:
        yield "evicting nobody helps"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else f'{noun}s'}"
