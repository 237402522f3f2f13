"""Plugins by name: in the tree, from entry points, or written out; with arguments as files and programs give them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from stowplan.config.declarations import POINTS as CONFIGURED_POINTS
from stowplan.config.declarations import PluginArgs, PluginDeclaration
from stowplan.config.errors import child, invalid
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.types import KubeSchedulerProfile as ProfileConfig
from stowplan.config.types import ListedPlugin as Listed
from stowplan.config.types import PluginConfig, Plugins, PluginSet
from stowplan.framework import registry as registry_module
from stowplan.framework.changes import Action
from stowplan.framework.contract import (
    POINTS,
    Awaited,
    Bind,
    Filter,
    FilterNode,
    Plugin,
    QueueSort,
    Reject,
    Requeue,
    Score,
    ScoreNode,
)
from stowplan.framework.handle import Handle
from stowplan.framework.per_node import EachNodeFilter, EachNodeScore
from stowplan.framework.profile import Profile
from stowplan.framework.registry import Registry, RegistryError, load
from stowplan.model.duration import Duration, of_seconds
from stowplan.model.meta import Int32
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle


class Sorts(QueueSort):
    def sort_key(self, pod: Pod, queued_at: float) -> Any:
        return queued_at


class Binds(Bind):
    async def bind(self, pod: Pod, node_name: str) -> None:
        return None


class Cool(Score):
    def __init__(self, handle: Handle, *, most_celsius: int = 30, zones: tuple[str, ...] = ()) -> None:
        self.handle = handle
        self.most_celsius = most_celsius
        self.zones = zones

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)


class Needy(ScoreNode):
    def __init__(self, threshold: int) -> None:
        self.threshold = threshold

    def score_node(self, pod: Pod, node: Any, state: Any) -> int:
        return self.threshold


class Twins(Filter, FilterNode):
    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield from ()

    def filter_node(self, pod: Pod, node: Any, state: Any) -> None:
        return None


class OneByOne(FilterNode):
    def filter_node(self, pod: Pod, node: Any, state: Any) -> None:
        return None


class Idle(Plugin):
    pass


def registry_of(*classes: type[Plugin]) -> Registry:
    return Registry((Sorts, Binds, *classes))


def config(*names: str, **arguments: Any) -> ProfileConfig:
    """Enable plugins everywhere they take part, with arguments by plugin name."""
    enabled = tuple(Listed(name) for name in ("Sorts", "Binds", *names))
    given = tuple(PluginConfig(name, args) for name, args in arguments.items())
    return ProfileConfig("default-scheduler", plugins=Plugins(multi_point=PluginSet(enabled)), arguments=given)


def build(registry: Registry, *names: str, **arguments: Any) -> Profile:
    return registry.profile(config(*names, **arguments), LocalHandle())


def test_every_point_of_the_contract_is_one_that_can_be_configured() -> None:
    assert set(POINTS) <= set(CONFIGURED_POINTS)


def test_a_plugin_takes_part_where_its_class_says() -> None:
    profile = build(registry_of(Cool, OneByOne), "Cool", "OneByOne")
    assert [plugin.name for plugin, _ in profile.score] == ["Cool"]
    assert [plugin.name for plugin in profile.filter] == ["OneByOne"]
    assert [plugin.name for plugin in profile.queue_sort] == ["Sorts"]
    assert profile.pre_filter == ()


def test_weights_and_the_percentage_of_nodes_come_from_the_configuration() -> None:
    listed = config("Cool")
    plugins = Plugins(multi_point=listed.plugins.multi_point, score=PluginSet((Listed("Cool", 7),)))
    profile = registry_of(Cool).profile(
        ProfileConfig("batch", percentage_of_nodes_to_score=40, plugins=plugins), LocalHandle()
    )
    assert [(plugin.name, weight) for plugin, weight in profile.score] == [("Cool", 7)]
    assert (profile.name, profile.percentage_of_nodes_to_score) == ("batch", 40)


def test_two_classes_of_one_name_are_refused() -> None:
    registry = registry_of(Cool)
    registry.add(Cool)
    other = type("Cool", (Score,), {"__module__": "elsewhere"})
    message = f"plugin 'Cool' is registered twice: {__name__}.Cool and elsewhere.Cool; rename one of them"
    with pytest.raises(RegistryError, match=message):
        registry.add(other)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        pytest.param("Col", "did you mean Cool?", id="a near name"),
        pytest.param("Unheard", "known: Binds, Cool, Sorts", id="no near name"),
    ],
)
def test_an_unknown_name_is_answered_with_known_ones(name: str, remedy: str) -> None:
    with pytest.raises(RegistryError) as raised:
        build(registry_of(Cool), name)
    assert str(raised.value) == f"profile 'default-scheduler': plugin '{name}' is not registered; {remedy}"


# Arguments


def test_arguments_come_as_files_write_them_or_as_constructors_name_them() -> None:
    for given in ({"mostCelsius": 45, "zones": ["a", "b"]}, {"most_celsius": 45, "zones": ("a", "b")}):
        ((plugin, _),) = build(registry_of(Cool), "Cool", Cool=given).score
        assert isinstance(plugin, Cool)
        assert (plugin.most_celsius, plugin.zones) == (45, ("a", "b"))


def test_a_plugin_without_arguments_is_built_with_its_defaults_and_the_handle() -> None:
    handle = LocalHandle()
    ((plugin, _),) = registry_of(Cool).profile(config("Cool"), handle).score
    assert isinstance(plugin, Cool)
    assert (plugin.most_celsius, plugin.handle) == (30, handle)


def test_the_kind_of_the_arguments_is_no_argument() -> None:
    given = {"apiVersion": "example.com/v1", "kind": "CoolArgs", "mostCelsius": 1}
    ((plugin, _),) = build(registry_of(Cool), "Cool", Cool=given).score
    assert isinstance(plugin, Cool)
    assert plugin.most_celsius == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"leastCelsius": 1},
            "plugin 'Cool': unknown argument 'least_celsius'; it takes: most_celsius, zones",
            id="an unknown argument",
        ),
        pytest.param(
            {"mostCelsius": "warm"},
            "plugin 'Cool': argument 'most_celsius': Expected `int`, got `str`",
            id="an argument of another type",
        ),
        pytest.param(
            ["warm"], "plugin 'Cool': args must be a mapping of argument names to values", id="arguments without names"
        ),
    ],
)
def test_wrong_arguments_are_named(given: Any, message: str) -> None:
    with pytest.raises(RegistryError, match=message):
        build(registry_of(Cool), "Cool", Cool=given)


def test_a_missing_argument_is_named() -> None:
    message = "plugin 'Needy': argument 'threshold' is missing; give it in the plugin's args"
    with pytest.raises(RegistryError, match=message):
        build(registry_of(Needy), "Needy")


class HeatArgs(PluginArgs, frozen=True):
    most_celsius: Int32 = 30
    period: Duration = of_seconds(60)
    zones: tuple[str, ...] = ()

    def defaulted(self, gates: FeatureGates) -> HeatArgs:
        return replace(self, zones=self.zones or ("anywhere",))

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        if self.most_celsius <= 100:
            return []
        return [invalid(child(path, "mostCelsius"), self.most_celsius, "must be at most 100")]


class Heated(Score):
    args_type = HeatArgs

    def __init__(self, handle: Handle, args: HeatArgs) -> None:
        self.args = args

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)


class Careless(Score):
    args_type = HeatArgs

    def score(self, pod: Pod, nodes: Nodes, state: Any) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)


def from_elsewhere(cls: type[Plugin]) -> Registry:
    registry = registry_of()
    registry.add(cls)
    return registry


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(None, HeatArgs(zones=("anywhere",)), id="nothing"),
        pytest.param(
            {"apiVersion": "example.com/v1", "kind": "HeatArgs", "mostCelsius": 45, "period": "1m30s", "zones": ["a"]},
            HeatArgs(45, of_seconds(90), ("a",)),
            id="everything, whatever kind it is said to be",
        ),
        pytest.param(HeatArgs(45), HeatArgs(45), id="typed already"),
    ],
)
def test_a_plugin_from_elsewhere_may_declare_the_type_of_its_arguments(given: Any, expected: HeatArgs) -> None:
    ((plugin, _),) = build(from_elsewhere(Heated), "Heated", Heated=given).score
    assert isinstance(plugin, Heated)
    assert plugin.args == expected


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param(
            {"mostCelsius": "warm"},
            "json: cannot unmarshal string into Go struct field HeatArgs.mostCelsius of type int32",
            id="another type",
        ),
        pytest.param(
            {"leastCelsius": 1},
            'strict decoding error: unknown field "leastCelsius"; did you mean mostCelsius?',
            id="an unknown field",
        ),
        pytest.param({"mostCelsius": 101}, "mostCelsius: Invalid value: 101: must be at most 100", id="a wrong value"),
        pytest.param({"period": "soon"}, 'period: time: invalid duration "soon"', id="no duration"),
    ],
)
def test_arguments_of_a_declared_type_are_checked(given: Any, problem: str) -> None:
    with pytest.raises(RegistryError) as raised:
        build(from_elsewhere(Heated), "Heated", Heated=given)
    assert str(raised.value) == f"plugin 'Heated': args: {problem}"


def test_whoever_declares_arguments_takes_them() -> None:
    with pytest.raises(RegistryError) as raised:
        load(f"{__name__}:Careless")
    problem = "it declares args_type, but its constructor takes no 'args'; add `args: HeatArgs`"
    assert str(raised.value) == f"plugin '{__name__}:Careless': {problem}"


# One node at a time


def test_a_plugin_for_one_node_is_lifted_to_all() -> None:
    profile = build(registry_of(Needy, OneByOne), "Needy", "OneByOne", Needy={"threshold": 3})
    ((scorer, _),) = profile.score
    assert isinstance(scorer, EachNodeScore)
    assert isinstance(profile.filter[0], EachNodeFilter)


def test_a_plugin_that_answers_both_ways_is_asked_for_all_nodes_at_once() -> None:
    (plugin,) = build(registry_of(Twins), "Twins").filter
    assert isinstance(plugin, Twins)


# Plugins from elsewhere

SOURCE = """
from __future__ import annotations

