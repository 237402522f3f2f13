"""Gangs that want the same nodes, in any order of events: never a part of one, and none left waiting beside free nodes.

Every member takes a whole node, so what fits is a matter of counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.model.pod import Pod
from stowplan.simulate.fake_cluster import Fault
from stowplan.testing import PodBuilder, make_node, make_pod
from tests.examples import examples
from tests.integration.gang_world import GangWorld, group, member, play

GANGS = ("a", "b")
#: Long enough for every backoff, and for what nothing brought back.
LONG_SECONDS = 400.0

Step = tuple[str, str, int]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("members"), st.sampled_from(GANGS), st.integers(1, 3)),
        st.tuples(st.just("members"), st.sampled_from(GANGS), st.integers(1, 3)),
        st.tuples(st.just("one of each"), st.sampled_from(GANGS), st.integers(0, 1)),
        st.tuples(st.just("group"), st.sampled_from(GANGS), st.integers(2, 4)),
        st.tuples(st.just("drop waiting"), st.sampled_from(GANGS), st.integers(0, 3)),
        st.tuples(st.just("drop all"), st.sampled_from(GANGS), st.just(0)),
        st.tuples(st.just("drop group"), st.sampled_from(GANGS), st.just(0)),
        st.tuples(st.just("ordinary"), st.just(""), st.integers(0, 3)),
        st.tuples(st.just("drop ordinary"), st.just(""), st.just(0)),
        st.tuples(st.just("node"), st.just(""), st.integers(0, 5)),
        st.tuples(st.just("time"), st.just(""), st.sampled_from((0, 1, 3, 12))),
    ),
    min_size=4,
    max_size=24,
)


@dataclass
class History:
    """A world and what it should hold: a plain account of groups and members."""

    world: GangWorld
    needed: dict[str, int] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    born: int = 0

    async def take(self, step: Step) -> None:
        """Do one thing to the cluster; what depends on a state that is not there does nothing."""
        what, gang, number = step
        if what == "time":
            await self.world.after(number)
        elif gang:
            self.change_gang(what, gang, number)
        else:
            self.change_cluster(what, number)

    def change_gang(self, what: str, gang: str, number: int) -> None:
        match what:
            case "members":
                for _ in range(number):
                    self.add(member(gang, self.born), number)
            case "one of each":
                for each in (gang, *(other for other in GANGS if other != gang)):
                    self.add(member(each, self.born), number)
            case "group":
                self.set_needed(gang, number)
            case "drop waiting":
                self.drop([pod for pod in self.members(gang) if not pod.node_name][:number])
            case "drop all":
                self.drop(self.members(gang))
            case "drop group":
                if self.needed.pop(gang, None) is not None:
                    self.world.notebook.delete(group(gang, 1))

    def change_cluster(self, what: str, number: int) -> None:
        match what:
            case "ordinary":
                self.add(make_pod(f"web-{self.born}").requests(cpu="2"), number)
            case "drop ordinary":
                self.drop(self.members("web")[:1])
            case "node":
                if f"n{number}" not in self.nodes:
                    self.nodes.add(f"n{number}")
                    self.world.create(make_node(f"n{number}").capacity(cpu="2", pods=110).build())

    def drop(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            self.world.notebook.delete(pod)

    def add(self, builder: PodBuilder, priority: int) -> None:
        """Create a pod that preempts nobody: a gang whose members are evicted is rightly short of them."""
        self.born += 1
        pod = builder.priority(priority).build()
        self.world.create(replace(pod, spec=replace(pod.spec, preemption_policy="Never")))

    def set_needed(self, gang: str, needed: int) -> None:
        """Make the group, or ask less of it: asking more would make parts of gangs that were whole."""
        if gang not in self.needed:
            bound = sum(bool(pod.node_name) for pod in self.members(gang))
            self.needed[gang] = min(needed, bound) if bound else needed
            self.world.create(group(gang, self.needed[gang]))
        elif needed < self.needed[gang]:
            self.needed[gang] = needed
            self.world.notebook.update(group(gang, needed))

    def members(self, gang: str) -> list[Pod]:
        return [pod for pod in self.world.notebook.pods.values() if pod.name.startswith(f"{gang}-")]

    def check_whole(self) -> None:
        """No gang holds nodes without holding enough of them."""
        self.world.check()
        for gang, needed in self.needed.items():
            held = sum(name.startswith(f"{gang}-") for name in self.world.counted())
            assert held == 0 or held >= needed, f"gang {gang} holds {held} nodes and needs {needed}"

    def check_served(self) -> None:
        """No gang waits that would fit, and nobody is lost."""
        free = len(self.nodes) - len(self.world.bound())
        assert self.world.counted() == self.world.bound()
        for gang, needed in self.needed.items():
            pods = self.members(gang)
            held = sum(bool(pod.node_name) for pod in pods)
            if held < needed <= len(pods):
                assert free < needed - held, f"gang {gang} waits for {needed - held} nodes, {free} are free"


async def live(history: History, taken: Sequence[Step]) -> None:
    for step in (*(("node", "", number) for number in range(3)), *(("group", gang, 3) for gang in GANGS), *taken):
        await history.take(step)
        history.check_whole()
    await history.world.after(LONG_SECONDS)
    history.check_whole()
    history.check_served()
    event(f"gangs placed: {sum(any(pod.node_name for pod in history.members(gang)) for gang in GANGS)}")


@settings(max_examples=examples(200))
@given(taken=steps)
def test_gangs_are_placed_whole_in_any_order_of_events(taken: list[Step]) -> None:
    async def story(world: GangWorld) -> None:
        await live(History(world), taken)

    play(story)


def flaky(fails: Sequence[bool]) -> Fault:
    """Let status writes fail as told, one after the other; bindings always work."""
    left = list(fails)

    async def fault(verb: str, key: str) -> None:
        if verb == "update_status" and left and left.pop():
            raise ConnectionError("the server is away")

    return fault


@settings(max_examples=examples(50))
@given(taken=steps, fails=st.lists(st.booleans(), max_size=20))
def test_a_server_that_does_not_take_statuses_changes_nothing(taken: list[Step], fails: list[bool]) -> None:
    async def story(world: GangWorld) -> None:
        world.notebook.fault = flaky(fails)
        await live(History(world), taken)

    play(story)


@settings(max_examples=examples(100))
@given(order=st.permutations([(gang, number) for gang in GANGS for number in range(3)]), pauses=st.lists(st.booleans()))
def test_exactly_one_of_two_gangs_gets_the_nodes_that_are_enough_for_one(
    order: list[tuple[str, int]], pauses: list[bool]
) -> None:
    async def story(world: GangWorld) -> None:
        world.nodes(4)
        world.create(group("a", 3), group("b", 3))
        for index, (gang, number) in enumerate(order):
            world.create(member(gang, number).build())
            if index < len(pauses) and pauses[index]:
                await world.after(0.1)
        await world.after(LONG_SECONDS)
        assert world.bound() in (["a-0", "a-1", "a-2"], ["b-0", "b-1", "b-2"])

    play(story)
