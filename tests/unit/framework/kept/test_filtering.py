"""Which rows can take a pod: whose word a row carries, who is asked about it, and what a change has asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from stowplan.framework.contract import SKIP, Filter, Narrowed, PreFilter, Reject, refuse, reject
from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.kept.incremental import FEW_ROWS, Incremental
from stowplan.framework.plugin_faults import PluginError
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.table.columns import Rows
from stowplan.table.nodes import Nodes
from stowplan.testing import make_node, make_pod
from tests.unit.framework.stand import Stand

POD = make_pod("web").build()
THREE = ("a", "b", "c")
TWENTY = tuple("abcdefghijklmnopqrst")


class First(Filter):
    """Refuses every node with a label of the plugin's name, for the reason that its value is; but "fine" is none."""

    def __init__(self) -> None:
        #: The rows that each question was about, by the first letters of their nodes.
        self.asked: list[str] = []

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        rows = nodes.all_rows if nodes.asked is None else nodes.all_rows[nodes.asked]
        self.asked.append("".join(TWENTY[row] for row in rows.tolist()))
        labels = nodes.label(self.name)
        for reason in sorted(set(labels.meanings) - {"fine"}):
            yield reject(labels.is_one_of([reason]), reason)


class Second(First):
    pass


class Third(First):
    pass


class World:
    """Nodes in the order of the alphabet, some plugins, and the filters' answer about one pod."""

    def __init__(self, names: Sequence[str], *plugins: Filter, **labels: dict[str, str]) -> None:
        found = [self.node(name, labels.get(name, {})) for name in names]
        self.stand = Stand(found, *plugins)
        self.plugins = plugins
        self.filtering = Filtering(self.stand.profile, self.stand.cache.table)
        self.refresh()

    @staticmethod
    def node(name: str, labels: dict[str, str]) -> Any:
        builder = make_node(name).capacity(cpu=4, pods=3)
        for key, value in labels.items():
            builder = builder.label(key, value)
        return builder.build()

    def change(self, **labels: dict[str, str]) -> None:
        """Give nodes these labels, instead of those that they have."""
        for name, wanted in labels.items():
            self.stand.cache.add_node(self.node(name, wanted))

    def put(self, pod: str, node: str) -> None:
        self.stand.cache.add_pod(make_pod(pod).requests(cpu="1").on(node).build())

    def refresh(self) -> None:
        for plugin in self.plugins:
            if isinstance(plugin, First):
                plugin.asked.clear()
        self.position = self.filtering.feasible_journal.position
        self.before = self.filtering.feasible.copy()
        self.filtering.refresh(POD)

    def asked(self) -> list[list[str]]:
        """Return, by plugin, what the last refresh asked about."""
        return [plugin.asked for plugin in self.plugins if isinstance(plugin, First)]

    def words(self) -> dict[str, str]:
        """Return the refused nodes, by plugin and reason."""
        return {name: f"{no.plugin}: {', '.join(no.reasons)}" for name, no in self.filtering.verdict().rejected.items()}

    def feasible(self) -> str:
        names = self.stand.cache.table.names()
        feasible = "".join(names[row] for row in np.flatnonzero(self.filtering.feasible).tolist())
        assert self.filtering.feasible_count == len(feasible)
        return feasible

    def flipped(self) -> str:
        """Return the nodes that the last refresh made feasible or not, which the journal has to tell."""
        flipped = "".join(TWENTY[row] for row in np.flatnonzero(self.filtering.feasible != self.before).tolist())
        assert not flipped or self.filtering.feasible_journal.position != self.position
        return flipped


# Whose word it is


def test_a_row_carries_the_word_of_the_first_that_refuses_it() -> None:
    world = World(THREE, First(), Second(), Third(), a={"First": "x", "Second": "y"}, b={"Second": "z", "Third": "w"})
    assert world.words() == {"a": "First: x", "b": "Second: z"}
    assert world.feasible() == "c"


def test_a_plugin_is_asked_only_about_rows_that_nobody_before_it_refuses() -> None:
    world = World(THREE, First(), Second(), Third(), a={"First": "x"}, b={"Second": "y"})
    assert world.asked() == [["abc"], ["bc"], ["c"]]


