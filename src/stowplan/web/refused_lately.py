"""What one node has against the pods that wait and were refused when they were last tried.

Pods that are alike are asked about once, and listed as one with their number: a thousand of one template are not to
hide the one of another.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

import numpy as np

from stowplan.app.inspection import as_pending
from stowplan.framework.kept.memo import Memo
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod, pod_id
from stowplan.observe.opinions import panel
from stowplan.observe.queue_state import timestamp
from stowplan.web.answers import RefusedOnNode
from stowplan.web.source import Source

#: So many templates are asked about, and so many pods are looked at for them.
MOST_TEMPLATES: Final = 50
MOST_PODS: Final = 1000
#: To ask about more templates than these takes longer than pods should wait for.
_FEW: Final = 5


@dataclass(slots=True)
class _Template:
    """Pods that are alike: the one that was refused last, when that was, and how many there are."""

    pod: Pod
    at_ns: int
    pods: int = 0


def takes_long(source: Source) -> bool:
    """Say whether pods should not wait for what is said of a node."""
    return sum(source.by_place().values()) > MOST_PODS or len(_templates(source)) > _FEW


def words_against(source: Source, row: int) -> list[RefusedOnNode]:
    """Return what is said against a node, between two cycles or in a child, those first that were refused last."""
    return [_word_against(source, row, one) for one in _templates(source)[:MOST_TEMPLATES]]


def _templates(source: Source) -> list[_Template]:
    found: dict[object, _Template] = {}
    for at_ns, pod in _refused(source):
        found.setdefault(_likeness(source, pod), _Template(pod, at_ns)).pods += 1
    return list(found.values())


def _likeness(source: Source, pod: Pod) -> object:
    """Return what is equal of pods that are alike; plugins from elsewhere may tell all of them apart."""
    profile = source.cluster.profiles[pod.spec.scheduler_name]
    return pod_id(pod) if profile.foreign else (source.cache.table.shape_of(pod), pod.priority, profile.name)


def _refused(source: Source) -> list[tuple[int, Pod]]:
    """Return the pods that wait and were refused when they were last tried, with when that was, the latest first."""
    timeline, profiles = source.replica.timeline, source.cluster.profiles
    found = []
    for entry in source.inspection.view().entries():
        tries = timeline.tries(entry.pod)
        if tries and tries[-1].outcome == "refused" and entry.pod.spec.scheduler_name in profiles:
            found.append((tries[-1].ended_at_ns, entry.pod))
    return heapq.nlargest(MOST_PODS, found, key=itemgetter(0))


def _word_against(source: Source, row: int, template: _Template) -> RefusedOnNode:
    """Return the first thing that a filter says against a node, or against the pods as a whole."""
    cluster, pending = source.cluster, as_pending(template.pod)
    field = replace(cluster.field, memo=Memo(source.cache.table, is_on=False))
    with source.inspection.without(template.pod):
        rows = np.array([row], dtype=np.intp)
        opinions = panel(field, cluster.profile_of(pending), pending, rows).hear(pending)
    word: Rejection | None = next(iter((*opinions.refusals, *opinions.about(0))), None)
    plugin, reasons = (word.plugin, list(word.reasons)) if word is not None else ("", [])
    return RefusedOnNode(template.pod.key, template.pods, plugin, reasons, timestamp(template.at_ns))
