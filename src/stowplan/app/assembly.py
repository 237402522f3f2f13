"""Put a scheduler together around a `Cluster`: queue, intake, flow. What it writes to is given.

The live scheduler, the embedded cluster and the simulation differ in the writer and the clock, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.engine.intake import Intake
from stowplan.engine.parts import Parts
from stowplan.engine.patience import Patience
from stowplan.engine.ports import Trouble, Writer
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.requeueing import awaited_by
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.queue.backoff import Limits
from stowplan.queue.places import Rules
from stowplan.queue.queue import SchedulingQueue


def assemble(
    cluster: Cluster, writer: Writer, now_ns: Callable[[], int], patience: Patience | None = None
) -> tuple[Scheduler, Parts]:
    """Return the flow over a cluster, and the parts it moves pods between."""

    def tell(text: str) -> None:
        parts.tell(Trouble(text))

    cluster.writer = writer
    queue = _queue(cluster, tell)
    parts = Parts(
        cache=cluster.cache,
        queue=queue,
        intake=Intake(cluster.cache, queue, cluster.profiles, cluster.waiting_pods),
        field=cluster.field,
        profiles=cluster.profiles,
        writer=writer,
        now_ns=now_ns,
        waiting=cluster.waiting_pods,
        patience=patience if patience is not None else Patience(),
    )
    cluster.stopwatch.wind(now_ns, parts.patience.slow_seconds, tell)
    return Scheduler(parts, cluster.evictions), parts


def _queue(cluster: Cluster, tell: Callable[[str], None]) -> SchedulingQueue:
    def gate(pod: Pod) -> Rejection | None:
        profile = cluster.profiles.get(pod.spec.scheduler_name)
        rejection = profile.run_pre_enqueue(pod) if profile is not None else None
        if rejection is not None and rejection.code is Code.ERROR:
            tell(", ".join(rejection.reasons))
        return rejection

    def sort_key(pod: Pod, queued_at_ns: int) -> Any:
        # All profiles sort alike: the configuration refuses anything else.
        plugin = next(iter(cluster.profiles.values())).queue_sort[0]
        try:
            return 0, plugin.sort_key(pod, queued_at_ns)
        except Exception as error:
            tell(f"plugin {plugin.name!r} failed in QueueSort for pod {pod.key!r}, which comes last now: {error!r}")
            return 1, queued_at_ns

    limits = Limits(
        cluster.config.pod_initial_backoff_seconds,
        cluster.config.pod_max_backoff_seconds,
        pops_early=cluster.feature_gates.enabled("SchedulerPopFromBackoffQ"),
    )
    awaited = {name: awaited_by(profile) for name, profile in cluster.profiles.items()}
    return SchedulingQueue(Rules(gate, sort_key), awaited, limits, cluster.nominations)
