"""Configurations of older releases are refused with a remedy, or converted where that is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowplan.config.errors import ConfigError
from stowplan.config.load import Reading
from stowplan.config.types import Configuration
from tests.known_plugins import load
from tests.unit.config.writing import document, with_plugins

GROUP = "kubescheduler.config.k8s.io"
COUNTED = "NodeVolumeLimits takes its place, which counts these volumes as those of their CSI driver"
CONVERT = "or give --legacy-config to have the file converted"


def converted(value: dict[str, Any]) -> tuple[Configuration, list[str]]:
    told: list[str] = []
    return load(json.dumps(value), reading=Reading(takes_legacy=True, tell=told.append)), told


def refused(value: dict[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        load(json.dumps(value))
    return raised.value


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_an_older_version_is_refused_in_upstreams_words_and_with_a_remedy(version: str) -> None:
    error = refused(document(apiVersion=f"{GROUP}/{version}"))
    assert error.stage == "decode"
    assert error.message == f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/{version}"'
    assert str(error) == f"{error.message}; {version} is gone: write {GROUP}/v1, {CONVERT}"


@pytest.mark.parametrize("name", ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"])
def test_a_plugin_that_is_gone_is_refused_in_upstreams_words_and_with_a_remedy(name: str) -> None:
    error = refused(with_plugins(filter={"enabled": [{"name": name}]}))
    assert error.stage == "validate"
    assert error.message == (
        f'profiles[0].plugins.filter.enabled[0]: Invalid value: "{name}": was invalid in version'
        f' "v1" (KubeSchedulerConfiguration is version "{GROUP}/v1")'
    )
    assert str(error) == f"{error.message}; {name} is gone: write NodeVolumeLimits instead, {CONVERT}"


def test_a_plugin_that_is_gone_from_multi_point_is_refused_with_a_remedy() -> None:
    error = refused(with_plugins(multiPoint={"enabled": [{"name": "EBSLimits"}]}))
    assert error.stage == "construct"
    assert str(error).endswith(f"does not exist; EBSLimits is gone: write NodeVolumeLimits instead, {CONVERT}")


def test_a_plugin_that_went_long_ago_is_refused_with_what_to_do_by_hand() -> None:
    error = refused(with_plugins(score={"enabled": [{"name": "NodeResourcesMostAllocated"}]}))
    assert str(error).endswith(
        "; NodeResourcesMostAllocated is gone: give NodeResourcesFit the scoringStrategy MostAllocated"
    )


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_an_older_version_is_converted_with_the_arguments_that_say_it_too(version: str) -> None:
    args = {"apiVersion": f"{GROUP}/{version}", "kind": "InterPodAffinityArgs", "hardPodAffinityWeight": 7}
    profile = {"schedulerName": "a", "pluginConfig": [{"name": "InterPodAffinity", "args": args}]}
    config, told = converted(document(apiVersion=f"{GROUP}/{version}", profiles=[profile]))
    found: Any = config.profiles[0].plugin_config["InterPodAffinity"]
    assert found.hard_pod_affinity_weight == 7
    assert told[0] == f"apiVersion {GROUP}/{version} is gone: read as {GROUP}/v1"


def test_addresses_that_were_fields_once_are_left_out_and_told() -> None:
    _, told = converted(document(apiVersion=f"{GROUP}/v1beta2", healthzBindAddress="", metricsBindAddress=""))
    assert told == [
        f"apiVersion {GROUP}/v1beta2 is gone: read as {GROUP}/v1",
        "default weights of score plugins are those of v1; list the plugins to weigh them otherwise",
        "healthzBindAddress is left out: --bind-address and --secure-port say where health and metrics are",
        "metricsBindAddress is left out: --bind-address and --secure-port say where health and metrics are",
    ]


def test_plugins_that_are_gone_become_the_one_that_counts_their_volumes() -> None:
    gone = [{"name": "EBSLimits"}, {"name": "GCEPDLimits"}, {"name": "NodeName"}]
    config, told = converted(with_plugins(filter={"enabled": gone, "disabled": [{"name": "*"}]}))
    assert [plugin.name for plugin in config.profiles[0].plugins.filter.enabled] == ["NodeVolumeLimits", "NodeName"]
    assert told == [f"plugin EBSLimits is gone: {COUNTED}", f"plugin GCEPDLimits is gone: {COUNTED}"]


def test_a_name_at_several_points_is_told_once() -> None:
    listed = {"enabled": [{"name": "EBSLimits"}], "disabled": [{"name": "*"}]}
    _, told = converted(with_plugins(preFilter=listed, filter=listed))
    assert told == [f"plugin EBSLimits is gone: {COUNTED}"]


def test_disabling_a_plugin_that_is_gone_leaves_its_successor() -> None:
    config, told = converted(with_plugins(multiPoint={"disabled": [{"name": "EBSLimits"}]}))
    assert "NodeVolumeLimits" in config.profiles[0].plugins.names()
    assert told == [
        "plugin EBSLimits is gone and need not be disabled:"
        " NodeVolumeLimits does its work and more; disable that to have none of it"
    ]


def test_arguments_of_a_plugin_that_is_gone_are_left_out_and_told() -> None:
    profile = {"schedulerName": "a", "pluginConfig": [{"name": "CinderLimits", "args": {}}]}
    config, told = converted(document(profiles=[profile]))
    assert "CinderLimits" not in config.profiles[0].plugin_config
    assert told == ["pluginConfig of CinderLimits is left out: it took no arguments that NodeVolumeLimits knows"]


def test_what_is_of_this_release_is_not_touched() -> None:
    value = with_plugins(score={"enabled": [{"name": "ImageLocality", "weight": 9}]})
    config, told = converted(value)
    assert (config, told) == (load(json.dumps(value)), [])