from dataclasses import dataclass

from stowplan.framework.contract import ScoreNode


@dataclass
class Setting:
    warm: int = 3


class FromFile(ScoreNode):
    def __init__(self, *, warm: int = 3) -> None:
        self.setting = Setting(warm)

    def score_node(self, pod, node, state):
        return self.setting.warm
"""


@pytest.fixture
def plugin_file(tmp_path: Path) -> Path:
    path = tmp_path / "json.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_a_plugin_is_loaded_from_a_module() -> None:
    assert load(f"{__name__}:Cool") is Cool


def test_a_plugin_is_loaded_from_a_file_whatever_its_name(plugin_file: Path) -> None:
    registry = registry_of()
    reference = f"{plugin_file}:FromFile"
    profile = build(registry, reference, **{reference: {"warm": 5}})
    ((plugin, _),) = profile.score
    assert plugin.name == "FromFile"
    assert [one.name for one in profile.foreign] == ["FromFile"]
    assert sys.modules["json"] is json
    assert registry.load(reference) is registry.load(reference)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param("no.such.module:Cool", "cannot load 'no.such.module': No module named 'no'", id="no module"),
        pytest.param(
            "nowhere/cool.py:Cool", "cannot load 'nowhere/cool.py': no such file: nowhere/cool.py", id="no file"
        ),
        pytest.param(f"{__name__}:Warm", f"'{__name__}' has no class 'Warm'", id="no class"),
        pytest.param(f"{__name__}:SOURCE", "not a plugin class; inherit the extension points", id="no class at all"),
        pytest.param(f"{__name__}:Idle", "takes part in no extension point; inherit at least one of", id="no point"),
    ],
)
def test_what_cannot_be_loaded_is_named(reference: str, message: str) -> None:
    with pytest.raises(RegistryError, match=message) as raised:
        load(reference)
    assert str(raised.value).startswith(f"plugin '{reference}': ")


def test_a_file_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0\n", encoding="utf-8")
    with pytest.raises(RegistryError, match=r"cannot load .*: division by zero"):
        load(f"{path}:Broken")
    path.write_text(SOURCE, encoding="utf-8")
    assert load(f"{path}:FromFile").__name__ == "FromFile"


def test_a_file_that_wants_to_end_the_program_is_named(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("raise SystemExit(3)\n", encoding="utf-8")
    with pytest.raises(RegistryError, match=r"script.py:Main': cannot load .*: SystemExit: 3 \(at .*script.py:1\)"):
        load(f"{path}:Main")


class Ends(Score):
    """Wants the program to end as soon as it is made."""

    def __init__(self) -> None:
        raise SystemExit(3)


class Misses(Score):
    """Looks for what is not there as soon as it is made."""

    def __init__(self) -> None:
        self.zones = dict[str, str]()["zones"]


def test_a_plugin_that_cannot_be_made_says_what_went_wrong_and_where() -> None:
    with pytest.raises(RegistryError, match=r"plugin 'Misses': cannot be made: KeyError: 'zones' \(at .*:\d+\)"):
        build(registry_of(Misses), "Misses")


def test_a_plugin_that_wants_to_end_the_program_is_named() -> None:
    with pytest.raises(RegistryError, match="plugin 'Ends': cannot be made: SystemExit: 3"):
        build(registry_of(Ends), "Ends")


class Awaits(Filter, Requeue):
    """Says that it awaits whatever the test has it say."""

    says: Any = ()

    def filter(self, pod: Pod, nodes: Nodes, state: Any) -> Iterator[Reject]:
        yield from ()

    def events(self) -> tuple[Awaited, ...]:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says  # type: ignore[no-any-return]


awaited: Any = Awaited


@pytest.mark.parametrize(
    ("says", "message"),
    [
        pytest.param(None, "with a tuple of Awaited(resource, actions), got NoneType None", id="nothing"),
        pytest.param(iter(()), "with a tuple of Awaited(resource, actions), got tuple_iterator", id="to be heard once"),
        pytest.param(("Node",), "got one with 'Node' in it", id="a name"),
        pytest.param((awaited("Node", "ADD"),), "an Awaited is (resource, Action, hint", id="no action"),
        pytest.param((awaited("Node", Action.ADD, True),), "an Awaited is (resource, Action, hint", id="no hint"),
        pytest.param(KeyError("zone"), "events failed: KeyError: 'zone' (at ", id="raises"),
        pytest.param(
            AttributeError("UPDATE_MOON"), "events failed: AttributeError: UPDATE_MOON (at ", id="names no such action"
        ),
    ],
)
def test_a_plugin_that_cannot_say_what_it_awaits_is_refused(
    monkeypatch: pytest.MonkeyPatch, says: Any, message: str
) -> None:
    monkeypatch.setattr(Awaits, "says", says)
    registry = registry_of()
    registry.add(Awaits)
    with pytest.raises(RegistryError) as refused:
        build(registry, "Awaits")
    assert str(refused.value).startswith("plugin 'Awaits': events")
    assert message in str(refused.value)


def offer(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Let an installed package offer a plugin."""
    entry = EntryPoint(name="offered", value=value, group=registry_module.GROUP)
    monkeypatch.setattr(registry_module, "entry_points", lambda group: EntryPoints((entry,)).select(group=group))


def test_installed_packages_offer_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, f"{__name__}:Cool")
    registry = registry_of()
    registry.add_entry_points()
    assert registry.declarations()["Cool"] == PluginDeclaration("Cool", frozenset({"score"}))
    assert [plugin.name for plugin in build(registry, "Cool").foreign] == ["Cool"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("no.such.module:Cool", "entry point 'offered': cannot load 'no.such.module:Cool'", id="no module"),
        pytest.param(f"{__name__}:Idle", "entry point 'offered': takes part in no extension point", id="no plugin"),
    ],
)
def test_an_offer_that_is_no_plugin_is_named(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    offer(monkeypatch, value)
    with pytest.raises(RegistryError, match=message):
        registry_of().add_entry_points()
