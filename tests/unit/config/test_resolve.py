"""multiPoint is spread over the extension points, in the right order and with the right weights."""

import pytest

from stowplan.config.construct import resolve
from stowplan.config.declarations import PluginDeclaration
from stowplan.config.errors import ConfigError
from stowplan.config.types import KubeSchedulerProfile, ListedPlugin, Plugins, PluginSet

KNOWN = {
    "Sort": PluginDeclaration("Sort", frozenset({"queue_sort"})),
    "Bind": PluginDeclaration("Bind", frozenset({"bind"})),
    "A": PluginDeclaration("A", frozenset({"filter", "score"})),
    "B": PluginDeclaration("B", frozenset({"filter", "score"})),
    "C": PluginDeclaration("C", frozenset({"filter", "score"})),
    "OnlyFilter": PluginDeclaration("OnlyFilter", frozenset({"filter"})),
}
NEEDED = ("Sort", "Bind")


def listed(*names: str) -> tuple[ListedPlugin, ...]:
    """Make plugins from `Name` or `Name=weight`."""
    pairs = (name.partition("=") for name in names)
    return tuple(ListedPlugin(name, int(weight or 0)) for name, _, weight in pairs)


def profile(multi_point: tuple[str, ...], **points: PluginSet) -> KubeSchedulerProfile:
    own = PluginSet(enabled=listed(*NEEDED, *multi_point))
    return KubeSchedulerProfile(scheduler_name="a", plugins=Plugins(multi_point=own, **points))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param(PluginSet(), ("A", "B"), id="multiPoint order"),
        pytest.param(PluginSet(enabled=listed("B")), ("B", "A"), id="a re-listed plugin runs first"),
        pytest.param(
            PluginSet(enabled=listed("C", "B")), ("B", "A", "C"), id="a plugin that only the point lists runs last"
        ),
        pytest.param(PluginSet(disabled=listed("A")), ("B",), id="a point can leave a multiPoint plugin out"),
        pytest.param(PluginSet(disabled=listed("*")), (), id="a point can leave all of multiPoint out"),
        pytest.param(
            PluginSet(enabled=listed("B", "A"), disabled=listed("*")),
            ("B", "A"),
            id="what the point enables survives its star",
        ),
        pytest.param(
            PluginSet(enabled=listed("A"), disabled=listed("A")),
            ("B", "A"),
            id="disabled and listed counts as listed only there",
        ),
    ],
)
def test_the_order_at_a_point(filters: PluginSet, expected: tuple[str, ...]) -> None:
    resolved = resolve(profile(("A", "B"), filter=filters), KNOWN)
    assert resolved["filter"] == tuple((name, 0) for name in expected)


@pytest.mark.parametrize(
    ("multi_point", "score", "expected"),
    [
        pytest.param(("A=3", "B"), PluginSet(), (("A", 3), ("B", 1)), id="no weight means one"),
        pytest.param(("A=3",), PluginSet(enabled=listed("A=7")), (("A", 7),), id="the point's weight wins"),
        pytest.param(("A=3",), PluginSet(enabled=listed("A")), (("A", 1),), id="re-listing without weight means one"),
        pytest.param(("A",), PluginSet(enabled=listed("C=-2"), disabled=listed("*")), None, id="negative then more"),
    ],
)
def test_weights(multi_point: tuple[str, ...], score: PluginSet, expected: tuple[tuple[str, int], ...] | None) -> None:
    asked = profile(multi_point, score=score)
    if expected is None:
        with pytest.raises(ConfigError, match="score plugins: total score of Score plugins could overflow"):
            resolve(asked, KNOWN)
    else:
        assert resolve(asked, KNOWN)["score"] == expected


def test_a_negative_weight_alone_is_let_through() -> None:
    asked = profile((), score=PluginSet(enabled=listed("A=-1")))
    assert resolve(asked, KNOWN)["score"] == (("A", -1),)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        pytest.param(
            profile((), score=PluginSet(enabled=listed("Nobody"))),
            'ScorePlugin "Nobody" does not exist',
            id="unknown at a point",
        ),
        pytest.param(profile(("Nobody",)), 'PreFilterPlugin "Nobody" does not exist', id="unknown in multiPoint"),
        pytest.param(
            profile((), score=PluginSet(enabled=listed("OnlyFilter"))),
            'plugin "OnlyFilter" does not extend ScorePlugin plugin',
            id="not made for the point",
        ),
        pytest.param(
            profile((), filter=PluginSet(enabled=listed("A", "A"))),
            'plugin "A" already registered as "FilterPlugin"',
            id="twice at a point",
        ),
        pytest.param(profile(("A", "A")), 'plugin "A" already registered as "FilterPlugin"', id="twice in multiPoint"),
        pytest.param(
            profile((), queue_sort=PluginSet(disabled=listed("Sort"))),
            'only one queue sort plugin required for profile with scheduler name "a", but got 0',
            id="nothing sorts the queue",
        ),
        pytest.param(
            profile((), bind=PluginSet(disabled=listed("*"))),
            'at least one bind plugin is needed for profile with scheduler name "a"',
            id="nothing binds",
        ),
    ],
)
def test_a_profile_that_cannot_be_built_is_refused(asked: KubeSchedulerProfile, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(asked, KNOWN)
    assert caught.value.stage == "construct"
    assert caught.value.message == f"initializing profiles: creating profile for scheduler name a: {problem}"
