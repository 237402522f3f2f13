"""What a failed attempt is called, and where it leaves the pod."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.engine import failure
from stowplan.engine.failure import Failed, Failure, Refused
from stowplan.engine.ports import Dropped, GivenBack
from stowplan.framework.contract import Nominated
from stowplan.framework.post_filter import PostFiltered
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary
from stowplan.simulate import virtual_time
from stowplan.testing import make_pod
from tests.scenarios.stage import Stage, configuration

POD = make_pod("p").build()


def refused(*rejections: Rejection, pre_filter: Rejection | None = None) -> Refused:
    """Return the refusal of a pod by one node each."""
    vocabulary = Vocabulary()
    words = np.array([vocabulary.number(rejection) for rejection in rejections], dtype=np.int32)
    return Refused(POD, "0/1 nodes.", Verdict(words, vocabulary, ["n"] * len(rejections), pre_filter=pre_filter))


NO = Rejection(("no",), Code.UNSCHEDULABLE, "A")
SOON = Rejection(("soon",), Code.PENDING, "B")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(
            Failed(POD, "no nodes available to schedule pods"),
            ("no nodes available to schedule pods", "Unschedulable", ""),
            id="no nodes: nobody's fault",
        ),
        pytest.param(Failed(POD, "boom", "A"), ("boom", "SchedulerError", ""), id="a plugin failed"),
    ],
)
def test_an_attempt_that_could_not_be_made(result: Failed, expected: tuple[str, str, str]) -> None:
    found = failure.of_failed(result)
    assert (found.message, found.reason, found.nominated_node_name) == expected
    assert not found.is_refusal


@pytest.mark.parametrize(
    ("made", "message", "nominated"),
    [
        pytest.param(PostFiltered(), "0/1 nodes.", "", id="nobody to make room: the nominated node is taken back"),
        pytest.param(PostFiltered(Nominated("n")), "0/1 nodes.", "n", id="room is made"),
        pytest.param(PostFiltered(None, NO), "0/1 nodes. no", None, id="no room: the nominated node stays"),
        pytest.param(PostFiltered(None, NO, withdraws=True), "0/1 nodes. no", "", id="nothing helps any more"),
    ],
)
def test_a_pod_that_no_node_can_take(made: PostFiltered, message: str, nominated: str | None) -> None:
    found = failure.of_refused(refused(NO), made)
    assert (found.message, found.reason, found.nominated_node_name) == (message, "Unschedulable", nominated)


@pytest.mark.parametrize(
    ("result", "plugins", "pending"),
    [
        pytest.param(refused(NO), {"A"}, set(), id="refused by a filter"),
        pytest.param(refused(NO, SOON), {"A"}, {"B"}, id="one of the filters only waits"),
        pytest.param(refused(pre_filter=NO), {"A"}, set(), id="refused as a whole"),
        pytest.param(refused(pre_filter=SOON), set(), {"B"}, id="as a whole, for a while"),
    ],
)
def test_who_refused_it(result: Refused, plugins: set[str], pending: set[str]) -> None:
    found = failure.of_refused(result, PostFiltered())
    assert (set(found.plugins), set(found.pending)) == (plugins, pending)


def test_what_a_plugin_said_in_an_earlier_attempt_does_not_count() -> None:
    result = refused(NO)
    result.verdict.vocabulary.number(Rejection(("soon",), Code.PENDING, "A"))
    found = failure.of_refused(result, PostFiltered())
    assert (set(found.plugins), set(found.pending)) == ({"A"}, set())


@pytest.mark.parametrize(
    ("rejection", "in_permit", "after_permit"),
    [
        pytest.param(
            NO,
            Failure("0/1 nodes are available: 1 no.", ("A",), (), ""),
            Failure("no", nominated_node_name="", reason="Unschedulable"),
            id="a refusal",
        ),
        pytest.param(
            Rejection(("z", "a"), Code.UNRESOLVABLE, "A"),
            Failure("0/1 nodes are available: 1 a, 1 z.", ("A",), (), ""),
            Failure("z, a", nominated_node_name="", reason="Unschedulable"),
            id="a refusal for several reasons",
        ),
        pytest.param(
            Rejection(("z", "a", "z"), Code.UNSCHEDULABLE, "A"),
            Failure("0/1 nodes are available: 1 a, 2 z.", ("A",), (), ""),
            Failure("z, a, z", nominated_node_name="", reason="Unschedulable"),
            id="a refusal that names a reason twice",
        ),
        pytest.param(
            Rejection((), Code.UNSCHEDULABLE, "A"),
            Failure("0/1 nodes are available:", ("A",), (), ""),
            Failure("", nominated_node_name="", reason="Unschedulable"),
            id="a refusal without a word",
        ),
        pytest.param(
            SOON,
            Failure("0/1 nodes are available: 1 soon.", (), ("B",), ""),
            Failure("soon", nominated_node_name="", reason="Unschedulable"),
            id="a refusal for a while",
        ),
        pytest.param(
            Rejection(("boom",), Code.ERROR, "A"),
            Failure("boom", nominated_node_name=""),
            Failure("boom", nominated_node_name="", reason="SchedulerError"),
            id="a fault",
        ),
    ],
)
def test_a_node_that_fell_through(rejection: Rejection, in_permit: Failure, after_permit: Failure) -> None:
    assert failure.of_rejection(rejection) == in_permit
    assert failure.after_permit(rejection) == after_permit


def give_back(why: Failure, *, is_deleted: bool = False) -> dict[str, Any]:
    """Take a pod, give it back, and return what there is to see then and after the cluster was told."""

    async def main() -> dict[str, Any]:
        stage = Stage(configuration())
        stage.start()
        stage.book.create(POD)
        stage.scheduler.apply_changes()
        entry = stage.scheduler.state.queue.try_pop(0)
        assert entry is not None
        if is_deleted:
            stage.scheduler.state.queue.delete(POD, 0)
        stage.scheduler.give_back(entry, why)
        seen: dict[str, Any] = {
            "place": entry.place.value,
            "in memory": stage.scheduler.state.queue.nominations.node_of(POD),
            "known to the pod": entry.pod.status.nominated_node_name,
            "notes": [(note.type, note.reason, len(note.text.encode())) for note in stage.book.notes],
            "reports": [type(report) for _, report in stage.reports],
        }
        await stage.wait(0)
        status = stage.book.pods["default/p"].status
        seen["conditions"] = [(one.reason, one.message) for one in status.conditions]
        seen["in the cluster"] = status.nominated_node_name
        await stage.finish()
        return seen

    return virtual_time.run(main())


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        pytest.param(
            Failure("no", ("NodeResourcesFit",), (), "n"),
            {"place": "unschedulable", "in memory": "n", "known to the pod": "n", "in the cluster": "n"},
            id="refused, and nominated",
        ),
        pytest.param(
            failure.of_error("boom"),
            {"place": "error backoff", "in memory": "", "conditions": [("SchedulerError", "boom")]},
            id="an error",
        ),
        pytest.param(
            failure.of_error("x" * 2000),
            {"notes": [("Warning", "FailedScheduling", 1024)], "conditions": [("SchedulerError", "x" * 2000)]},
            id="an event holds 1024 bytes, a condition all of them",
        ),
        pytest.param(
            failure.of_error("€" * 700),
            {"notes": [("Warning", "FailedScheduling", 1024)], "conditions": [("SchedulerError", "€" * 700)]},
            id="a sign of three bytes counts as three",
        ),
    ],
)
def test_a_pod_given_back(why: Failure, expected: dict[str, Any]) -> None:
    seen = give_back(why)
    assert {key: seen[key] for key in expected} == expected
    assert seen["reports"] == [GivenBack]


def test_nobody_is_told_of_a_pod_that_is_gone() -> None:
    seen = give_back(Failure("no", ("NodeResourcesFit",), (), "n"), is_deleted=True)
    assert seen["place"] == "gone"
    assert (seen["in memory"], seen["notes"], seen["conditions"]) == ("", [], [])
    assert seen["reports"] == [Dropped]
