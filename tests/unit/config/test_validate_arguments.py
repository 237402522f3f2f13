"""Arguments of in-tree plugins must have values that are allowed."""

from typing import Any

import pytest

from stowplan.config import feature_gates
from stowplan.config.errors import ConfigError
from tests.known_plugins import from_mapping
from tests.unit.config.writing import document, with_args

ARGS = "profiles[0].pluginConfig[0].args"


def refusal(plugin: str, args: dict[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        from_mapping(with_args(plugin, **args))
    return caught.value


@pytest.mark.parametrize(
    ("plugin", "args", "message"),
    [
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 101},
            f"{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
            id="preemption looks at more than all nodes",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesAbsolute": -2},
            f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -2: not in valid range [0, inf)",
            id="preemption looks at a negative number of nodes",
        ),
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as"
            f" minCandidateNodesAbsolute, {ARGS}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the"
            " same time as minCandidateNodesPercentage]",
            id="preemption looks at no node",
        ),
        pytest.param(
            "DynamicResources",
            {"filterTimeout": "-1s"},
            f'{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive',
            id="negative filter timeout",
        ),
        pytest.param(
            "DynamicResources",
            {"bindingTimeout": "10ms"},
            f'{ARGS}.bindingTimeout: Invalid value: "10ms": must be at least 1 second',
            id="binding timeout below a second",
        ),
        pytest.param(
            "InterPodAffinity",
            {"hardPodAffinityWeight": -1},
            f"{ARGS}.hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]",
            id="negative affinity weight",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
            f"[{ARGS}.resources[0].weight: Invalid value: 2: must be 1,"
            f' {ARGS}.resources[1].name: Duplicate value: "cpu"]',
            id="balanced resources weigh one and occur once",
        ),
        pytest.param(
            "VolumeBinding",
            {"bindTimeoutSeconds": -1},
            f"{ARGS}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            id="negative bind timeout",
        ),
    ],
)
def test_arguments(plugin: str, args: dict[str, Any], message: str) -> None:
    refused = refusal(plugin, args)
    assert (refused.stage, refused.message) == ("validate", message)


@pytest.mark.parametrize(
    ("gate", "args", "message"),
    [
        pytest.param(
            "DRASchedulerFilterTimeout",
            {"filterTimeout": "3s", "bindingTimeout": "3s"},
            f"{ARGS}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled",
            id="a time for the search that nobody looks at",
        ),
        pytest.param(
            "DRADeviceBindingConditions",
            {"filterTimeout": "-3s", "bindingTimeout": "3ms"},
            f'[{ARGS}.filterTimeout: Invalid value: "-3s": must be zero or positive, {ARGS}.bindingTimeout: Forbidden:'
            " DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled]",
            id="a time to get ready that nobody looks at",
        ),
    ],
)
def test_a_timeout_needs_its_feature(gate: str, args: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_mapping(with_args("DynamicResources", **args), gates=feature_gates.parse(f"{gate}=false"))
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        pytest.param({"ignoredResources": ["example.com/a"]}, '{"ignoredResources":["example.com/a"]}', id="some"),
        pytest.param(None, "null", id="none"),
    ],
)
def test_arguments_under_the_name_of_their_kind_are_refused(args: dict[str, Any] | None, shown: str) -> None:
    config = document(profiles=[{"pluginConfig": [{"name": "NodeResourcesFitArgs", "args": args}]}])
    with pytest.raises(ConfigError) as caught:
        from_mapping(config)
    assert caught.value.message == f"{ARGS}: Invalid value: {shown}: has to match plugin args"
    assert "the name of the plugin is NodeResourcesFit" in str(caught.value)


def constraint(**fields: Any) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            {"defaultingType": "Some"},
            '.defaultingType: Unsupported value: "Some": supported values: "System", "List"',
            id="an unknown defaulting type",
        ),
        pytest.param(
            {"defaultConstraints": [constraint()]},
            '.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
            id="system defaults and a list",
        ),
        pytest.param(
            {"defaultConstraints": [constraint(maxSkew=0)]},
            ".defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
            id="no skew",
        ),
        pytest.param(
            {"defaultConstraints": [constraint(topologyKey="")]},
            ".defaultConstraints[0].topologyKey: Required value: can not be empty",
            id="no topology key",
        ),
        pytest.param(
            {"defaultConstraints": [constraint(whenUnsatisfiable=None)]},
            ".defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
            id="no action",
        ),
        pytest.param(
            {"defaultConstraints": [constraint(whenUnsatisfiable="Sometimes")]},
            '.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Sometimes": supported values:'
            ' "DoNotSchedule", "ScheduleAnyway"',
            id="an unknown action",
        ),
        pytest.param(
            {"defaultConstraints": [constraint(labelSelector={})]},
            ".defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced"
            " for each pod",
            id="a selector",
        ),
        pytest.param(
            {"defaultConstraints": [constraint(), constraint(maxSkew=2)]},
            '.defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"',
            id="the same twice",
        ),
    ],
)
def test_spread_constraints(args: dict[str, Any], message: str) -> None:
    kind = {"defaultingType": "List"} if "System" not in message else {}
    assert refusal("PodTopologySpread", {**kind, **args}).message == ARGS + message


