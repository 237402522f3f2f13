"""What plugins say of all rows at once, starting from how nodes stand, is what they say of each row by its amounts."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.framework.contract import Skip
from stowplan.framework.kept.asking import ask_filter
from stowplan.framework.kept.incremental import FEW_ROWS
from stowplan.framework.verdict import Rejection, Vocabulary
from stowplan.model.pod import Pod
from stowplan.plugins.noderesources.allocation import ONE_ROW
from stowplan.plugins.noderesources.arguments import (
    CPU_AND_MEMORY,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
)
from stowplan.plugins.noderesources.balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.noderesources.fit import Demands, NodeResourcesFit
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import make_node, make_pod
from tests.examples import examples

GPU = "example.com/gpu"
STORAGE = "ephemeral-storage"
# Small ones, everyday ones, and both sides of where a float no longer holds a hundred times the amount, or the amount.
EDGES = (0, 1, 2, 3, 99, 100, 101, 4 * 2**30, 2**46, 2**53 // 100, 2**53 // 100 + 1, 2**53 - 1, 2**53, 2**53 + 1)
some = st.one_of(st.sampled_from(EDGES), st.integers(0, 1000), st.integers(0, 2**40))
amounts = st.tuples(some, some, st.integers(0, 3))
# Where sums overflow, and beyond what there are numbers for.
large = st.one_of(
    st.sampled_from((2**60, 3 * 2**60, 2**62, 2**62 + 699, 2**62 + 700, 2**63 - 1, 2**63, 2**64 + 1)), some
)
large_amounts = st.tuples(large, large, large)
Amounts = tuple[int, int, int]
SCORERS: dict[str, NodeResourcesFit | NodeResourcesBalancedAllocation] = {
    "least": NodeResourcesFit(),
    "least, by weight": NodeResourcesFit(
        NodeResourcesFitArgs(ScoringStrategy("LeastAllocated", (ResourceSpec("memory", 3), ResourceSpec("cpu", 7))))
    ),
    "least, of three": NodeResourcesFit(
        NodeResourcesFitArgs(
            ScoringStrategy("LeastAllocated", (ResourceSpec("cpu", 1), ResourceSpec("memory", 1), ResourceSpec(GPU, 5)))
        )
    ),
    "least, by weights that add up to large numbers": NodeResourcesFit(
        NodeResourcesFitArgs(
            ScoringStrategy(
                "LeastAllocated", tuple(ResourceSpec(name, 100) for name in ("cpu", "memory", STORAGE, GPU))
            )
        )
    ),
    "most": NodeResourcesFit(NodeResourcesFitArgs(ScoringStrategy("MostAllocated", CPU_AND_MEMORY))),
    "balanced": NodeResourcesBalancedAllocation(),
    "balanced, other two": NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs((ResourceSpec("memory", 1), ResourceSpec(GPU, 1)))
    ),
}


def pod_of(wanted: Amounts, name: str = "pod") -> Pod:
    cpu, memory, gpu = wanted
    return make_pod(name).requests({GPU: gpu}, cpu=f"{cpu}m", memory=memory).build()


def table_of(nodes: list[tuple[Amounts, list[Amounts]]]) -> Table:
    """Make a table of nodes that have these amounts, with pods that request those."""
    table = Table()
    for number, ((cpu, memory, gpu), pods) in enumerate(nodes):
        row = table.add_node(make_node(f"n{number}").capacity({GPU: gpu}, cpu=f"{cpu}m", memory=memory).build())
        place(table, row, pods)
    return table


def place(table: Table, row: int, pods: list[Amounts]) -> None:
    for wanted in pods:
        table.add_pod(row, table.shape_of(pod_of(wanted)))


nodes = st.lists(st.tuples(amounts, st.lists(amounts, max_size=3)), min_size=1, max_size=4)
large_nodes = st.lists(st.tuples(large_amounts, st.lists(large_amounts, max_size=3)), min_size=1, max_size=4)


@settings(max_examples=examples(400))
@given(st.sampled_from(tuple(SCORERS)), nodes, st.lists(st.tuples(amounts, amounts), min_size=1, max_size=3))
def test_all_rows_score_what_each_scores(
    name: str, given_nodes: list[tuple[Amounts, list[Amounts]]], pods: list[tuple[Amounts, Amounts]]
) -> None:
    scorer, table = SCORERS[name], table_of(given_nodes)
    for wanted, placed in pods:
        pod = pod_of(wanted, "asked")
        state = scorer.pre_score(pod, Nodes(table))
        if not isinstance(state, Skip):
            rows = range(len(table))
            each = [state.score_of(*table.resources.amounts(row)) for row in rows]
            # A rule that leaves out a cap would be cut off at 0 or 100, and nobody would see it.
            assert [state.rule(ONE_ROW, state.shares, *table.resources.amounts(row)) for row in rows] == each
            assert scorer.score(pod, Nodes(table), state).tolist() == each
            # As for more rows than are asked about one by one.
            again = [*rows] * (FEW_ROWS + 1)
            assert scorer.score(pod, Nodes(table).take(np.array(again)), state).tolist() == each * (FEW_ROWS + 1)
            assert state.score_each(table.resources.allocatable, table.resources.requested).tolist() == each
        # What is kept about the nodes must follow.
        place(table, 0, [placed])


@settings(max_examples=examples(400))
@given(st.sampled_from(tuple(SCORERS)), large_nodes, st.lists(st.tuples(large_amounts, amounts), max_size=3))
def test_all_rows_score_what_each_scores_where_sums_overflow(
    name: str, given_nodes: list[tuple[Amounts, list[Amounts]]], pods: list[tuple[Amounts, Amounts]]
) -> None:
    scorer, table = SCORERS[name], table_of(given_nodes)
    for wanted, placed in pods:
        pod = pod_of(wanted, "asked")
        state = scorer.pre_score(pod, Nodes(table))
        if not isinstance(state, Skip):
            each = [state.score_of(*table.resources.amounts(row)) for row in range(len(table))]
            again = [*range(len(table))] * (FEW_ROWS + 1)
            assert scorer.score(pod, Nodes(table).take(np.array(again)), state).tolist() == each * (FEW_ROWS + 1)
            assert state.score_each(table.resources.allocatable, table.resources.requested).tolist() == each
        place(table, 0, [placed])


@settings(max_examples=examples(200))
@given(st.one_of(nodes, large_nodes), st.one_of(amounts, large_amounts))
def test_a_pod_fits_where_no_word_is_said_against_it(
    given_nodes: list[tuple[Amounts, list[Amounts]]], wanted: Amounts
) -> None:
    plugin, table = NodeResourcesFit(), table_of(given_nodes)
    state = plugin.pre_filter(pod_of(wanted), Nodes(table))
    said = [rejection is None for rejection in words(plugin, state, table)]
    assert [state.fits(*table.resources.amounts(row)) for row in range(len(table))] == said


@settings(max_examples=examples(400))
@given(st.one_of(nodes, large_nodes), st.one_of(amounts, large_amounts), st.one_of(amounts, large_amounts))
def test_rows_that_other_requests_do_not_change_are_told_the_same(
    given_nodes: list[tuple[Amounts, list[Amounts]]], before: Amounts, after: Amounts
) -> None:
    plugin, table = NodeResourcesFit(), table_of(given_nodes)
    old, new = (plugin.pre_filter(pod_of(wanted), Nodes(table)) for wanted in (before, after))
    changed = new.changed_rows(old, Nodes(table))
    if changed is not None:
        then, now = (words(plugin, state, table) for state in (old, new))
        differ = {row for row, (one, other) in enumerate(zip(then, now, strict=True)) if one != other}
        assert differ <= set(changed.tolist())


def words(plugin: NodeResourcesFit, state: Demands, table: Table) -> list[Rejection | None]:
    vocabulary = Vocabulary()
    said: Any = ask_filter(plugin, make_pod().build(), Nodes(table), state, vocabulary)
    return [None] * len(table) if said is None else [vocabulary.rejections[number] for number in said.tolist()]
