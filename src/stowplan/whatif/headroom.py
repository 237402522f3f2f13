"""How many of a mix of pods fit, and what runs out first.

Pods are placed in rounds, in the order of the mix, until one finds no node; those that are in a gang come together, for
one alone finds none. Where pods of one template meet nothing but the room on a node, the number follows from that of
each node alone, whatever the order, and nothing needs placing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from stowplan.engine.failure import Chosen, Refused
from stowplan.framework.gangs import has_gangs
from stowplan.framework.pod_groups import has_groups
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.model.pod_group import community_group, own_group
from stowplan.table.columns import Rows, Scores
from stowplan.table.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from stowplan.whatif.claims import with_own_claims
from stowplan.whatif.fits import check_profile, try_new
from stowplan.whatif.world import QuestionError, TriedPod, World

DEFAULT_LIMIT: Final = 100_000
#: So many alike are tried at once: if one finds no node, neither do those behind it.
_AT_ONCE: Final = 128
_FIT: Final = "NodeResourcesFit"
#: Who says the same of a node however many copies of a pod are on it, but for the room that they take.
_UNMOVED: Final = frozenset(
    (
        *("NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeDeclaredFeatures", _FIT),
        # Unless the pod minds its own kind.
        "InterPodAffinity",
    )
)


class MixShare(msgspec.Struct, frozen=True):
    """A template, and how many of it are in one round."""

    pod: Pod
    count: int = 1


class Shortage(msgspec.Struct, frozen=True):
    """A reason against one more pod, and on how many nodes it holds in the end."""

    reason: str
    nodes: int


class Headroom(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer: whole rounds, and pods by template, the last round included as far as it got."""

    rounds: int
    pods: dict[str, int]
    #: Whether the limit ended it, and not the cluster: so many fit at least.
    is_limited: bool = msgspec.field(default=False, name="limited")
    #: The template of which no more fit, the sentence about it, and what has run out: on most nodes first.
    stopped_by: str = ""
    message: str = ""
    runs_out: list[Shortage] = []


def headroom(world: World, mix: Sequence[MixShare], limit: int = DEFAULT_LIMIT) -> Headroom:
    """Say how often a mix fits, at most until so many pods are placed."""
    _check(world, mix, limit)
    before = {share.pod.key: _against(world, share.pod) for share in mix}
    if len(mix) == 1:
        found = _by_node(world, mix[0].pod)
        if found is not None:
            return _of_sums(world, mix[0], found, limit)
    placed: Counter[str] = Counter({share.pod.key: 0 for share in mix})
    for pod, copies in _rounds(mix, {share.pod.key: _at_once(world, share, len(mix) == 1) for share in mix}):
        copies = copies[: limit - placed.total()]
        if not copies:
            return Headroom(rounds=_whole(placed, mix), pods=dict(placed), is_limited=True)
        outcomes = try_new(world, [with_own_claims(world, pod, copy) for copy in copies])
        placed[pod.key] += sum(isinstance(one, Chosen) for one in outcomes)
        missing = next((one for one in outcomes if not isinstance(one, Chosen)), None)
        if missing is not None:
            # Of a pod that was refused with its gang, only the sentence is known.
            reasons = _reasons(missing) or (_against(world, missing.pod) if placed.total() else Counter())
            grown = _shortages(reasons, before[pod.key])
            message = str(getattr(missing, "message", ""))
            rounds = _whole(placed, mix)
            return Headroom(rounds=rounds, pods=dict(placed), stopped_by=pod.key, message=message, runs_out=grown)
    raise AssertionError("rounds have no end")


