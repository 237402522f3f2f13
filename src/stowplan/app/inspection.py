"""Answers questions about a running scheduler from its live state, and leaves it as it was.

The queue and the nodes are read at once, also while a cycle waits for an extender: reading them changes nothing. An
explanation asks plugins that remember what they found for the pod under way, so it is made between two cycles.

They are asked over HTTP, at the paths that `serving/debug_pages.py` names.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from aiohttp import web
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.group_inspection import explain_group
from stowplan.app.pod_groups import goes_alone
from stowplan.app.preempting import Foresight
from stowplan.app.question_bodies import QuestionBodies
from stowplan.app.replica import Replica
from stowplan.app.what_if_page import WhatIfPage
from stowplan.cache.cache import Cache
from stowplan.framework.profile import Profile, awaited_by
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.observe.explain import explain, feasible_nodes
from stowplan.observe.explanation import Explanation, node_summary, render, render_every_node, render_node, summary
from stowplan.observe.extender_reports import ExtenderReports, ask_extenders
from stowplan.observe.group_explanation import render_group
from stowplan.observe.queue_state import PodHistory, QueueView, counts, render_history, waiting_data
from stowplan.observe.resource_usage import node_usage
from stowplan.queue.entry import Place
from stowplan.serving.debug_pages import (
    EXPLAIN,
    NODES,
    QUEUE,
    BadQueryError,
    UnknownObjectError,
    answered,
    number_in,
)
from stowplan.serving.responses import Handler

T = TypeVar("T")

_WIDEST: Final = 1000


class ExplainQuery(msgspec.Struct, frozen=True):
    """Which pod is to be explained, and how much is to be said."""

    pod: str
    #: Nodes to say everything about.
    nodes: tuple[str, ...] = ()
    has_every_node: bool = False
    top: int = 5
    width: int = 100


#: What makes an answer of an explanation and of what became of the pod so far: `as_text` or `as_data`.
Form: TypeAlias = Callable[[Explanation, PodHistory | None, ExplainQuery], T]


class Inspection:
    """Explains pods and pod groups, and shows the queue and the nodes of one replica."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.bodies = QuestionBodies()

    def pages(self) -> dict[str, Handler]:
        pages: dict[str, Handler] = {EXPLAIN: self._explain_page, QUEUE: self._queue_page, NODES: self._nodes_page}
        asked = WhatIfPage(lambda: self.replica.cluster, self._waiting, self.between_cycles, self.bodies)
        return {**{path: answered(page) for path, page in pages.items()}, **asked.pages()}

    def _waiting(self) -> list[Pod]:
        """Return the pods that look for a node; those that are held back do not."""
        entries = self.replica.scheduler.state.queue.places.entries.values()
        return [entry.pod for entry in entries if entry.where not in (Place.GATED, Place.INCOMPLETE, Place.GONE)]

    # Explaining

    async def _explain_page(self, request: web.Request) -> web.Response:
        is_text, group = request.query.get("format") == "text", request.query.get("podgroup", "")
        if group:
            return await self._explain_group(group, _width(request) if is_text else None)
        query = _explain_query(request)
        if is_text:
            return web.Response(text=await self.explain(query, as_text))
        return web.json_response(await self.explain(query, as_data))

    async def explain(self, query: ExplainQuery, form: Form[T]) -> T:
        """Explain a pod, as if it were to be scheduled now, and tell what became of it so far."""
        explained = await self.explanation_of(query.pod)
        return await self.between_cycles(lambda now_ns: form(*explained(now_ns), query))

    async def explanation_of(self, key: str) -> Callable[[int], tuple[Explanation, PodHistory]]:
        """Return what explains a pod between two cycles, at the time that it is given; extenders are asked by then."""
        cluster, hearing = self.replica.cluster, None
        pod = as_pending(self.find(key))
        foresight = Foresight(cluster.handle, pod, _profile(cluster, pod))
        if cluster.extenders:
            # Asked beside the cycles: pods need not wait while somebody is curious.
            pod, nodes = await self.between_cycles(lambda now_ns: self._question(key))
            hearing = await ask_extenders(cluster.extenders, pod, nodes)
            if cluster.handle.asks_before_preempting(pod):
                await self.between_cycles(lambda now_ns: self._explain(key, now_ns, hearing, foresight))
                await foresight.ask(lambda name: cluster.pods_on(name) if cluster.cache.has_node(name) else None)
        return lambda now_ns: self._explain(key, now_ns, hearing, foresight)

    async def _explain_group(self, name: str, width: int | None) -> web.Response:
        """Explain a pod group; as text if it is to be so wide."""
        found = await self.between_cycles(lambda now_ns: explain_group(self.replica, name))
        if width is None:
            return web.json_response(found.data())
        return web.Response(text=render_group(found, width) + "\n")

    async def between_cycles(self, answer: Callable[[int], T]) -> T:
        """Ask while no cycle is under way, so that nothing is half done."""
        told: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def ask(now_ns: int) -> None:
            if told.cancelled():
                return
            try:
                told.set_result(answer(now_ns))
            except Exception as error:
                told.set_exception(error)

        self.replica.watching.submit(ask)
        return await told

    def _question(self, key: str) -> tuple[Pod, dict[str, Node]]:
        """Return what extenders are to be asked about."""
        pod = self.find(key)
        cluster, pending = self.replica.cluster, as_pending(pod)
        with self.without(pod):
            return pending, feasible_nodes(cluster.field, _profile(cluster, pending), pending)

    def _explain(
        self, key: str, now_ns: int, hearing: ExtenderReports | None, foresight: Foresight
    ) -> tuple[Explanation, PodHistory]:
        pod = self.find(key)
        cluster, cache = self.replica.cluster, self.replica.scheduler.state.cache
        placed = cache.placed(pod)
        view = self.view()
        story = PodHistory(
            placed.node_name if placed is not None else "", view.of(pod), self.replica.timeline.tries(pod), now_ns
        )
        pending = as_pending(pod)
        profile, group = _profile(cluster, pending), cluster.membership(pending)
        is_alone = goes_alone(cache, cluster.feature_gates, profile, pending)
        room = foresight.would_do if is_alone else None
        with self.without(pod):
            found = explain(cluster.field, profile, pending, hearing, room)
        return dataclasses.replace(found, group=group), story

    @contextmanager
    def without(self, pod: Pod) -> Iterator[None]:
        """Ask about a pod between two cycles as if it had no node, and have nothing of that measured."""
        cluster = self.replica.cluster
        with _without(cluster.cache, pod), cluster.handle.stopwatch.unnoted():
            yield

    def find(self, key: str) -> Pod:
        """Return a pod by NAMESPACE/NAME; raise UnknownObjectError if there is none, or it has ended."""
        key = key if "/" in key else f"default/{key}"
        found: Pod | None = self.replica.watching.find("Pod", key)
        if found is None:
            raise UnknownObjectError(f'pod "{key}" not found among the pods that have not ended; write NAMESPACE/NAME')
        return found

    # Queue and nodes

    async def _queue_page(self, request: web.Request) -> web.Response:
        place, namespace = request.query.get("place", ""), request.query.get("namespace", "")
        limit = number_in(request, "limit", 0)
        waiting = [
            one
            for one in self.view().all()
            if place in ("", one.place) and namespace in ("", one.pod.partition("/")[0])
        ]
        pods = [waiting_data(one) for one in waiting[: limit or None]]
        return web.json_response({"counts": counts(waiting), "total": len(waiting), "pods": pods})

    def view(self) -> QueueView:
        """Return the queue as it is now."""
        replica = self.replica
        awaited = {name: awaited_by(profile) for name, profile in replica.cluster.profiles.items()}
        state, extenders = replica.scheduler.state, replica.scheduler.policy.extenders
        questions_about = extenders.questions.of if extenders is not None else lambda pod: ()
        return QueueView(state.queue, replica.limits, state.waiting, replica.timeline, awaited, questions_about)

    async def _nodes_page(self, request: web.Request) -> web.Response:
        """Show what nodes have and what is taken of it; `sort` is `name` or the resource that is most taken."""
        name_part, sort, labels = request.query.get("name", ""), request.query.get("sort", ""), _labels(request)
        limit, cache = number_in(request, "limit", 0), self.replica.scheduler.state.cache
        known = ("name", *cache.table.resources.index_of)
        if sort and sort not in known:
            raise BadQueryError(f"sort: Invalid value: {sort!r}: write one of: {', '.join(known)}")
        found = node_usage(cache, lambda node: name_part in node.name and labels <= node.labels.items())
        if sort == "name":
            found.sort(key=lambda one: one.name)
        elif sort:
            found.sort(key=lambda one: (-one.share(sort), one.name))
        return web.json_response({"total": len(found), "nodes": msgspec.to_builtins(found[: limit or None])})


