"""The queue as it is told: a part of it, how many wait where, and since when the oldest of them does.

To describe a pod takes fifty times as long as to count one. So only those are described that are told of, and of many
some at a time, between which the scheduler has its turn.
"""

from __future__ import annotations

import asyncio
from typing import Final

from stowplan.observe.queue_state import QueueExcerpt, QueueView, Waiting, Wanted, timestamp
from stowplan.queue.entry import Place
from stowplan.web.answers import ExtenderWord, QueueAnswer, QueuedPodAnswer
from stowplan.web.group_questions import path_of

#: Pods that are described at a time.
AT_A_TIME: Final = 200


async def soonest(view: QueueView, most: int, wanted: Wanted | None) -> QueueAnswer:
    """Return those of the pods that are wanted which are tried soonest, and how many there are; None for all."""
    excerpt = view.soonest(most, wanted)
    pods: list[QueuedPodAnswer] = []
    for start in range(0, len(excerpt.entries), AT_A_TIME):
        if start:
            await asyncio.sleep(0)
        lot = excerpt.entries[start : start + AT_A_TIME]
        # Who was placed meanwhile is left out.
        pods += [queued_pod(view.describe(entry)) for entry in lot if entry.where is not Place.GONE]
    return _answer(excerpt, pods)


def longest(view: QueueView, most: int) -> QueueAnswer:
    """Return the pods that wait longest, and how many there are."""
    excerpt = view.longest(most)
    return _answer(excerpt, [queued_pod(view.describe(entry)) for entry in excerpt.entries])


def _answer(excerpt: QueueExcerpt, pods: list[QueuedPodAnswer]) -> QueueAnswer:
    counts = dict(excerpt.counts)
    oldest = {place: timestamp(at_ns) for place, at_ns in excerpt.oldest_ns.items()}
    return QueueAnswer(counts, sum(counts.values()), oldest, pods)


def queued_pod(waiting: Waiting) -> QueuedPodAnswer:
    """Return a pod that waits as it is told of."""
    at_ns = waiting.next_try_at_ns
    return QueuedPodAnswer(
        pod=waiting.pod,
        profile=waiting.profile,
        priority=waiting.priority,
        place=waiting.place,
        attempts=waiting.attempts,
        rejected_by=list(waiting.rejected_by),
        message=waiting.message,
        nominated_node=waiting.nominated_node,
        next_try=waiting.next_try,
        woken_by={name: list(awaited) for name, awaited in waiting.woken_by.items()},
        extenders=[ExtenderWord(said.extender, said.verb, said.said) for said in waiting.extenders],
        group=path_of(waiting.group) if waiting.group is not None else "",
        since=timestamp(waiting.since_ns),
        waiting_since=timestamp(waiting.waiting_since_ns),
        next_try_at=timestamp(at_ns) if at_ns is not None else None,
    )
