"""Only a KubeSchedulerConfiguration with known fields of the right types is decoded."""

import pytest

from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import default_gates
from tests.known_plugins import load
from tests.unit.config.writing import HEADER

JSON_HEADER = '{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"'
FIT_ARGS = "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: "
KIND_REMEDY = "write apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration"


def decode_error(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert caught.value.stage == "decode"
    return caught.value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "Object 'Kind' is missing in ''", id="an empty text has no kind"),
        pytest.param("kind: X\n", "Object 'apiVersion' is missing in 'kind: X\n'", id="no version"),
        pytest.param(
            "apiVersion: a/v1\nkind: X", 'no kind "X" is registered for version "a/v1"', id="another group and kind"
        ),
        pytest.param("apiVersion: a/b/c\nkind: X", "unexpected GroupVersion string: a/b/c", id="two slashes"),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs",
            "couldn't decode as KubeSchedulerConfiguration,"
            " got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs: ",
            id="arguments alone are no configuration",
        ),
        pytest.param(
            "kind: 3",
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind"
            " of type string",
            id="a kind that is no text",
        ),
    ],
)
def test_the_kind_must_be_right(text: str, problem: str) -> None:
    assert decode_error(text).message == problem


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            "foo: 1\nbar: 2", 'unknown field "bar", unknown field "foo"', id="unknown fields in order of name"
        ),
        pytest.param("Parallelism: 1", 'unknown field "Parallelism"', id="case matters"),
        pytest.param("profiles: [{nope: 1}]", 'unknown field "profiles[0].nope"', id="unknown inside a list"),
        pytest.param(
            "parallelism: 2\nparallelism: 3",
            'yaml: unmarshal errors:\n  line 4: key "parallelism" already set in map',
            id="a key written twice",
        ),
        pytest.param(
            FIT_ARGS + "{nope: 1}",
            "decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin NodeResourcesFit:"
            ' strict decoding error: unknown field "nope"',
            id="unknown inside plugin arguments",
        ),
    ],
)
def test_fields_must_be_known(fields: str, problem: str) -> None:
    assert decode_error(HEADER + fields).message == f"strict decoding error: {problem}"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        pytest.param(HEADER + "paralelism: 1", "did you mean parallelism?", id="a misspelling"),
        pytest.param(
            HEADER + "profiles: [{nope: 1}]",
            "known: percentageOfNodesToScore, pluginConfig, plugins, schedulerName",
            id="like nothing there is",
        ),
        pytest.param(
            HEADER + "extender: []\nleaderElect: {}\nparalelism: 1\nprofile: []\n",
            "extender: did you mean extenders?; leaderElect: did you mean leaderElection?;"
            " paralelism: did you mean parallelism?",
            id="several, of which the first three are helped",
        ),
        pytest.param(HEADER + FIT_ARGS + "{scoringStrateg: {}}", "did you mean scoringStrategy?", id="of a plugin"),
        pytest.param(
            HEADER + FIT_ARGS + "{apiVersion: v1, kind: X}",
            "write kind: NodeResourcesFitArgs, or leave both out",
            id="arguments of another kind",
        ),
        pytest.param("a: 1", KIND_REMEDY, id="no kind"),
        pytest.param("kind: X", KIND_REMEDY, id="no version"),
        pytest.param("apiVersion: v1\nkind: Pod", KIND_REMEDY, id="another kind"),
    ],
)
def test_an_error_says_what_to_write_instead(text: str, remedy: str) -> None:
    assert decode_error(text).remedy == remedy


def test_a_json_member_must_not_be_repeated() -> None:
    error = decode_error(JSON_HEADER + ',"parallelism":1,"parallelism":2}')
    assert error.message == 'strict decoding error: duplicate field "parallelism"'


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            "parallelism: lots",
            "string into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            id="text for a number",
        ),
        pytest.param(
            "parallelism: 1.5",
            "number 1.5 into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            id="a fraction for a whole number",
        ),
        pytest.param(
            "parallelism: 2147483648",
            "number 2147483648 into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            id="more than 32 bits",
        ),
        pytest.param(
            "enableProfiling: 1",
            "number into Go struct field KubeSchedulerConfiguration.DebuggingConfiguration.enableProfiling"
            " of type bool",
            id="a number for a truth value",
        ),
        pytest.param(
            "enableContentionProfiling: {}",
            "object into Go struct field KubeSchedulerConfiguration.DebuggingConfiguration.enableContentionProfiling"
            " of type bool",
            id="an object for a truth value",
        ),
        pytest.param(
            "leaderElection: []",
            "array into Go struct field KubeSchedulerConfiguration.leaderElection"
            " of type v1alpha1.LeaderElectionConfiguration",
            id="a list for an object",
        ),
        pytest.param(
            "profiles: {}",
            "object into Go struct field KubeSchedulerConfiguration.profiles of type []v1.KubeSchedulerProfile",
            id="an object for a list",
        ),
        pytest.param(
            "profiles: [{plugins: {score: {enabled: [{weight: x}]}}}]",
            "string into Go struct field Plugin.profiles.plugins.score.enabled.weight of type int32",
            id="deep inside",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 5}",
            "number into Go struct field LeaderElectionConfiguration.leaderElection.leaseDuration of type string",
            id="a number for a duration",
        ),
    ],
)
def test_types_must_match(fields: str, problem: str) -> None:
    assert decode_error(HEADER + fields).message == f"json: cannot unmarshal {problem}"


