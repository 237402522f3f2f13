"""All that can be asked of the page's API: path, parameters, and who answers.

The routes and the OpenAPI description (`openapi.py`) are made from this list.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from stowplan.web import cluster_questions, group_questions, node_questions, pod_questions, weights
from stowplan.web.answers import ClusterAnswer, DecisionsAnswer, NodeAnswer, NodesAnswer, QueueAnswer
from stowplan.web.pod_answers import GroupAnswer, PodAnswer, PodNodesAnswer, PodsAnswer, WeightsAnswer
from stowplan.web.questions import Asked, PageQuestion
from stowplan.web.source import Source
from stowplan.web.stream import EventsQuery, EventStream
from stowplan.whatif.requests import WhatIf, WhatIfAnswer

#: What an answer may come to that is made in a child: the thing is not there, too many ask, it takes too long.
_FORKED: Final = (404, 429, 504)
_POSTED: Final = (413, 415, 429, 504)


async def what_if(source: Source, asked: Asked) -> web.StreamResponse:
    return await source.what_if(asked.request)


QUESTIONS: Final[tuple[PageQuestion[Source], ...]] = (
    PageQuestion("cluster", "What there is to be asked about.", ClusterAnswer, cluster_questions.cluster),
    PageQuestion(
        "nodes", "All nodes, as columns.", NodesAnswer, cluster_questions.nodes, query=cluster_questions.NodesQuery
    ),
    PageQuestion("nodes/{name}", "One node.", NodeAnswer, node_questions.node, failures=_FORKED),
    PageQuestion(
        "queue", "Pods that wait for a node.", QueueAnswer, cluster_questions.queue, query=cluster_questions.QueueQuery
    ),
    PageQuestion(
        "decisions",
        "What was decided lately.",
        DecisionsAnswer,
        cluster_questions.decisions,
        query=cluster_questions.DecisionsQuery,
    ),
    PageQuestion("pods", "Pods by name.", PodsAnswer, pod_questions.pods, query=pod_questions.PodsQuery),
    PageQuestion(
        "pods/{namespace}/{name}",
        "All that is known of a pod, and why it goes where it goes.",
        PodAnswer,
        pod_questions.pod,
        failures=_FORKED,
    ),
    PageQuestion(
        "pods/{namespace}/{name}/nodes",
        "What is said of every node for a pod, as columns.",
        PodNodesAnswer,
        pod_questions.nodes_for_pod,
        failures=_FORKED,
    ),
    PageQuestion(
        "groups/{namespace}/{name}",
        "Who is in a pod group, and why it waits.",
        GroupAnswer,
        group_questions.group,
        failures=(404,),
    ),
    PageQuestion(
        "whatif",
        "What would be if the cluster were another, as /debug/stowplan/whatif (`stowplan manual whatif`).",
        WhatIfAnswer,
        what_if,
        body=WhatIf,
        failures=_POSTED,
    ),
    PageQuestion(
        "weights",
        "Which of the pods that were placed last would go elsewhere with other weights.",
        WeightsAnswer,
        weights.weights,
        body=weights.WeightsQuestion,
        failures=_POSTED,
    ),
)
#: What is heard as long as somebody listens.
EVENTS: Final[PageQuestion[EventStream]] = PageQuestion(
    "events",
    "What happens, as a stream of events: a full picture, then what changes.",
    bytes,
    EventStream.watch,
    query=EventsQuery,
    media_type="text/event-stream",
    failures=(503,),
)
