"""A plugin written out as `where:Class` is also known by the name of its class."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.framework.contract import PreScore, Score
from tests.unit.config.writing import HEADER

REFERENCE = f"{__name__}:Warm"


class Warm(Score, PreScore):
    def __init__(self, *, most_celsius: int = 30) -> None:
        self.most_celsius = most_celsius

    def pre_score(self, pod: Any, nodes: Any) -> Any:
        return None

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        return nodes.allocatable[0] * 0


def profile_of(text: str) -> Any:
    cluster = Cluster(read_configuration(HEADER + text))
    return next(iter(cluster.profiles.values()))


@pytest.mark.parametrize("name", [REFERENCE, "Warm"])
def test_its_arguments_reach_it_under_either_name(name: str) -> None:
    profile = profile_of(
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{REFERENCE}'}}]}}}},"
        f" pluginConfig: [{{name: '{name}', args: {{mostCelsius: 45}}}}]}}]"
    )
    [warm] = [plugin for plugin, _ in profile.score if isinstance(plugin, Warm)]
    assert warm.most_celsius == 45


@pytest.mark.parametrize("name", [REFERENCE, "Warm"])
def test_it_is_disabled_at_a_point_under_either_name(name: str) -> None:
    profile = profile_of(
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{REFERENCE}'}}]}},"
        f" score: {{disabled: [{{name: '{name}'}}]}}}}}}]"
    )
    assert "Warm" in [plugin.name for plugin in profile.pre_score]
    assert "Warm" not in [plugin.name for plugin, _ in profile.score]


def test_it_is_weighed_at_a_point_under_the_name_of_its_class() -> None:
    profile = profile_of(
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{REFERENCE}', weight: 2}}]}},"
        " score: {enabled: [{name: Warm, weight: 7}]}}}]"
    )
    assert [weight for plugin, weight in profile.score if plugin.name == "Warm"] == [7]


def test_arguments_under_both_names_are_given_twice() -> None:
    text = (
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{REFERENCE}'}}]}}}},"
        f" pluginConfig: [{{name: Warm, args: {{}}}}, {{name: '{REFERENCE}', args: {{}}}}]}}]"
    )
    with pytest.raises(Exception, match=r"profiles\[0\].pluginConfig\[1\]: Duplicate value"):
        profile_of(text)


def test_another_profile_knows_it_too() -> None:
    text = (
        f"profiles: [{{schedulerName: a, plugins: {{multiPoint: {{enabled: [{{name: '{REFERENCE}'}}]}}}}}},"
        " {schedulerName: b, plugins: {score: {enabled: [{name: Warm}]}}}]"
    )
    cluster = Cluster(read_configuration(HEADER + text))
    assert "Warm" in [plugin.name for plugin, _ in cluster.profiles["b"].score]