def test_nobody_is_asked_once_every_row_is_refused() -> None:
    world = World(("a", "b"), First(), Second(), a={"First": "x"}, b={"First": "x"})
    assert world.asked() == [["ab"], []]
    assert world.words() == {"a": "First: x", "b": "First: x"}


def test_few_of_many_rows_are_asked_about_alone() -> None:
    refused = {name: {"First": "x"} for name in TWENTY[2:]}
    world = World(TWENTY, First(), Second(), Third(), b={"Second": "y"}, **refused)
    assert world.asked() == [["abcdefghijklmnopqrst"], ["ab"], ["a"]]
    assert world.words() == {"b": "Second: y"} | dict.fromkeys(TWENTY[2:], "First: x")
    assert world.feasible() == "a"


def test_a_verdict_stays_as_it_was_given() -> None:
    world = World(THREE, First(), a={"First": "x"})
    before = world.filtering.verdict()
    world.change(a={}, b={"First": "y"})
    world.refresh()
    assert before.rejected == {"a": Rejection(("x",), Code.UNSCHEDULABLE, "First")}
    assert world.words() == {"b": "First: y"}


# What is asked again


class Came(NamedTuple):
    """What a change came to: the words, the feasible nodes, those that became so or not, who was asked about whom."""

    words: dict[str, str]
    feasible: str
    flipped: str
    asked: list[str]


@pytest.mark.parametrize(
    ("before", "change", "came"),
    [
        pytest.param({"a": {"First": "x"}}, {"a": {}}, Came({}, "abc", "a", ["a", "a"]), id="freed by the first"),
        pytest.param({"a": {"Second": "y"}}, {"a": {}}, Came({}, "abc", "a", ["", "a"]), id="freed by the second"),
        pytest.param(
            {"a": {"First": "x", "Second": "y"}},
            {"a": {"Second": "y"}},
            Came({"a": "Second: y"}, "bc", "", ["a", "a"]),
            id="freed by the first, refused by the second",
        ),
        pytest.param(
            {"a": {"Second": "y"}},
            {"a": {"First": "x", "Second": "y"}},
            Came({"a": "First: x"}, "bc", "", ["a", ""]),
            id="the first refuses what the second refused, who is not asked",
        ),
        pytest.param(
            {"a": {"First": "x"}},
            {"a": {"First": "other"}},
            Came({"a": "First: other"}, "bc", "", ["a", ""]),
            id="refused as before, for another reason",
        ),
        pytest.param(
            {"a": {"First": "x"}},
            {"a": {"First": "x", "Second": "y"}},
            Came({"a": "First: x"}, "bc", "", ["", ""]),
            id="what the second thinks of it does not matter",
        ),
        pytest.param(
            {"a": {"First": "x"}, "b": {"First": "fine"}},
            {"a": {}, "b": {}},
            Came({}, "abc", "a", ["ab", "a"]),
            id="who comes next is asked only about rows that were refused before",
        ),
        pytest.param(
            {"c": {"Second": "y"}},
            {"a": {"Second": "z"}, "b": {"First": "x"}, "c": {}},
            Came({"a": "Second: z", "b": "First: x"}, "c", "abc", ["b", "ac"]),
            id="several rows at once, each by its own way",
        ),
    ],
)
def test_what_a_change_comes_to(before: dict[str, Any], change: dict[str, Any], came: Came) -> None:
    world = World(THREE, First(), Second(), **before)
    world.change(**change)
    world.refresh()
    asked = ["".join(sorted("".join(questions))) for questions in world.asked()]
    assert Came(world.words(), world.feasible(), world.flipped(), asked) == came


def test_without_a_change_nobody_is_asked() -> None:
    world = World(THREE, First(), Second(), a={"First": "x"})
    world.refresh()
    assert world.asked() == [[], []]
    assert (world.words(), world.flipped()) == ({"a": "First: x"}, "")


# Answers by amounts


