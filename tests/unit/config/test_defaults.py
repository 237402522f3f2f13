"""What a file does not say gets its default."""

from typing import Any

import pytest

from stowplan.config import feature_gates
from stowplan.config.declarations import PluginArgs, PluginDeclaration
from stowplan.config.types import ClientConnection, KubeSchedulerProfile, LeaderElection
from stowplan.model.duration import of_seconds
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemptionArgs
from stowplan.plugins.dynamicresources.arguments import DynamicResourcesArgs
from stowplan.plugins.noderesources.arguments import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
)
from stowplan.plugins.podtopologyspread.constraints import PodTopologySpreadArgs
from tests.known_plugins import KNOWN, default_configuration, from_mapping, load
from tests.unit.config.writing import HEADER, document, with_args


def only_profile(config: dict[str, Any]) -> KubeSchedulerProfile:
    [profile] = from_mapping(config).profiles
    return profile


def test_an_empty_file_null_and_the_default_are_the_same() -> None:
    assert load(HEADER) == from_mapping(None) == default_configuration() == from_mapping(document())


def test_the_default_configuration() -> None:
    config = default_configuration()
    assert config.parallelism == 16
    assert config.percentage_of_nodes_to_score == 0
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
    assert (config.enable_profiling, config.enable_contention_profiling) == (True, True)
    assert config.delay_cache_until_active is False
    assert config.extenders == ()
    assert config.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration=of_seconds(15),
        renew_deadline=of_seconds(10),
        retry_period=of_seconds(2),
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
    )
    assert config.client_connection == ClientConnection("", "", "application/vnd.kubernetes.protobuf", 50, 100)


def test_the_default_profile_has_no_percentage_of_its_own() -> None:
    [profile] = default_configuration().profiles
    assert profile.scheduler_name == "default-scheduler"
    assert profile.percentage_of_nodes_to_score is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"parallelism": None}, id="null parallelism"),
        pytest.param({"profiles": []}, id="no profiles"),
        pytest.param({"profiles": [{}]}, id="one profile that says nothing"),
        pytest.param(
            {"leaderElection": {"retryPeriod": "0s", "resourceName": ""}}, id="zero and empty count as unsaid"
        ),
        pytest.param({"clientConnection": {"qps": 0, "burst": 0, "contentType": ""}}, id="zero connection limits"),
    ],
)
def test_what_says_nothing_changes_nothing(fields: dict[str, Any]) -> None:
    assert from_mapping(document(**fields)) == default_configuration()


def test_contention_profiling_follows_profiling() -> None:
    assert from_mapping(document(enableProfiling=False)).enable_contention_profiling is False
    both = from_mapping(document(enableProfiling=False, enableContentionProfiling=True))
    assert (both.enable_profiling, both.enable_contention_profiling) == (False, True)


def test_leader_election_can_be_turned_off() -> None:
    assert from_mapping(document(leaderElection={"leaderElect": False})).leader_election.leader_elect is False


@pytest.mark.parametrize(
    ("plugin", "given", "expected"),
    [
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0},
            DefaultPreemptionArgs(0, 100),
            id="zero is a value where null is the default",
        ),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "0s"},
            DynamicResourcesArgs(of_seconds(0), of_seconds(600)),
            id="a zero timeout means none",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "example.com/gpu", "weight": 0}]},
            NodeResourcesBalancedAllocationArgs((ResourceSpec("cpu", 1), ResourceSpec("example.com/gpu", 1))),
            id="a resource without weight weighs one",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated"}, "ignoredResources": ["example.com/a"]},
            NodeResourcesFitArgs(
                ScoringStrategy("MostAllocated", (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))),
                ("example.com/a",),
            ),
            id="a strategy without resources takes cpu and memory",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": ""},
            PodTopologySpreadArgs((), "System"),
            id="an empty defaulting type is System",
        ),
    ],
)
def test_arguments_are_filled_in(plugin: str, given: dict[str, Any], expected: PluginArgs) -> None:
    assert only_profile(with_args(plugin, **given)).plugin_config[plugin] == expected


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        pytest.param("DRASchedulerFilterTimeout", DynamicResourcesArgs(None, of_seconds(600)), id="filtering"),
        pytest.param("DRADeviceBindingConditions", DynamicResourcesArgs(of_seconds(10), None), id="binding"),
    ],
)
def test_a_timeout_whose_feature_is_off_has_no_default(gate: str, expected: PluginArgs) -> None:
    [profile] = default_configuration(feature_gates.parse(f"{gate}=false")).profiles
    assert profile.plugin_config["DynamicResources"] == expected


def test_arguments_of_plugins_that_are_not_enabled_are_left_out() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": n} for n in ("PrioritySort", "DefaultBinder")]}
    }
    profile = only_profile(
        document(profiles=[{"plugins": plugins, "pluginConfig": [{"name": "InterPodAffinity", "args": {}}]}])
    )
    assert profile.plugin_config == {}


def test_arguments_of_a_plugin_that_is_not_in_tree_stay_as_written() -> None:
    config = with_args("Mine", celsius=3.5, rooms=[{"name": "a"}])
    config["profiles"][0]["plugins"] = {"filter": {"enabled": [{"name": "Mine"}]}}
    known = {**KNOWN, "Mine": PluginDeclaration("Mine", frozenset({"filter"}))}
    [profile] = from_mapping(config, known).profiles
    assert profile.plugin_config["Mine"] == {"celsius": 3.5, "rooms": [{"name": "a"}]}
