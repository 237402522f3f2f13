"""Profiles and extenders must go together with the plugins that exist."""

import base64
from typing import Any

import pytest

from stowplan.config.declarations import Declarations, PluginDeclaration
from stowplan.config.errors import ConfigError
from stowplan.model.duration import of_seconds
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemptionArgs
from stowplan.plugins.noderesources.arguments import NodeResourcesFitArgs
from tests.known_plugins import KNOWN, from_mapping
from tests.unit.config.writing import document, with_plugins


def construct_message(config: dict[str, Any], known: Declarations = KNOWN) -> str:
    with pytest.raises(ConfigError) as caught:
        from_mapping(config, known)
    assert caught.value.stage == "construct"
    return caught.value.message


def test_an_extender_waits_five_seconds_unless_told() -> None:
    config = from_mapping(
        document(extenders=[{"urlPrefix": "http://a"}, {"urlPrefix": "http://b", "httpTimeout": "2s"}])
    )
    assert [extender.http_timeout for extender in config.extenders] == [of_seconds(5), of_seconds(2)]


def test_resources_left_to_extenders_replace_those_that_fit_ignores() -> None:
    resources = [{"name": "example.com/a", "ignoredByScheduler": True}, {"name": "example.com/b"}]
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/c"]}}
    config = from_mapping(document(extenders=[{"managedResources": resources}], profiles=[{"pluginConfig": [fit]}]))
    args = config.profiles[0].plugin_config["NodeResourcesFit"]
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.ignored_resources == ("example.com/a",)


def test_resources_can_be_left_to_extenders_only_by_fit() -> None:
    config = with_plugins(multiPoint={"disabled": [{"name": "NodeResourcesFit"}]})
    config["extenders"] = [{"managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}]}]
    assert construct_message(config) == ("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")


def test_an_extender_is_either_trusted_blindly_or_by_a_certificate() -> None:
    tls = {"insecure": True, "caFile": "/ca.pem"}
    assert construct_message(document(extenders=[{"tlsConfig": tls}])) == (
        "couldn't build extenders: specifying a root certificates file with the insecure flag is not allowed"
    )


def pem(*types: str) -> str:
    blocks = (f"-----BEGIN {each}-----\nMAMCAQU=\n-----END {each}-----\n" for each in types)
    return base64.b64encode("".join(blocks).encode()).decode()


NO_PEM = base64.b64encode(b"foo").decode()


@pytest.mark.parametrize(
    ("tls", "field", "problem"),
    [
        pytest.param(
            {"caData": NO_PEM},
            "caData",
            "unable to load root certificates: unable to parse bytes as PEM block",
            id="an authority that is no PEM",
        ),
        pytest.param(
            {"caData": pem("PRIVATE KEY")},
            "caData",
            "unable to load root certificates: no valid certificate authority data seen",
            id="a key for an authority",
        ),
        pytest.param(
            {"certData": NO_PEM, "keyData": NO_PEM},
            "certData",
            "tls: failed to find any PEM data in certificate input",
            id="a certificate that is no PEM",
        ),
        pytest.param(
            {"certData": pem("RSA PRIVATE KEY"), "keyData": pem("CERTIFICATE")},
            "certData",
            "tls: failed to find certificate PEM data in certificate input, but did find a private key;"
            " PEM inputs may have been switched",
            id="certificate and key the wrong way round",
        ),
        pytest.param(
            {"certData": pem("A", "B"), "keyData": NO_PEM},
            "certData",
            'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the'
            " following types: [A B]",
            id="other things for a certificate",
        ),
        pytest.param(
            {"certData": pem("CERTIFICATE"), "keyData": NO_PEM},
            "keyData",
            "tls: failed to find any PEM data in key input",
            id="a key that is no PEM",
        ),
        pytest.param(
            {"certData": pem("CERTIFICATE"), "keyData": pem("CERTIFICATE")},
            "keyData",
            "tls: found a certificate rather than a key in the PEM for the private key",
            id="a certificate for a key",
        ),
    ],
)
def test_certificates_in_a_configuration_are_certificates(tls: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_mapping(document(extenders=[{"tlsConfig": tls}]))
    assert (caught.value.stage, caught.value.message) == ("construct", f"couldn't build extenders: {problem}")
    assert caught.value.field == f"extenders[0].tlsConfig.{field}"


def test_a_certificate_without_its_key_is_not_looked_at() -> None:
    [extender] = from_mapping(document(extenders=[{"tlsConfig": {"certData": NO_PEM}}])).extenders
    assert extender.tls_config is not None


def test_one_queue_serves_profiles_that_sort_it_through_multi_point() -> None:
    sorting = {"multiPoint": {"disabled": [{"name": "PrioritySort"}], "enabled": [{"name": "Mine"}]}}
    config = document(profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "plugins": sorting}])
    known = {**KNOWN, "Mine": PluginDeclaration("Mine", frozenset({"queue_sort"}))}
    assert construct_message(config, known) == (
        'initializing profiles: different queue sort plugins for profile "b": "Mine", first: "PrioritySort"'
    )


def test_the_first_profile_with_a_fault_is_told() -> None:
    sorting = {"multiPoint": {"disabled": [{"name": "PrioritySort"}], "enabled": [{"name": "Mine"}]}}
    unknown = {"schedulerName": "c", "plugins": {"filter": {"enabled": [{"name": "Nope"}]}}}
    config = document(profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "plugins": sorting}, unknown])
    known = {**KNOWN, "Mine": PluginDeclaration("Mine", frozenset({"queue_sort"}))}
    assert 'different queue sort plugins for profile "b"' in construct_message(config, known)


