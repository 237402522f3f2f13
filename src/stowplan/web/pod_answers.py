"""What the API of the page answers about pods and groups of pods: why they go where they go, or nowhere."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from stowplan.web.answers import ExtenderWord, JsonAnswer, QueuedPodAnswer

# Lists


class PodLine(JsonAnswer, frozen=True):
    pod: str
    node: str | None
    phase: str
    #: Where in the queue it waits; None if it does not.
    place: str | None


class PodsAnswer(JsonAnswer, frozen=True):
    """Some pods by name, and how many there are."""

    total: int
    pods: list[PodLine]


# One pod


class RejectionAnswer(JsonAnswer, frozen=True):
    plugin: str
    code: str
    reasons: list[str]


class ScoreAnswer(JsonAnswer, frozen=True):
    raw: int
    normalized: int
    weighted: int


class NodeReportAnswer(JsonAnswer, frozen=True):
    """All that is said of a node for a pod."""

    feasible: bool
    first: RejectionAnswer | None
    rejections: list[RejectionAnswer]
    total: int | None
    plugins: dict[str, ScoreAnswer]


class ReasonAnswer(JsonAnswer, frozen=True):
    plugin: str
    reason: str
    first: int
    in_all: int


class MissAnswer(JsonAnswer, frozen=True):
    count: int
    remedies: list[str]
    nodes: list[str]
    checked: bool


class VictimAnswer(JsonAnswer, frozen=True):
    pod: str
    priority: int


class PreemptionAnswer(JsonAnswer, frozen=True):
    node: str
    victims: list[VictimAnswer]
    pdb_violations: int


class ReasonOfExtender(JsonAnswer, frozen=True):
    reason: str
    nodes: int


class ExtenderAnswer(JsonAnswer, frozen=True):
    extender: str
    interested: bool
    ignorable: bool
    weight: int
    rejected: int
    reasons: list[ReasonOfExtender]
    added: dict[str, int]
    errors: dict[str, str]
    says: str


class ExplanationAnswer(JsonAnswer, frozen=True):
    """Why a pod goes where it goes, or nowhere, as at /debug/stowplan/explain."""

    pod: str
    profile: str
    message: str
    failed: bool
    group: str
    gate: RejectionAnswer | None
    refusals: list[RejectionAnswer]
    feasible_nodes: int
    best: list[str]
    runner_up: str | None
    weights: dict[str, int]
    scores: dict[str, NodeReportAnswer]
    reasons: list[ReasonAnswer]
    nearest_misses: list[MissAnswer]
    making_room: str
    preemption: PreemptionAnswer | None
    extenders: list[ExtenderAnswer]
    faults: list[str]


class FunnelReason(JsonAnswer, frozen=True):
    reason: str
    nodes: int


class FunnelStep(JsonAnswer, frozen=True):
    """How many nodes a filter is the first to refuse, and how many are left then; without a name, it is PreFilter."""

    plugin: str
    refused: int
    left: int
    reasons: list[FunnelReason]


class AttemptAnswer(JsonAnswer, frozen=True):
    """One attempt; `id` is the same whenever it is asked for."""

    id: str
    outcome: Literal["bound", "refused", "error", "dropped"]
    started_at: str | None
    ended_at: str
    node: str | None
    plugins: list[str]
    message: str
    extenders: list[ExtenderWord]


class PodAnswer(JsonAnswer, frozen=True):
    """All that is known of a pod."""

    pod: str
    node: str | None
    profile: str
    is_placed: bool
    #: How many nodes are equally good for it, and best; and whether the one that it is on is one of them.
    equally_good: int
    is_among_best: bool
    #: As if it were to be scheduled now; None if it cannot be explained, and `unexplained` says why.
    explanation: ExplanationAnswer | None
    unexplained: str
    funnel: list[FunnelStep]
    queue: QueuedPodAnswer | None
    attempts: list[AttemptAnswer]
    #: NAMESPACE/NAME of its pod group.
    group: str | None
    preemption: PreemptionAnswer | None
    manifest: dict[str, Any]
    #: Whether that is the whole object; if not, the API server did not give it, and it is what the scheduler reads.
    manifest_is_whole: bool


# All nodes for one pod


class ReasonText(JsonAnswer, frozen=True):
    plugin: str
    text: str


class PluginColumns(JsonAnswer, frozen=True):
    """What a plugin gives each node; one that only rejects has no weight, and empty columns."""

    name: str
    weight: int | None
    raw: list[int | None]
    normalized: list[int | None]
    weighted: list[int | None]


class PodNodesAnswer(JsonAnswer, frozen=True):
    """What is said of every node for a pod, as columns: the same position in each is the same node."""

    names: list[str]
    feasible: list[bool]
    total: list[int | None]
    #: The plugin that is the first to refuse the node, an index into `plugins`; -1 if none does.
    first_plugin: list[int]
    #: All that is said against the node, indices into `reasons`.
    reason_codes: list[list[int]]
    reasons: list[ReasonText]
    #: Those that score, then those that only reject.
    plugins: list[PluginColumns]


# Groups


class PlacementAnswer(JsonAnswer, frozen=True):
    name: str
    nodes: dict[str, str]
    is_enough: bool
    missing: str
    why: str


class MemberAnswer(JsonAnswer, frozen=True):
    """A pod of a group."""

    pod: str
    node: str | None
    #: Where in the queue it waits; None if it does not.
    place: str | None


class GroupAnswer(JsonAnswer, frozen=True):
    """Who is in a pod group, and why it goes where it goes, or nowhere, as at /debug/stowplan/explain?podgroup=."""

    #: NAMESPACE/NAME.
    group: str
    needed: int
    pending: int
    scheduled: int
    placements: list[PlacementAnswer]
    making_room: str
    victims: list[str]
    problem: str
    place: str
    attempts: int
    #: All that have not ended, on nodes or not, by name.
    members: list[MemberAnswer]


# Other weights


class MovedPod(JsonAnswer, frozen=True):
    """A pod that would go elsewhere with other weights."""

    pod: str
    #: Where it is.
    node: str
    #: Where it would go now with the weights in force, and with the others; what each comes to with the others.
    from_: str = msgspec.field(name="from")
    to: str
    total_from: int
    total_to: int
    #: By how much each plugin puts `to` before `from`, where it does not give both the same.
    by: dict[str, int]


class WeightsAnswer(JsonAnswer, frozen=True):
    asked: int
    #: Pods that are gone since, or of another profile, or that no node would do for now.
    not_asked: int
    changed: list[MovedPod]
