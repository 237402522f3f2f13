"""Preemption in a library: who is evicted at once, who is placed instead, and what is said of it."""

from __future__ import annotations

import warnings
from collections.abc import Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.what_if import ClusterWorld
from stowplan.cache.validate import validate_cache
from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import (
    Arranged,
    Filter,
    Nominated,
    PostFilter,
    Preemption,
    QueueSort,
    Reject,
    Reserve,
    reject,
)
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.plugins.defaultpreemption.crowded import budget

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
HIGH = make_pod("high").requests(cpu="3").priority(100).build()
WOULD_GO_TO_A = (
    "0/2 nodes are available: 2 Insufficient cpu. "
    "preemption: found a potential placement for pod on node a, preempting 1 victims"
)


def crowded(*, plugins: dict[str, Any] | None = None, **options: Any) -> Cluster:
    """Make two nodes of 4 cpus, each with a pod of 3: the less important one is on a."""
    config = None if plugins is None else {**HEAD, "profiles": [{"plugins": plugins}]}
    cluster = Cluster(config, **options)
    cluster.add_all(make_node(name).capacity(cpu=4, memory="8Gi").build() for name in "ab")
    cluster.add(make_pod("low").requests(cpu="3").label("app", "low").priority(1).on("a").build())
    cluster.add(make_pod("middle").requests(cpu="3").priority(50).on("b").build())
    return cluster


def with_plugin(name: str, point: str = "postFilter") -> dict[str, Any]:
    """Have a plugin of this file asked, and in PostFilter no other."""
    return {point: {"enabled": [{"name": f"{__name__}:{name}"}], "disabled": [{"name": "*"}]}}


def names_on(cluster: Cluster, node_name: str) -> list[str]:
    return [pod.name for pod in cluster.pods_on(node_name)]


def names_of(victims: tuple[Pod, ...]) -> list[str]:
    return [victim.name for victim in victims]


def test_the_least_important_pod_goes_and_the_pod_takes_its_place() -> None:
    cluster = crowded()
    result = cluster.schedule(HIGH)
    assert isinstance(result, Chosen)
    assert (result.pod, result.node_name, names_of(result.victims), result.pdb_violations) == (HIGH, "a", ["low"], 0)
    assert repr(result) == "Chosen(pod='default/high', node_name='a', total=None, victims=['default/low'])"
    assert (names_on(cluster, "a"), names_on(cluster, "b")) == (["high"], ["middle"])
    assert not cluster.handle.nominations
    validate_cache(cluster.cache)


def test_a_pod_that_fits_evicts_nobody() -> None:
    result = crowded().schedule(make_pod("small").requests(cpu="1").priority(100).build())
    assert isinstance(result, Chosen)
    assert result.victims == ()


def test_whoever_asks_that_nobody_go_is_told_no_more_than_the_filters_say() -> None:
    cluster = crowded()
    for result in (cluster.schedule(HIGH, preempt=False), cluster.choose(HIGH, preempt=False)):
        assert isinstance(result, Refused)
        assert (result.message, result.preemption) == ("0/2 nodes are available: 2 Insufficient cpu.", None)
    assert names_on(cluster, "a") == ["low"]


def test_a_profile_without_a_plugin_that_preempts_evicts_nobody() -> None:
    cluster = crowded(plugins={"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}, release="1.37")
    result = cluster.schedule(HIGH)
    assert isinstance(result, Refused)
    assert result.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert names_on(cluster, "a") == ["low"]


def test_a_choice_says_who_would_go_and_leaves_everything_as_it_was() -> None:
    cluster = crowded()
    for _ in range(2):
        result = cluster.choose(HIGH)
        assert isinstance(result, Refused)
        assert result.preemption is not None
        assert (result.preemption.node_name, names_of(result.preemption.victims)) == ("a", ["low"])
        assert result.message == WOULD_GO_TO_A
        assert result.victims == ()
    assert (names_on(cluster, "a"), names_on(cluster, "b")) == (["low"], ["middle"])


def test_what_is_foreseen_is_what_is_done_also_where_chance_decides() -> None:
    def equals(seed: int) -> Cluster:
        cluster = Cluster(seed=seed)
        for number in range(8):
            cluster.add(make_node(f"n{number}").capacity(cpu=4).build())
            cluster.add(make_pod(f"low-{number}").requests(cpu="3").on(f"n{number}").build())
        return cluster

    taken = set()
    for seed in range(6):
        cluster = equals(seed)
        foreseen = cluster.choose(HIGH)
        assert isinstance(foreseen, Refused)
        assert foreseen.preemption is not None
        explained = cluster.explain(HIGH).preemption
        assert explained == foreseen.preemption
        done, apart = cluster.schedule(HIGH), equals(seed).schedule(HIGH)
        assert done.node_name == apart.node_name == foreseen.preemption.node_name
        taken.add(done.node_name)
    assert len(taken) > 1


def test_a_pod_that_may_not_preempt_is_refused_in_the_words_of_its_condition() -> None:
    never = replace(HIGH, spec=replace(HIGH.spec, preemption_policy="Never"))
    cluster = crowded()
    result = cluster.schedule(never)
    assert isinstance(result, Refused)
    assert result.message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )
    assert names_on(cluster, "a") == ["low"]


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            make_pod("huge").requests(cpu="5").priority(100),
            "0/2 nodes are available: 2 Insufficient cpu. "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            id="no node is large enough",
        ),
        pytest.param(
            make_pod("humble").requests(cpu="3"),
            "0/2 nodes are available: 2 Insufficient cpu. "
            "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
            id="nobody is less important",
        ),
    ],
)
def test_a_pod_that_nothing_helps_is_refused_in_the_words_of_its_condition(pod: Any, message: str) -> None:
    cluster = crowded()
    for result in (cluster.choose(pod.build()), cluster.schedule(pod.build())):
        assert isinstance(result, Refused)
        assert (result.message, result.preemption, result.victims) == (message, None, ())


