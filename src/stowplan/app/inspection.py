"""Answers questions about a running scheduler from its live state, and leaves it as it was.

The queue and the nodes are read at once, also while a cycle waits for an extender: reading them changes nothing. An
explanation asks plugins that remember what they found for the pod under way, so it is made between two cycles.

`serving.debug_pages` is how they are asked over HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.replica import Replica
from stowplan.cache.cache import Cache
from stowplan.framework.profile import Profile, awaited_by
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.observe.explain import explain, feasible_nodes
from stowplan.observe.explanation import Explanation, node_summary, render, render_every_node, render_node, summary
from stowplan.observe.extender_reports import ExtenderReports, ask_extenders
from stowplan.observe.queue_state import PodHistory, QueueView, counts, render_history, waiting_data
from stowplan.observe.resource_usage import node_usage
from stowplan.serving.debug_pages import (
    BadQueryError,
    ExplainAnswer,
    ExplainQuery,
    NodesQuery,
    QueueQuery,
    UnknownObjectError,
)

T = TypeVar("T")


class Inspection:
    """Explains pods, and shows the queue and the nodes of one replica."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    async def explain(self, query: ExplainQuery) -> ExplainAnswer:
        """Explain a pod, as if it were to be scheduled now, and tell what became of it so far."""
        extenders, hearing = self._replica.cluster.extenders, None
        if extenders:
            # Asked beside the cycles: pods need not wait while somebody is curious.
            pod, nodes = await self._between_cycles(lambda now_ns: self._question(query))
            hearing = await ask_extenders(extenders, pod, nodes)
        return await self._between_cycles(lambda now_ns: self._explain(query, now_ns, hearing))

    async def _between_cycles(self, answer: Callable[[int], T]) -> T:
        """Ask while no cycle is under way, so that nothing is half done."""
        told: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def ask(now_ns: int) -> None:
            if told.cancelled():
                return
            try:
                told.set_result(answer(now_ns))
            except Exception as error:
                told.set_exception(error)

        self._replica.submit(ask)
        return await told

    # Explaining

    def _question(self, query: ExplainQuery) -> tuple[Pod, dict[str, Node]]:
        """Return what extenders are to be asked about."""
        pod = self._find(query.pod)
        cluster, pending = self._replica.cluster, _as_pending(pod)
        with _without(cluster.cache, pod):
            return pending, feasible_nodes(cluster.field, _profile(cluster, pending), pending)

    def _explain(self, query: ExplainQuery, now_ns: int, hearing: ExtenderReports | None) -> ExplainAnswer:
        pod = self._find(query.pod)
        cluster, cache = self._replica.cluster, self._replica.scheduler.state.cache
        placed = cache.placed(pod)
        view = self._view()
        story = PodHistory(
            placed.node_name if placed is not None else "", view.of(pod), self._replica.timeline.tries(pod), now_ns
        )
        pending = _as_pending(pod)
        profile = _profile(cluster, pending)
        with _without(cache, pod):
            explanation = explain(cluster.field, profile, pending, hearing)
        if query.is_text:
            return ExplainAnswer(text=_text(explanation, story, query))
        return ExplainAnswer(data=_data(explanation, story, query))

    def _find(self, key: str) -> Pod:
        key = key if "/" in key else f"default/{key}"
        found: Pod | None = self._replica.watching.find("Pod", key)
        if found is None:
            raise UnknownObjectError(f'pod "{key}" not found among the pods that have not ended; write NAMESPACE/NAME')
        return found

    # Queue and nodes

    async def queue(self, query: QueueQuery) -> dict[str, Any]:
        """Show who waits."""
        view = self._view()
        waiting = [
            one
            for one in view.all()
            if query.place in ("", one.place) and query.namespace in ("", one.pod.partition("/")[0])
        ]
        shown = waiting[: query.limit] if query.limit else waiting
        return {"counts": counts(waiting), "total": len(waiting), "pods": [waiting_data(one) for one in shown]}

    def _view(self) -> QueueView:
        replica = self._replica
        awaited = {name: awaited_by(profile) for name, profile in replica.cluster.profiles.items()}
        state, extenders = replica.scheduler.state, replica.scheduler.policy.extenders
        questions_about = extenders.questions.of if extenders is not None else lambda pod: ()
        return QueueView(state.queue, replica.limits, state.waiting, replica.timeline, awaited, questions_about)

    async def nodes(self, query: NodesQuery) -> dict[str, Any]:
        """Show what nodes have and what is taken of it."""
        _check_sort(self._replica.scheduler.state.cache, query.sort)
        found = node_usage(self._replica.scheduler.state.cache, query.wants)
        if query.sort == "name":
            found.sort(key=lambda one: one.name)
        elif query.sort:
            found.sort(key=lambda one: (-one.share(query.sort), one.name))
        shown = found[: query.limit] if query.limit else found
        return {
            "total": len(found),
            "nodes": [
                {
                    "name": one.name,
                    "status": one.status,
                    "labels": dict(one.labels),
                    "taints": list(one.taints),
                    "allocatable": dict(one.allocatable),
                    "requested": dict(one.requested),
                }
                for one in shown
            ],
        }


def _check_sort(cache: Cache, wanted: str) -> None:
    known = ("name", *cache.table.resources.index_of)
    if wanted and wanted not in known:
        raise BadQueryError(f"sort: Invalid value: {wanted!r}: write one of: {', '.join(known)}")


def _as_pending(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=""))


def _profile(cluster: Cluster, pod: Pod) -> Profile:
    try:
        return cluster.profile_of(pod)
    except KeyError as error:
        raise UnknownObjectError(str(error.args[0])) from None


@contextmanager
def _without(cache: Cache, pod: Pod) -> Iterator[None]:
    """Take a placed pod out of the count, as it would be in its own way, and put it back."""
    placed = cache.placed(pod)
    if placed is None:
        yield
        return
    cache.remove_pod(placed.pod)
    try:
        yield
    finally:
        if placed.is_assumed:
            cache.assume(placed.pod, placed.node_name, placed.shape)
        else:
            cache.add_pod(placed.pod)


def _text(explanation: Explanation, story: PodHistory, query: ExplainQuery) -> str:
    sections = [render(explanation, query.width, query.top)]
    if story.node_name:
        sections.insert(0, f"Pod {explanation.pod.key} is on {story.node_name}. If it were to be scheduled now:")
    if query.has_every_node:
        sections.append(render_every_node(explanation, query.width))
    sections += [render_node(explanation.nodes[_known(explanation, name)], query.width) for name in query.nodes]
    sections.append(render_history(story, query.width))
    return "\n\n".join(section for section in sections if section) + "\n"


def _data(explanation: Explanation, story: PodHistory, query: ExplainQuery) -> dict[str, Any]:
    names = list(explanation.nodes) if query.has_every_node else [_known(explanation, name) for name in query.nodes]
    nodes = {name: node_summary(explanation.nodes[name]) for name in names}
    return {**summary(explanation, query.top), "nodes": nodes, "story": story.data()}


def _known(explanation: Explanation, name: str) -> str:
    if name not in explanation.nodes:
        raise UnknownObjectError(f'node "{name}" not found; name one of the {len(explanation.nodes)} that are')
    return name
