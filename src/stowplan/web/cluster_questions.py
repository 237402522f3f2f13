"""Questions about the cluster: what there is, its nodes as columns, the queue, the last decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from stowplan.app.clients import VERSION
from stowplan.framework.profile import Profile
from stowplan.model.node import Node
from stowplan.observe.queue_state import timestamp
from stowplan.queue.entry import Place, QueuedPod
from stowplan.table.resources import PODS
from stowplan.web import queue_answers
from stowplan.web.answers import (
    ClusterAnswer,
    ClusterCounts,
    DecisionsAnswer,
    LabelAnswer,
    NodesAnswer,
    ProfileAnswer,
    QueueAnswer,
)
from stowplan.web.decision_log import MOST_DECISIONS
from stowplan.web.questions import Asked, Limit, Query
from stowplan.web.source import Source

MOST_LABELS: Final = 50
#: So many groups can be told apart by who looks at them.
_FEW_VALUES: Final = range(2, 201)


class NodesQuery(Query, frozen=True):
    #: The key of a label by which nodes are grouped.
    label: str = ""


class QueueQuery(Query, frozen=True):
    place: Place | msgspec.UnsetType = msgspec.UNSET
    namespace: str = ""
    #: A part of NAMESPACE/NAME, in which all letters are small.
    q: str = ""
    limit: Limit = 200


class DecisionsQuery(Query, frozen=True):
    limit: Limit = MOST_DECISIONS


async def cluster(source: Source, asked: Asked) -> ClusterAnswer:
    table = source.cache.table
    source.columns.bring_up()
    places = dict(source.by_place())
    placed = int(table.resources.requested[PODS].sum())
    return ClusterAnswer(
        version=VERSION,
        release=source.cluster.feature_gates.release,
        started_at=timestamp(source.started_at_ns),
        now=timestamp(source.now_ns()),
        is_scheduling=source.is_scheduling,
        profiles=[_profile(profile) for profile in source.cluster.profiles.values()],
        resources=source.columns.resource_names(),
        labels=labels_of(table.nodes),
        counts=ClusterCounts(len(table.nodes), placed, sum(places.values()), places),
    )


def _profile(profile: Profile) -> ProfileAnswer:
    weights = {plugin.name: weight for plugin, weight in profile.score}
    return ProfileAnswer(profile.name, weights, [plugin.name for plugin in profile.filter])


def labels_of(nodes: Iterable[Node]) -> list[LabelAnswer]:
    """Return the labels of nodes, those first that make a number of groups that can be shown."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes:
        for key, value in node.metadata.labels.items():
            values[key].add(value)
    found = [LabelAnswer(key, len(each)) for key, each in values.items()]
    found.sort(key=lambda one: (one.values not in _FEW_VALUES, one.values, one.key))
    return found[:MOST_LABELS]


async def nodes(source: Source, asked: Asked) -> NodesAnswer:
    return source.columns.answer(asked.query.label)


async def queue(source: Source, asked: Asked) -> QueueAnswer:
    query: QueueQuery = asked.query
    view = source.inspection.view()
    if query.place is msgspec.UNSET and not query.namespace and not query.q:
        return await queue_answers.soonest(view, query.limit, None)

    part = query.q.lower()

    def is_wanted(entry: QueuedPod) -> bool:
        pod = entry.pod
        return (
            (query.place is msgspec.UNSET or entry.where is query.place)
            and query.namespace in ("", pod.namespace)
            and part in pod.key
        )

    return await queue_answers.soonest(view, query.limit, is_wanted)


async def decisions(source: Source, asked: Asked) -> DecisionsAnswer:
    log = source.decisions
    return DecisionsAnswer(log.newest(0, log.position, asked.query.limit))