def test_a_wrong_type_goes_before_an_unknown_field() -> None:
    assert decode_error(HEADER + "a: 1\nparallelism: x").message.startswith("json: cannot unmarshal string")


def test_a_bad_duration_is_told_with_its_field() -> None:
    error = decode_error(HEADER + "leaderElection: {leaseDuration: abc}")
    assert error.message == 'time: invalid duration "abc"'
    assert str(error) == 'leaderElection.leaseDuration: time: invalid duration "abc"'


def test_a_bad_duration_in_arguments_is_told_with_its_field() -> None:
    args = "profiles:\n- pluginConfig:\n  - name: DynamicResources\n    args: {filterTimeout: x}"
    assert str(decode_error(HEADER + args)).startswith("profiles[0].pluginConfig[0].args.filterTimeout: ")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        pytest.param(
            "{apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs}",
            "args for plugin NodeResourcesFit were not of type NodeResourcesFitArgs.kubescheduler.config.k8s.io,"
            " got InterPodAffinityArgs.kubescheduler.config.k8s.io",
            id="arguments of another plugin",
        ),
        pytest.param(
            "{apiVersion: kubescheduler.config.k8s.io/v1, kind: FooArgs}",
            'decoding args for plugin NodeResourcesFit: no kind "FooArgs" is registered for version'
            ' "kubescheduler.config.k8s.io/v1"',
            id="arguments of nobody",
        ),
        pytest.param(
            "{ignoredResources: x}",
            "decoding args for plugin NodeResourcesFit: json: cannot unmarshal string into Go struct field"
            " NodeResourcesFitArgs.ignoredResources of type []string",
            id="a wrong type",
        ),
    ],
)
def test_plugin_arguments_must_fit_their_plugin(args: str, problem: str) -> None:
    assert decode_error(HEADER + FIT_ARGS + args).message == f"decoding .profiles[0].pluginConfig[0]: {problem}"


@pytest.mark.parametrize(
    "args",
    [
        pytest.param("{}", id="nothing given"),
        pytest.param("null", id="null"),
        pytest.param("{kind: NodeResourcesFitArgs}", id="only the kind"),
        pytest.param("{apiVersion: kubescheduler.config.k8s.io/v1}", id="only the version"),
    ],
)
def test_plugin_arguments_need_not_name_their_kind(args: str) -> None:
    assert load(HEADER + FIT_ARGS + args) == load(HEADER)


def test_a_point_is_an_unknown_field_in_releases_that_have_not_got_it() -> None:
    text = HEADER + "profiles: [{plugins: {podGroupPostFilter: {disabled: [{name: '*'}]}}}]"
    load(text)
    with pytest.raises(ConfigError) as caught:
        load(text, gates=default_gates("1.36"))
    assert caught.value.message == ('strict decoding error: unknown field "profiles[0].plugins.podGroupPostFilter"')


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            "clientConnection: {burst: x}\nleaderElection: {leaseDuration: abc}",
            'time: invalid duration "abc"',
            id="a duration after a wrong type",
        ),
        pytest.param(
            "extenders: [{urlPrefix: 3}, {httpTimeout: x}]",
            'time: invalid duration "x"',
            id="a duration in a later item",
        ),
        pytest.param(
            "leaderElection: {leaderElect: 3, renewDeadline: 5, retryPeriod: 1y}",
            "json: cannot unmarshal number into Go struct field"
            " LeaderElectionConfiguration.leaderElection.renewDeadline of type string",
            id="the first of two durations",
        ),
        pytest.param(
            "extenders: [{tlsConfig: {caData: '%%%'}, weight: x}]",
            "illegal base64 data at input byte 0",
            id="bytes before a wrong type",
        ),
    ],
)
def test_of_several_mistakes_the_one_that_ends_the_reading_is_told(fields: str, problem: str) -> None:
    assert decode_error(HEADER + fields).message == problem
