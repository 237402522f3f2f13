"""The check of the cache finds what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stowplan.cache.cache import Cache
from stowplan.cache.validate import validate_cache
from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.fit import FreeRoom
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU
from stowplan.testing import make_node, make_pod


class Everybody:
    def amount(self, pod: Pod) -> int:
        return 1


EVERYBODY = Everybody()
FREE_CPU = FreeRoom((CPU,), (1,))


def make_cache() -> Cache:
    cache = Cache()
    for name in ("a", "b"):
        cache.add_node(make_node(name).capacity(cpu=4).zone("x").build())
    cache.add_pod(make_pod("web").requests(cpu=1).anti_affinity("app", "web").on("a").build())
    Nodes(cache.table).label("topology.kubernetes.io/zone")
    cache.table.counts.count(EVERYBODY)
    Nodes(cache.table).derived(FREE_CPU)
    return cache


def lose_a_node_name(cache: Cache) -> None:
    cache.table.row_of["a"] = 1


def count_a_shape_twice(cache: Cache) -> None:
    shapes = cache.table.shapes_on[0]
    shapes[next(iter(shapes))] = 2


def take_too_much(cache: Cache) -> None:
    shape = cache.table.shape_of(make_pod("other").requests(cpu=2).build())
    cache.table.resources.add(0, cache.table.amounts_of(shape))


def give_too_much(cache: Cache) -> None:
    cache.table.resources.write_node(0, make_node("a").capacity(cpu=9).build())


def misread_a_label(cache: Cache) -> None:
    _, column = next(iter(cache.table.facts.columns.items()))
    column.values[1] = 7


def miscount_pods(cache: Cache) -> None:
    cache.table.counts.count(EVERYBODY).add(1, 1)


def miscount_carriers(cache: Cache) -> None:
    cache.table.terms.all()[0].column.add(1, 1)


def misjudge_a_node(cache: Cache) -> None:
    derived = Nodes(cache.table).derived(FREE_CPU)
    assert derived is not None
    lines = derived.lines.copy()
    lines[0, 1] = 7
    derived.lines = lines


def misjudge_the_least(cache: Cache) -> None:
    derived = Nodes(cache.table).derived(FREE_CPU)
    assert derived is not None
    derived.lowest[0] = 1_000_000


def misplace_a_pod(cache: Cache) -> None:
    next(iter(cache.pods())).node_name = "b"


def test_a_cache_that_was_only_changed_by_its_methods_is_sound() -> None:
    validate_cache(make_cache())


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(lose_a_node_name, "rows and names disagree", id="a row of another name"),
        pytest.param(count_a_shape_twice, "node a: counted shapes differ from its pods", id="a shape counted twice"),
        pytest.param(take_too_much, "requested cpu differs", id="an amount taken by nobody"),
        pytest.param(give_too_much, "allocatable cpu differs", id="an amount that the node has not got"),
        pytest.param(misread_a_label, "fact column .* differs", id="a label that the node has not got"),
        pytest.param(miscount_pods, "count of .* differs", id="a pod that is not there"),
        pytest.param(miscount_carriers, "carriers of a term over .* differ", id="a carrier that is not there"),
        pytest.param(misjudge_a_node, "how nodes stand under .* differs", id="more room than there is"),
        pytest.param(misjudge_the_least, "bounds under .* are passed", id="less room than was thought possible"),
        pytest.param(misplace_a_pod, "pod default/web is not listed under its node", id="a pod on another node"),
    ],
)
def test_what_is_wrong_is_named(spoil: Callable[[Cache], None], message: str) -> None:
    cache = make_cache()
    spoil(cache)
    with pytest.raises(AssertionError, match=message):
        validate_cache(cache)
