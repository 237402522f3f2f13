"""Questions about pods: which there are, and all that is known of one.

A pod is explained as if it were to be scheduled now, between two cycles; where there are so many nodes that the cycles
would notice, in a forked child.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

import msgspec

from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation, summary
from stowplan.observe.queue_state import PodHistory, timestamp
from stowplan.observe.timeline import Try
from stowplan.web.answers import ExtenderWord, JsonAnswer
from stowplan.web.funnel import funnel
from stowplan.web.group_questions import group_of
from stowplan.web.manifests import PodManifest, manifest_of
from stowplan.web.pod_answers import (
    AttemptAnswer,
    ExplanationAnswer,
    PodAnswer,
    PodLine,
    PodNodesAnswer,
    PodsAnswer,
)
from stowplan.web.pod_nodes import pod_nodes
from stowplan.web.questions import Asked, Limit, Query
from stowplan.web.queue_answers import queued_pod
from stowplan.web.source import Source

#: With more nodes than these, to explain a pod takes longer than pods should wait for.
MOST_AT_ONCE: Final = 5000

#: What makes an answer of an explanation and of what became of the pod so far.
Form = Callable[[Explanation, PodHistory], JsonAnswer]


class PodsQuery(Query, frozen=True):
    #: A part of NAMESPACE/NAME, in which all letters are small.
    q: str = ""
    limit: Limit = 200


async def pods(source: Source, asked: Asked) -> PodsAnswer:
    known = source.replica.watching.by_key("Pod")
    part = asked.query.q.lower()
    found = [key for key in known if part in key]
    return PodsAnswer(len(found), [_line(source, known[key]) for key in heapq.nsmallest(asked.query.limit, found)])


def _line(source: Source, pod: Pod) -> PodLine:
    placed, entry = source.cache.placed(pod), source.entry_of(pod)
    node = placed.node_name if placed is not None else pod.node_name
    return PodLine(pod.key, node or None, pod.status.phase, entry.where.value if entry is not None else None)


async def pod(source: Source, asked: Asked) -> PodAnswer | bytes:
    key = _key(asked)
    found = source.inspection.find(key)
    # Nobody waits for events, which have a share of requests of their own: who is curious takes from that.
    manifest = await manifest_of(source.replica.connections.events, found)
    name = found.spec.scheduler_name
    if name not in source.cluster.profiles:
        known = ", ".join(sorted(source.cluster.profiles))
        return _unexplained(
            source, found, manifest, f"it is for the scheduler {name!r}; this one has the profiles: {known}"
        )

    def form(explanation: Explanation, history: PodHistory) -> PodAnswer:
        return _answer(found, history, explanation, manifest)

    return await _explained(source, key, "pod", form)


async def nodes_for_pod(source: Source, asked: Asked) -> PodNodesAnswer | bytes:
    return await _explained(source, _key(asked), "nodes", lambda explanation, history: pod_nodes(explanation))


async def _explained(source: Source, key: str, kind: str, form: Form) -> bytes:
    explained = await source.inspection.explanation_of(key)

    def make(now_ns: int) -> Callable[[], bytes]:
        # Here, and not in a child: it is known who asks for a pod that is gone.
        source.inspection.find(key)
        return lambda: msgspec.json.encode(form(*explained(now_ns)))

    if len(source.cache.table) > MOST_AT_ONCE:
        return await source.children.answer(kind, make)
    return await source.inspection.between_cycles(lambda now_ns: make(now_ns)())


def _key(asked: Asked) -> str:
    return f"{asked.part('namespace')}/{asked.part('name')}"


def _answer(pod: Pod, history: PodHistory, explanation: Explanation, manifest: PodManifest) -> PodAnswer:
    waiting, told = history.waiting, msgspec.convert(summary(explanation), ExplanationAnswer)
    return PodAnswer(
        pod=pod.key,
        node=history.node_name or None,
        profile=explanation.profile,
        is_placed=bool(history.node_name),
        equally_good=len(explanation.best),
        is_among_best=history.node_name in explanation.best,
        explanation=told,
        unexplained="",
        funnel=funnel(explanation),
        queue=queued_pod(waiting) if waiting is not None else None,
        attempts=[_attempt(one) for one in history.tries],
        group=group_of(pod),
        preemption=told.preemption,
        manifest=manifest.content,
        manifest_is_whole=manifest.is_whole,
    )


def _unexplained(source: Source, pod: Pod, manifest: PodManifest, why: str) -> PodAnswer:
    placed = source.cache.placed(pod)
    return PodAnswer(
        pod=pod.key,
        node=placed.node_name if placed is not None else None,
        profile=pod.spec.scheduler_name,
        is_placed=placed is not None,
        equally_good=0,
        is_among_best=False,
        explanation=None,
        unexplained=why,
        funnel=[],
        queue=None,
        attempts=[],
        group=group_of(pod),
        preemption=None,
        manifest=manifest.content,
        manifest_is_whole=manifest.is_whole,
    )


def _attempt(one: Try) -> AttemptAnswer:
    return AttemptAnswer(
        id=f"{one.started_at_ns}-{one.ended_at_ns}",
        outcome=one.outcome,
        started_at=timestamp(one.started_at_ns) if one.started_at_ns else None,
        ended_at=timestamp(one.ended_at_ns),
        node=one.node_name or None,
        plugins=list(one.plugins),
        message=one.message,
        extenders=[ExtenderWord(said.extender, said.verb, said.said) for said in one.extenders],
    )
