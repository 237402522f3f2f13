"""Fields with values that are not allowed are all told at once, by their paths."""

from typing import Any

import pytest

from stowplan.config.errors import ConfigError
from tests.known_plugins import from_mapping
from tests.unit.config.writing import document, with_args, with_plugins

REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'


def validation_message(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        from_mapping(config)
    assert caught.value.stage == "validate"
    return caught.value.message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"parallelism": 0},
            "parallelism: Invalid value: 0: should be an integer value greater than zero",
            id="no parallelism",
        ),
        pytest.param(
            {"percentageOfNodesToScore": 101},
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
            id="more than all nodes",
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 0},
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
            id="no backoff",
        ),
        pytest.param(
            {"podInitialBackoffSeconds": 9, "podMaxBackoffSeconds": 8},
            "podMaxBackoffSeconds: Invalid value: 8: must be greater than or equal to PodInitialBackoffSeconds",
            id="backoff that shrinks",
        ),
        pytest.param(
            {"clientConnection": {"burst": -3}},
            "clientConnection.burst: Invalid value: -3: must be non-negative",
            id="negative burst",
        ),
        pytest.param(
            {"leaderElection": {"leaseDuration": "-1s"}},
            '[leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero,'
            ' leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`]',
            id="negative lease",
        ),
        pytest.param(
            {"leaderElection": {"resourceLock": "endpoints"}},
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
            id="an old kind of lock",
        ),
        pytest.param(
            {"profiles": [{"percentageOfNodesToScore": -1}]},
            "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
            id="a profile's percentage",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "a"}, {}]},
            "profiles[1].schedulerName: Required value",
            id="several profiles need names",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
            "profiles[1].schedulerName: Duplicate value: {}",
            id="two profiles of one name",
        ),
        pytest.param(
            {"parallelism": 0, "podInitialBackoffSeconds": -1},
            "[parallelism: Invalid value: 0: should be an integer value greater than zero,"
            " podInitialBackoffSeconds: Invalid value: -1: must be greater than 0]",
            id="several faults in brackets",
        ),
    ],
)
def test_top_level_fields(fields: dict[str, Any], message: str) -> None:
    assert validation_message(document(**fields)) == message


def test_leader_election_that_is_off_is_not_checked() -> None:
    election = {"leaderElect": False, "leaseDuration": "-1s", "resourceLock": "endpoints"}
    assert from_mapping(document(leaderElection=election)).leader_election.resource_lock == "endpoints"


@pytest.mark.parametrize("name", ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"])
def test_a_removed_plugin_cannot_be_listed(name: str) -> None:
    config = with_plugins(filter={"enabled": [{"name": "NodeName"}, {"name": name}]})
    path = "profiles[0].plugins.filter.enabled[1]"
    assert validation_message(config) == f'{path}: Invalid value: "{name}": {REMOVED}'


def test_a_removed_plugin_cannot_be_configured() -> None:
    assert validation_message(with_args("EBSLimits")) == (
        f'profiles[0].pluginConfig[0]: Invalid value: "EBSLimits": {REMOVED}'
    )


def test_arguments_are_given_once_to_a_plugin() -> None:
    config = with_args("InterPodAffinity")
    config["profiles"][0]["pluginConfig"] *= 2
    assert validation_message(config) == 'profiles[0].pluginConfig[1]: Duplicate value: "InterPodAffinity"'


def test_only_one_plugin_sorts_the_queue() -> None:
    config = with_plugins(queueSort={"enabled": [{"name": "PrioritySort"}, {"name": "Other"}]})
    assert validation_message(config) == (
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"
    )


def test_all_profiles_sort_the_queue_alike() -> None:
    other = {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "Custom"}]}}}
    shown = '{"Enabled":[{"Name":"Custom","Weight":0}],"Disabled":null}'
    assert validation_message(document(profiles=[{"schedulerName": "a"}, other])) == (
        f"profiles[1].plugins.queueSort: Invalid value: {shown}: must be the same for all profiles"
    )


def test_the_queue_sort_plugin_has_the_same_arguments_everywhere() -> None:
    plugins = {"queueSort": {"enabled": [{"name": "Mine"}]}}
    profiles = [
        {"schedulerName": name, "plugins": plugins, "pluginConfig": [{"name": "Mine", "args": {"step": step}}]}
        for name, step in (("a", 1), ("b", 2))
    ]
    assert validation_message(document(profiles=profiles)) == (
        'profiles[1].pluginConfig.args: Invalid value: {"step":2}: queueSort must be the same for all profiles'
    )


@pytest.mark.parametrize(
    ("extenders", "message"),
    [
        pytest.param(
            [{"prioritizeVerb": "p"}],
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
            id="scores without weight",
        ),
        pytest.param(
            [{"bindVerb": "b"}, {}, {"bindVerb": "b"}],
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
            id="two that bind",
        ),
        pytest.param(
            [{"managedResources": [{"name": "kubernetes.io/foo"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "kubernetes.io/foo":'
            " is an invalid extended resource name",
            id="a resource of Kubernetes itself",
        ),
        pytest.param(
            [{"managedResources": [{"name": "cpu"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
            id="a resource without domain",
        ),
        pytest.param(
            [{"managedResources": [{"name": "/x"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "/x": prefix part must be non-empty',
            id="no name at all",
        ),
        pytest.param(
            [{"managedResources": [{"name": "example.com/x"}]}, {"managedResources": [{"name": "example.com/x"}]}],
            'extenders[1].managedResources[0].name: Invalid value: "example.com/x":'
            " duplicate extender managed resource name",
            id="one resource managed twice",
        ),
    ],
)
def test_extenders(extenders: list[dict[str, Any]], message: str) -> None:
    assert validation_message(document(extenders=extenders)) == message