def _explain_query(request: web.Request) -> ExplainQuery:
    given = request.query
    if not given.get("pod"):
        raise BadQueryError("pod: Required value: write ?pod=NAMESPACE/NAME or ?podgroup=NAMESPACE/NAME")
    return ExplainQuery(
        pod=given["pod"],
        nodes=tuple(filter(None, given.get("node", "").split(","))),
        has_every_node=given.get("nodes", "") == "all",
        top=number_in(request, "top", 5, least=1),
        width=_width(request),
    )


def _width(request: web.Request) -> int:
    return min(number_in(request, "width", 100, least=40), _WIDEST)


def _labels(request: web.Request) -> set[tuple[str, str]]:
    """Read which labels nodes must have to be shown."""
    labels = set()
    for piece in filter(None, request.query.get("labels", "").split(",")):
        key, equals, value = piece.partition("=")
        if not (key and equals):
            raise BadQueryError(f"labels: Invalid value: {piece!r}: write key=value,key=value")
        labels.add((key, value))
    return labels


def as_pending(pod: Pod) -> Pod:
    """Return a pod as it was before it had a node."""
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


def as_text(explanation: Explanation, story: PodHistory | None, query: ExplainQuery) -> str:
    """Say it to people; without a story if nobody has watched the pod."""
    sections = [render(explanation, query.width, query.top)]
    if story is not None and story.node_name:
        sections.insert(0, f"Pod {explanation.pod.key} is on {story.node_name}. If it were to be scheduled now:")
    if query.has_every_node:
        sections.append(render_every_node(explanation, query.width))
    sections += [render_node(explanation.nodes[_known(explanation, name)], query.width) for name in query.nodes]
    if story is not None:
        sections.append(render_history(story, query.width))
    return "\n\n".join(section for section in sections if section) + "\n"


def as_data(explanation: Explanation, story: PodHistory | None, query: ExplainQuery) -> dict[str, Any]:
    """Say it to programs."""
    names = list(explanation.nodes) if query.has_every_node else [_known(explanation, name) for name in query.nodes]
    nodes = {name: node_summary(explanation.nodes[name]) for name in names}
    told = {"story": story.data()} if story is not None else {}
    return {**summary(explanation, query.top), "nodes": nodes, **told}


def _known(explanation: Explanation, name: str) -> str:
    if name not in explanation.nodes:
        raise UnknownObjectError(f'node "{name}" not found; name one of the {len(explanation.nodes)} that are')
    return name