def test_evictions_that_violate_a_budget_are_counted() -> None:
    cluster = crowded()
    cluster.remove(make_node("b").build())
    cluster.add(budget("none-to-spare", 0, app="low"))
    result = cluster.schedule(HIGH)
    assert isinstance(result, Chosen)
    assert (names_of(result.victims), result.pdb_violations) == (["low"], 1)


def test_less_important_pods_lose_the_node_and_others_keep_theirs() -> None:
    cluster = crowded()
    lower = make_pod("lower").requests(cpu="1").priority(2).nominated_to("a").build()
    elsewhere = make_pod("elsewhere").requests(cpu="1").priority(2).nominated_to("b").build()
    higher = make_pod("higher").requests(cpu="1").priority(200).nominated_to("a").build()
    cluster.add_all((lower, elsewhere, higher))
    assert cluster.schedule(HIGH).node_name == "a"
    nominations = cluster.handle.nominations
    assert [nominations.node_of(pod) for pod in (lower, elsewhere, higher)] == ["", "b", "a"]
    # The one cpu that is left is kept for the higher one.
    assert isinstance(cluster.choose(make_pod("late").requests(cpu="1").build(), preempt=False), Refused)


def test_a_node_that_was_nominated_in_vain_is_given_up() -> None:
    cluster = crowded()
    waiting = make_pod("waiting").requests(cpu="3").nominated_to("a").build()
    cluster.add(waiting)
    assert isinstance(cluster.schedule(waiting), Refused)
    assert not cluster.handle.nominations


def test_a_pod_that_was_placed_here_is_evicted_like_any_other_and_gives_back_what_it_reserved() -> None:
    cluster = crowded(plugins={"multiPoint": {"enabled": [{"name": f"{__name__}:Seats"}]}})
    cluster.remove(make_node("b").build())
    cluster.remove(make_pod("low").build())
    assert cluster.schedule(make_pod("early").requests(cpu="3").build()).node_name == "a"
    (seats,) = cluster.profile_of(HIGH).reserve[-1:]
    assert isinstance(seats, Seats)
    assert seats.taken == {"default/early"}
    result = cluster.schedule(HIGH)
    assert isinstance(result, Chosen)
    assert names_of(result.victims) == ["early"]
    assert seats.taken == {"default/high"}
    validate_cache(cluster.cache)


