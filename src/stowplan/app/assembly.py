"""Put a scheduler together around a `Cluster`: queue, intake, flow. What it writes to is given.

The live scheduler, the embedded cluster and the simulation differ in the writer and the clock, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.engine.intake import Intake
from stowplan.engine.parts import Parts
from stowplan.engine.ports import Writer
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.requeueing import awaited_by
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.queue.backoff import Limits
from stowplan.queue.places import Rules
from stowplan.queue.queue import SchedulingQueue


def assemble(cluster: Cluster, writer: Writer, now_ns: Callable[[], int]) -> tuple[Scheduler, Parts]:
    """Return the flow over a cluster, and the parts it moves pods between."""
    cluster.writer = writer
    queue = _queue(cluster)
    parts = Parts(
        cache=cluster.cache,
        queue=queue,
        intake=Intake(cluster.cache, queue, cluster.profiles),
        field=cluster.field,
        profiles=cluster.profiles,
        writer=writer,
        now_ns=now_ns,
        waiting=cluster.waiting_pods,
    )
    cluster.stopwatch.wind(now_ns, parts.patience.slow_seconds, lambda text: parts.tell(Trouble(text)))
    return Scheduler(parts, cluster.evictions), parts


def _queue(cluster: Cluster) -> SchedulingQueue:
    def gate(pod: Pod) -> Rejection | None:
        profile = cluster.profiles.get(pod.spec.scheduler_name)
        return profile.run_pre_enqueue(pod) if profile is not None else None

    def sort_key(pod: Pod, queued_at_ns: int) -> Any:
        # All profiles sort alike: the configuration refuses anything else.
        first = next(iter(cluster.profiles.values()))
        return first.queue_sort[0].sort_key(pod, queued_at_ns)

    limits = Limits(cluster.config.pod_initial_backoff_seconds, cluster.config.pod_max_backoff_seconds)
    awaited = {name: awaited_by(profile) for name, profile in cluster.profiles.items()}
    return SchedulingQueue(Rules(gate, sort_key), awaited, limits, cluster.nominations)
