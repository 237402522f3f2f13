"""Takes the steps of a workload, one after another, beside the scheduler and on the same loop.

What upstream does in goroutines (churn, gradual deletions) is done in tasks here. Where upstream looks every second
whether enough pods are scheduled, the one who waits is woken by the last of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, cast

from stowplan.app.process import Tasks
from stowplan.bench import objects
from stowplan.bench import operations as ops
from stowplan.bench.creating import Creator, matcher
from stowplan.bench.device_claims import allocate_claims
from stowplan.bench.measuring import Collector, Measurement
from stowplan.bench.objects import PodMaker
from stowplan.bench.parameters import WorkloadError
from stowplan.bench.ports import BenchApi, BenchScheduler
from stowplan.bench.scheduler import VirtualScheduler
from stowplan.bench.virtual_api import AlreadyExistsError, VirtualApi
from stowplan.model import duration
from stowplan.model.pod import Pod

#: After so many objects others have their turn.
_AT_A_TIME: Final = 500
#: How often somebody who waits looks whether anything is left to wait for.
_LOOK_SECONDS: Final = 0.1
_RECREATE: Final = "recreate"
SCHEDULED: Final = "PodScheduled"
IN_PROCESS_ONLY: Final = "claims are allocated without a pod only in process, where the allocator is at hand"


class Executor:
    """The steps of one workload."""

    def __init__(
        self, creator: Creator, scheduler: BenchScheduler, now_ns: Callable[[], int], timeout_seconds: float
    ) -> None:
        self._creator, self._scheduler, self._now_ns = creator, scheduler, now_ns
        self._api: BenchApi = creator.api
        self._timeout_seconds = timeout_seconds
        #: How many pods a barrier has to wait for, by namespace.
        self._pending: dict[str, int] = {}
        self._collector: Collector | None = None
        self._tasks = Tasks(self._ended)
        self._fault: BaseException | None = None
        self.measurements: list[Measurement] = []
        #: What is going on, for a progress bar: a text, how many are done, and of how many.
        self.progress: tuple[str, int, int] = ("", 0, 0)
        self._takers: dict[type[ops.Operation], Callable[[Any, int], Any]] = {
            ops.CreateNodes: self._create_nodes,
            ops.CreateNamespaces: self._create_namespaces,
            ops.CreatePods: self._create_pods,
            ops.CreateAny: self._create_any,
            ops.CreatePodGroups: self._create_any,
            ops.CreateResourceClaims: self._create_any,
            ops.UpdateAny: self._update_any,
            ops.DeletePods: self._delete_pods,
            ops.Churn: self._churn,
            ops.Barrier: self._barrier,
            ops.Sleep: self._sleep,
            ops.StartCollectingMetrics: self._start_collecting,
            ops.StopCollectingMetrics: self._stop_collecting,
            ops.CreateResourceDriver: self._create_resource_driver,
            ops.AllocResourceClaims: self._allocate_claims,
        }

    async def run(self, steps: Iterable[ops.Operation]) -> None:
        """Take all steps; raise WorkloadError if one cannot be taken or does not come to its end."""
        try:
            for number, step in enumerate(steps):
                try:
                    await self._takers[type(step)](step, number)
                except (AlreadyExistsError, WorkloadError) as error:
                    raise WorkloadError(f"operation {number} ({step.opcode}): {error}") from None
                if self._fault is not None:
                    raise WorkloadError(f"beside operation {number} ({step.opcode}): {self._fault}")
            if self._collector is not None:
                raise WorkloadError("metrics are still being collected when the last operation ends")
            if self._creator.parameters.unused:
                raise WorkloadError(f"no operation uses the parameters {', '.join(self._creator.parameters.unused)}")
        finally:
            await self._tasks.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._fault = self._fault or task.exception()

    # Objects

    async def _create_nodes(self, step: ops.CreateNodes, number: int) -> None:
        await self._let_pass(f"{step.number} nodes", self._creator.create_nodes(step, number), step.number)
        await self._scheduler.settle()

    async def _create_namespaces(self, step: ops.CreateNamespaces, number: int) -> None:
        for name in self._creator.create_namespaces(step):
            self._pending.setdefault(name, 0)

    async def _create_any(self, step: ops.CreateAny, number: int) -> None:
        if step.namespace:
            self._pending.setdefault(step.namespace, 0)
        await self._let_pass(step.template_path, self._creator.create_any(step), step.number)
        await self._scheduler.settle()

    async def _update_any(self, step: ops.UpdateAny, number: int) -> None:
        pace = Pace(step.update_per_second)
        for index in range(step.number):
            await pace.next()
            self._creator.update_any(step, index)

    async def _create_resource_driver(self, step: ops.CreateResourceDriver, number: int) -> None:
        await self._let_pass(step.driver_name, self._creator.create_resource_driver(step), 0)
        await self._scheduler.settle()

    async def _allocate_claims(self, step: ops.AllocResourceClaims, number: int) -> None:
        api, scheduler = self._api, self._scheduler
        if not (isinstance(api, VirtualApi) and isinstance(scheduler, VirtualScheduler)):
            raise WorkloadError(IN_PROCESS_ONLY)
        await allocate_claims(api, scheduler, step.namespace)

    async def _let_pass(self, what: str, made: Iterable[Any], total: int) -> None:
        """Go through something that makes objects, and let others have their turn now and then."""
        for count, _ in enumerate(made, 1):
            if count % _AT_A_TIME == 0:
                self.progress = (what, count, total)
                await asyncio.sleep(0)

    # Pods

    async def _create_pods(self, step: ops.CreatePods, number: int) -> None:
        namespace = step.namespace if step.namespace is not None else f"namespace-{number}"
        self._creator.create_namespace(namespace)
        self._pending.setdefault(namespace, 0)
        maker = self._maker(step, namespace)
        # Made before the clock starts: reading templates and making up names is not the scheduler's work.
        made = [] if step.steady_state else [self._api.registered(one) for one in maker.make_all(step.number)]
        if step.collect_metrics:
            self._collect(namespace, matcher(frozenset((namespace,)), {}))
        if step.steady_state:
            await self._keep_steady(step, maker, namespace)
        else:
            goal = self._goal(matcher(frozenset((namespace,)), {}), step.number, is_scheduled)
            await self._let_pass("pods", map(self._api.add, made), step.number)
            if step.skip_wait_to_completion:
                goal.close()
                self._pending[namespace] += step.number
            else:
                await goal.reached(namespace)
        if step.collect_metrics:
            await self._finish_collecting()

    def _maker(self, step: ops.CreatePods, namespace: str) -> PodMaker:
        paths = {
            "pod": step.pod_template_path or self._creator.selected.case.default_pod_template_path,
            "volume": step.persistent_volume_template_path,
            "claim": step.persistent_volume_claim_template_path,
        }
        templates = {name: self._creator.template(path) for name, path in paths.items() if path}
        return PodMaker(step, templates, namespace)

    async def _keep_steady(self, step: ops.CreatePods, maker: PodMaker, namespace: str) -> None:
        """Delete each pod that is scheduled and create another, for as long as the step says."""
        scheduled = 0
        wanted: asyncio.Queue[Pod] = asyncio.Queue()

        def observe(old: Pod | None, new: Pod | None) -> None:
            is_bound = new is not None and new.spec.node_name and (old is None or not old.spec.node_name)
            if is_bound and new is not None and new.metadata.namespace == namespace:
                wanted.put_nowait(new)

        self._api.observers.append(observe)
        try:
            async with asyncio.timeout(duration.parse(step.duration).seconds):
                await self._let_pass("pods", map(self._api.create, maker.make_all(step.number)), step.number)
                while True:
                    pod = await wanted.get()
                    scheduled += 1
                    self._api.delete(pod, grace_seconds=0)
                    for found in maker.make_all(1):
                        self._api.create(found)
        except TimeoutError:
            if not scheduled:
                raise WorkloadError("no pod at all was scheduled in the time given") from None
        finally:
            self._api.observers.remove(observe)

    async def _delete_pods(self, step: ops.DeletePods, number: int) -> None:
        matches = matcher(frozenset((step.namespace,)), step.label_selector)
        pods = [pod for pod in self._api.pods.values() if matches(pod)]
        work = self._delete(pods, Pace(step.delete_pods_per_second))
        if step.skip_wait_to_completion:
            self._tasks.start(work)
        else:
            await work

    async def _delete(self, pods: Iterable[Pod], pace: Pace) -> None:
        for pod in pods:
            await pace.next()
            self._api.delete(pod)

    async def _churn(self, step: ops.Churn, number: int) -> None:
        namespace = step.namespace if step.namespace is not None else f"namespace-{number}"
        self._creator.create_namespace(namespace)
        found = [self._creator.template(path).make({}) for path in step.template_paths]
        work = self._recreate(step, found, namespace) if step.mode == _RECREATE else self._add(step, found, namespace)
        self._tasks.start(work)

    async def _add(self, step: ops.Churn, found: list[Any], namespace: str) -> None:
        rounds = 0
        while not step.number or rounds < step.number:
            await asyncio.sleep(step.interval_milliseconds / 1000)
            for one in found:
                self._create_if_new(one, namespace)
            rounds += 1

    def _create_if_new(self, found: Any, namespace: str) -> Any | None:
        """Create an object, unless there is one of its name: upstream leaves it at that, too."""
        with suppress(AlreadyExistsError):
            return self._api.create(placed_in(found, namespace))
        return None

    async def _recreate(self, step: ops.Churn, found: list[Any], namespace: str) -> None:
        there: list[list[Any | None]] = [[None] * step.number for _ in found]
        rounds = 0
        while True:
            await asyncio.sleep(step.interval_milliseconds / 1000)
            for made, one in zip(there, found, strict=True):
                at = rounds % step.number
                if made[at] is None:
                    made[at] = self._create_if_new(one, namespace)
                else:
                    self._api.delete(made[at])
                    made[at] = None
            rounds += 1

    # Waiting

    async def _barrier(self, step: ops.Barrier, number: int) -> None:
        stage = is_attempted if step.stage_requirement == "Attempted" else is_scheduled
        unknown = [name for name in step.namespaces if name not in self._pending]
        if unknown:
            raise WorkloadError(f"no pods were created in the namespaces {', '.join(unknown)}")
        names = step.namespaces or list(self._pending)
        for name in names:
            matches = matcher(frozenset((name,)), step.label_selector)
            await self._goal(matches, self._pending[name], stage).reached(name)
        if stage is is_scheduled:
            for name in names:
                self._pending.pop(name, None)

    async def _sleep(self, step: ops.Sleep, number: int) -> None:
        await asyncio.sleep(duration.parse(step.duration).seconds)

    def _goal(self, matches: Callable[[Pod], bool], count: int, stage: Callable[[Pod], bool]) -> Goal:
        return Goal(self._api, lambda pod: stage(pod) and matches(pod), matches, count, self._wait)

    async def _wait(self, goal: Goal, what: str) -> None:
        async with asyncio.timeout(self._timeout_seconds):
            while not goal.is_reached:
                self.progress = (what, goal.count, goal.wanted)
                with_fault = self._fault or self._scheduler.fault
                if isinstance(with_fault, WorkloadError):
                    raise with_fault
                if with_fault is not None:
                    raise WorkloadError(f"the scheduler has ended: {with_fault!r}")
                await goal.next(_LOOK_SECONDS)

    # Measuring

    async def _start_collecting(self, step: ops.StartCollectingMetrics, number: int) -> None:
        self._collect(step.name, matcher(frozenset(step.namespaces), step.label_selector))

    async def _stop_collecting(self, step: ops.StopCollectingMetrics, number: int) -> None:
        if self._collector is None:
            raise WorkloadError("startCollectingMetrics is missing before it")
        await self._finish_collecting()

    def _collect(self, name: str, matches: Callable[[Pod], bool]) -> None:
        if self._collector is not None:
            raise WorkloadError("metrics are being collected already; stop that first")
        self._scheduler.tidy()
        title = f"BenchmarkPerfScheduling/{self._creator.selected.name}/{name}".rstrip("/")
        config = self._creator.selected.case.metrics_collector_config
        self._collector = Collector(title, matches, self._scheduler, config, self._now_ns)
        self._api.observers.append(self._collector.observe)

    async def _finish_collecting(self) -> None:
        """End measuring when the scheduler has taken in the last binding and its event is written."""
        collector = cast(Collector, self._collector)
        await self._scheduler.settle()
        self._api.observers.remove(collector.observe)
        self.measurements.append(collector.finish())
        self._collector = None


class Goal:
    """A number of pods that somebody waits for; it counts them as they come and go."""

    def __init__(
        self,
        api: BenchApi,
        counts: Callable[[Pod], bool],
        concerns: Callable[[Pod], bool],
        wanted: int,
        wait: Callable[[Goal, str], Any],
    ) -> None:
        self._api, self._counts, self._concerns, self.wanted, self._wait = api, counts, concerns, wanted, wait
        self.count = sum(map(counts, api.pods.values()))
        self._moved = asyncio.Event()
        api.observers.append(self._observe)

    @property
    def is_reached(self) -> bool:
        return self.count >= self.wanted

    def close(self) -> None:
        self._api.observers.remove(self._observe)

    async def next(self, seconds: float) -> None:
        """Wait until it is reached, but no longer than a while."""
        self._moved.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._moved.wait()

    async def reached(self, what: str) -> None:
        """Wait until it is reached; raise WorkloadError, with a pod that is in the way, if it is not in time."""
        try:
            await self._wait(self, what)
        except TimeoutError:
            missing = next(
                (pod for pod in self._api.pods.values() if self._concerns(pod) and not self._counts(pod)), None
            )
            condition = missing.status.condition(SCHEDULED) if missing is not None else None
            said = f": {condition.message}" if condition is not None and condition.message else ""
            about = f"; pod {missing.key!r}{said}" if missing is not None else ""
            raise WorkloadError(f"{what}: {self.count} of {self.wanted} pods when the time was over{about}") from None
        finally:
            self.close()

    def _observe(self, old: Pod | None, new: Pod | None) -> None:
        self.count += (new is not None and self._counts(new)) - (old is not None and self._counts(old))
        if self.is_reached:
            self._moved.set()


class Pace:
    """Lets through so many a second; 0 is as many as come."""

    def __init__(self, per_second: int) -> None:
        self._pause_seconds = 1 / per_second if per_second else 0.0
        self._due: float | None = None

    async def next(self) -> None:
        if not self._pause_seconds:
            return
        loop = asyncio.get_running_loop()
        self._due = (self._due if self._due is not None else loop.time()) + self._pause_seconds
        await asyncio.sleep(max(0.0, self._due - loop.time()))


def is_scheduled(pod: Pod) -> bool:
    return bool(pod.spec.node_name)


def is_attempted(pod: Pod) -> bool:
    return bool(pod.spec.node_name) or pod.status.condition(SCHEDULED) is not None


def placed_in(found: Any, namespace: str) -> Any:
    """Return an object in a namespace, if it is of a kind that is."""
    is_namespaced = hasattr(found, "namespace")
    return objects.in_namespace(found, namespace) if is_namespaced else found