def _whole(placed: Counter[str], mix: Sequence[MixShare]) -> int:
    """Return how many rounds are complete."""
    return min(placed[share.pod.key] // share.count for share in mix)


def _check(world: World, mix: Sequence[MixShare], limit: int) -> None:
    if not mix:
        raise QuestionError("there is no pod to ask about; give a template, or several")
    if limit < 1:
        raise QuestionError(f"limit: Invalid value: {limit}: write a number of pods, 1 or more")
    for share in mix:
        check_profile(world, share.pod)
        if share.count < 1:
            raise QuestionError(f"pod {share.pod.key!r}: count: Invalid value: {share.count}: write 1 or more")
    keys = [share.pod.key for share in mix]
    if len(set(keys)) != len(keys):
        raise QuestionError("two templates of the mix have one name; give each a name of its own")


def _rounds(mix: Sequence[MixShare], at_once: Mapping[str, int]) -> Iterator[tuple[Pod, list[Pod]]]:
    """Yield without end, round after round, a template and the copies of it to place next."""
    numbers = {share.pod.key: count(1) for share in mix}
    while True:
        for share in mix:
            size = at_once[share.pod.key]
            for _ in range(share.count if size == 1 else 1):
                yield share.pod, list(islice(_copies(share.pod, numbers[share.pod.key]), size))


def _at_once(world: World, share: MixShare, is_alone: bool) -> int:
    """Return how many copies of a template are tried at once: of a gang as many as are in a round, or as it needs."""
    needed = _needed(world, share.pod)
    if is_alone:
        return max(_AT_ONCE, needed)
    return share.count if needed > 1 else 1


def _needed(world: World, pod: Pod) -> int:
    """Return how many pods of the group of a pod must find a node at the same time; 1 if it goes alone."""
    key = own_group(pod) if has_groups(world.feature_gates) else None
    if key is None and has_gangs(world.profile_of(pod)):
        key = community_group(pod)
    group = world.cache.groups.get(key) if key is not None else None
    return max(1, group.spec.min_count) if group is not None else 1


def _copies(pod: Pod, numbers: Iterator[int]) -> Iterator[Pod]:
    for number in numbers:
        # Templates of several files may have one uid.
        name = f"{pod.name}-supposed-{number}"
        yield replace(pod, metadata=replace(pod.metadata, name=name, uid=f"{pod.namespace}/{name}"))


def _against(world: World, pod: Pod) -> Counter[str]:
    """Count what is against a pod from the beginning, by reason."""
    verdict = world.verdict(pod)
    return _counted([*verdict.rejected.values()]) if verdict.pre_filter is None else Counter()


def _reasons(missing: TriedPod) -> Counter[str]:
    return _counted([*missing.verdict.rejected.values()]) if isinstance(missing, Refused) else Counter()


def _counted(rejections: Sequence[Rejection]) -> Counter[str]:
    return Counter(reason for rejection in rejections for reason in rejection.reasons)


def _shortages(reasons: Counter[str], before: Counter[str]) -> list[Shortage]:
    """Return what has run out: on more nodes than in the beginning; all reasons if nothing could be placed."""
    grown = {reason: nodes for reason, nodes in reasons.items() if nodes > before[reason]}
    return [Shortage(reason, nodes) for reason, nodes in Counter(grown or reasons).most_common()]


# Where only the room on each node counts


def _by_node(world: World, pod: Pod) -> Scores | None:
    """Return how many copies of a pod each row takes; None if more than its room decides that."""
    profile, verdict = world.profile_of(pod), world.verdict(pod)
    judges = {plugin.name for plugin in (*profile.pre_filter, *profile.filter)} - verdict.skipped
    if verdict.pre_filter is not None or not judges <= _UNMOVED or _FIT not in judges or _minds_its_kind(pod):
        return None
    if _needed(world, pod) > 1 or profile.foreign or world.has_extenders or world.has_nominations:
        return None
    wanted = world.cache.table.incoming(pod)
    if wanted.scalar:
        return None
    resources = world.cache.table.resources
    free = resources.allocatable - resources.requested
    amounts = (
        (CPU, wanted.milli_cpu),
        (MEMORY, wanted.memory),
        (EPHEMERAL_STORAGE, wanted.ephemeral_storage),
        (PODS, 1),
    )
    takes = np.stack([free[row] // amount for row, amount in amounts if amount]).min(axis=0)
    is_open = np.array([verdict.rejection(row) is None for row in range(len(takes))], dtype=bool)
    return np.where(is_open, np.maximum(takes, 0), 0)


def _minds_its_kind(pod: Pod) -> bool:
    """Say whether a pod may care how many like it there are, though no plugin that counts them is asked."""
    affinity, spec = pod.spec.affinity, pod.spec
    has_neighbours = affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)
    return has_neighbours or spec.scheduling_group is not None or bool(spec.scheduling_gates)


def _of_sums(world: World, share: MixShare, takes: Scores, limit: int) -> Headroom:
    key, total = share.pod.key, int(takes.sum())
    if total > limit:
        return Headroom(rounds=limit // share.count, pods={key: limit}, is_limited=True)
    before = _against(world, share.pod)
    reasons = before + _exhausted(world, share.pod, takes, np.flatnonzero(takes))
    told = ", ".join(sorted(f"{nodes} {reason}" for reason, nodes in reasons.items()))
    message = f"0/{len(takes)} nodes are available: {told}."
    found = _shortages(reasons, before)
    return Headroom(rounds=total // share.count, pods={key: total}, stopped_by=key, message=message, runs_out=found)


def _exhausted(world: World, pod: Pod, takes: Scores, rows: Rows) -> Counter[str]:
    """Count, over rows filled to the last, of what there is too little for one more."""
    wanted, resources = world.cache.table.incoming(pod), world.cache.table.resources
    free = resources.allocatable - resources.requested
    named = (
        ("Too many pods", PODS, 1),
        ("Insufficient cpu", CPU, wanted.milli_cpu),
        ("Insufficient memory", MEMORY, wanted.memory),
        ("Insufficient ephemeral-storage", EPHEMERAL_STORAGE, wanted.ephemeral_storage),
    )
    found: Counter[str] = Counter()
    for reason, row, amount in named:
        short = int(np.count_nonzero(free[row][rows] - takes[rows] * amount < amount)) if amount else 0
        found.update({reason: short} if short else {})
    return found