def test_one_plugin_makes_placements() -> None:
    config = with_plugins(multiPoint={"enabled": [{"name": "Mine"}, {"name": "Yours"}]})
    known = {
        **KNOWN,
        **{name: PluginDeclaration(name, frozenset({"placement_generate"})) for name in ("Mine", "Yours")},
    }
    assert construct_message(config, known) == (
        "initializing profiles: creating profile for scheduler name a:"
        ' at most one placement generate plugin is allowed for profile with scheduler name "a"'
    )


ONLY_FOR_GROUPS = {
    "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]},
    "podGroupPostFilter": {"enabled": [{"name": "DefaultPreemption"}]},
}


def test_a_plugin_that_only_groups_have_gets_no_default_arguments() -> None:
    assert construct_message(with_plugins(**ONLY_FOR_GROUPS)) == (
        "initializing profiles: creating profile for scheduler name a:"
        ' initializing plugin "DefaultPreemption": got args of type <nil>, want *DefaultPreemptionArgs'
    )


def test_a_plugin_that_only_groups_have_takes_arguments() -> None:
    config = with_plugins(**ONLY_FOR_GROUPS)
    config["profiles"][0]["pluginConfig"] = [{"name": "DefaultPreemption"}]
    [profile] = from_mapping(config).profiles
    assert profile.plugin_config == {"DefaultPreemption": DefaultPreemptionArgs(10, 100)}


def test_a_plugin_from_elsewhere_is_known_when_it_is_named() -> None:
    config = with_plugins(score={"enabled": [{"name": "Mine", "weight": 4}]})
    assert construct_message(config).endswith(': ScorePlugin "Mine" does not exist')
    [profile] = from_mapping(config, {**KNOWN, "Mine": PluginDeclaration("Mine", frozenset({"score"}))}).profiles
    assert [plugin.name for plugin in profile.plugins.score.enabled] == ["Mine"]


def test_the_profile_at_fault_is_named() -> None:
    bad = {"schedulerName": "second", "plugins": {"bind": {"disabled": [{"name": "*"}]}}}
    assert construct_message(document(profiles=[{"schedulerName": "first"}, bad])) == (
        "initializing profiles: creating profile for scheduler name second:"
        ' at least one bind plugin is needed for profile with scheduler name "second"'
    )
