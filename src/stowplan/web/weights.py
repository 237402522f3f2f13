"""What other weights would have changed: the last pods that were placed, asked about as if it were their turn now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from stowplan.app.inspection import as_pending
from stowplan.engine.ports import Bound
from stowplan.engine.scheduling_cycle import find_feasible, in_order, rank
from stowplan.framework.kept.memo import Memo
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod, pod_id
from stowplan.serving.debug_pages import BadQueryError
from stowplan.table.columns import Rows, Scores
from stowplan.table.shape import PodShape
from stowplan.web.pod_answers import MovedPod, WeightsAnswer
from stowplan.web.questions import Asked
from stowplan.web.source import Source

Weight = Annotated[int, Meta(ge=0, le=1_000_000)]
#: The normalised scores of each plugin, by row.
_ByPlugin = Mapping[str, Scores]


class WeightsQuestion(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Weights to try; plugins that are not named keep theirs."""

    profile: str
    weights: dict[str, Weight]
    #: How many of the pods that were placed last.
    last: Annotated[int, Meta(ge=1, le=200)] = 100


async def weights(source: Source, asked: Asked) -> bytes:
    try:
        question = msgspec.json.decode(await source.inspection.bodies.read(asked.request), type=WeightsQuestion)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise BadQueryError(f"{error}; post profile, weights and last") from None
    _check(source, question)

    def make(now_ns: int) -> Callable[[], bytes]:
        return lambda: msgspec.json.encode(_answer(source, question))

    return await source.children.answer("weights", make)


def _check(source: Source, question: WeightsQuestion) -> None:
    profiles = source.cluster.profiles
    if question.profile not in profiles:
        known = ", ".join(sorted(profiles))
        raise BadQueryError(f"profile: Invalid value: {question.profile!r}: write one of: {known}")
    scoring = _weights_of(profiles[question.profile])
    for name in question.weights:
        if name not in scoring:
            raise BadQueryError(f"weights: {name!r} does not score in the profile; write some of: {', '.join(scoring)}")


def _weights_of(profile: Profile) -> dict[str, int]:
    return {plugin.name: weight for plugin, weight in profile.score}


def _answer(source: Source, question: WeightsQuestion) -> WeightsAnswer:
    profile = source.cluster.profiles[question.profile]
    before = _weights_of(profile)
    after = {**before, **question.weights}
    pods = list(islice(_placed_last(source, profile), question.last))
    changed, asked = [], 0
    for pod in pods:
        found = _scores(source, profile, pod)
        if found is None:
            continue
        asked += 1
        moved = _moved(source, pod, found, (before, after))
        if moved is not None:
            changed.append(moved)
    return WeightsAnswer(asked, len(pods) - asked, changed)


def _placed_last(source: Source, profile: Profile) -> Iterator[Pod]:
    """Yield the pods of a profile that were placed last, each once, the last one first."""
    seen: set[str] = set()
    for heard in source.decisions.heard():
        if not isinstance(heard, Bound) or heard.pod.spec.scheduler_name != profile.name:
            continue
        if pod_id(heard.pod) not in seen:
            seen.add(pod_id(heard.pod))
            yield heard.pod


def _scores(source: Source, profile: Profile, pod: Pod) -> tuple[_ByPlugin, Rows] | None:
    """Return the scores of the nodes that would do, and these nodes in order; None if none would, or it is gone."""
    placed, table = source.cache.placed(pod), source.cache.table
    if placed is None or placed.node_name not in table.row_of:
        return None
    pending, field = as_pending(placed.pod), replace(source.cluster.field, memo=Memo(table, is_on=False))
    with source.inspection.without(placed.pod):
        try:
            found = find_feasible(field, profile, pending, PodShape(b"", pending))
            if not found.count:
                return None
            by_plugin = rank(field, profile, pending, found).by_plugin()
        except PluginError:
            return None
        return {name: normalized for name, (_, normalized, _) in by_plugin.items()}, in_order(field, found)


def _moved(
    source: Source, pod: Pod, found: tuple[_ByPlugin, Rows], weights: tuple[Mapping[str, int], Mapping[str, int]]
) -> MovedPod | None:
    """Return where a pod would go with other weights; None if it would go where it would go anyway."""
    scores, rows = found
    before, after = (_total(scores, each, rows) for each in weights)
    table, placed = source.cache.table, source.cache.placed(pod)
    if placed is None:
        return None
    here = np.flatnonzero(rows == table.row_of[placed.node_name])
    old = _best(before, int(here[0]) if here.size else None)
    new = _best(after, old)
    if new == old:
        return None
    by = {
        name: int((each[rows[new]] - each[rows[old]]) * weights[1][name])
        for name, each in scores.items()
        if each[rows[new]] != each[rows[old]] and weights[1][name]
    }
    names, total = table.names(), after
    return MovedPod(pod.key, placed.node_name, names[rows[old]], names[rows[new]], int(total[old]), int(total[new]), by)


def _total(scores: _ByPlugin, weights: Mapping[str, int], rows: Rows) -> Scores:
    total = np.zeros(len(rows), dtype=np.int64)
    for name, each in scores.items():
        total += each[rows] * weights[name]
    return total


def _best(total: Scores, preferred: int | None) -> int:
    """Return the position of the highest total; of equals the one that is preferred, or the first."""
    best = int(total.argmax())
    return preferred if preferred is not None and total[preferred] == total[best] else best
