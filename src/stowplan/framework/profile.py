"""A profile: the plugins of one scheduler name, in order, at every extension point.

Built by `framework.registry` from the configuration; `filtering` and `ranking` walk it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from stowplan.framework import raised
from stowplan.framework.asking import SIGN, PluginError
from stowplan.framework.contract import (
    Bind,
    Filter,
    Permit,
    Plugin,
    PostBind,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reserve,
    Score,
)
from stowplan.framework.stopwatch import Blame, Stopwatch
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod, PodSpec


@dataclass(frozen=True, slots=True)
class Profile:
    """Immutable; what an attempt needs to know about who is to be asked."""

    name: str
    pre_enqueue: tuple[PreEnqueue, ...] = ()
    queue_sort: tuple[QueueSort, ...] = ()
    pre_filter: tuple[PreFilter, ...] = ()
    filter: tuple[Filter, ...] = ()
    post_filter: tuple[PostFilter, ...] = ()
    pre_score: tuple[PreScore, ...] = ()
    score: tuple[tuple[Score, int], ...] = ()
    reserve: tuple[Reserve, ...] = ()
    permit: tuple[Permit, ...] = ()
    pre_bind: tuple[PreBind, ...] = ()
    bind: tuple[Bind, ...] = ()
    post_bind: tuple[PostBind, ...] = ()
    percentage_of_nodes_to_score: int | None = None
    #: Plugins that may read more of a pod than its signature holds: all of the spec, annotations, and what they `sign`.
    foreign: tuple[Plugin, ...] = ()
    #: In-tree plugins that tell pods apart by more than their signature.
    signing: tuple[Plugin, ...] = ()
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)

    @property
    def foreign_names(self) -> frozenset[str]:
        return frozenset(plugin.name for plugin in self.foreign)

    def run_pre_enqueue(self, pod: Pod) -> Rejection | None:
        """Return the first refusal to let `pod` into the queue; a plugin that fails keeps it out."""
        late, stopwatch = "", self.stopwatch
        for plugin in self.pre_enqueue:
            started_ns = stopwatch.now_ns() if stopwatch.is_wound else 0
            try:
                rejection = _gate(plugin, pod)
            except raised.FAULTS as error:
                stopwatch.trace(error, (plugin.name, "PreEnqueue", pod))
                rejection = _failed((plugin.name, "PreEnqueue", pod), raised.spelled(error))
            if stopwatch.is_wound:
                late = stopwatch.stop(started_ns, (plugin.name, "PreEnqueue", pod))
            if late or rejection is not None:
                return _failed((plugin.name, "PreEnqueue", pod), late) if late else rejection
        return None

    def sign(self, pod: Pod) -> Hashable:
        """Return what tells two pods of one shape apart for this profile."""
        signed = tuple([_signed_by(plugin, pod) for plugin in self.signing])
        if not self.foreign:
            return pod.spec.node_name, signed
        annotations = tuple(sorted(pod.metadata.annotations.items()))
        return _unsigned(pod.spec), annotations, signed, tuple(_signed_by(plugin, pod) for plugin in self.foreign)


def _gate(plugin: PreEnqueue, pod: Pod) -> Rejection | None:
    answer: Any = plugin.pre_enqueue(pod)
    if answer is None:
        return None
    if not isinstance(answer, Rejection):
        problem = f"pre_enqueue answers with None or refuse(reason), got {type(answer).__name__} {answer!r:.60}"
        return _failed((plugin.name, "PreEnqueue", pod), problem)
    return Rejection(answer.reasons, answer.code, plugin.name)


def _failed(blame: Blame, problem: str) -> Rejection:
    return Rejection((str(PluginError(*blame, problem)),), Code.ERROR, blame[0])


def _unsigned(spec: PodSpec) -> Hashable:
    """Return the fields of a spec that no in-tree plugin reads, so that the signature of a pod has not got them."""
    return (
        spec.node_name,
        spec.priority_class_name,
        spec.preemption_policy,
        spec.scheduling_gates,
        spec.scheduling_group,
        spec.service_account_name,
        spec.termination_grace_period_seconds,
    )


def _signed_by(plugin: Plugin, pod: Pod) -> Hashable:
    try:
        signed = plugin.sign(pod)
        hash(signed)
    except raised.FAULTS as error:
        raise PluginError(plugin.name, SIGN, pod, raised.spelled(error)) from error
    return signed