class Room(Incremental):
    """Knows by the amounts of a node whether one more pod fits there."""

    def __init__(self) -> None:
        #: How many pods there were on the nodes that it was asked about.
        self.tried: list[int] = []

    @property
    def is_by_amounts(self) -> bool:
        return True

    def fits(self, has: list[int], taken: list[int]) -> bool:
        self.tried.append(taken[3])
        return taken[3] < has[3]


class Amounts(PreFilter, Filter):
    """Refuses nodes that are full."""

    def __init__(self) -> None:
        self.room = Room()
        self.tried = self.room.tried
        self.by_array = 0

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Room:
        return self.room

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        self.by_array += 1
        full = nodes.requested[nodes.resource("pods")] >= nodes.allocatable[nodes.resource("pods")]
        if full.any():
            yield reject(full, "full")


def test_a_row_that_still_fits_by_its_amounts_is_not_asked_about_otherwise() -> None:
    plugin = Amounts()
    world = World(THREE, plugin)
    world.put("p", "b")
    world.refresh()
    assert (plugin.tried, plugin.by_array) == ([1], 1)
    assert world.feasible() == "abc"


def test_a_row_that_no_longer_fits_by_its_amounts_is_refused_in_words() -> None:
    plugin = Amounts()
    world = World(THREE, plugin)
    for number in range(3):
        world.put(f"p{number}", "b")
    world.refresh()
    assert (plugin.tried, plugin.by_array) == ([3], 3)
    assert (world.words(), world.feasible(), world.flipped()) == ({"b": "Amounts: full"}, "ac", "b")


def test_a_row_that_was_refused_by_its_amounts_is_asked_about_in_full() -> None:
    plugin = Amounts()
    world = World(THREE, plugin)
    for number in range(3):
        world.put(f"p{number}", "b")
    world.refresh()
    plugin.tried.clear()
    world.stand.cache.remove_pod(make_pod("p1").build())
    world.refresh()
    assert plugin.tried == []
    assert (world.words(), world.feasible(), world.flipped()) == ({}, "abc", "b")


def test_amounts_of_a_row_that_somebody_before_refuses_do_not_matter() -> None:
    plugin = Amounts()
    world = World(THREE, First(), plugin, b={"First": "x"})
    for number in range(3):
        world.put(f"p{number}", "b")
    world.refresh()
    assert (plugin.tried, plugin.by_array) == ([], 1)
    assert world.words() == {"b": "First: x"}
    world.change(b={})
    world.refresh()
    assert (world.words(), world.feasible()) == ({"b": "Amounts: full"}, "ac")


def test_amounts_of_a_row_that_somebody_behind_refuses_matter() -> None:
    world = World(THREE, Amounts(), Second(), b={"Second": "y"})
    for number in range(3):
        world.put(f"p{number}", "b")
    world.refresh()
    assert (world.words(), world.feasible()) == ({"b": "Amounts: full"}, "ac")


def test_amounts_are_looked_at_anew_each_time() -> None:
    plugin = Amounts()
    world = World(THREE, plugin)
    for number in range(3):
        world.put(f"p{number}", "b")
        world.refresh()
    assert plugin.tried == [1, 2, 3]
    assert world.words() == {"b": "Amounts: full"}


@pytest.mark.parametrize(
    ("rows", "ones", "by_array"), [pytest.param(FEW_ROWS, 8, 0, id="few rows"), pytest.param(9, 0, 1, id="one more")]
)
def test_many_rows_are_asked_about_at_once(rows: int, ones: int, by_array: int) -> None:
    plugin = Amounts()
    world = World(TWENTY, plugin)
    for name in TWENTY[:rows]:
        world.put(f"p-{name}", name)
    asked = plugin.by_array
    world.refresh()
    assert (len(plugin.tried), plugin.by_array - asked) == (ones, by_array)
    assert world.feasible() == "".join(TWENTY)


@pytest.mark.parametrize("refused", [pytest.param("b", id="one that fitted"), pytest.param("t", id="one more")])
def test_of_many_rows_one_that_does_not_fit_is_refused_in_words(refused: str) -> None:
    world = World(TWENTY, First(), Amounts(), a={"First": "x"})
    for number, name in enumerate((*TWENTY[1:9], refused, refused, refused, *"aaa")):
        world.put(f"p-{number}", name)
    world.refresh()
    assert world.words() == {"a": "First: x", refused: "Amounts: full"}


