"""Re-derive all that the cache and its table claim, from nodes and pods alone. Tests do it after every step,
and a running scheduler when it is asked for a dump (SIGUSR2).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from stowplan.cache.cache import Cache
from stowplan.model.pod import importance, pod_id
from stowplan.table.facts import image_names


def validate_cache(cache: Cache) -> None:
    """Raise AssertionError naming the first thing that is not as it should be."""
    _check_pods(cache)
    _check_rows(cache)
    fresh = _rebuilt(cache)
    _check_resources(cache, fresh)
    _check_columns(cache, fresh)
    _check_holdings(cache, fresh)
    _check_derived(cache)
    _check_images(cache)


def _check_pods(cache: Cache) -> None:
    for placed in cache.pods():
        assert placed in list(cache.pods_on(placed.node_name)), f"pod {placed.pod.key} is not listed under its node"
    listed = sum(len(list(cache.pods_on(name))) for name in {placed.node_name for placed in cache.pods()})
    assert listed == len(list(cache.pods())), "a node lists a pod that is not placed"
    for name in {placed.node_name for placed in cache.pods()}:
        ranked = sorted(cache.pods_on(name), key=lambda placed: importance(placed.pod))
        assert list(cache.by_importance(name)) == ranked, f"node {name}: its pods by importance are out of order"


def _check_rows(cache: Cache) -> None:
    table = cache.table
    assert table.row_of == {node.metadata.name: row for row, node in enumerate(table.nodes)}, "rows and names disagree"
    for row, node in enumerate(table.nodes):
        expected = Counter(placed.shape for placed in cache.pods_on(node.metadata.name))
        assert table.shapes_on[row] == dict(expected), f"node {node.metadata.name}: counted shapes differ from its pods"
        for shape, count in expected.items():
            assert shape.rows.get(row) == count, f"node {node.metadata.name}: a shape does not know it is counted there"
    # Not `Table.order`: to ask for it is to settle it.
    assert sorted(table.tree.names()) == sorted(table.row_of), "the walking order is not one of all nodes"


def _rebuilt(cache: Cache) -> Cache:
    fresh = Cache(cache.table.rules)
    for node in cache.table.nodes:
        fresh.add_node(node)
    for placed in cache.pods():
        fresh.assume(placed.pod, placed.node_name)
        assert fresh.placed(placed.pod) is not None, pod_id(placed.pod)
    return fresh


def _check_resources(cache: Cache, fresh: Cache) -> None:
    ours, theirs = cache.table.resources, fresh.table.resources
    for name, index in ours.index_of.items():
        other = theirs.find(name)
        assert np.array_equal(ours.allocatable[index], theirs.allocatable[other]), f"allocatable {name} differs"
        assert np.array_equal(ours.requested[index], theirs.requested[other]), f"requested {name} differs"


def _check_columns(cache: Cache, fresh: Cache) -> None:
    for key, column in cache.table.facts.columns.items():
        rebuilt = np.array([column.read(node) for node in cache.table.nodes], dtype=column.view.dtype)
        assert np.array_equal(column.view, rebuilt, equal_nan=True), f"fact column {key!r} differs"
    for counts in cache.table.counts.columns:
        assert np.array_equal(counts.view, fresh.table.counts.count(counts.counted).view), (
            f"count of {counts.counted!r} differs"
        )
    for term in cache.table.terms.all():
        carriers = [sum(p.shape.terms.count(term) for p in cache.pods_on(n.metadata.name)) for n in cache.table.nodes]
        assert term.column.view.tolist() == carriers, f"carriers of a term over {term.term.topology_key} differ"
        assert term.column.total == sum(carriers), "the total of carriers differs"


def _check_holdings(cache: Cache, fresh: Cache) -> None:
    for held, holding in cache.table.holdings.by_rule.items():
        rebuilt = fresh.table.holdings.find(held)
        for row in range(len(cache.table)):
            assert holding.on(row) == rebuilt.on(row), f"row {row}: what its pods hold under {held!r} differs"
            for thing in rebuilt.on(row):
                assert holding.rows_with(thing) == rebuilt.rows_with(thing), f"who holds {thing!r} differs"


def _check_derived(cache: Cache) -> None:
    table = cache.table
    for rule in table.derived.rules():
        derived = table.derived.find(rule)
        anew = rule.of_rows(table.resources.allocatable, table.resources.requested)
        assert np.array_equal(derived.lines, anew), f"how nodes stand under {rule!r} differs"
        for line, low, high in zip(anew, derived.lowest, derived.highest, strict=True):
            assert ((line >= low) & (line <= high)).all(), f"bounds under {rule!r} are passed"


def _check_images(cache: Cache) -> None:
    holders = Counter(name for node in cache.table.nodes for name in image_names(node))
    assert cache.table.images.all_holders() == holders, "the nodes that hold images are miscounted"
