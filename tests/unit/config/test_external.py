"""A configuration is written with every default spelled out, and reads back as itself."""

from typing import Any

import pytest

from stowplan.config.feature_gates import default_gates
from stowplan.config.load import to_external, to_yaml
from tests.known_plugins import default_configuration, from_mapping, load
from tests.unit.config.writing import HEADER, document, with_args, with_plugins


def written_profile(config: dict[str, Any]) -> dict[str, Any]:
    [profile] = to_external(from_mapping(config))["profiles"]
    found: dict[str, Any] = profile
    return found


def test_top_level_defaults_are_written() -> None:
    written = to_external(default_configuration())
    del written["profiles"]
    assert written == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 16,
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "retryPeriod": "2s",
            "resourceLock": "leases",
            "resourceName": "kube-scheduler",
            "resourceNamespace": "kube-system",
        },
        "clientConnection": {
            "kubeconfig": "",
            "acceptContentTypes": "",
            "contentType": "application/vnd.kubernetes.protobuf",
            "qps": 50,
            "burst": 100,
        },
        "enableProfiling": True,
        "enableContentionProfiling": True,
        "percentageOfNodesToScore": 0,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
    }


def test_multi_point_is_not_spread_out_and_weights_are_always_written() -> None:
    plugins = written_profile(with_plugins(score={"disabled": [{"name": "ImageLocality"}]}))["plugins"]
    assert plugins["multiPoint"]["enabled"][3:5] == [
        {"name": "NodeUnschedulable", "weight": 0},
        {"name": "TaintToleration", "weight": 3},
    ]
    assert plugins["score"] == {"disabled": [{"name": "ImageLocality", "weight": 0}]}
    assert plugins["filter"] == {}


def test_an_empty_set_of_a_point_is_written_and_a_point_that_the_release_has_not_got_is_not() -> None:
    [of_1_37] = to_external(default_configuration())["profiles"]
    [of_1_36] = to_external(default_configuration(default_gates("1.36")))["profiles"]
    assert of_1_37["plugins"]["podGroupPostFilter"] == {}
    assert set(of_1_37["plugins"]) - set(of_1_36["plugins"]) == {"podGroupPostFilter"}


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_what_is_written_is_read_back_in_its_release(release: str) -> None:
    made = default_configuration(default_gates(release))
    assert load(to_yaml(made), gates=default_gates(release)) == made


@pytest.mark.parametrize(
    ("plugin", "args", "written"),
    [
        pytest.param(
            "VolumeBinding",
            {"bindTimeoutSeconds": 0},
            {"bindTimeoutSeconds": 0, "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]},
            id="zero is written",
        ),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "0s"},
            {"filterTimeout": "0s", "bindingTimeout": "10m0s"},
            id="durations are spelled out",
        ),
        pytest.param("NodeAffinity", {}, {}, id="absent is left out"),
        pytest.param(
            "NodeAffinity",
            {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}},
            {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}},
            id="a term is written whole",
        ),
        pytest.param(
            "PodTopologySpread",
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1}
                ],
            },
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1}
                ],
            },
            id="a constraint has only what was said",
        ),
    ],
)
def test_arguments_are_written_with_their_kind(plugin: str, args: dict[str, Any], written: dict[str, Any]) -> None:
    configs = written_profile(with_args(plugin, **args))["pluginConfig"]
    [found] = [config["args"] for config in configs if config["name"] == plugin]
    assert found == {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{plugin}Args", **written}


def test_an_extender_is_written_without_what_is_empty() -> None:
    extender = {
        "urlPrefix": "http://a",
        "enableHTTPS": False,
        "weight": 0,
        "bindVerb": "b",
        "tlsConfig": {"caFile": "c"},
    }
    assert to_external(from_mapping(document(extenders=[extender])))["extenders"] == [
        {"urlPrefix": "http://a", "bindVerb": "b", "httpTimeout": "5s", "tlsConfig": {"caFile": "c"}}
    ]


@pytest.mark.parametrize(
    ("text", "qps"),
    [
        ("0.1", 0.1),
        ("16777217", 16777216),
        ("2147483648", 2147483600),
        ("123456.789", 123456.79),
        ("1e-7", 1e-7),
        ("1e30", 1e30),
        ("3.4028235e38", 3.4028235e38),
    ],
)
def test_a_rate_has_the_precision_of_32_bits(text: str, qps: float) -> None:
    assert to_external(load(HEADER + f"clientConnection: {{qps: {text}}}"))["clientConnection"]["qps"] == qps


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(document(), id="the default"),
        pytest.param(with_plugins(multiPoint={"disabled": [{"name": "VolumeZone"}]}), id="a plugin less"),
        pytest.param(with_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}), id="other arguments"),
        pytest.param(document(clientConnection={"qps": 2.5}, delayCacheUntilActive=True), id="other fields"),
    ],
)
def test_what_is_written_reads_back_as_the_same(config: dict[str, Any]) -> None:
    made = from_mapping(config)
    assert from_mapping(to_external(made)) == made
    assert load(to_yaml(made)) == made
