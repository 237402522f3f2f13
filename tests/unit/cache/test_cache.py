"""The transitions of a pod through the cache, with or without its node, and those that do not exist."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan.cache.cache import Cache, CacheError
from stowplan.cache.validate import validate_cache
from stowplan.model.pod import Pod
from stowplan.model.pod_group import OWN_GROUP, GroupKey
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import ResourceRequirements
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.integration.gang_world import own_members
from tests.unit.table.journal_marks import marks

WEB = make_pod("web").label("app", "web").requests(cpu="1")


def cache_of(*names: str) -> Cache:
    cache = Cache()
    for name in names:
        cache.add_node(make_node(name).capacity(cpu=8).build())
    return cache


def millicores(cache: Cache) -> dict[str, int]:
    validate_cache(cache)
    requested = Nodes(cache.table).requested[0].tolist()
    return dict(zip(cache.table.names(), requested, strict=True))


def state(cache: Cache, pod: Pod) -> tuple[str, bool] | None:
    placed = cache.placed(pod)
    return None if placed is None else (placed.node_name, placed.is_assumed)


def test_an_assumed_pod_counts_until_it_is_forgotten() -> None:
    cache, pod = cache_of("a", "b"), WEB.build()
    cache.assume(pod, "a")
    assert millicores(cache) == {"a": 1000, "b": 0}
    assert state(cache, pod) == ("a", True)
    cache.forget(pod)
    assert millicores(cache) == {"a": 0, "b": 0}
    assert state(cache, pod) is None


def test_an_assumed_pod_is_confirmed_where_it_was_assumed() -> None:
    cache = cache_of("a")
    cache.assume(WEB.build(), "a")
    position = cache.table.resources.requested_journal.position
    cache.add_pod(WEB.on("a").build())
    assert state(cache, WEB.build()) == ("a", False)
    assert millicores(cache) == {"a": 1000}
    assert marks(cache.table.resources.requested_journal, position) == [], "nothing moved, so no answer is void"


def test_an_assumed_pod_may_turn_up_elsewhere() -> None:
    cache = cache_of("a", "b")
    cache.assume(WEB.build(), "a")
    cache.add_pod(WEB.on("b").build())
    assert state(cache, WEB.build()) == ("b", False)
    assert millicores(cache) == {"a": 0, "b": 1000}


def test_a_bound_pod_comes_changes_and_goes() -> None:
    cache = cache_of("a")
    cache.add_pod(WEB.on("a").build())
    assert state(cache, WEB.build()) == ("a", False)
    cache.add_pod(WEB.requests(cpu="3").on("a").build())
    assert millicores(cache) == {"a": 3000}
    cache.remove_pod(WEB.build())
    assert millicores(cache) == {"a": 0}


def test_a_resize_under_way_holds_the_larger_amount() -> None:
    cache = cache_of("a")
    cache.add_pod(WEB.on("a").build())
    pod = WEB.on("a").build()
    resources = ResourceRequirements(requests={"cpu": Quantity.parse("5")})
    from stowplan.model.pod import ContainerStatus, PodStatus

    status = PodStatus(container_statuses=(ContainerStatus(name="main", resources=resources),))
    cache.add_pod(replace(pod, status=status))
    assert millicores(cache) == {"a": 5000}


def test_a_pod_waits_for_its_node() -> None:
    cache = cache_of("a")
    cache.add_pod(WEB.on("b").build())
    cache.assume(WEB.name("other").build(), "b")
    assert millicores(cache) == {"a": 0}
    cache.add_node(make_node("b").capacity(cpu=8).build())
    assert millicores(cache) == {"a": 0, "b": 2000}


def test_pods_outlive_their_node() -> None:
    cache = cache_of("a", "b")
    cache.add_pod(WEB.on("a").build())
    cache.add_pod(WEB.name("gone").on("a").build())
    cache.remove_node("a")
    assert millicores(cache) == {"b": 0}
    assert [placed.pod.name for placed in cache.pods_on("a")] == ["web", "gone"]
    cache.remove_pod(WEB.name("gone").build())
    cache.add_node(make_node("a").build())
    assert millicores(cache) == {"b": 0, "a": 1000}


def test_a_node_that_comes_again_is_an_update() -> None:
    cache = cache_of("a")
    cache.add_pod(WEB.on("a").build())
    cache.add_node(make_node("a").capacity(cpu=2).build())
    assert millicores(cache) == {"a": 1000}
    assert Nodes(cache.table).allocatable[0].tolist() == [2000]


def test_what_is_not_there_is_not_removed() -> None:
    cache = cache_of("a")
    cache.remove_pod(WEB.build())
    cache.remove_node("b")
    assert millicores(cache) == {"a": 0}


def test_a_pod_is_known_by_uid_so_that_a_new_one_may_have_its_name() -> None:
    cache = cache_of("a")
    cache.add_pod(WEB.on("a").build())
    cache.add_pod(WEB.uid("another").on("a").build())
    assert millicores(cache) == {"a": 2000}
    cache.remove_pod(WEB.build())
    assert millicores(cache) == {"a": 1000}


def test_without_a_uid_a_pod_is_known_by_name() -> None:
    cache = cache_of("a")
    cache.add_pod(WEB.uid("").on("a").build())
    cache.add_pod(WEB.uid("").requests(cpu="2").on("a").build())
    assert millicores(cache) == {"a": 2000}


def test_pods_come_most_important_first() -> None:
    cache = cache_of("a")
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        cache.add_pod(make_pod(name).priority(priority).on("a").build())
    assert [placed.pod.name for placed in cache.by_importance("a")] == ["high", "middle", "low"]
    cache.remove_pod(make_pod("high").build())
    assert [placed.pod.name for placed in cache.by_importance("a")] == ["middle", "low"]


def test_a_placed_pod_is_not_assumed_again() -> None:
    cache = cache_of("a", "b")
    cache.assume(WEB.build(), "a")
    with pytest.raises(CacheError, match="pod 'default/web' is placed already, on node 'a'"):
        cache.assume(WEB.build(), "b")
    assert millicores(cache) == {"a": 1000, "b": 0}


@pytest.mark.parametrize(
    ("is_bound", "message"),
    [
        pytest.param(False, "pod 'default/web' cannot be forgotten: it is not placed", id="unknown"),
        pytest.param(True, "pod 'default/web' cannot be forgotten: it is confirmed by the cluster", id="confirmed"),
    ],
)
def test_only_an_assumed_pod_is_forgotten(is_bound: bool, message: str) -> None:
    cache = cache_of("a")
    if is_bound:
        cache.add_pod(WEB.on("a").build())
    with pytest.raises(CacheError, match=message):
        cache.forget(WEB.build())


def seats(cache: Cache, group: str) -> list[str]:
    validate_cache(cache)
    return [pod.name for pod in cache.groups.scheduled(GroupKey(OWN_GROUP, "default", group))]


def test_a_bound_pod_that_changes_its_group_gives_its_seat_up() -> None:
    cache = cache_of("a")
    (member,) = (replace(one, spec=replace(one.spec, node_name="a")) for one in own_members("train", 1))
    alone = replace(member, spec=replace(member.spec, scheduling_group=None))
    cache.add_pod(alone)
    with cache.suppose():
        cache.add_pod(member)
        assert seats(cache, "train") == ["train-0"]
    assert seats(cache, "train") == []
    cache.add_pod(member)
    with cache.suppose():
        cache.add_pod(alone)
        assert seats(cache, "train") == []
    assert seats(cache, "train") == ["train-0"]
