"""Put a scheduler together around a `Cluster`: queue, intake, flow. What it writes to is given.

The live scheduler, the embedded cluster and the simulation differ in the writer and the clock, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.app.settings import queue_limits
from stowplan.engine.event_handlers import Intake
from stowplan.engine.parts import Parts
from stowplan.engine.ports import Trouble, Writer
from stowplan.engine.scheduler import Scheduler
from stowplan.engine.timeouts import Patience
from stowplan.framework import plugin_faults
from stowplan.framework.contract import Awaited
from stowplan.framework.plugin_faults import Stopwatch
from stowplan.framework.profile import awaited_by
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.queue.backoff import Limits
from stowplan.queue.hints import AwaitedBy
from stowplan.queue.places import Rules
from stowplan.queue.queue import SchedulingQueue


def assemble(
    cluster: Cluster,
    writer: Writer,
    now_ns: Callable[[], int],
    patience: Patience | None = None,
    limits: Limits | None = None,
) -> tuple[Scheduler, Parts]:
    """Return the flow over a cluster, and the parts it moves pods between; limits are the configuration's if none."""

    def tell(text: str) -> None:
        parts.tell(Trouble(text))

    cluster.writer = writer
    # Whoever listens may be put there later.
    cluster.heard = lambda said: parts.tell(said)
    queue = _queue(cluster, tell, limits if limits is not None else queue_limits(cluster.config, cluster.feature_gates))
    parts = Parts(
        cache=cluster.cache,
        queue=queue,
        intake=Intake(cluster.cache, queue, cluster.profiles, cluster.waiting_pods),
        field=cluster.field,
        profiles=cluster.profiles,
        writer=writer,
        now_ns=now_ns,
        waiting=cluster.waiting_pods,
        news=cluster.news,
        patience=patience if patience is not None else Patience(),
        announces_nodes=cluster.feature_gates.enabled("NominatedNodeNameForExpectation"),
        extended=cluster.extended(),
    )
    cluster.stopwatch.wind(now_ns, (parts.patience.slow_seconds, parts.patience.late_seconds), tell)
    return Scheduler(parts, cluster.evictions), parts


def reassemble(cluster: Cluster, parts: Parts) -> None:
    """Have the flow use the profiles and extenders of the cluster, and try again whom others refused.

    Called between two cycles, never inside one.
    """
    parts.profiles, parts.field, parts.extended = cluster.profiles, cluster.field, cluster.extended()
    parts.intake = replace(parts.intake, scheduler_names=cluster.profiles)
    parts.queue.use(_awaited(cluster))
    parts.queue.bring_all_back(parts.now_ns())


def _queue(cluster: Cluster, tell: Callable[[str], None], limits: Limits) -> SchedulingQueue:
    def gate(pod: Pod) -> Rejection | None:
        profile = cluster.profiles.get(pod.spec.scheduler_name)
        return profile.run_pre_enqueue(pod) if profile is not None else None

    def sort_key(pod: Pod, queued_at_ns: int) -> Any:
        # All profiles sort alike: the configuration refuses anything else.
        plugin = next(iter(cluster.profiles.values())).queue_sort[0]
        try:
            return 0, plugin.sort_key(pod, queued_at_ns)
        except plugin_faults.FAULTS as error:
            cluster.stopwatch.trace(error, (plugin.name, "QueueSort", pod))
            why = plugin_faults.spelled(error)
            tell(f"plugin {plugin.name!r} failed in QueueSort for pod {pod.key!r}, which comes last now: {why}")
            return 1, queued_at_ns

    return SchedulingQueue(Rules(gate, sort_key, tell), _awaited(cluster), limits, cluster.nominations)


def _awaited(cluster: Cluster) -> AwaitedBy:
    return {
        name: {
            plugin: _told_of(cluster.stopwatch, plugin, awaited) if plugin in profile.foreign_names else awaited
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
