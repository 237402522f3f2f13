"""How good each feasible row is: what scores add up to, how they are normalised, and what is scored again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import INDIFFERENT, SKIP, Normalize, Plugin, PreScore, Score
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.profile import Profile
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.framework.stand import Stand

POD = make_pod("web").build()
TWENTY = tuple("abcdefghijklmnopqrst")


class First(Score):
    """Scores a node by its label of the plugin's name; 0 without one."""

    def __init__(self) -> None:
        #: The rows that each question was about.
        self.asked: list[list[int]] = []

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        self.asked.append(nodes.all_rows.tolist())
        scores: Scores = nodes.label(self.name).by_meaning(int, 0)
        return scores


class Second(First):
    pass


class Stretched(First, Normalize):
    """Brings the lowest score of a feasible node to 0 and the highest to 100."""

    def normalize(self, scores: Scores, low: int, high: int, state: Any) -> Scores:
        return (scores - low) * 100 // max(1, high - low)


class Prepared(First, PreScore):
    """Adds what it finds in PreScore: a label of the first node, a refusal to score, or how many are feasible."""

    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        labels = nodes.label("tell")
        told = labels.meanings[labels.codes[0]] if labels.codes[0] >= 0 else "0"
        if told == "count":
            return int(nodes.feasible.sum())
        return {"skip": SKIP, "indifferent": INDIFFERENT}.get(told) or int(told)

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return super().score(pod, nodes, state) + int(state)


