"""What a refused row would need, plugin by plugin: read off the columns, or found by asking about a lesser pod.

`nearest` puts the needs of a row together and lets the filters check the result. A plugin that is not listed here gets
the remedy that names it and its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from operator import eq
from typing import Final

import numpy as np

from stowplan.model import requests, tolerations
from stowplan.model.node import Taint
from stowplan.model.pod import Pod
from stowplan.observe.opinions import Panel
from stowplan.observe.remedies import (
    DropHostPorts,
    DropNodeAffinity,
    DropNodeName,
    DropPodAffinity,
    DropSelector,
    DropSpread,
    FewerPods,
    Remedy,
    RequestLess,
    RequestNone,
    Tolerate,
    with_request,
)
from stowplan.table.columns import Mask, Scores
from stowplan.table.nodes import Nodes

#: Of a pod that asks for more than this, nobody wants to read what it should not ask for, or to wait for that.
_MOST_DEMANDS: Final = 64
#: Of so many spread constraints, one, two or three are tried.
_MOST_SPREADS: Final = 12
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect=tolerations.NO_SCHEDULE)


@dataclass(frozen=True, slots=True)
class Case:
    """One plugin's refusal of some rows to a pod."""

    panel: Panel
    plugin: str
    pod: Pod
    refused: Mask

    @property
    def nodes(self) -> Nodes:
        return self.panel.views[0]

    def still_refused(self, pod: Pod) -> Mask:
        """Say which of the refused rows the plugin also refuses to a variant of the pod."""
        return self.refused & self.panel.refused(self.plugin, pod)


@dataclass(frozen=True, slots=True)
class Need:
    """A remedy, the rows that need it, and for resources how much of it each row needs."""

    remedy: Remedy
    rows: Mask
    amounts: Scores | None = None
    requested: int = field(default=0)


def needs(case: Case) -> list[Need]:
    """Return what the refused rows need for this plugin to accept them."""
    find = _FINDERS.get(case.plugin)
    return list(find(case)) if find is not None else []


def _resources(case: Case) -> Iterator[Need]:
    has, taken = case.nodes.allocatable, case.nodes.requested
    pods = case.nodes.resource("pods")
    is_full = case.refused & (has[pods] - taken[pods] < 1)
    if is_full.any():
        yield Need(FewerPods(), is_full)
    amounts = _amounts(case.pod)
    for name, amount in amounts.items() if len(amounts) <= _MOST_DEMANDS else ():
        row = case.nodes.resource(name)
        free = np.maximum(has[row] - taken[row], 0)
        is_short = free < amount
        if (case.refused & is_short).any():
            # Whether the plugin minds is for the plugin to say: it may be told to ignore a resource.
            is_short &= case.still_refused(_requesting_only(case.pod, name, amounts))
        yield Need(RequestNone(name), is_short & (free == 0))
        yield Need(RequestLess(name), is_short & (free > 0), amount - free, amount)


def _amounts(pod: Pod) -> dict[str, int]:
    wanted = requests.incoming(pod)
    fixed = {"cpu": wanted.milli_cpu, "memory": wanted.memory, "ephemeral-storage": wanted.ephemeral_storage}
    return {name: amount for name, amount in {**fixed, **wanted.scalar}.items() if amount}


def _requesting_only(pod: Pod, resource: str, amounts: dict[str, int]) -> Pod:
    for other in amounts:
        if other != resource:
            pod = with_request(pod, other, None)
    return pod


def _taints(case: Case) -> Iterator[Need]:
    codes, meanings, _ = case.nodes.taints
    rows_of: dict[Taint, Mask] = {}
    for code in np.unique(codes[case.refused]).tolist():
        for taint in _untolerated(meanings[code], case.pod) if code >= 0 else ():
            rows = rows_of.setdefault(taint, np.zeros(len(codes), dtype=bool))
            rows |= case.refused & (codes == code)
    return (Need(Tolerate(taint), rows) for taint, rows in rows_of.items())


def _untolerated(taints: Sequence[Taint], pod: Pod) -> list[Taint]:
    repelling = (taint for taint in taints if taint.effect in (tolerations.NO_SCHEDULE, tolerations.NO_EXECUTE))
    find = tolerations.about(pod.spec.tolerations)
    return [
        Taint(key=taint.key, value=taint.value, effect=taint.effect)
        for taint in repelling
        if not tolerations.is_tolerated(taint, find(taint))
    ]


def _cordon(case: Case) -> Iterator[Need]:
    yield Need(Tolerate(CORDON), case.refused)


def _node_affinity(case: Case) -> Iterator[Need]:
    if len(case.pod.spec.node_selector) > _MOST_DEMANDS:
        return
    unselected = case.pod
    for key, value in case.pod.spec.node_selector.items():
        has_value = case.nodes.label(key).by_meaning(partial(eq, value))
        drop = DropSelector(key, value)
        unselected = drop.relax(unselected)
        yield Need(drop, case.refused & ~has_value)
    affinity = case.pod.spec.affinity
    if affinity is not None and affinity.node_affinity is not None:
        yield Need(DropNodeAffinity(), case.still_refused(unselected))


def _pod_affinity(case: Case) -> Iterator[Need]:
    return _first_that_helps(
        case,
        (
            DropPodAffinity(("pod_affinity",)),
            DropPodAffinity(("pod_anti_affinity",)),
            DropPodAffinity(("pod_affinity", "pod_anti_affinity")),
        ),
    )


def _spread(case: Case) -> Iterator[Need]:
    hard = (c for c in case.pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule")
    keys = tuple(dict.fromkeys(constraint.topology_key for constraint in hard))
    if len(keys) > _MOST_SPREADS:
        return _first_that_helps(case, [DropSpread(keys)])
    return _first_that_helps(case, [DropSpread(some) for size in (1, 2, 3) for some in combinations(keys, size)])


def _host_ports(case: Case) -> Iterator[Need]:
    yield Need(DropHostPorts(), case.refused)


def _node_name(case: Case) -> Iterator[Need]:
    yield Need(DropNodeName(), case.refused)


def _first_that_helps(case: Case, remedies: Sequence[Remedy]) -> Iterator[Need]:
    """Give each row the first remedy that makes the plugin accept it."""
    left = case.refused
    for remedy in remedies:
        relaxed = remedy.relax(case.pod)
        if relaxed is None or not left.any():
            continue
        refused = case.still_refused(relaxed)
        yield Need(remedy, left & ~refused)
        left = left & refused


_FINDERS: Final[dict[str, Callable[[Case], Iterator[Need]]]] = {
    "NodeUnschedulable": _cordon,
    "NodeName": _node_name,
    "TaintToleration": _taints,
    "NodeAffinity": _node_affinity,
    "NodePorts": _host_ports,
    "NodeResourcesFit": _resources,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
}
