"""What the API of the page answers about the cluster, its nodes and its queue; `pod_answers.py` has pods and groups.

The OpenAPI description is made from these types, and every answer is one of them. Amounts are millicores of cpu, and
whole units of the rest; times are RFC 3339 with microseconds.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class JsonAnswer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of an answer: whoever reads it knows every field."""


# The cluster


class ProfileAnswer(JsonAnswer, frozen=True):
    """One profile: its filters in the order in which they are asked, and what each score counts."""

    name: str
    weights: dict[str, int]
    filters: list[str]


class LabelAnswer(JsonAnswer, frozen=True):
    """A label of nodes, and how many values it has."""

    key: str
    values: int


class ClusterCounts(JsonAnswer, frozen=True):
    nodes: int
    #: Pods that have a node.
    placed: int
    #: Pods in the queue.
    waiting: int
    by_place: dict[str, int]


class ClusterAnswer(JsonAnswer, frozen=True):
    """What there is to be asked about."""

    #: Of this program, and the release that it decides like.
    version: str
    release: str
    started_at: str
    now: str
    #: False where another replica leads.
    is_scheduling: bool
    profiles: list[ProfileAnswer]
    #: The resources that nodes are shown with.
    resources: list[str]
    #: What nodes can be grouped by, the most useful first.
    labels: list[LabelAnswer]
    counts: ClusterCounts


# Nodes


class NodeGroups(JsonAnswer, frozen=True):
    """The value that each node has of a label: an index into `values`, -1 for none."""

    key: str
    values: list[str]
    codes: list[int]


class AmountColumns(JsonAnswer, frozen=True):
    """What each node has of a resource, and what its pods take."""

    allocatable: list[int]
    requested: list[int]


class NodesAnswer(JsonAnswer, frozen=True):
    """All nodes as columns: the same position in each is the same node."""

    #: Grows with every change of a node.
    revision: int
    names: list[str]
    #: `Ready` or `NotReady`, and `SchedulingDisabled`.
    status: list[str]
    unschedulable: list[bool]
    group: NodeGroups | None
    resources: dict[str, AmountColumns]


class RowsAnswer(JsonAnswer, frozen=True):
    """What has changed of some nodes since the last time; `rows` are their positions in `NodesAnswer`."""

    revision: int
    rows: list[int]
    requested: dict[str, list[int]]
    status: list[str]
    unschedulable: list[bool]


class PodOnNode(JsonAnswer, frozen=True):
    pod: str
    priority: int
    requests: dict[str, int]
    #: NAMESPACE/NAME of its pod group; "" if it is in none.
    group: str
    started_at: str | None


class ShapeOnNode(JsonAnswer, frozen=True):
    """Pods that request the same, and how much of what is free on a node they could use."""

    requests: dict[str, int]
    placed: int
    waiting: int
    #: How many more of them the free amounts suffice for.
    room_for: int
    #: How much these would take.
    usable: dict[str, int]


class FragmentationAnswer(JsonAnswer, frozen=True):
    free: dict[str, int]
    #: The commonest of the cluster.
    shapes: list[ShapeOnNode]


class RefusedOnNode(JsonAnswer, frozen=True):
    """Pods that wait and are alike, and the first word against this node, if they were tried now."""

    #: The one that was refused last.
    pod: str
    #: How many pods they are.
    pods: int
    #: "" if no filter has anything against the node any more.
    plugin: str
    reasons: list[str]
    #: When it was last refused.
    at: str


class ConditionAnswer(JsonAnswer, frozen=True):
    type: str
    status: str
    reason: str
    message: str


class NodeAnswer(JsonAnswer, frozen=True):
    """One node."""

    name: str
    status: str
    labels: dict[str, str]
    taints: list[str]
    conditions: list[ConditionAnswer]
    allocatable: dict[str, int]
    requested: dict[str, int]
    pods: list[PodOnNode]
    fragmentation: FragmentationAnswer
    refused_lately: list[RefusedOnNode]


# The queue, and what was decided


class ExtenderWord(JsonAnswer, frozen=True):
    extender: str
    verb: str
    said: str


class QueuedPodAnswer(JsonAnswer, frozen=True):
    """A pod in the queue, as at /debug/stowplan/queue."""

    pod: str
    profile: str
    priority: int
    place: str
    attempts: int
    rejected_by: list[str]
    message: str
    nominated_node: str
    next_try: str
    woken_by: dict[str, list[str]]
    extenders: list[ExtenderWord]
    #: NAMESPACE/NAME of the pod group that it waits with, the root of its tree; "" if it waits alone.
    group: str
    #: Since when it is in its place, and since when it waits in all, through all its attempts.
    since: str
    waiting_since: str
    next_try_at: str | None


class QueueAnswer(JsonAnswer, frozen=True):
    """Some pods of the queue, and how many there are."""

    counts: dict[str, int]
    total: int
    #: Since when the oldest one is in each place; places where nobody is are left out.
    oldest: dict[str, str]
    pods: list[QueuedPodAnswer]


DecisionOutcome = Literal["bound", "refused", "error", "dropped", "preempting"]


class DecisionAnswer(JsonAnswer, frozen=True):
    """How an attempt ended; `node` is where the pod went, or where room is made for it."""

    pod: str
    outcome: DecisionOutcome
    node: str | None
    plugins: list[str]
    message: str
    at: str
    #: What the attempt took, with binding; None of a pod that was dropped.
    seconds: float | None
    attempts: int


class DecisionsAnswer(JsonAnswer, frozen=True):
    """The last decisions, newest first."""

    decisions: list[DecisionAnswer]


# What is heard by who watches


class RateAnswer(JsonAnswer, frozen=True):
    """What happened in one second; percentiles are None where nothing did."""

    at: str
    placed_per_second: int
    refused_per_second: int
    attempt_seconds_p50: float | None
    attempt_seconds_p99: float | None
    by_place: dict[str, int]


class RatesAnswer(JsonAnswer, frozen=True):
    """The last minutes, oldest first; seconds in which nothing was decided are left out."""

    series: list[RateAnswer]


class SchedulingAnswer(JsonAnswer, frozen=True):
    is_scheduling: bool
