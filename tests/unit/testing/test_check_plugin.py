"""The plugin check passes every plugin of ours and catches every way to break the contract that we know of."""

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stowplan.framework.contract import (
    SKIP,
    Filter,
    FilterNode,
    Normalize,
    Plugin,
    PreEnqueue,
    PreFilter,
    PreScore,
    QueueSort,
    Reject,
    Requeue,
    Score,
    ScoreNode,
    reject,
)
from stowplan.framework.per_node import NodeRow
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins import in_tree
from stowplan.table.nodes import Nodes
from stowplan.table.resources import CPU
from stowplan.testing import LocalHandle, check_plugin, make_node, make_pod


@pytest.mark.parametrize("cls", in_tree(), ids=lambda cls: cls.__name__)
def test_every_in_tree_plugin_keeps_the_contract(cls: Any) -> None:
    handle = {"handle": LocalHandle()} if "handle" in inspect.signature(cls).parameters else {}
    check_plugin(cls(**handle))


def few_cpus(nodes: Nodes) -> Any:
    return nodes.allocatable[CPU] < 4000


class WrongShape(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(few_cpus(nodes)[:-1], "too small")


class WrongType(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(few_cpus(nodes).astype(np.int64), "too small")


class NoReason(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(few_cpus(nodes), "")


class NotIterable(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return few_cpus(nodes).any()


class WritesToColumns(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        free = nodes.allocatable
        free -= nodes.requested
        yield reject(free[CPU] < 1000, "too small")


class ForcesItsWay(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        taken = nodes.requested
        taken.flags.writeable = True
        taken[CPU] += 1
        return np.zeros(len(nodes), dtype=np.int64)


class LabelsThePod(ScoreNode):
    def score_node(self, pod: Pod, node: NodeRow, state: Any) -> int:
        pod.metadata.labels["scored"] = "yes"
        return 50


class LabelsNodes(FilterNode):
    def filter_node(self, pod: Pod, node: NodeRow, state: Any) -> None:
        node.node.metadata.annotations["seen"] = "yes"


class Moody(Filter):
    def __init__(self) -> None:
        self.calls = itertools.count()

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(np.full(len(nodes), next(self.calls) % 2 == 0), "not in the mood")


class ComparesRows(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return 100 * nodes.allocatable[CPU] // max(1, nodes.allocatable[CPU].max())


class GoesByPlace(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(np.arange(len(nodes)) < 3, "one of the first")


class ExpectsTheCluster(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        if nodes.rows is not None:
            raise IndexError("where is everybody?")
        yield reject(few_cpus(nodes), "too small")


class MindsHypotheses(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(np.full(len(nodes), nodes.gone() is not None), "only for real")


class Twins(Filter, FilterNode):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(few_cpus(nodes), "too small")

    def filter_node(self, pod: Pod, node: NodeRow, state: Any) -> str | None:
        return "too small" if node.allocatable("cpu") <= 4000 else None


class ScoreTwins(Score, ScoreNode):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return np.minimum(100, nodes.allocatable[CPU] // 1000)

    def score_node(self, pod: Pod, node: NodeRow, state: Any) -> int:
        return node.allocatable("cpu") // 2000


class ReadsTheName(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(np.full(len(nodes), pod.name.startswith("web")), "no web here")


class ReadsTheUid(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), len(pod.uid) % 101)


class ReadsTheStatus(PreFilter, Filter):
    def pre_filter(self, pod: Pod, nodes: Nodes) -> Any:
        return SKIP if pod.status.nominated_node_name else None

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield reject(few_cpus(nodes), "too small")


class TooHigh(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return nodes.allocatable[CPU] // 100


class NormalizesToNoNumber(Normalize):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return np.zeros(len(nodes), dtype=np.int64)

    def normalize(self, scores: Any, low: int, high: int, state: Any) -> Any:
        return np.full(len(scores), np.nan)


class NotANumber(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return 100 * nodes.requested[CPU] / np.where(nodes.allocatable[CPU] > 0, nodes.allocatable[CPU], np.nan)


class AList(Score):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return [1] * len(nodes)


class NormalizesTheLot(Normalize):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return nodes.requested[CPU]

    def normalize(self, scores: Any, low: int, high: int, state: Any) -> Any:
        return 100 * scores // max(1, scores.sum())


class Remembers(Score, PreScore):
    def __init__(self) -> None:
        self.seen = ""

    def pre_score(self, pod: Pod, nodes: Nodes) -> None:
        self.seen = pod.labels.get("app", self.seen)

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), len(self.seen))


class LooksPastNodes(Filter):
    """Keeps Node objects from the first time it saw them."""

    def __init__(self) -> None:
        self.known: dict[str, Node] = {}

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        table = nodes._table
        found = [self.known.setdefault(node.metadata.name, node) for node in table.nodes]
        is_labelled = np.array(["topology.kubernetes.io/zone" in node.labels for node in found])
        zone = np.array([node.labels.get("topology.kubernetes.io/zone", "") == "zone-0" for node in table.nodes])
        yield reject((is_labelled & zone)[nodes.all_rows], "in zone 0")


class AnswersTrue(PreEnqueue):
    def pre_enqueue(self, pod: Pod) -> Any:
        return True


class EndsTheProgram(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        raise SystemExit(3)


class EndsTheProgramInSign(Filter):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        return iter(())

    def sign(self, pod: Pod) -> Any:
        raise SystemExit(3)


class SortsByLabels(QueueSort):
    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        return pod.labels


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param(WrongShape(), r"one boolean per row \(12\), got an array of shape \(11,\)", id="wrong shape"),
        pytest.param(WrongType(), r"one boolean per row \(12\), got .* type int64", id="wrong type"),
        pytest.param(NoReason(), "rejected for a reason in words, got str ''", id="no reason"),
        pytest.param(
            NotIterable(),
            r"filter says whom it refuses with `yield reject\(mask, reason\)`.* got bool",
            id="an answer that is none",
        ),
        pytest.param(WritesToColumns(), r"read-only \(at .*\); columns are shared", id="writes to columns"),
        pytest.param(ForcesItsWay(), "it changed what it was given to read", id="writes by force"),
        pytest.param(LabelsThePod(), "it changed the pod that it was asked about; pods and", id="writes to the pod"),
        pytest.param(LabelsNodes(), "it changed a node; pods and nodes are shared by all", id="writes to a node"),
        pytest.param(Moody(), "filter gave two answers to one question", id="not deterministic"),
        pytest.param(ComparesRows(), "score answers differently about a row alone", id="compares the rows given"),
        pytest.param(GoesByPlace(), "when rows come in another order", id="goes by the place of a row"),
        pytest.param(ExpectsTheCluster(), "it raised IndexError: where is everybody", id="needs all rows"),
        pytest.param(MindsHypotheses(), "on hypothetical rows where nothing is supposed", id="minds hypotheses"),
        pytest.param(Twins(), "filter and filter_node disagree", id="filter twins that disagree"),
        pytest.param(ScoreTwins(), "score and score_node disagree", id="score twins that disagree"),
        pytest.param(ReadsTheName(), r"return what you read in sign\(\)", id="reads the name"),
        pytest.param(ReadsTheUid(), r"return what you read in sign\(\)", id="reads the uid"),
        pytest.param(ReadsTheStatus(), r"return what you read in sign\(\)", id="reads the status"),
        pytest.param(TooHigh(), "score 160, which is not in 0..100", id="a score out of range"),
        pytest.param(NotANumber(), "ends up with the score NaN, or an infinite one", id="a score that is no number"),
        pytest.param(NormalizesToNoNumber(), "ends up with the score nan, which is not", id="normalizes to no number"),
        pytest.param(AList(), r"one number per row \(12\), in a NumPy array \(np.array", id="a list of scores"),
        pytest.param(NormalizesTheLot(), "is not true after it", id="normalizes rows by one another"),
        pytest.param(Remembers(), "keep no state between pods", id="remembers other pods"),
        pytest.param(LooksPastNodes(), "read the cluster only through nodes", id="looks past what it is given"),
        pytest.param(AnswersTrue(), "pre_enqueue returned True; return None or refuse", id="a gate that says yes"),
        pytest.param(EndsTheProgram(), "it raised SystemExit: 3", id="wants to end the program"),
        pytest.param(EndsTheProgramInSign(), "it raised SystemExit: 3", id="wants to end the program in sign"),
        pytest.param(SortsByLabels(), "it raised TypeError", id="keys that cannot be compared"),
    ],
)
def test_a_broken_plugin_is_caught(plugin: Plugin, expected: str) -> None:
    with pytest.raises(AssertionError, match=expected) as caught:
        check_plugin(plugin)
    assert f"plugin {plugin.name!r} breaks the contract with pod 'default/" in str(caught.value)


class AwaitsAName(Filter, Requeue):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        return iter(())

    def events(self) -> Any:
        return ("Node",)


class AwaitsNothingItFinds(AwaitsAName):
    def events(self) -> Any:
        return dict[str, str]()["events"]


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param(AwaitsAName(), r"events answers with a tuple of Awaited\(resource, actions\), got", id="a name"),
        pytest.param(AwaitsNothingItFinds(), r"events raised KeyError: 'events' \(at .*\)", id="raises"),
    ],
)
def test_what_a_plugin_awaits_is_checked(plugin: Plugin, expected: str) -> None:
    with pytest.raises(AssertionError, match=f"plugin {plugin.name!r} breaks the contract: {expected}"):
        check_plugin(plugin)


class SignsTheName(ReadsTheName):
    def sign(self, pod: Pod) -> str:
        return pod.name


class Warm(Score):
    columns = {"celsius": lambda node: float(node.metadata.annotations.get("celsius", 20))}  # noqa: RUF012

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return nodes.column("celsius")


class Busy(Normalize):
    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return nodes.requested[CPU]

    def normalize(self, scores: Any, low: int, high: int, state: Any) -> Any:
        return 100 * scores // max(1, high)


class OneByOne(FilterNode, ScoreNode):
    def filter_node(self, pod: Pod, node: NodeRow, state: Any) -> str | None:
        return None if node.free("cpu") >= 1000 else "too full"

    def score_node(self, pod: Pod, node: NodeRow, state: Any) -> int:
        return min(100, node.free("cpu") // 1000)


@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(SignsTheName(), id="reads the name and says so"),
        pytest.param(Warm(), id="declares a column"),
        pytest.param(Busy(), id="returns a column as it is"),
        pytest.param(OneByOne(), id="answers for one node at a time"),
    ],
)
def test_a_sound_plugin_passes(plugin: Plugin) -> None:
    check_plugin(plugin)


def test_the_check_may_use_a_cluster_of_ones_own() -> None:
    nodes = [make_node("a").capacity(cpu="1").build(), make_node("b").capacity(cpu="9").build()]
    with pytest.raises(AssertionError, match=r"pod 'default/mine'.*one boolean per row \(2\)"):
        check_plugin(WrongShape(), nodes=nodes, pods=[make_pod("mine").build()])


class Baseless:
    """Has a method of a plugin, and is none."""

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Any:
        return iter(())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            Baseless(),
            "plugin 'Baseless' breaks the contract: not a plugin class; inherit the extension points of "
            r"stowplan.framework.contract \(Filter, Score, ...\)",
            id="an object without the base",
        ),
        pytest.param(AList, "plugin 'AList': this is the class; give a plugin that is made of it", id="a class"),
    ],
)
def test_what_is_no_plugin_is_told_the_rule(given: Any, expected: str) -> None:
    with pytest.raises(AssertionError, match=expected):
        check_plugin(given)
