"""Reserve, Permit, PreBind, Bind, PostBind and Unreserve: the order, and what each answer comes to."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stowplan.framework import placing
from stowplan.framework.contract import Errand, Reserve, Wait
from stowplan.framework.plugin_faults import Stopwatch
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.kube.time_limit import TimeLimit
from stowplan.model.pod import Pod
from stowplan.simulate import virtual_time
from stowplan.testing import make_pod
from tests.scenarios import plugins

POD = make_pod("p").build()


class Scene:
    """Plugins with their lines, and a profile of them."""

    def __init__(self, *scripts: tuple[Any, list[str]]) -> None:
        handle = SimpleNamespace(calls=[])
        self.calls: list[str] = handle.calls
        self.plugins = tuple(cls(handle, {"p": lines}) for cls, lines in scripts)

    def profile(self, *points: str, **fields: Any) -> Profile:
        everywhere: dict[str, Any] = dict.fromkeys(points, self.plugins)
        return Profile("default-scheduler", **everywhere, **fields)


def limit() -> AbstractContextManager[None]:
    return TimeLimit(30)()


def fault(what: str, plugin: str, text: str) -> Rejection:
    return Rejection((f'running {what} "{plugin}": {text}',), Code.ERROR, plugin)


def at(line: str) -> str:
    """Say where in the file of the plugins a line is."""
    lines = Path(plugins.__file__).read_text(encoding="utf-8").splitlines()
    return f" (at {plugins.__file__}:{[one.strip() for one in lines].index(line) + 1})"


CLUMSY = 'raise RuntimeError("nothing to give back")'
RAISED = at("raise RuntimeError(text)")
EXITED = "SystemExit: 3" + at("raise SystemExit(int(text))")
NO_SAY = (
    'PreBindPreFlight PreFlighter returned "Unschedulable", which is unsupported. '
    "It is supposed to return Success, Skip, or Error status"
)
JUNK = "its answer means nothing here: str 'junk'; return None to go on, or refuse(reason)"


@pytest.mark.parametrize(
    ("line", "rejection"),
    [
        pytest.param("ok", None, id="goes on"),
        pytest.param("refuse no", Rejection(("no",), Code.UNSCHEDULABLE, "Reserver"), id="refuses"),
        pytest.param("pending soon", Rejection(("soon",), Code.PENDING, "Reserver"), id="only waits"),
        pytest.param("error x", fault("Reserve plugin", "Reserver", "x"), id="reports an error"),
        pytest.param("raise x", fault("Reserve plugin", "Reserver", "x" + RAISED), id="raises"),
        pytest.param("exit 3", fault("Reserve plugin", "Reserver", EXITED), id="wants to end the program"),
        pytest.param("raise", fault("Reserve plugin", "Reserver", "RuntimeError" + RAISED), id="raises without a word"),
        pytest.param("junk", fault("Reserve plugin", "Reserver", JUNK), id="talks nonsense"),
    ],
)
def test_a_reserve_plugin(line: str, rejection: Rejection | None) -> None:
    scene = Scene((plugins.Reserver, [line]), (plugins.OtherReserver, []))
    assert placing.run_reserve(scene.profile("reserve"), POD, "n") == rejection
    asked = ["Reserver.reserve p", "OtherReserver.reserve p"]
    assert scene.calls == (asked if rejection is None else asked[:1])


def test_unreserve_asks_everybody_in_reverse_whatever_happens() -> None:
    scene = Scene((plugins.Reserver, []), (plugins.ClumsyReserver, []), (plugins.OtherReserver, []))
    problems = placing.run_unreserve(scene.profile("reserve"), POD, "n").problems
    assert scene.calls == ["OtherReserver.unreserve p", "ClumsyReserver.unreserve p", "Reserver.unreserve p"]
    assert problems == [
        "plugin 'ClumsyReserver' failed in Unreserve for pod 'default/p': nothing to give back" + at(CLUMSY)
    ]


def test_unreserve_hands_on_what_is_left_to_be_done() -> None:
    async def errand() -> None:
        """Do nothing: nobody does it here."""

    class Leaving(Reserve):
        def reserve(self, pod: Pod, node_name: str) -> None:
            """Take nothing."""

        def unreserve(self, pod: Pod, node_name: str) -> Errand:
            return errand

    unreserved = placing.run_unreserve(Profile("p", reserve=(Leaving(),)), POD, "n")
    assert unreserved == placing.Unreserved([], [errand])


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        pytest.param("ok", {"OtherPermitter": 5.0}, id="lets go: only the other holds it"),
        pytest.param("wait 60", {"Permitter": 60.0, "OtherPermitter": 5.0}, id="holds it too"),
        pytest.param("wait 1000", {"Permitter": 900.0, "OtherPermitter": 5.0}, id="holds it too long"),
        pytest.param("wait -1", {"Permitter": 0.0, "OtherPermitter": 5.0}, id="holds it for less than nothing"),
        pytest.param("refuse no", Rejection(("no",), Code.UNSCHEDULABLE, "Permitter"), id="refuses"),
        pytest.param("raise x", fault("Permit plugin", "Permitter", "x" + RAISED), id="raises"),
        pytest.param("junk", fault("Permit plugin", "Permitter", JUNK), id="talks nonsense"),
    ],
)
def test_a_permit_plugin(line: str, answer: Any) -> None:
    scene = Scene((plugins.Permitter, [line]), (plugins.OtherPermitter, ["wait 5"]))
    assert placing.run_permit(scene.profile("permit"), POD, "n") == answer


def test_a_time_that_is_no_time_is_a_fault() -> None:
    class Vague(plugins.Permitter):
        def permit(self, pod: Any, node_name: str) -> Wait:
            return Wait("soon")  # type: ignore[arg-type]

    answer = placing.run_permit(Scene((Vague, [])).profile("permit"), POD, "n")
    assert answer == fault("Permit plugin", "Vague", "Wait takes a number of seconds, got str 'soon'")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        pytest.param("ok", ["PreFlighter"], id="has something to do"),
        pytest.param("skip", [], id="has nothing to do"),
        pytest.param("raise x", fault("PreBindPreFlight", "PreFlighter", "x" + RAISED), id="raises"),
        pytest.param("refuse no", Rejection((NO_SAY,), Code.ERROR, "PreFlighter"), id="refuses, which it may not"),
        pytest.param("error x", fault("PreBindPreFlight", "PreFlighter", "x"), id="reports an error"),
        pytest.param("junk", fault("PreBindPreFlight", "PreFlighter", JUNK), id="talks nonsense"),
    ],
)
def test_the_look_ahead_of_pre_bind(line: str, answer: Any) -> None:
    found = placing.plan_pre_bind(Scene((plugins.PreFlighter, [line])).profile("pre_bind"), POD, "n")
    assert (found if isinstance(found, Rejection) else [plugin.name for plugin in found]) == answer


@pytest.mark.parametrize(
    ("line", "rejection"),
    [
        pytest.param("ok", None, id="goes on"),
        pytest.param("hang 29", None, id="takes its time"),
        pytest.param(
            "hang 31", fault("PreBind plugin", "PreBinder", "it took too long and was given up"), id="too long"
        ),
        pytest.param("refuse no", Rejection(("no",), Code.UNSCHEDULABLE, "PreBinder"), id="refuses"),
        pytest.param("raise x", fault("PreBind plugin", "PreBinder", "x" + RAISED), id="raises"),
        pytest.param("junk", fault("PreBind plugin", "PreBinder", JUNK), id="talks nonsense"),
    ],
)
def test_a_pre_bind_plugin(line: str, rejection: Rejection | None) -> None:
    scene = Scene((plugins.PreBinder, [line]))
    assert (
        virtual_time.run(placing.run_pre_bind(scene.profile("pre_bind"), scene.plugins, POD, "n", limit)) == rejection
    )


def test_a_pre_bind_that_is_not_async_is_a_fault() -> None:
    class Hasty(plugins.PreBinder):
        def pre_bind(self, pod: Any, node_name: str) -> Any:
            return None

    found = virtual_time.run(placing.run_pre_bind(Profile("p"), Scene((Hasty, [])).plugins, POD, "n", limit))
    assert found is not None
    assert found.reasons[0].startswith('running PreBind plugin "Hasty": object NoneType can\'t be used in')


class OtherBinder(plugins.Binder):
    pass


@pytest.mark.parametrize(
    ("lines", "asked", "rejection"),
    [
        pytest.param(["ok"], 1, None, id="the first takes it"),
        pytest.param(["skip", "ok"], 2, None, id="the second takes it"),
        pytest.param(
            ["skip", "skip"],
            2,
            Rejection(("no bind plugin took pod 'default/p'; enable DefaultBinder",), Code.ERROR),
            id="nobody takes it",
        ),
        pytest.param(["refuse no"], 1, Rejection(("no",), Code.UNSCHEDULABLE, "Binder"), id="the first refuses"),
        pytest.param(["raise x"], 1, fault("Bind plugin", "Binder", "x" + RAISED), id="the first raises"),
        pytest.param(["junk"], 1, fault("Bind plugin", "Binder", JUNK), id="the first talks nonsense"),
        pytest.param(
            ["hang 31"], 1, fault("Bind plugin", "Binder", "it took too long and was given up"), id="it takes too long"
        ),
    ],
)
def test_bind_plugins(lines: list[str], asked: int, rejection: Rejection | None) -> None:
    scene = Scene((plugins.Binder, lines[:1]), (OtherBinder, lines[1:]))
    assert virtual_time.run(placing.run_bind(scene.profile("bind"), POD, "n", limit)) == rejection
    assert scene.calls == ["Binder.bind p", "OtherBinder.bind p"][:asked]


def test_post_bind_asks_everybody_whatever_happens() -> None:
    class OtherPostBinder(plugins.PostBinder):
        pass

    scene = Scene((plugins.PostBinder, ["raise x"]), (OtherPostBinder, ["hang 31"]))
    problems = virtual_time.run(placing.run_post_bind(scene.profile("post_bind"), POD, "n", limit))
    assert problems == [
        "plugin 'PostBinder' failed in PostBind for pod 'default/p': x" + RAISED,
        "plugin 'OtherPostBinder' failed in PostBind for pod 'default/p': it took too long and was given up",
    ]


@pytest.mark.parametrize(
    ("point", "line", "end", "seconds"),
    [
        pytest.param("PreBind", "ok", "Success", 0, id="PreBind goes on"),
        pytest.param("PreBind", "hang 3", "Success", 3, id="PreBind takes its time"),
        pytest.param("PreBind", "hang 31", "Error", 30, id="PreBind is given up"),
        pytest.param("PreBind", "refuse no", "Unschedulable", 0, id="PreBind refuses"),
        pytest.param("PreBind", "junk", "Error", 0, id="PreBind talks nonsense"),
        pytest.param("Bind", "hang 3", "Success", 3, id="Bind takes its time"),
        pytest.param("Bind", "skip", "Skip", 0, id="Bind leaves it to others"),
        pytest.param("Bind", "raise x", "Error", 0, id="Bind raises"),
        pytest.param("PostBind", "hang 3", "Success", 3, id="PostBind takes its time"),
        pytest.param("PostBind", "raise x", "Error", 0, id="PostBind raises"),
    ],
)
def test_who_is_awaited_is_noted_with_the_time_it_took(point: str, line: str, end: str, seconds: int) -> None:
    plugin = {"PreBind": plugins.PreBinder, "Bind": plugins.Binder, "PostBind": plugins.PostBinder}[point]
    scene, noted = Scene((plugin, [line])), list[tuple[str, str, str, int]]()

    async def run() -> None:
        watch = Stopwatch()
        watch.wind(lambda: round(asyncio.get_running_loop().time()) * 10**9, (1, 5), lambda text: None)
        watch.have_noted(lambda blame, took: None, lambda blame, end, took: noted.append((*blame[:2], end, took)))
        if point == "PreBind":
            await placing.run_pre_bind(scene.profile("pre_bind", stopwatch=watch), scene.plugins, POD, "n", limit)
        elif point == "Bind":
            await placing.run_bind(scene.profile("bind", stopwatch=watch), POD, "n", limit)
        else:
            await placing.run_post_bind(scene.profile("post_bind", stopwatch=watch), POD, "n", limit)

    virtual_time.run(run())
    assert noted == [(plugin.__name__, point, end, seconds * 10**9)]


def test_who_takes_long_to_answer_is_told_of() -> None:
    told: list[str] = []
    clock = iter([0, 2_500_000_000, 2_500_000_000, 3_500_000_000])
    stopwatch = Stopwatch()
    stopwatch.wind(lambda: next(clock), (1, 5), told.append)
    scene = Scene((plugins.Reserver, []), (plugins.OtherReserver, []))
    placing.run_reserve(scene.profile("reserve", stopwatch=stopwatch), POD, "n")
    assert told == [
        "plugin 'Reserver' took 2.5 s in Reserve for pod 'default/p', and no other pod was scheduled meanwhile;"
        " it should answer within 1 s"
    ]


EVERY_POINT = [
    pytest.param(lambda profile: placing.run_permit(profile, POD, "n"), plugins.Permitter, "permit", id="permit"),
    pytest.param(
        lambda profile: asyncio.run(placing.run_pre_bind(profile, profile.pre_bind, POD, "n", limit)),
        plugins.PreBinder,
        "pre_bind",
        id="pre-bind",
    ),
    pytest.param(
        lambda profile: asyncio.run(placing.run_bind(profile, POD, "n", limit)), plugins.Binder, "bind", id="bind"
    ),
]


@pytest.mark.parametrize(("ask", "cls", "point"), EVERY_POINT)
def test_who_wants_to_end_the_program_is_named(ask: Any, cls: Any, point: str) -> None:
    answer = ask(Scene((cls, ["exit 3"])).profile(point))
    assert isinstance(answer, Rejection)
    assert (answer.code, answer.plugin) == (Code.ERROR, cls.__name__)
    assert EXITED in answer.reasons[0]


class Interrupted(Reserve):
    def reserve(self, pod: Pod, node_name: str) -> Rejection | None:
        raise KeyboardInterrupt

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """Nothing was taken."""


def test_an_interrupt_is_nobodys_fault() -> None:
    with pytest.raises(KeyboardInterrupt):
        placing.run_reserve(Profile("default-scheduler", reserve=(Interrupted(),)), POD, "n")
