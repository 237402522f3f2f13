"""Nominations: who waits for room on which node, and for whom it counts."""

from __future__ import annotations

import pytest

from stowplan.model.pod import Pod
from stowplan.queue.nominations import Nominations
from stowplan.testing import make_pod


def pod(name: str, priority: int = 0) -> Pod:
    return make_pod(name).priority(priority).build()


def names(found: dict[str, list[Pod]]) -> dict[str, list[str]]:
    return {node: [one.name for one in pods] for node, pods in found.items()}


def test_a_nomination_holds_until_it_is_taken_back() -> None:
    nominations = Nominations()
    assert not nominations
    nominations.put(pod("web"), "a")
    assert nominations
    assert nominations.node_of(pod("web")) == "a"
    nominations.remove(pod("web"))
    assert not nominations
    assert nominations.node_of(pod("web")) == ""


def test_a_pod_waits_for_one_node_at_a_time() -> None:
    nominations = Nominations()
    nominations.put(pod("web"), "a")
    nominations.put(pod("web"), "b")
    assert names(nominations.ahead_of(pod("other"))) == {"b": ["web"]}


def test_a_nomination_to_no_node_takes_the_earlier_one_back() -> None:
    nominations = Nominations()
    nominations.put(pod("web"), "a")
    nominations.put(pod("web"), "")
    assert not nominations


def test_taking_back_what_is_not_there_changes_nothing() -> None:
    nominations = Nominations()
    nominations.put(pod("web"), "a")
    nominations.remove(pod("other"))
    assert nominations.node_of(pod("web")) == "a"


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        pytest.param(pod("new", 5), {"a": ["equal", "higher"]}, id="pods of at least its priority"),
        pytest.param(
            pod("new", 0), {"a": ["equal", "higher"], "b": ["lower"]}, id="all of them for the least important"
        ),
        pytest.param(pod("new", 10), {}, id="nobody for the most important"),
        pytest.param(pod("equal", 5), {"a": ["higher"]}, id="not the pod itself"),
    ],
)
def test_for_whom_room_is_left(asking: Pod, expected: dict[str, list[str]]) -> None:
    nominations = Nominations()
    nominations.put(pod("equal", 5), "a")
    nominations.put(pod("lower", 1), "b")
    nominations.put(pod("higher", 9), "a")
    assert names(nominations.ahead_of(asking)) == expected


def test_of_a_pod_that_nobody_queues_any_more_only_the_name_counts() -> None:
    nominations = Nominations()
    web = make_pod("web").priority(5).requests(cpu="2").build()
    nominations.put(web, "a")
    nominations.hollow(web)
    (known,) = nominations.ahead_of(pod("other"))["a"]
    assert (known.name, known.priority, known.spec.containers) == ("web", 0, ())
    assert nominations.ahead_of(pod("higher", 1)) == {}
    nominations.remove(web)
    assert not nominations


def test_to_keep_only_the_name_of_a_pod_that_is_not_nominated_changes_nothing() -> None:
    nominations = Nominations()
    nominations.hollow(pod("web"))
    assert not nominations


def test_whoever_follows_is_told_which_nodes_have_changed() -> None:
    nominations = Nominations()
    nominations.put(pod("web"), "a")
    position = nominations.position
    assert nominations.since(position) == []
    nominations.put(pod("web"), "b")
    nominations.remove(pod("other"))
    nominations.put(pod("other"), "c")
    assert nominations.since(position) == ["a", "b", "c"]


def test_whoever_has_fallen_too_far_behind_is_told_so() -> None:
    nominations = Nominations()
    position = nominations.position
    for number in range(4096):
        nominations.put(pod(f"web-{number}"), f"node-{number}")
    assert nominations.since(position) == [f"node-{number}" for number in range(4096)]
    nominations.put(pod("another"), "a")
    assert nominations.since(position) is None
    assert nominations.since(nominations.position - 1) == ["a"]
    assert nominations.since(-1) is None