class Choosy(First):
    """Scores only the rows that it is asked about."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return super().score(pod, nodes, state) * (1 if nodes.asked is None else nodes.asked)


class World:
    """Nodes in the order of the alphabet, plugins with weights, and the ranking of the nodes for one pod."""

    def __init__(self, labels: Sequence[dict[str, int | str]], *scores: tuple[Score, int], **fields: Any) -> None:
        self.feasible = np.isin(np.arange(len(labels)), [TWENTY.index(name) for name in fields.pop("feasible", TWENTY)])
        self.stand = Stand([_node(row, some) for row, some in enumerate(labels)])
        plugins: list[Plugin] = [plugin for plugin, _ in scores]
        prepared = tuple(plugin for plugin in plugins if isinstance(plugin, PreScore))
        self.profile = Profile("default-scheduler", score=scores, pre_score=fields.pop("pre_score", prepared), **fields)
        self.plugins = plugins
        self.journal = Journal()
        self.ranking = Ranking(self.profile, self.stand.cache.table, self.journal)
        self.refresh()

    def add(self, is_feasible: bool = True, **labels: int | str) -> None:
        """Let a node come, as the filters tell of it."""
        row = len(self.feasible)
        self.stand.cache.add_node(_node(row, labels))
        self.journal.mark(row)
        self.feasible = np.append(self.feasible, is_feasible)
        self.refresh()

    def remove(self, row: int) -> None:
        """Let a node go; the last one takes its row."""
        last = len(self.feasible) - 1
        self.stand.cache.remove_node(TWENTY[row])
        self.journal.mark_all()
        self.feasible[row] = self.feasible[last]
        self.feasible = self.feasible[:last]
        self.refresh()

    def change(self, row: int, **labels: int | str) -> None:
        self.stand.cache.add_node(_node(row, labels))

    def allow(self, *rows: int) -> None:
        """Let only these rows be feasible."""
        now = np.isin(np.arange(len(self.feasible)), rows)
        self.journal.mark_each(np.flatnonzero(self.feasible != now))
        self.feasible = now

    def put(self, pod: str, row: int) -> None:
        self.stand.cache.add_pod(make_pod(pod).requests(cpu="1").on(TWENTY[row]).build())

    def refresh(self) -> list[int]:
        """Bring the ranking up to date; return the totals."""
        for plugin in self.plugins:
            if isinstance(plugin, First):
                plugin.asked.clear()
        self.ranking.refresh(POD, self.feasible)
        return self.totals()

    def totals(self) -> list[int]:
        totals: list[int] = self.ranking.total.tolist()
        return totals

    def asked(self) -> list[list[list[int]]]:
        return [plugin.asked for plugin in self.plugins if isinstance(plugin, First)]

    def scores(self) -> dict[str, tuple[list[int], list[int], int]]:
        found = self.ranking.by_plugin()
        return {name: (raw.tolist(), normalized.tolist(), weight) for name, (raw, normalized, weight) in found.items()}


def _node(row: int, labels: dict[str, int | str]) -> Node:
    builder = make_node(TWENTY[row]).capacity(cpu=8, pods=20)
    for key, value in labels.items():
        builder = builder.label(key, str(value))
    return builder.build()


# What adds up to what


@pytest.mark.parametrize(
    ("scores", "totals"),
    [
        pytest.param([], [0, 0, 0], id="nobody scores"),
        pytest.param([(First(), 1)], [10, 20, 0], id="one"),
        pytest.param([(First(), 3)], [30, 60, 0], id="one with weight"),
        pytest.param([(First(), 1), (Second(), 2)], [12, 20, 10], id="two"),
        pytest.param([(Stretched(), 1)], [0, 100, 25], id="one that normalises"),
        pytest.param([(First(), 2), (Stretched(), 3)], [20, 340, 75], id="all of it"),
    ],
)
def test_a_total_is_the_sum_of_weighted_scores(scores: list[tuple[Score, int]], totals: list[int]) -> None:
    labels: list[dict[str, int | str]] = [
        {"First": 10, "Second": 1, "Stretched": 3},
        {"First": 20, "Stretched": 7},
        {"Second": 5, "Stretched": 4},
    ]
    assert World(labels, *scores).totals() == totals


def test_what_each_plugin_said_can_be_read_raw_and_normalised() -> None:
    world = World([{"First": 10, "Stretched": 3}, {"First": 20, "Stretched": 7}], (First(), 2), (Stretched(), 5))
    assert world.scores() == {"First": ([10, 20], [10, 20], 2), "Stretched": ([3, 7], [0, 100], 5)}


def test_rows_that_are_not_feasible_have_no_total_and_no_part_in_normalising() -> None:
    world = World([{"Stretched": 3}, {"Stretched": 90}, {"Stretched": 5}, {"Stretched": 1}], (Stretched(), 1))
    assert world.totals() == [2, 100, 4, 0]
    world.allow(0, 2)
    assert world.refresh() == [0, -1, 100, -1]


def test_a_score_below_zero_is_no_lower_than_that_of_a_row_that_is_not_feasible() -> None:
    world = World([{"First": -5}, {"First": 1}], (First(), 1))
    assert world.totals() == [-1, 1]


@pytest.mark.parametrize(
    ("score", "problem"),
    [
        pytest.param(101, "returns an invalid score 101, it should in the range of [0, 100]", id="too high"),
        pytest.param(-1, "returns an invalid score -1, it should in the range of [0, 100]", id="below zero"),
    ],
)
def test_a_foreign_plugin_that_leaves_the_range_is_named(score: int, problem: str) -> None:
    plugin = First()
    with pytest.raises(PluginError) as caught:
        World([{"First": 50}, {"First": score}], (plugin, 1), foreign=(plugin,))
    assert str(caught.value).startswith(f"plugin 'First' failed in Score for pod 'default/web': {problem}")


def test_a_foreign_plugin_may_score_rows_that_are_not_feasible_as_it_likes() -> None:
    plugin = First()
    world = World([{"First": 100}, {"First": 0}, {}], (plugin, 1), foreign=(plugin,))
    world.allow(0, 1)
    world.change(2, First=700)
    assert world.refresh() == [100, 0, -1]


# What is scored again


def test_without_a_change_nobody_is_asked() -> None:
    world = World([{"First": 1}, {"First": 2}], (First(), 1), (Stretched(), 1))
    assert world.refresh() == [1, 2]
    assert world.asked() == [[], []]


def test_only_rows_that_changed_are_scored_again_by_those_who_read_it() -> None:
    world = World([{"First": 1, "Second": 3}, {"First": 2}, {}], (First(), 1), (Second(), 10))
    assert world.totals() == [31, 2, 0]
    world.change(1, First=7)
    assert world.refresh() == [31, 7, 0]
    assert world.asked() == [[[1]], []]
    world.change(1, First=7, Second=1)
    world.change(2, First=4)
    assert world.refresh() == [31, 17, 4]


@pytest.mark.parametrize(
    ("score", "totals"),
    [
        pytest.param(4, [0, 75, 100], id="between lowest and highest: only this row"),
        pytest.param(9, [0, 100, 50], id="a new highest: all rows"),
        pytest.param(-3, [50, 0, 100], id="a new lowest: all rows"),
    ],
)
def test_normalised_scores_follow_the_extremes(score: int, totals: list[int]) -> None:
    world = World([{"Stretched": 1}, {"Stretched": 2}, {"Stretched": 5}], (Stretched(), 1))
    assert world.totals() == [0, 25, 100]
    world.change(1, Stretched=score)
    assert world.refresh() == totals


def test_a_plugin_behind_one_whose_extremes_move_keeps_its_part() -> None:
    world = World([{"Stretched": 1, "First": 5}, {"Stretched": 2}, {"First": 7}], (Stretched(), 1), (First(), 1))
    assert world.totals() == [55, 100, 7]
    world.change(1, Stretched=4)
    assert world.refresh() == [30, 100, 7]
    world.change(0, Stretched=4, First=5)
    assert world.refresh() == [105, 100, 7]


def test_rows_that_all_scored_the_same_stand_while_they_still_do() -> None:
    world = World([{"Stretched": 5}, {"Stretched": 5}, {"Stretched": 5}], (Stretched(), 1))
    world.change(1, Stretched=5, other="label")
    world.allow(0, 1)
    assert world.refresh() == [0, 0, -1]
    world.change(1, Stretched=6)
    assert world.refresh() == [0, 100, -1]


@pytest.mark.parametrize(
    ("rows", "totals"),
    [
        pytest.param((0, 1), [0, 100, -1], id="the highest is gone"),
        pytest.param((1, 2), [-1, 0, 100], id="the lowest is gone"),
        pytest.param((0, 2), [0, -1, 100], id="one between them is gone"),
        pytest.param((1,), [-1, 0, -1], id="one is left"),
        pytest.param((), [-1, -1, -1], id="none is left"),
    ],
)
def test_rows_that_cease_to_be_feasible(rows: tuple[int, ...], totals: list[int]) -> None:
    world = World([{"Stretched": 1}, {"Stretched": 3}, {"Stretched": 5}], (Stretched(), 1))
    world.allow(*rows)
    assert world.refresh() == totals


def test_rows_that_become_feasible_again_are_scored_and_widen_the_extremes() -> None:
    world = World([{"Stretched": 1, "First": 7}, {"Stretched": 3}, {"Stretched": 5}], (Stretched(), 1), (First(), 2))
    world.allow(1, 2)
    assert world.refresh() == [-1, 0, 100]
    world.allow(0, 1, 2)
    assert world.refresh() == [14, 50, 100]


def test_rows_come_and_go_while_others_change() -> None:
    world = World([{"First": 1}, {"First": 2}, {"First": 3}, {"First": 4}], (First(), 1), (Stretched(), 1))
    world.allow(0, 1, 2)
    world.change(1, First=9)
    assert world.refresh() == [1, 9, 3, -1]
    world.allow(1, 2, 3)
    world.change(2, First=5, Stretched=1)
    assert world.refresh() == [-1, 9, 105, 4]


def test_rows_that_have_been_scored_are_not_asked_about_because_they_come_or_go() -> None:
    world = World([{"First": 1}, {"First": 2}], (First(), 1))
    world.allow(1)
    assert (world.refresh(), world.asked()) == ([-1, 2], [[]])
    world.allow(0, 1)
    assert (world.refresh(), world.asked()) == ([1, 2], [[]])


def test_who_looks_at_which_rows_are_asked_about_is_asked_about_those_that_come_or_go() -> None:
    world = World([{"Choosy": 1}, {"Choosy": 2}], (Choosy(), 1))
    world.allow(1)
    assert (world.refresh(), world.asked()) == ([-1, 2], [[[0]]])
    world.change(0, Choosy=7)
    assert (world.refresh(), world.asked()) == ([-1, 2], [[[0]]])
    world.allow(0, 1)
    assert (world.refresh(), world.asked()) == ([7, 2], [[[0]]])


class Unsure(First):
    """Knows no number for a node without a label."""

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return np.where(super().score(pod, nodes, state) > 0, super().score(pod, nodes, state), np.nan)


def test_what_a_foreign_plugin_says_about_rows_that_are_not_feasible_is_not_looked_at() -> None:
    plugin = Unsure()
    world = World([{"Unsure": 1}, {"Unsure": 2}, {}], (plugin, 1), foreign=(plugin,), feasible="ab")
    assert world.totals() == [1, 2, -1]
    world.change(2, Unsure=9)
    world.allow(0, 1, 2)
    assert world.refresh() == [1, 2, 9]


# PreScore


def test_what_is_prepared_is_used_and_prepared_anew_when_it_changes() -> None:
    world = World([{"tell": "5", "Prepared": 1}, {}], (Prepared(), 2))
    assert world.totals() == [12, 10]
    world.change(0, tell="6", Prepared=1)
    assert world.refresh() == [14, 12]


def test_a_plugin_that_skips_adds_nothing_until_it_has_something_to_say() -> None:
    world = World([{"tell": "skip", "Prepared": 1, "First": 4}, {"First": 3}], (Prepared(), 2), (First(), 1))
    assert (world.totals(), world.ranking.skipped) == ([4, 3], frozenset({"Prepared"}))
    assert list(world.scores()) == ["First"]
    world.change(0, tell="5", Prepared=1, First=4)
    assert (world.refresh(), world.ranking.skipped) == ([16, 13], frozenset())
    world.change(0, tell="skip", Prepared=1, First=4)
    assert (world.refresh(), world.ranking.skipped) == ([4, 3], frozenset({"Prepared"}))
    assert list(world.scores()) == ["First"]


def test_an_indifferent_plugin_gives_every_row_0_unasked_until_it_has_something_to_say() -> None:
    world = World([{"tell": "indifferent", "Prepared": 1, "First": 4}, {"First": 3}], (Prepared(), 2), (First(), 1))
    assert (world.totals(), world.ranking.skipped) == ([4, 3], frozenset())
    assert world.scores()["Prepared"] == ([0, 0], [0, 0], 2)
    assert world.asked()[0] == []
    world.change(0, tell="5", Prepared=1, First=4)
    assert world.refresh() == [16, 13]
    world.change(0, tell="indifferent", Prepared=1, First=4)
    assert world.refresh() == [4, 3]
    assert world.scores()["Prepared"] == ([0, 0], [0, 0], 2)


def test_who_prepares_without_scoring_may_skip_and_changes_no_total() -> None:
    world = World([{"tell": "skip", "First": 4}, {"First": 3}], (First(), 1), pre_score=(Prepared(),))
    assert (world.totals(), world.ranking.skipped) == ([4, 3], frozenset({"Prepared"}))
    world.change(0, tell="1", First=4)
    assert (world.refresh(), world.ranking.skipped) == ([4, 3], frozenset())


def test_what_is_prepared_of_the_feasible_rows_is_prepared_anew_when_they_change() -> None:
    world = World([{"tell": "count"}, {}, {}], (Prepared(), 1))
    assert world.totals() == [3, 3, 3]
    world.allow(0, 1)
    assert world.refresh() == [2, 2, -1]


# Scores by amounts


class Room(Incremental):
    """How many pods a node may have before it scores nothing; knows the score by the amounts of a node."""

    def __init__(self, most: int) -> None:
        self.most = most
        #: How often it was asked about one node.
        self.ones = 0

    @property
    def is_by_amounts(self) -> bool:
        return True

    def score_of(self, has: list[int], taken: list[int]) -> int:
        self.ones += 1
        return self.most - taken[3]


class Emptiest(Score, PreScore):
    """The fewer pods the better."""

    def __init__(self) -> None:
        self.by_array = 0
        self.room = Room(10)

    def pre_score(self, pod: Pod, nodes: Nodes) -> Any:
        return self.room

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        self.by_array += 1
        scores: Scores = self.room.most - nodes.requested[nodes.resource("pods")]
        return scores


def test_rows_of_which_only_amounts_changed_are_scored_one_by_one() -> None:
    emptiest = Emptiest()
    world = World([{"First": 1}, {"First": 2}, {}], (emptiest, 3), (First(), 1))
    world.allow(0, 1)
    assert world.refresh() == [31, 32, -1]
    asked = emptiest.by_array
    world.put("p0", 0)
    world.put("p1", 0)
    world.put("p2", 2)
    assert world.refresh() == [25, 32, -1]
    assert emptiest.by_array == asked
    assert world.scores()["Emptiest"] == ([8, 10, 9], [8, 10, 9], 3)
    world.allow(0, 1, 2)
    assert world.refresh() == [25, 32, 27]


def test_without_a_preparation_amounts_are_not_asked_one_by_one() -> None:
    class Bare(Emptiest):
        def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
            return super().score(pod, nodes, 10)

    world = World([{}, {}], (Bare(), 1), pre_score=())
    world.put("p", 0)
    assert world.refresh() == [9, 10]


def test_rows_whose_amounts_changed_are_patched_while_others_cease_to_be_feasible() -> None:
    world = World([{"Stretched": 1}, {"Stretched": 9}, {"Stretched": 5}], (Emptiest(), 1), (Stretched(), 1))
    assert world.totals() == [10, 110, 60]
    world.put("p", 0)
    world.allow(0, 1)
    assert world.refresh() == [9, 110, -1]
    world.put("q", 0)
    world.allow(0)
    assert world.refresh() == [8, -1, -1]


@pytest.mark.parametrize(
    ("rows", "ones", "by_array"),
    [pytest.param(FEW_ROWS, FEW_ROWS, 0, id="few rows"), pytest.param(FEW_ROWS + 1, 0, 1, id="one more")],
)
def test_many_rows_are_scored_at_once(rows: int, ones: int, by_array: int) -> None:
    emptiest = Emptiest()
    world = World([{"First": row} for row in range(20)], (emptiest, 2), (First(), 1))
    world.allow(*range(1, 20))
    world.refresh()
    asked = emptiest.by_array
    for row in range(rows):
        world.put(f"p{row}", row)
    expected = [-1, *(18 + row if row < rows else 20 + row for row in range(1, 20))]
    assert world.refresh() == expected
    assert (emptiest.by_array - asked, emptiest.room.ones) == (by_array, ones)
    world.allow(*range(20))
    assert world.refresh() == [18, *expected[1:]]


# A column that a plugin returns is not written to


class Column(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        column: Scores = nodes.requested[nodes.resource("pods")].astype(np.int64, copy=False)
        return column


def test_a_column_that_is_returned_as_scores_is_left_as_it_is() -> None:
    world = World([{}, {}], (Column(), 1))
    for number in range(2):
        world.put(f"p{number}", 1)
        assert world.refresh() == [0, number + 1]
    assert world.stand.cache.table.resources.requested[3].tolist() == [0, 2]


# Nodes that come and go


def test_of_a_node_that_comes_only_its_row_is_scored() -> None:
    world = World([{"First": 1}, {"First": 2}], (First(), 1), (Second(), 1))
    world.add(First=3, Second=4)
    assert world.asked() == [[[2]], [[2]]]
    assert world.totals() == [1, 2, 7]


def test_of_a_node_that_goes_the_row_that_takes_its_place_is_scored() -> None:
    world = World([{"First": 1}, {"First": 2}, {"First": 3}], (First(), 1))
    world.remove(0)
    assert world.asked() == [[[0]]]
    assert world.totals() == [3, 2]


def test_a_node_that_goes_with_the_highest_score_brings_all_others_up() -> None:
    world = World([{"Stretched": 0}, {"Stretched": 10}, {"Stretched": 20}], (Stretched(), 1))
    assert world.totals() == [0, 50, 100]
    world.remove(2)
    assert world.totals() == [0, 100]


def test_a_node_that_comes_with_the_highest_score_brings_all_others_down() -> None:
    world = World([{"Stretched": 0}, {"Stretched": 10}], (Stretched(), 1))
    world.add(Stretched=20)
    assert world.totals() == [0, 50, 100]


def test_a_node_that_comes_and_is_not_feasible_changes_nothing() -> None:
    world = World([{"Stretched": 5}, {"Stretched": 10}], (Stretched(), 1))
    world.add(is_feasible=False, Stretched=20)
    assert world.totals() == [0, 100, -1]