# What PreFilter says first


class Told(First, PreFilter):
    """Answers in PreFilter as told by a label of the first node, and filters like the others."""

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        labels = nodes.label("tell")
        told = labels.meanings[labels.codes[0]] if labels.codes[0] >= 0 else ""
        return {"": None, "skip": SKIP, "refuse": refuse("no"), "narrow": Narrowed(frozenset("bc"))}[told]


def test_rows_that_are_ruled_out_by_name_are_neither_asked_about_nor_feasible() -> None:
    world = World(THREE, Told(), Second(), a={"tell": "narrow", "Told": "x"}, b={"Told": "y"})
    assert world.asked() == [["bc"], ["c"]]
    assert (world.words(), world.feasible()) == ({"b": "Told: y"}, "c")
    evaluated = world.filtering.verdict().evaluated
    assert evaluated is not None
    assert evaluated.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("steps", "words", "feasible"),
    [
        pytest.param(("", "narrow"), {"b": "Told: y"}, "c", id="narrowed later"),
        pytest.param(("narrow", ""), {"a": "Told: x", "b": "Told: y"}, "c", id="no longer narrowed"),
        pytest.param(("", "skip"), {}, "abc", id="skipped later"),
        pytest.param(("skip", ""), {"a": "Told: x", "b": "Told: y"}, "c", id="no longer skipped"),
        pytest.param(("", "refuse", ""), {"a": "Told: x", "b": "Told: y"}, "c", id="refused as a whole meanwhile"),
        pytest.param(("skip", "refuse", "narrow"), {"b": "Told: y"}, "c", id="one of each"),
    ],
)
def test_an_answer_that_changes_the_question_has_all_asked_anew(
    steps: tuple[str, ...], words: dict[str, str], feasible: str
) -> None:
    world = World(THREE, Told(), a={"tell": steps[0], "Told": "x"}, b={"Told": "y"})
    for told in steps[1:]:
        world.change(a={"tell": told, "Told": "x"})
        world.refresh()
    assert (world.words(), world.feasible()) == (words, feasible)


def test_a_pod_that_is_refused_as_a_whole_has_no_word_about_any_node() -> None:
    world = World(THREE, Told(), a={"Told": "x"})
    world.change(a={"tell": "refuse", "Told": "x"})
    world.refresh()
    assert world.words() == {}
    assert world.filtering.verdict().pre_filter == Rejection(("no",), Code.UNRESOLVABLE, "Told")


# States that know what is new about them


