"""Cases of kinds `story` and `gangs`: what a whole scheduler makes of operations on a cluster, step by step.

After each step the place, the nominated node and the condition of every pod are compared, those of pod groups where a
step tells of them, and what events were recorded; at the first step that differs the story ends. A text that ends in
`*` stands for every text that begins like it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stowplan.engine.ports import Note
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup
from stowplan.simulate import virtual_time
from tests.conformance.cycle import gates_of
from tests.conformance.lockstep import Lockstep

Difference = tuple[str, Any, Any]
Case = dict[str, Any]
#: What is told of each object after a step, by the object's key and the name of the field.
Told = Mapping[str, Mapping[str, str]]

POD_FIELDS = ("node", "nominated", "reason", "message")
GROUP_FIELDS = ("status", "reason", "message")


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
    theirs = set(step["events"])
    missing = {text for text in theirs if not any(_matches(text, one) for one in ours)}
    unasked = {one for one in ours if not any(_matches(text, one) for text in theirs)}
    if missing or unasked:
        yield "events", sorted(missing), sorted(unasked)


def _matches(theirs: str, ours: str) -> bool:
    return ours.startswith(theirs[:-1]) if theirs.endswith("*") else ours == theirs


def _compare_told(fields: tuple[str, ...], theirs: Told, ours: Told) -> Iterator[Difference]:
    if theirs.keys() != ours.keys():
        yield "objects", sorted(theirs), sorted(ours)
        return
    for field in fields:
        apart = [key for key in theirs if not _matches(theirs[key][field], ours[key][field])]
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


def _groups(lockstep: Lockstep) -> Told:
    return {found.key: _group(found) for found in lockstep.api.objects.values() if isinstance(found, PodGroup)}


def _group(group: PodGroup) -> dict[str, str]:
    said = [one for one in group.status.conditions if one.type == "PodGroupInitiallyScheduled"]
    return {field: getattr(said[0], field) if said else "" for field in GROUP_FIELDS}


#: By the part of a step that tells it: the fields in the order in which they are compared, and how we see them.
TOLD: dict[str, tuple[tuple[str, ...], Callable[[Lockstep], Told]]] = {
    "state": (POD_FIELDS, _pods),
    "groups": (GROUP_FIELDS, _groups),
}
