"""Put a scheduler together around a `Cluster`: queue, event handlers, flow. What it writes to is given.

The live scheduler, the embedded cluster and the simulation differ in the writer and the clock, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import queue_limits
from stowplan.engine.parts import ActivePolicy, SchedulerState
from stowplan.engine.ports import Environment, Timeouts, Trouble, Writer
from stowplan.engine.scheduler import Scheduler
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Awaited
from stowplan.framework.gangs import has_gangs
from stowplan.framework.plugin_faults import Stopwatch
from stowplan.framework.pod_groups import has_groups
from stowplan.framework.profile import Profile, awaited_by
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.model.pod_group import GroupKey, OwnGroup
from stowplan.queue.hints import AwaitedBy
from stowplan.queue.places import QueueLimits, QueueRules
from stowplan.queue.queue import SchedulingQueue


def assemble(
    cluster: Cluster,
    writer: Writer,
    now_ns: Callable[[], int],
    timeouts: Timeouts | None = None,
    limits: QueueLimits | None = None,
) -> Scheduler:
    """Return the scheduler of a cluster; limits are the configuration's if none are given."""
    environment = Environment(writer, now_ns, timeouts if timeouts is not None else Timeouts())

    def tell(text: str) -> None:
        environment.tell(Trouble(text))

    handle = cluster.handle
    handle.writer = handle.binder = writer
    # Whoever listens may be put there later.
    cluster.heard = lambda said: environment.tell(said)
    queue = _queue(cluster, tell, limits if limits is not None else queue_limits(cluster.config, cluster.feature_gates))
    state = SchedulerState(cluster.cache, queue, handle.waiting_pods, handle.evictions, handle.cluster_changes)
    announces_nodes = cluster.feature_gates.enabled("NominatedNodeNameForExpectation")
    policy = cluster.policy()
    policy.announces_nodes = announces_nodes
    _use(cluster, policy)
    limits_seconds = (environment.timeouts.slow_seconds, environment.timeouts.late_seconds)
    handle.stopwatch.wind(now_ns, limits_seconds, tell)
    scheduler = Scheduler(state, policy, environment)
    scheduler.event_handlers.tells_of_pending = has_groups(cluster.feature_gates)
    return scheduler


def reassemble(cluster: Cluster, scheduler: Scheduler) -> None:
    """Have the flow use the profiles and extenders of the cluster, and try again whom others refused.

    Called between two cycles, never inside one.
    """
    policy, queue = scheduler.policy, scheduler.state.queue
    replaced = _replaced(policy.profiles, cluster.profiles)
    _use(cluster, policy)
    scheduler.event_handlers.scheduler_names = cluster.profiles
    queue.use(_awaited(cluster))
    queue.bring_all_back(scheduler.environment.now_ns())
    # Other code may know nothing of the pods that it holds, or decide otherwise.
    for waiting in scheduler.state.waiting:
        for plugin in replaced.intersection(waiting.held_by):
            waiting.turn_back(plugin, f"plugin {plugin} was read again")


def _replaced(old: Mapping[str, Profile], new: Mapping[str, Profile]) -> frozenset[str]:
    """Return the plugins of which there is other code now."""
    before, after = (
        {plugin.name: type(plugin) for profile in profiles.values() for plugin in profile.foreign}
        for profiles in (old, new)
    )
    return frozenset(name for name, cls in before.items() if after.get(name, cls) is not cls)


def _use(cluster: Cluster, policy: ActivePolicy) -> None:
    policy.profiles, policy.field, policy.extenders = cluster.profiles, cluster.field, cluster.extenders_in_flow()
    policy.gang_profiles = frozenset(profile.name for profile in cluster.profiles.values() if has_gangs(profile))


def _queue(cluster: Cluster, tell: Callable[[str], None], limits: QueueLimits) -> SchedulingQueue:
    def gate(pod: Pod, gated_by: str) -> Rejection | None:
        profile = cluster.profiles.get(pod.spec.scheduler_name)
        return profile.run_pre_enqueue(pod, gated_by) if profile is not None else None

    def sort_key(pod: Pod, queued_at_ns: int) -> Any:
        # All profiles sort alike: the configuration refuses anything else.
        plugin = next(iter(cluster.profiles.values())).queue_sort[0]
        try:
            return _in_front(plugin.sort_key(pod, queued_at_ns))
        except plugin_faults.FAULTS as error:
            cluster.handle.stopwatch.trace(error, (plugin.name, "QueueSort", pod))
            why = plugin_faults.spelled(error)
            tell(f"plugin {plugin.name!r} failed in QueueSort for pod {pod.key!r}, which comes last now: {why}")
            return 1, queued_at_ns

    def group_sort_key(key: GroupKey, pods: Sequence[Pod], queued_at_ns: int) -> Any:
        plugin, group = next(iter(cluster.profiles.values())).queue_sort[0], cluster.cache.groups.get(key)
        try:
            if not isinstance(group, OwnGroup):
                return _in_front(plugin.sort_key(pods[0], queued_at_ns))
            return _in_front(plugin.group_sort_key(group, pods, queued_at_ns))
        except plugin_faults.FAULTS as error:
            cluster.handle.stopwatch.trace(error, (plugin.name, "QueueSort", pods[0]))
            tell(f"plugin {plugin.name!r} failed in QueueSort for {key}: {plugin_faults.spelled(error)}")
            return 1, queued_at_ns

    gates = cluster.feature_gates
    rules = QueueRules(
        gate,
        sort_key,
        tell,
        group_sort_key,
        has_groups=has_groups(gates),
        has_trees=gates.enabled("CompositePodGroup"),
    )
    return SchedulingQueue(rules, _awaited(cluster), limits, cluster.handle.nominations)


def _in_front(key: Any) -> tuple[Any, ...]:
    """Put a key before those of pods that could not be given one; flat, for a long queue is compared all the time."""
    return (0, *key) if isinstance(key, tuple) else (0, key)


def _awaited(cluster: Cluster) -> AwaitedBy:
    return {
        name: {
            plugin: _told_of(cluster.handle.stopwatch, plugin, awaited) if plugin in profile.foreign_names else awaited
            for plugin, awaited in awaited_by(profile).items()
        }
        for name, profile in cluster.profiles.items()
    }


def _told_of(stopwatch: Stopwatch, plugin: str, awaited: tuple[Awaited, ...]) -> tuple[Awaited, ...]:
    """Have it told when a hint of a plugin fails; the queue takes that for a yes."""

    def watched(hint: Callable[[Pod, Any, Any], bool]) -> Callable[[Pod, Any, Any], bool]:
        def ask(pod: Pod, old: Any, new: Any) -> bool:
            try:
                return hint(pod, old, new)
            except plugin_faults.FAULTS as error:
                stopwatch.trace(error, (plugin, "QueueingHint", pod))
                raise

        return ask

    return tuple(one if one.hint is None else replace(one, hint=watched(one.hint)) for one in awaited)
