"""The live screen of `stowplan up`: what is drawn of what goes on, in terminals of any size."""

import re
from pathlib import Path

import pytest

from stowplan.cli.up_screen import Canvas, headline, manual, page, screen, short
from stowplan.local.activity import Activity, AlikePods, Decision, Pods, Utilisation

ROOT = Path(__file__).resolve().parents[3]
SECOND = 1_000_000_000
NOW = 1_000_000 * SECOND
GI = 1 << 30

#: `make run`, a minute after it began.
EXAMPLE = Activity(
    nodes=13,
    pods=Pods(
        phases={"Running": 15, "Pending": 2},
        waiting={"unschedulable": 1, "gated": 1},
        alike=[
            AlikePods(
                "default/report",
                1,
                NOW - 61 * SECOND,
                "unschedulable",
                "0/13 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, 2 node(s) had untolerated "
                "taint(s), 8 node(s) didn't match Pod's node affinity/selector. preemption: 0/13 nodes are available: "
                "11 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.",
            ),
            AlikePods(
                "default/import",
                1,
                NOW - 61 * SECOND,
                "gated",
                "waiting for scheduling gates: [example.com/data-is-ready]",
            ),
        ],
    ),
    utilisation=[
        Utilisation("cpu", 50_500, 124_000),
        Utilisation("memory", 151 * GI + GI // 5, 680 * GI),
        Utilisation("pods", 15, 1430),
        Utilisation("nvidia.com/gpu", 1, 4),
    ],
    bound=9,
    bound_per_second=0.9,
    last=[
        Decision("shop/web-5", "large-b", "best of 4 found, score 412", NOW - 60 * SECOND),
        Decision("shop/web-4", "general-c2", "best of 6 found, score 446", NOW - 60 * SECOND),
        Decision("default/training", "gpu-a", "the only node found", NOW - 61 * SECOND),
        Decision(
            "default/report",
            "",
            "0/13 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, 2 node(s) had untolerated "
            "taint(s), 8 node(s) didn't match Pod's node affinity/selector. preemption: none",
            NOW - 61 * SECOND,
        ),
        Decision("default/job-2", "general-c2", "best of 10 found, score 463", NOW - 61 * SECOND),
    ],
    now_ns=NOW,
)


def crowd(groups: int, decisions: int) -> Activity:
    alike = [
        AlikePods(f"shop/web-{number}", 100, NOW - 3600 * 5 * SECOND, "unschedulable", "no room")
        for number in range(groups)
    ]
    last = [Decision(f"shop/job-{number}", "node-1", "", NOW) for number in range(decisions)]
    pods = Pods({"Pending": groups * 100}, {"unschedulable": groups * 100}, alike)
    return Activity(5, pods, [Utilisation("cpu", 1000, 1000)], 7, 0.0, last, NOW)


def drawn(activity: Activity, width: int = 80, height: int = 23, *, has_keys: bool = True) -> list[str]:
    return [line.plain.rstrip() for line in screen(activity, Canvas(width, height, has_keys))]


@pytest.mark.parametrize("name", ["README.md", "docs/embedded.md"])
def test_the_picture_in_the_documentation_is_what_is_drawn(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    (picture,) = re.findall(r"(?:^ {4}13 nodes; pods: .*\n)(?:^(?: {4}.*)?\n)*? {4}q ends it .*\n", text, re.MULTILINE)
    shown = [line.removeprefix("    ").rstrip() for line in picture.splitlines()]
    assert shown == drawn(EXAMPLE)


@pytest.mark.parametrize("activity", [EXAMPLE, crowd(40, 40), crowd(0, 40), crowd(40, 0)])
@pytest.mark.parametrize(("width", "height"), [(80, 23), (140, 49), (40, 10), (20, 5), (10, 2), (1, 1)])
def test_it_is_never_larger_than_the_terminal(activity: Activity, width: int, height: int) -> None:
    for has_keys in (True, False):
        lines = screen(activity, Canvas(width, height, has_keys))
        assert len(lines) <= height
        assert all(line.cell_len <= width for line in lines)
    text = "\n".join(str(number) * 200 for number in range(60))
    for lines in (page(text, Canvas(width, height), "back"), manual("up", Canvas(width, height))):
        assert len(lines) <= height
        assert all(line.cell_len <= width for line in lines)


def test_a_crowd_that_waits_shares_the_room_with_the_decisions_and_is_counted() -> None:
    lines = drawn(crowd(40, 40))
    waiting, decided = lines.index("4000 pods waiting: 4000 unschedulable"), lines.index("last decisions")
    named = lines[waiting + 1 : decided - 1]
    assert named[0] == "  shop/web-0 and 99 more     5h  no room"
    assert named[-1] == f"  and {(40 - len(named) + 1) * 100} more"
    assert abs(len(named) - len([line for line in lines if "shop/job-" in line])) <= 1


def test_where_there_are_few_lines_they_are_for_who_waits_and_why() -> None:
    assert drawn(EXAMPLE, width=60, height=10) == [
        "13 nodes; pods: 2 pending, 15 running; 9 placed, 1 a second",
        "cpu ███████████████░░░░░░░░░░░░░░░░░░░░░░░  41%  50.5 of 124",
        "",
        "2 pods waiting: 1 unschedulable, 1 gated",
        "  default/report    61s  8 node(s) didn't match Pod's node …",
        "  default/import    61s  gated: waiting for scheduling gate…",
        "",
        "q ends it   ? keys   p pauses   e explains the first that w…",
    ]


def test_who_waits_has_all_the_room_where_nothing_was_decided() -> None:
    lines = drawn(crowd(12, 0))
    assert sum("shop/web-" in line for line in lines) == 12


def test_a_reason_that_does_not_fit_in_a_line_is_told_in_full_if_there_is_room_for_it() -> None:
    text = " ".join(" ".join(drawn(EXAMPLE)).split())
    assert "8 node(s) didn't match Pod's node affinity/selector, 2 Insufficient cpu, 2 node(s) had untolerated" in text
    assert "1 node(s) were unschedulable default/import" in text
    assert "1 node(s) were unschedulable" not in " ".join(drawn(EXAMPLE, height=14))


def test_keys_are_named_where_they_are_heard_alone() -> None:
    assert drawn(EXAMPLE)[-1].startswith("q ends it   ? keys   p pauses   e explains")
    assert not any("q ends" in line for line in drawn(EXAMPLE, has_keys=False))
    paused = screen(EXAMPLE, Canvas(80, 23, has_keys=True, is_paused=True))[-1]
    assert "p goes on (the screen stands still)" in paused.plain
    assert "e explains" not in drawn(crowd(0, 1))[-1]


def test_names_and_reasons_do_not_move_the_cursor() -> None:
    alike = [AlikePods("a/b", 1, NOW, "unschedulable", "no\x1b[2J\nroom\r!")]
    lines = drawn(Activity(0, Pods({}, {"unschedulable": 1}, alike), [], 0, 0.0, [], NOW))
    assert "  a/b     0s  no [2J room !" in lines


def test_where_pods_are_left_to_another_scheduler_that_is_said() -> None:
    lines = drawn(Activity(1, Pods({"Pending": 1}, {}, []), [], 0, 0.0, [], NOW, schedules=False), has_keys=False)
    assert lines == ["1 node; pods: 1 pending", "", "pods are left to another scheduler"]


def test_a_bar_is_as_long_as_what_is_taken() -> None:
    def bar(taken: int) -> str:
        activity = Activity(1, Pods({}, {}, []), [Utilisation("pods", taken, 100)], 0, 0.0, [], NOW)
        return screen(activity, Canvas(60, 20, bar="#."))[1].plain

    assert bar(0) == f"pods {'.' * 40}   0%  0 of 100"
    assert bar(50) == f"pods {'#' * 20}{'.' * 19}  50%  50 of 100"
    assert bar(100) == f"pods {'#' * 38} 100%  100 of 100"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("0/3 nodes are available: 1 a, 2 b.", "2 b, 1 a", id="the most nodes first"),
        pytest.param("0/3 nodes are available: 3 a. preemption: 0/3 nodes", "3 a", id="without preemption"),
        pytest.param("0/3 nodes are available: x, 1 a.", "x, 1 a", id="of other reasons the order is kept"),
        pytest.param("no quota left, sorry", "no quota left, sorry", id="another sentence"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_the_sentence_is_cut_to_its_reasons(message: str, expected: str) -> None:
    assert short(message) == expected


def test_one_of_something_is_not_written_in_the_plural() -> None:
    pods = Pods({"Pending": 1}, {}, [])
    said = headline(Activity(1, pods, [], 1, 0.0, [], NOW))
    assert said == "1 node; pods: 1 pending; 1 placed, 0 a second"