class Seats(Reserve):
    """Remembers who has reserved; turns away whoever is called `unlucky`."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        self.taken.add(pod.key)
        return Rejection(("no seat",)) if pod.name == "unlucky" else None

    def unreserve(self, pod: Pod, node_name: str) -> None:
        self.taken.discard(pod.key)


def test_a_pod_that_fails_after_others_went_for_it_says_who_went() -> None:
    cluster = crowded(plugins={"multiPoint": {"enabled": [{"name": f"{__name__}:Seats"}]}})
    result = cluster.schedule(make_pod("unlucky").requests(cpu="3").priority(100).build())
    assert isinstance(result, Failed)
    assert (result.message, names_of(result.victims)) == ("no seat", ["low"])


class Shy(PostFilter, Filter):
    """Evicts from a what does not help, then gives up; on b only one pod that is nowhere."""

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        yield reject(nodes.with_names(frozenset("ab")), "node(s) are shy")

    def post_filter(self, pod: Pod, attempt: Attempt) -> Nominated:
        low = make_pod("low").on("a").build()
        return Nominated("a", Preemption("a", (low,)), "preemption: once more")


def test_a_pod_that_is_refused_though_others_went_for_it_says_who_went_and_it_ends() -> None:
    cluster = crowded(plugins={**with_plugin("Shy"), "filter": {"enabled": [{"name": f"{__name__}:Shy"}]}})
    result = cluster.schedule(HIGH)
    assert isinstance(result, Refused)
    assert names_of(result.victims) == ["low"]
    assert result.message.endswith("preemption: once more")
    assert (names_on(cluster, "a"), names_on(cluster, "b")) == ([], ["middle"])


class Opens(PostFilter, Filter):
    """Refuses all nodes until what it has left to be done is done; `fails` whoever is called so."""

    def __init__(self) -> None:
        self.is_open = False

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        if not self.is_open:
            yield Reject(nodes.with_names(frozenset("ab")), "node(s) are closed")

    def post_filter(self, pod: Pod, attempt: Attempt) -> Arranged:
        return Arranged(Rejection(("opening",)), lambda: self._open(pod))

    def _open(self, pod: Pod) -> Coroutine[Any, Any, None]:
        async def work() -> None:
            if pod.name == "fails":
                raise OSError("no key")
            self.is_open = True

        return work()

    def sign(self, pod: Pod) -> bool:
        """Have no answer kept that no longer holds."""
        return self.is_open


def opening() -> Cluster:
    cluster = Cluster({**HEAD, "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": f"{__name__}:Opens"}]}}}]})
    cluster.add(make_node("a").capacity(cpu=4).build())
    return cluster


def test_what_plugins_leave_to_be_done_is_done_and_the_pod_is_tried_again() -> None:
    cluster = opening()
    pod = make_pod("web").build()
    for _ in range(2):
        assert isinstance(cluster.choose(pod), Refused)
    assert cluster.schedule(pod).node_name == "a"


def test_what_plugins_leave_to_be_done_and_fail_in_is_a_warning() -> None:
    cluster, pod = opening(), make_pod("fails").build()
    with pytest.warns(UserWarning, match="pod 'default/fails': what a plugin left to be done failed: no key"):
        assert isinstance(cluster.schedule(pod), Refused)


def test_who_is_supposed_to_go_is_there_again_afterwards() -> None:
    cluster = crowded()
    cluster.add(make_pod("lower").requests(cpu="1").priority(2).nominated_to("a").build())
    with cluster.suppose() as world:
        result = world.schedule(HIGH)
        assert isinstance(result, Chosen)
        assert names_of(result.victims) == ["low"]
        assert names_on(world, "a") == ["high"]
    assert (names_on(cluster, "a"), names_on(cluster, "b")) == (["low"], ["middle"])
    assert [pod.name for pod in cluster.handle.nominations.on("a")] == ["lower"]
    validate_cache(cluster.cache)


class ByName(QueueSort):
    def sort_key(self, pod: Pod, queued_at: float) -> str:
        return pod.name


def test_of_many_pods_one_that_had_to_go_again_is_told_as_refused() -> None:
    by_name = {"queueSort": {"enabled": [{"name": f"{__name__}:ByName"}], "disabled": [{"name": "*"}]}}
    cluster = Cluster({**HEAD, "profiles": [{"plugins": by_name}]})
    cluster.add(make_node("a").capacity(cpu=4).build())
    placements = cluster.schedule_all([make_pod("early").requests(cpu="3").build(), HIGH])
    (refused,) = placements.refused
    assert (refused.pod.name, refused.message) == ("early", "preempted by pod default/high on node a")
    assert [names_of(one.victims) for one in placements.placed] == [["early"]]
    assert repr(placements) == "Placements(1 of 2 pods placed, 1 refused)"


def test_questions_evict_nobody() -> None:
    (tried,) = ClusterWorld(crowded()).try_all([HIGH])
    assert isinstance(tried, Refused)
    assert tried.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_notebook_shows_who_goes() -> None:
    cluster = crowded()
    shown = cluster.explain(HIGH)._repr_html_()
    assert "Preemption would make room on a (0 disruption budgets violated)" in shown
    assert "default/low" in shown
    assert "Pod default/high goes to a (feasible nodes: 1), in the place of default/low" in str(
        cluster.schedule(HIGH)._repr_html_()
    )


def test_nothing_is_warned_of_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert crowded().schedule(HIGH).node_name == "a"
