"""The whole flow through any history of pods, nodes, faults and crashes: nobody is lost, doubled or forgotten.

Everything goes through `tests.scenarios.stage`: a real scheduler over a cluster that takes notes, under virtual time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from itertools import count
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stowplan.model import requests
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.queue.entry import Place
from stowplan.queue.validate import contents
from stowplan.simulate.virtual_time import VirtualTimeLoop
from tests.examples import examples
from tests.scenarios.reading import changed, read_object
from tests.scenarios.stage import Fault, Stage, configuration

NODES = {"n0": (4, 5), "n1": (2, 3), "n2": (3, 110)}
PLUGINS = ("Gate", "PreFilterer", "Filterer", "Scorer", "Reserver", "EagerPermitter", "PreBinder", "PostBinder")
LINES = {
    "Gate": ("raise boom", "refuse closed"),
    "PreFilterer": ("raise boom",),
    "Filterer": ("raise boom", "junk"),
    "Scorer": ("raise boom", "junk"),
    "Reserver": ("raise boom", "junk", "refuse full", "pending soon", "error on fire"),
    "EagerPermitter": ("raise boom", "junk", "refuse no", "pending soon", "wait 3", "wait 40"),
    "PreBinder": ("raise boom", "junk", "refuse no", "hang 3", "hang 1000"),
    "PostBinder": ("raise boom", "hang 2"),
}
VERBS = ("bind", "bound", "update_status", "evict", "evicted")

plugins = st.sampled_from(PLUGINS)
lines = plugins.flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(LINES[name])))
fates = st.sampled_from([("sorry", 0.0), ("", 2.0), ("sorry", 5.0), ("", 70.0)])


class FlowHistory(RuleBasedStateMachine):
    """Anything may happen, at any time."""

    @initialize(lag=st.sampled_from([0, 0, 0.5]), grace=st.sampled_from([0, 0, 7]))
    def begin(self, lag: float, grace: float) -> None:
        self.loop = VirtualTimeLoop()
        self.lag = lag
        self.names = (f"p{number}" for number in count())
        self.stage = Stage(configuration([{name: None} for name in PLUGINS]), lag_seconds=lag, grace_seconds=grace)
        self._do(self._start("n0", "n1"))

    async def _start(self, *node_names: str) -> None:
        for name in node_names:
            self.stage.book.create(node(name))
        self.stage.start()
        await self.stage.wait(0)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(work)

    def _rest(self, seconds: float = 0) -> None:
        self._do(self.stage.wait(seconds))

    @property
    def pods(self) -> list[Pod]:
        return list(self.stage.book.pods.values())

    @property
    def pending(self) -> list[Pod]:
        return [pod for pod in self.pods if not pod.spec.node_name]

    # What happens

    @rule(cpu=st.sampled_from([0, 1, 2, 3, 5]), priority=st.sampled_from([0, 0, 5, 9]), cue=st.none() | lines)
    def create_pod(self, cpu: int, priority: int, cue: tuple[str, str] | None) -> None:
        name = next(self.names)
        if cue is not None:
            self.stage.plugin(cue[0]).cue(name, cue[1])
        self._tell(lambda: self.stage.book.create(read_object({"pod": name, "cpu": cpu, "priority": priority})))

    @rule(cpu=st.sampled_from([1, 2]))
    def create_gated_pod(self, cpu: int) -> None:
        words = {"pod": next(self.names), "cpu": cpu, "gates": ["one"]}
        self._tell(lambda: self.stage.book.create(read_object(words)))

    @precondition(lambda self: self.pods)
    @rule(pick=st.integers(0), is_slow=st.booleans())
    def delete_pod(self, pick: int, is_slow: bool) -> None:
        pod = self.pods[pick % len(self.pods)]
        self._tell(lambda: self.stage.book.terminate(pod) if is_slow else self.stage.book.delete(pod))

    @precondition(lambda self: self.pending)
    @rule(pick=st.integers(0), labels=st.sampled_from([{"a": "b"}, {"a": "c"}]), is_ungated=st.booleans())
    def update_pod(self, pick: int, labels: dict[str, str], is_ungated: bool) -> None:
        pod = self.pending[pick % len(self.pending)]
        words = {"pod": pod.name, "uid": pod.uid, "labels": labels, **({"gates": []} if is_ungated else {})}
        self._tell(lambda: self.stage.book.update(changed(pod, words)))

    @precondition(lambda self: self.pending)
    @rule(pick=st.integers(0))
    def bind_elsewhere(self, pick: int) -> None:
        pod = self.pending[pick % len(self.pending)]
        self._tell(lambda: self.stage.book.update(changed(pod, {"pod": pod.name, "uid": pod.uid, "on": "moon"})))

    @rule(name=st.sampled_from(sorted(NODES)))
    def node_comes_or_goes(self, name: str) -> None:
        known = self.stage.book.objects.get(("Node", f"/{name}"))
        self._tell(lambda: self.stage.book.create(node(name)) if known is None else self.stage.book.delete(known))

    @rule(verb=st.sampled_from(VERBS), fate=fates, times=st.integers(1, 2))
    def go_wrong(self, verb: str, fate: tuple[str, float], times: int) -> None:
        if self.lag and verb == "bound":
            # A binding that nobody has heard of may well be crowded out.
            return
        self.stage.faults.append(Fault(verb, times=times, text=fate[0], hang=fate[1]))

    @precondition(lambda self: self.pending)
    @rule(pick=st.integers(0), cue=lines)
    def cue(self, pick: int, cue: tuple[str, str]) -> None:
        self.stage.plugin(cue[0]).cue(self.pending[pick % len(self.pending)].name, cue[1])

    @precondition(lambda self: bool(len(self.stage.scheduler.state.waiting)))
    @rule(is_allowed=st.booleans())
    def decide(self, is_allowed: bool) -> None:
        pod = next(iter(self.stage.scheduler.state.waiting)).pod
        usher = self.stage.plugin("EagerPermitter")
        self._tell(lambda: usher.allow(pod) if is_allowed else usher.deny(pod))

    @rule(seconds=st.sampled_from([0.3, 1, 3, 12, 61]))
    def wait(self, seconds: float) -> None:
        self._rest(seconds)

    @rule()
    def crash(self) -> None:
        self._do(self.stage.crash())
        self._do(self._start())

    def _tell(self, change: Any) -> None:
        async def tell() -> None:
            change()
            await self.stage.wait(0)

        self._do(tell())

    # What always holds

    @invariant()
    def every_pod_is_in_exactly_one_place(self) -> None:
        if self.lag:
            return
        places, known = self.stage.places(), {pod.key for pod in self.pods}
        assert places.keys() <= known, f"nobody knows {places.keys() - known}"
        for pod in self.pods:
            if pod.spec.node_name:
                assert pod.key not in places, f"{pod.key} is bound and {places[pod.key]}"
            else:
                assert pod.key in places or pod.is_terminating, f"{pod.key} is nowhere"

    @invariant()
    def no_pod_is_bound_twice(self) -> None:
        doubled = [key for key, times in Counter(key for key, _ in self.stage.book.bindings).items() if times > 1]
        assert not doubled

    @invariant()
    def no_node_is_overcommitted(self) -> None:
        for name, (cpu, most) in NODES.items():
            there = [pod for pod in self.pods if pod.spec.node_name == name]
            assert len(there) <= most, f"{name} has {len(there)} pods"
            assert sum(map(milli_cpu, there)) <= cpu * 1000, f"{name} is overcommitted"

    @invariant()
    def nobody_lies_awake_beside_a_free_bed(self) -> None:
        """A pod that only lacked room does not wait where there is room."""
        if self.lag or self.stage.scheduler.state.queue.nominations:
            return
        for entry in contents(self.stage.scheduler.state.queue)[Place.UNSCHEDULABLE]:
            if entry.rejected_by == {"NodeResourcesFit"}:
                fits = [name for name in NODES if self._has_room(entry.pod, name)]
                assert not fits, f"{entry.pod.key} waits, but fits on {fits}"

    def _has_room(self, pod: Pod, name: str) -> bool:
        if name not in self.stage.scheduler.state.cache.table.row_of:
            return False
        there = [placed.pod for placed in self.stage.scheduler.state.cache.pods_on(name)]
        cpu, most = NODES[name]
        return len(there) < most and sum(map(milli_cpu, there)) + milli_cpu(pod) <= cpu * 1000

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            try:
                self._do(self._end())
            finally:
                self.loop.close()

    async def _end(self) -> None:
        """Once nothing goes wrong any more, everything that fits is bound, and nothing is left over."""
        self.stage.faults.clear()
        for pod in self.pods:
            if pod.is_terminating:
                self.stage.book.delete(pod)
        for name in PLUGINS:
            self.stage.plugin(name).forget_lines()
        await self.stage.wait(2000)
        assert not any(self.stage.leftovers().values()), self.stage.leftovers()
        for pod in self.pending:
            if not pod.spec.scheduling_gates and not pod.is_terminating:
                fits = [name for name in NODES if self._has_room(pod, name) or self._can_have_room(pod, name)]
                assert not fits, f"{pod.key} is pending, but could be on {fits}"
        self.every_pod_is_in_exactly_one_place()
        await self.stage.finish()

    def _can_have_room(self, pod: Pod, name: str) -> bool:
        """Say whether evicting less important pods makes room."""
        if name not in self.stage.scheduler.state.cache.table.row_of:
            return False
        there = [placed.pod for placed in self.stage.scheduler.state.cache.pods_on(name)]
        stay = [other for other in there if other.priority >= pod.priority]
        cpu, most = NODES[name]
        return len(stay) < most and sum(map(milli_cpu, stay)) + milli_cpu(pod) <= cpu * 1000


def node(name: str) -> Node:
    cpu, pods = NODES[name]
    found: Node = read_object({"node": name, "cpu": cpu, "pods": pods})
    return found


def milli_cpu(pod: Pod) -> int:
    return requests.accounted(pod).milli_cpu


TestFlowHistory = FlowHistory.TestCase
TestFlowHistory.settings = settings(max_examples=examples(40), stateful_step_count=50)