class Refused(Incremental):
    """A state that names the rows to refuse, and knows in which it differs from another."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = set(rows)

    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        return np.array(sorted(self.rows ^ before.rows), dtype=np.intp)


class Unsure(Refused):
    def changed_rows(self, before: Any, nodes: Nodes) -> Rows | None:
        return None


class Stateful(PreFilter, Filter):
    """Refuses the rows that its state names; the next state is given to it."""

    def __init__(self, *states: Refused) -> None:
        self.states = list(states)
        self.asked: list[list[int]] = []

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        # Read so that it is asked again whenever a pod comes or goes.
        assert nodes.requested is not None
        return self.states.pop(0)

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        rows = nodes.all_rows if nodes.asked is None else nodes.all_rows[nodes.asked]
        self.asked.append(rows.tolist())
        yield reject(np.isin(nodes.all_rows, list(state.rows)), "named")


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        pytest.param((Refused([0]), Refused([0, 5])), [[5]], id="one row more is asked about alone"),
        pytest.param((Refused([0, 5]), Refused([5])), [[0]], id="one row less too"),
        pytest.param((Refused([0]), Refused([0])), [], id="a new state without a difference"),
        pytest.param((Refused([0]), Refused([5, 6])), [list(range(20))], id="too many rows to be told apart"),
        pytest.param((Refused([0]), Unsure([0, 5])), [list(range(20))], id="a state of another class"),
        pytest.param((Unsure([0]), Unsure([0, 5])), [list(range(20))], id="a state that does not know"),
    ],
)
def test_a_new_state_voids_only_what_it_says(states: tuple[Refused, ...], asked: list[list[int]]) -> None:
    plugin = Stateful(*states)
    world = World(TWENTY, plugin)
    plugin.asked.clear()
    world.put("p", "j")
    world.refresh()
    assert plugin.asked == asked
    assert sorted(world.words()) == [TWENTY[row] for row in sorted(states[-1].rows)]
    assert world.feasible() == "".join(name for row, name in enumerate(TWENTY) if row not in states[-1].rows)


def test_a_new_state_is_not_asked_about_rows_that_somebody_before_refuses() -> None:
    plugin = Stateful(Refused([]), Refused([3]))
    world = World(TWENTY, First(), plugin, d={"First": "x"})
    world.put("p", "j")
    world.refresh()
    assert world.words() == {"d": "First: x"}
    world.change(d={})
    world.refresh()
    assert world.words() == {"d": "Stateful: named"}


def test_a_row_that_a_new_state_frees_goes_on_to_those_behind() -> None:
    plugin = Stateful(Refused([3]), Refused([]))
    world = World(TWENTY, plugin, Second(), d={"Second": "y"})
    world.put("p", "j")
    world.refresh()
    assert (world.words(), world.asked()) == ({"d": "Second: y"}, [["d"]])


# States that can say it of one row


class ByRow(Incremental):
    """A state that refuses rows with two pods and more, and can say it of each."""

    @property
    def is_by_row(self) -> bool:
        return True

    def refusal_of(self, row: int, nodes: Nodes) -> Rejection | None:
        return Rejection(("busy",), Code.UNRESOLVABLE) if nodes.count(EVERYBODY).item(row) >= 2 else None


class Everybody:
    def amount(self, pod: Pod) -> int:
        return 1


EVERYBODY = Everybody()


class Quiet(PreFilter, First):
    """Refuses nodes with two pods and more."""

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        return ByRow()

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield from super().filter(pod, nodes, state)
        yield reject(nodes.count(EVERYBODY) >= 2, "busy", unresolvable=True)


@pytest.mark.parametrize(
    ("pods", "words", "flipped"),
    [
        pytest.param("b", {}, "", id="a row that still passes"),
        pytest.param("bb", {"b": "Quiet: busy"}, "b", id="a row that does not"),
        pytest.param("bbcdd", {"b": "Quiet: busy", "d": "Quiet: busy"}, "bd", id="several rows"),
    ],
)
def test_a_few_rows_are_asked_about_one_by_one(pods: str, words: dict[str, str], flipped: str) -> None:
    world = World(TWENTY, First(), Quiet(), Third(), t={"First": "x"})
    for number, node in enumerate(pods):
        world.put(f"p{number}", node)
    world.refresh()
    assert world.asked() == [[], [], []]
    assert world.words() == {"t": "First: x"} | words
    assert (world.flipped(), world.feasible()) == (flipped, "".join(name for name in TWENTY[:-1] if name not in words))
    rejection = world.filtering.verdict().rejected.get("b")
    assert rejection is None or rejection.code is Code.UNRESOLVABLE


def test_a_row_that_was_refused_is_asked_about_in_full() -> None:
    world = World(TWENTY, Quiet(), Third(), b={"Third": "x"})
    world.put("p0", "b")
    world.put("p1", "b")
    world.refresh()
    assert (world.words(), world.asked()) == ({"b": "Quiet: busy"}, [["b"], []])
    world.put("p2", "b")
    world.stand.cache.remove_pod(make_pod("p0").build())
    world.stand.cache.remove_pod(make_pod("p1").build())
    world.refresh()
    assert (world.words(), world.asked()) == ({"b": "Third: x"}, [["b"], ["b"]])


def test_who_cannot_say_it_of_one_row_is_asked_in_order_with_those_who_can() -> None:
    world = World(TWENTY, First(), Quiet())
    world.put("p0", "b")
    world.put("p1", "b")
    world.change(b={"First": "x"})
    world.refresh()
    assert world.words() == {"b": "First: x"}


def test_many_rows_are_asked_about_in_full() -> None:
    world = World(TWENTY, Quiet())
    for number, node in enumerate(TWENTY[: FEW_ROWS + 1] * 2):
        world.put(f"p{number}", node)
    world.refresh()
    assert world.asked() == [["abcdefghi", "abcdefghi"]]
    assert world.words() == dict.fromkeys("abcdefghi", "Quiet: busy")


# Supposed rows, faults


def test_supposed_rows_get_the_first_word_and_nothing_is_kept() -> None:
    world = World(THREE, First(), Amounts(), Third(), a={"First": "x"}, c={"Third": "z"})
    table = world.stand.cache.table
    crowd = [table.shape_of(make_pod(f"p{number}").requests(cpu="1").build()) for number in range(3)]
    rows = np.array([0, 1, 2])
    supposed = Nodes(table).suppose(rows, [crowd, crowd, []], [[], [], []])
    words = world.filtering.suppose(POD, supposed).tolist()
    said = [world.filtering.vocabulary.rejections[word] for word in words]
    assert [one and (one.plugin, one.reasons) for one in said] == [
        ("First", ("x",)),
        ("Amounts", ("full",)),
        ("Third", ("z",)),
    ]
    assert (world.words(), world.feasible()) == ({"a": "First: x", "c": "Third: z"}, "b")


class Broken(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        raise ZeroDivisionError("by nought")


def test_a_filter_that_fails_is_named_with_its_point_and_pod() -> None:
    with pytest.raises(PluginError) as caught:
        World(THREE, Broken())
    told = "plugin 'Broken' failed in Filter for pod 'default/web': ZeroDivisionError: by nought"
    assert str(caught.value).startswith(f"{told} (at {__file__}:")


# Nodes that come and go


def test_of_a_node_that_comes_only_its_row_is_asked() -> None:
    world = World(TWENTY[:18], First(), Second(), b={"First": "x"})
    world.stand.cache.add_node(world.node("s", {"Second": "y"}))
    world.refresh()
    assert world.asked() == [["s"], ["s"]]
    assert world.words() == {"b": "First: x", "s": "Second: y"}
    assert world.feasible() == "acdefghijklmnopqr"


def test_a_node_that_comes_is_feasible_where_nobody_filters() -> None:
    world = World(THREE)
    world.change(d={})
    world.refresh()
    assert world.feasible() == "abcd"


def test_of_a_node_that_goes_only_the_row_that_takes_its_place_is_asked() -> None:
    world = World(TWENTY, First(), Second(), b={"First": "x"}, t={"Second": "y"})
    world.stand.cache.remove_node("b")
    world.refresh()
    assert world.asked() == [["b"], ["b"]]
    assert world.words() == {"t": "Second: y"}
    assert sorted(world.feasible()) == list("acdefghijklmnopqrs")


def test_the_last_node_goes_without_a_question() -> None:
    world = World(THREE, First(), c={"First": "x"})
    world.stand.cache.remove_node("c")
    world.refresh()
    assert world.asked() == [[]]
    assert (world.words(), world.feasible()) == ({}, "ab")


def test_nodes_that_come_and_go_between_two_looks_leave_the_row_of_another() -> None:
    world = World(THREE, First(), a={"First": "x"})
    world.stand.cache.add_node(world.node("d", {"First": "y"}))
    world.stand.cache.remove_node("a")
    world.refresh()
    assert world.words() == {"d": "First: y"}
    assert sorted(world.feasible()) == ["b", "c"]


class Narrow(PreFilter):
    """Leaves only the nodes of some names."""

    def pre_filter(self, pod: Pod, nodes: Nodes) -> Narrowed:
        return Narrowed(frozenset("bd"))


def test_a_node_that_comes_is_looked_at_where_names_narrow_the_choice() -> None:
    world = World(THREE, First(), Narrow())  # type: ignore[arg-type]
    assert world.feasible() == "b"
    world.stand.cache.add_node(world.node("d", {}))
    world.refresh()
    assert world.feasible() == "bd"
