"""A profile's own plugin lists are laid over the default ones."""

import pytest

from stowplan.config.declarations import PluginDeclaration
from stowplan.config.defaults import default_plugins, merge_plugins, merge_set
from stowplan.config.feature_gates import DEFAULT_GATES, parse
from stowplan.config.types import ListedPlugin, Plugins, PluginSet
from tests.known_plugins import KNOWN

A, B, C = ListedPlugin("A", 1), ListedPlugin("B", 2), ListedPlugin("C", 3)
DEFAULT = PluginSet(enabled=(A, B, C))


@pytest.mark.parametrize(
    ("own", "enabled", "disabled"),
    [
        pytest.param(PluginSet(), ("A1", "B2", "C3"), (), id="nothing listed keeps the defaults"),
        pytest.param(
            PluginSet(enabled=(ListedPlugin("X"),)),
            ("A1", "B2", "C3", "X0"),
            (),
            id="an added plugin comes after the defaults",
        ),
        pytest.param(
            PluginSet(enabled=(ListedPlugin("B", 9),)), ("A1", "B9", "C3"), (), id="a re-listed default keeps its place"
        ),
        pytest.param(
            PluginSet(enabled=(ListedPlugin("B"),)), ("A1", "B0", "C3"), (), id="a re-listed default loses its weight"
        ),
        pytest.param(PluginSet(disabled=(ListedPlugin("B"),)), ("A1", "C3"), ("B0",), id="a disabled default goes"),
        pytest.param(
            PluginSet(disabled=(ListedPlugin("Z", 7),)), ("A1", "B2", "C3"), ("Z0",), id="disabling has no weight"
        ),
        pytest.param(
            PluginSet(enabled=(ListedPlugin("C"), ListedPlugin("A")), disabled=(ListedPlugin("*"),)),
            ("C0", "A0"),
            ("*0",),
            id="after disabling all only the own list is left, in its order",
        ),
        pytest.param(
            PluginSet(enabled=(ListedPlugin("B", 5),), disabled=(ListedPlugin("B"),)),
            ("A1", "C3", "B5"),
            ("B0",),
            id="disabled and enabled again moves to the end",
        ),
        pytest.param(
            PluginSet(enabled=(ListedPlugin("B", 5), ListedPlugin("B", 6))),
            ("A1", "B6", "C3", "B5"),
            (),
            id="of two entries the last one replaces and the other stays",
        ),
    ],
)
def test_sets_merge(own: PluginSet, enabled: tuple[str, ...], disabled: tuple[str, ...]) -> None:
    merged = merge_set(DEFAULT, own)
    assert tuple(f"{plugin.name}{plugin.weight}" for plugin in merged.enabled) == enabled
    assert tuple(f"{plugin.name}{plugin.weight}" for plugin in merged.disabled) == disabled


def test_what_a_default_set_disables_stays_disabled() -> None:
    merged = merge_set(PluginSet(enabled=(A, B), disabled=(A,)), PluginSet(disabled=(ListedPlugin("C"),)))
    assert merged == PluginSet(enabled=(B,), disabled=(ListedPlugin("C"), ListedPlugin("A")))


def test_each_point_merges_on_its_own() -> None:
    default = default_plugins(KNOWN, DEFAULT_GATES)
    merged = merge_plugins(default, Plugins(filter=PluginSet(disabled=(ListedPlugin("*"),))))
    assert merged.multi_point == default.multi_point
    assert merged.filter == PluginSet(disabled=(ListedPlugin("*"),))


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param("", ["First", "Beta"], id="the defaults"),
        pytest.param(
            "AllAlpha=true,GenericWorkload=true", ["First", "Beta", "Alpha"], id="an alpha one is added in its place"
        ),
        pytest.param("AllBeta=false", ["First"], id="a beta one can be left out"),
    ],
)
def test_some_default_plugins_need_a_gate(gates: str, expected: list[str]) -> None:
    known = {
        one.name: one
        for one in (
            PluginDeclaration("First", frozenset({"filter"}), is_default=True),
            PluginDeclaration("Beta", frozenset({"filter"}), is_default=True, gate="VolumeLimitScaling"),
            PluginDeclaration("Alpha", frozenset({"score"}), is_default=True, weight=7, gate="DRADerivedAttributes"),
            PluginDeclaration("Other", frozenset({"filter"})),
        )
    }
    enabled = default_plugins(known, parse(gates)).multi_point.enabled
    assert [plugin.name for plugin in enabled] == expected
    assert all(plugin.weight == known[plugin.name].weight for plugin in enabled)