def required(*expressions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions), **fields}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


TERM = f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            required({"key": "a", "operator": "Near"}),
            f'{TERM}.matchExpressions[0].operator: Unsupported value: "Near": supported values:'
            ' "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="an unknown operator",
        ),
        pytest.param(
            required({"key": "a", "operator": "Gt", "values": ["x"]}),
            f'{TERM}.matchExpressions[0].values[0]: Invalid value: "x":'
            " for 'Gt', 'Lt' operators, the value must be an integer",
            id="greater than a word",
        ),
        pytest.param(
            required(matchFields=[{"key": "metadata.name", "operator": "Exists"}]),
            f'{TERM}.matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
            id="an operator that fields do not have",
        ),
    ],
)
def test_added_affinity(args: dict[str, Any], message: str) -> None:
    assert refusal("NodeAffinity", args).message == message


def test_a_preferred_term_is_named_without_its_preference() -> None:
    term = {"weight": 3, "preference": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}
    args = {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    path = f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].operator"
    assert refusal("NodeAffinity", args).message.startswith(f"{path}: Unsupported value")


def test_a_preferred_term_without_weight_is_not_looked_at() -> None:
    term = {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}
    from_mapping(with_args("NodeAffinity", addedAffinity={"preferredDuringSchedulingIgnoredDuringExecution": [term]}))


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}}


SHAPE = "scoringStrategy.requestedToCapacityRatio.shape"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            {"ignoredResourceGroups": ["example.com/foo"]},
            "ignoredResourceGroups[0]: Invalid value: \"example.com/foo\": resource group name can't contain '/'",
            id="a group with a slash",
        ),
        pytest.param(
            {"ignoredResources": ["/x"]},
            'ignoredResources[0]: Invalid value: "/x": prefix part must be non-empty',
            id="a resource without domain before the slash",
        ),
        pytest.param(
            {"ignoredResources": ["-/" + "x" * 64]},
            f'[ignoredResources[0]: Invalid value: "-/{"x" * 64}": prefix part a lowercase RFC 1123 subdomain must'
            " consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric"
            " character (e.g. 'example.com', regex used for validation is"
            " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'),"
            f' ignoredResources[0]: Invalid value: "-/{"x" * 64}": name part must be no more than 63 bytes]',
            id="each problem of a name is a fault",
        ),
        pytest.param(
            {"scoringStrategy": {}},
            'scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated",'
            ' "RequestedToCapacityRatio"',
            id="a strategy without type",
        ),
        pytest.param(
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}},
            "scoringStrategy.resources[0].weight: Invalid value: 101:"
            " resource weight of cpu not in valid range (0, 100]",
            id="too heavy a resource",
        ),
        pytest.param(
            {"scoringStrategy": {"type": "MostAllocated", "requestedToCapacityRatio": {}}},
            "scoringStrategy.requestedToCapacityRatio: Forbidden:"
            " must be nil when type is not RequestedToCapacityRatio",
            id="a ratio that is not used",
        ),
        pytest.param(
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is"
            " RequestedToCapacityRatio",
            id="a ratio that is missing",
        ),
        pytest.param(ratio(), f"{SHAPE}: Required value: at least one point must be specified", id="no points"),
        pytest.param(
            ratio((50, 0), (50, 1)),
            f"{SHAPE}[1].utilization: Invalid value: 50: values must be sorted in increasing order",
            id="points out of order",
        ),
        pytest.param(
            ratio((0, 11), (101, 0)),
            f"[{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10],"
            f" {SHAPE}[1].utilization: Invalid value: 101: not in valid range [0, 100]]",
            id="points out of range",
        ),
    ],
)
def test_fit_arguments_are_checked_when_the_plugin_is_made(args: dict[str, Any], message: str) -> None:
    refused = refusal("NodeResourcesFit", args)
    where = 'initializing profiles: creating profile for scheduler name a: initializing plugin "NodeResourcesFit"'
    assert (refused.stage, refused.message) == ("construct", f"{where}: {message}")


def test_fit_arguments_are_not_checked_while_the_plugin_is_off() -> None:
    config = with_args("NodeResourcesFit", scoringStrategy={"type": "Nonsense"})
    config["profiles"][0]["plugins"] = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    [profile] = from_mapping(config).profiles
    assert "NodeResourcesFit" not in profile.plugin_config
