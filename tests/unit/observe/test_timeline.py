"""What is remembered of the attempts of pods."""

from stowplan.engine.ports import Bound, Dropped, ExtenderSaid, GivenBack, Placed, Trouble
from stowplan.model.pod import Pod
from stowplan.observe import timeline as remembering
from stowplan.observe.timeline import ExtenderRemark, Timeline, Try
from stowplan.testing import make_pod


def refusal(pod: Pod, taken_at_ns: int, message: str = "no room", node: str = "") -> GivenBack:
    return GivenBack(pod, message, frozenset({"B", "A"}), node, False, taken_at_ns)


def make_timeline(now_ns: int = 100) -> Timeline:
    return Timeline(lambda: now_ns)


def test_every_attempt_is_remembered_up_to_the_one_that_succeeds() -> None:
    timeline, pod = make_timeline(), make_pod("p").build()
    timeline(refusal(pod, 10))
    timeline(GivenBack(pod, "it broke", frozenset(), "", True, 20))
    timeline(refusal(pod, 30, node="n7"))
    timeline(Placed(pod, "n1", 40))
    timeline(Bound(pod, "n1", 4, 40, 5, 90, False))
    assert timeline.tries(pod) == (
        Try("refused", 10, 100, "no room", ("A", "B")),
        Try("error", 20, 100, "it broke"),
        Try("refused", 30, 100, "no room", ("A", "B"), "n7"),
        Try("bound", 40, 90, node_name="n1"),
    )


def test_a_pod_that_is_given_up_says_why() -> None:
    timeline, pod = make_timeline(), make_pod("p").build()
    timeline(Dropped(pod, "it is gone"))
    assert timeline.tries(pod) == (Try("dropped", 0, 100, "it is gone"),)


def test_only_the_latest_attempts_of_a_pod_are_kept() -> None:
    timeline, pod = make_timeline(), make_pod("p").build()
    for number in range(25):
        timeline(refusal(pod, number))
    assert [one.started_at_ns for one in timeline.tries(pod)] == [15, 16, 17, 18, 19, 20, 21, 22, 23, 24]


def test_placements_do_not_push_out_pods_that_wait() -> None:
    timeline, waiting = make_timeline(), make_pod("waiting").build()
    timeline(refusal(waiting, 1))
    pods = [make_pod(f"p{number}").build() for number in range(remembering.MOST_SETTLED + 1)]
    for pod in pods:
        timeline(Bound(pod, "n", 1, 2, 2, 3, False))
    assert len(timeline.tries(waiting)) == 1
    assert timeline.tries(pods[0]) == ()
    assert len(timeline.tries(pods[1])) == 1


def test_of_the_pods_that_wait_the_one_refused_first_is_forgotten_first() -> None:
    timeline = make_timeline()
    pods = [make_pod(f"p{number}").build() for number in range(remembering.MOST_WAITING + 1)]
    for pod in pods:
        timeline(refusal(pod, 1))
    assert (timeline.tries(pods[0]), len(timeline.tries(pods[1]))) == ((), 1)


def test_what_is_not_about_an_attempt_leaves_nothing() -> None:
    timeline, pod = make_timeline(), make_pod("p").build()
    timeline(Trouble("an extender is slow"))
    timeline(Placed(pod, "n", 1))
    assert timeline.tries(pod) == ()


def test_what_extenders_said_belongs_to_the_attempt_that_it_was_said_in() -> None:
    timeline, pod = make_timeline(), make_pod("p").build()
    timeline(ExtenderSaid(pod, "http://one", "filter", "it is down", True, True))
    timeline(ExtenderSaid(pod, "http://two", "filter", "rejects 1 node: 1 too hot"))
    timeline(refusal(pod, 10))
    timeline(refusal(pod, 20))
    timeline(ExtenderSaid(pod, "http://one", "bind", "it is down", True, True))
    timeline(Bound(pod, "n1", 3, 30, 5, 40, False))
    assert [one.extenders for one in timeline.tries(pod)] == [
        (
            ExtenderRemark("http://one", "filter", "it is down"),
            ExtenderRemark("http://two", "filter", "rejects 1 node: 1 too hot"),
        ),
        (),
        (ExtenderRemark("http://one", "bind", "it is down"),),
    ]
