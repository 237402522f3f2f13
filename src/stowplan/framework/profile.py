"""A profile: the plugins of one scheduler name, in order, at every extension point.

Built by `framework.registry` from the configuration; `kept.filtering` and `kept.ranking` walk it. `awaited_by` says
which cluster events may help a pod that a plugin rejected.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.framework import changes, contract, plugin_faults
from stowplan.framework.changes import NODE, Action
from stowplan.framework.contract import POINTS, Awaited, PlacementFeasible, Plugin, Requeue
from stowplan.framework.per_node import unwrapped
from stowplan.framework.plugin_faults import SIGN, Blame, PluginError, Stopwatch
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.table.shape import names_of_claims


@dataclass(frozen=True, slots=True)
class Profile:
    """Immutable; what an attempt needs to know about who is to be asked."""

    name: str
    pre_enqueue: tuple[contract.PreEnqueue, ...] = ()
    queue_sort: tuple[contract.QueueSort, ...] = ()
    pre_filter: tuple[contract.PreFilter, ...] = ()
    filter: tuple[contract.Filter, ...] = ()
    post_filter: tuple[contract.PostFilter, ...] = ()
    pre_score: tuple[contract.PreScore, ...] = ()
    score: tuple[tuple[contract.Score, int], ...] = ()
    reserve: tuple[contract.Reserve, ...] = ()
    permit: tuple[contract.Permit, ...] = ()
    pre_bind: tuple[contract.PreBind, ...] = ()
    bind: tuple[contract.Bind, ...] = ()
    post_bind: tuple[contract.PostBind, ...] = ()
    pod_group_post_filter: tuple[contract.PodGroupPostFilter, ...] = ()
    placement_generate: tuple[contract.PlacementGenerate, ...] = ()
    placement_score: tuple[tuple[contract.PlacementScore, int], ...] = ()
    percentage_of_nodes_to_score: int | None = None
    #: Plugins that may read more of a pod than its signature holds: all of the spec, annotations, and what they `sign`.
    foreign: tuple[Plugin, ...] = ()
    #: In-tree plugins that tell pods apart by more than their signature; and those that do so by volumes alone.
    signing: tuple[Plugin, ...] = ()
    signing_volumes: tuple[Plugin, ...] = ()
    #: Plugins that are not asked for scores for a while, because they took too long (`framework.plugin_budget`).
    left_out: frozenset[str] = frozenset()
    stopwatch: Stopwatch = field(default_factory=Stopwatch, compare=False)
    gates: FeatureGates = DEFAULT_GATES

    def is_resize(self, pod: Pod) -> bool:
        """Say whether a pod that is tried runs already, and is to grow where it is."""
        return pod.is_resize_deferred and self.handles_resizes

    @property
    def handles_resizes(self) -> bool:
        return self.gates.enabled("InPlacePodVerticalScalingSchedulerPreemption")

    @property
    def placement_feasible(self) -> tuple[PlacementFeasible, ...]:
        """Who says whether a group has found enough; no point that a configuration names."""
        return tuple(plugin for plugin in self.pre_enqueue if isinstance(plugin, PlacementFeasible))

    @property
    def foreign_names(self) -> frozenset[str]:
        return frozenset(plugin.name for plugin in self.foreign)

    def run_pre_enqueue(self, pod: Pod, gated_by: str = "") -> Rejection | None:
        """Return the first rejection that keeps `pod` out of the queue; a plugin that fails keeps it out.

        The plugin that did so up to now is asked first: as long as it does, only what it awaits opens the gate.
        """
        stopwatch = self.stopwatch
        started_ns = stopwatch.now_ns()
        plugins: Sequence[contract.PreEnqueue] = self.pre_enqueue
        if gated_by:
            plugins = sorted(plugins, key=lambda plugin: plugin.name != gated_by)
        for plugin in plugins:
            try:
                answer = plugin.pre_enqueue(pod)
                rejection = answer if answer is None else _gated(plugin, pod, answer)
            except plugin_faults.FAULTS as error:
                stopwatch.trace(error, (plugin.name, "PreEnqueue", pod))
                rejection = _failed((plugin.name, "PreEnqueue", pod), plugin_faults.spelled(error))
            started_ns, late = stopwatch.lap(started_ns, (plugin.name, "PreEnqueue", pod))
            if late or rejection is not None:
                return _failed((plugin.name, "PreEnqueue", pod), late) if late else rejection
        return None

    def sign(self, pod: Pod) -> Hashable:
        """Return what tells two pods of one shape apart for this profile."""
        signed = _signed_by(self.signing, pod)
        if pod.spec.volumes:
            signed += _signed_by(self.signing_volumes, pod)
        if not self.foreign:
            return pod.spec.node_name, signed
        annotations = tuple(sorted(pod.metadata.annotations.items()))
        return _unsigned(pod), annotations, signed, _signed_by(self.foreign, pod)


def _gated(plugin: contract.PreEnqueue, pod: Pod, answer: Any) -> Rejection:
    if not isinstance(answer, Rejection):
        problem = f"pre_enqueue answers with None or refuse(reason), got {type(answer).__name__} {answer!r:.60}"
        return _failed((plugin.name, "PreEnqueue", pod), problem)
    return Rejection(answer.reasons, answer.code, plugin.name)


def _failed(blame: Blame, problem: str) -> Rejection:
    return Rejection((str(PluginError(*blame, problem)),), Code.ERROR, blame[0])


def _unsigned(pod: Pod) -> Hashable:
    """Return what the signature of a pod has not got of its spec: what no in-tree plugin reads, or tells apart by."""
    spec = pod.spec
    return (
        names_of_claims(pod),
        spec.resource_claims,
        spec.node_name,
        spec.priority_class_name,
        spec.preemption_policy,
        spec.scheduling_gates,
        spec.scheduling_group,
        spec.service_account_name,
        spec.termination_grace_period_seconds,
    )


def _signed_by(plugins: tuple[Plugin, ...], pod: Pod) -> tuple[Hashable, ...]:
    signed: tuple[Hashable, ...] = ()
    for plugin in plugins:
        try:
            found = plugin.sign(pod)
            hash(found)
        except plugin_faults.FAULTS as error:
            raise PluginError(plugin.name, SIGN, pod, plugin_faults.spelled(error)) from error
        signed += (found,)
    return signed


#: The name under which the rejection of an extender is known; nobody can say what would change its mind.
EXTENDER: Final = "Extender"
#: The points at which plugins have weights.
WEIGHED: Final = ("score", "placement_score")
#: What those are taken to await that do not say: what kube-scheduler itself looks at, and not all that it hears of.
_BY_DEFAULT: Final = (
    changes.POD,
    NODE,
    changes.PERSISTENT_VOLUME,
    changes.PERSISTENT_VOLUME_CLAIM,
    changes.CSI_NODE,
    changes.CSI_DRIVER,
    changes.CSI_STORAGE_CAPACITY,
    changes.STORAGE_CLASS,
    changes.RESOURCE_CLAIM,
    changes.DEVICE_CLASS,
)


def awaited_by_default(gates: FeatureGates, lists: Sequence[str] = ()) -> tuple[Awaited, ...]:
    """Return what somebody is taken to await who does not say; of a plugin, also the kinds that it lists."""
    groups = ("PodGroup",) if gates.enabled("GenericWorkload") else ()
    resources = dict.fromkeys((*_BY_DEFAULT, *groups, *map(changes.resource_of, lists)))
    return tuple(Awaited(resource, Action.ALL) for resource in resources)


def awaited_by(profile: Profile) -> dict[str, tuple[Awaited, ...]]:
    """Return what each plugin of the profile awaits, and an extender; those that do not say await nearly everything."""
    silent = {name: awaited_by_default(profile.gates, plugin.lists) for name, plugin in _asked(profile).items()}
    return {**silent, **said_to_be_awaited(profile), EXTENDER: awaited_by_default(profile.gates)}


def said_to_be_awaited(profile: Profile) -> dict[str, tuple[Awaited, ...]]:
    """Return what the plugins of the profile that say so await."""
    saying = {name: plugin for name, plugin in _asked(profile).items() if isinstance(plugin, Requeue)}
    return {name: _of_release(plugin.events(), profile.gates) for name, plugin in saying.items()}


def _asked(profile: Profile) -> dict[str, Plugin]:
    # Whoever only scores or sorts rejects nobody.
    points = (point for point in POINTS if point not in ("queue_sort", "pre_score", *WEIGHED))
    return {plugin.name: unwrapped(plugin) for point in points for plugin in getattr(profile, point)}


def listed_by(profile: Profile) -> dict[str, tuple[str, ...]]:
    """Return the kinds of objects that each plugin of the profile lists."""
    scoring = [plugin for plugin, _ in (*profile.score, *profile.placement_score)]
    others = (plugin for point in POINTS if point not in WEIGHED for plugin in getattr(profile, point))
    return {plugin.name: unwrapped(plugin).lists for plugin in (*others, *scoring)}


def _of_release(awaited: tuple[Awaited, ...], gates: FeatureGates) -> tuple[Awaited, ...]:
    """Return what a plugin awaits, as the queue of a release takes it."""
    if not gates.changed("TaintsConcernTheirPlugins"):
        awaited = _with_taints(awaited)
    if not gates.changed("TargetPodEvents"):
        awaited = tuple(map(_unsplit, awaited))
    return awaited


def _with_taints(awaited: tuple[Awaited, ...]) -> tuple[Awaited, ...]:
    """Let a plugin that awaits new nodes hear of every node whose taints changed or that was uncordoned.

    A node often comes tainted and is opened later; to a pod that is when it is new, and upstream asks nobody then.
    """
    of_nodes = [one.actions for one in awaited if one.resource == NODE]
    hears_of_new = any(Action.ADD in actions for actions in of_nodes)
    hears_of_taints = any(Action.UPDATE_NODE_TAINT in actions for actions in of_nodes)
    return (*awaited, Awaited(NODE, Action.UPDATE_NODE_TAINT)) if hears_of_new and not hears_of_taints else awaited


def _unsplit(one: Awaited) -> Awaited:
    """Return what is awaited where a pod is a pod, pending or not, and hints tell whether it is the pod in question.

    Nobody hears of another's changes as of its own. But those of another that waits are heard of as of one that has a
    node, by pods under way at the time: it may be nominated to one.
    """
    hint = one.hint
    if one.resource == changes.TARGET_POD:
        return replace(
            one, hint=lambda pod, old, new: changes.is_same(pod, new) and (hint is None or hint(pod, old, new))
        )
    if one.resource == changes.ASSIGNED_POD:
        return replace(
            one,
            resource=changes.POD,
            hint=lambda pod, old, new: not changes.is_same(pod, new or old) and (hint is None or hint(pod, old, new)),
        )
    return one


def problem_with_events(plugin: Plugin) -> str:
    """Say what is wrong with what a plugin says it awaits; nothing if it can be used. What it raises is raised."""
    if not isinstance(plugin, Requeue):
        return ""
    # What an author may return is not known before; one who yields would be heard once, and never again.
    listed: Any = plugin.events()
    if not isinstance(listed, tuple | list):
        return f"events answers with a tuple of Awaited(resource, actions), got {type(listed).__name__} {listed!r:.60}"
    for one in listed:
        if not isinstance(one, Awaited):
            return f"events answers with a tuple of Awaited(resource, actions), got one with {one!r:.60} in it"
        if not _is_sound(one):
            return f"events: an Awaited is (resource, Action, hint(pod, old, new) or None), got {one!r:.120}"
    return ""


def _is_sound(one: Any) -> bool:
    has_hint = one.hint is None or callable(one.hint)
    return isinstance(one.resource, str) and isinstance(one.actions, Action) and has_hint
