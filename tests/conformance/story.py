"""Cases of kind `story`: what a whole scheduler makes of operations on a cluster, step by step.

After each step the place, the nominated node and the condition of every pod are compared, and what events were
recorded; at the first step that differs the story ends. What else a kind of story tells is one more entry of `TOLD`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stowplan.engine.ports import Note
from stowplan.model.pod import Pod
from stowplan.simulate import virtual_time
from tests.conformance.cycle import gates_of
from tests.conformance.lockstep import Lockstep

Difference = tuple[str, Any, Any]
Case = dict[str, Any]
#: What is told of each object after a step, by the object's key and the name of the field.
Told = Mapping[str, Mapping[str, str]]

POD_FIELDS = ("node", "nominated", "reason", "message")


def check(case: Case) -> list[Difference]:
    """Give (field, theirs, ours) at the first step after which anything differs."""
    return virtual_time.run(_tell(case, keep_answers=True))


def check_fresh(case: Case) -> list[Difference]:
    """Check a case with a scheduler that keeps no answers."""
    return virtual_time.run(_tell(case, keep_answers=False))


async def _tell(case: Case, *, keep_answers: bool) -> list[Difference]:
    lockstep = Lockstep(gates_of(case), keep_answers=keep_answers)
    for number, step in enumerate(case["steps"]):
        recorded = len(lockstep.api.notes)
        await lockstep.take(step["ops"])
        found = list(_compare(step, lockstep, lockstep.api.notes[recorded:]))
        found += [("trouble", None, text) for text in lockstep.troubles]
        if found:
            return [(field, {f"step {number}": theirs}, {f"step {number}": ours}) for field, theirs, ours in found]
    return []


def _compare(step: Case, lockstep: Lockstep, notes: list[Note]) -> Iterator[Difference]:
    for part, (fields, tell) in TOLD.items():
        if part in step:
            yield from _compare_told(fields, step[part], tell(lockstep))
    ours = {f"{note.type} {note.reason} {note.pod.name}: {note.text}" for note in notes}
    if ours != set(step["events"]):
        yield "events", sorted(set(step["events"]) - ours), sorted(ours - set(step["events"]))


def _compare_told(fields: tuple[str, ...], theirs: Told, ours: Told) -> Iterator[Difference]:
    if theirs.keys() != ours.keys():
        yield "objects", sorted(theirs), sorted(ours)
        return
    for field in fields:
        apart = [key for key in theirs if theirs[key][field] != ours[key][field]]
        if apart:
            yield field, {key: theirs[key][field] for key in apart}, {key: ours[key][field] for key in apart}


def _pods(lockstep: Lockstep) -> Told:
    return {key: _pod(pod) for key, pod in lockstep.api.pods.items()}


def _pod(pod: Pod) -> dict[str, str]:
    said = [one for one in pod.status.conditions if (one.type, one.status) == ("PodScheduled", "False")]
    return {
        "node": pod.spec.node_name,
        "nominated": pod.status.nominated_node_name,
        "reason": said[0].reason if said else "",
        "message": said[0].message if said else "",
    }


#: By the part of a step that tells it: the fields in the order in which they are compared, and how we see them.
TOLD: dict[str, tuple[tuple[str, ...], Callable[[Lockstep], Told]]] = {"state": (POD_FIELDS, _pods)}
