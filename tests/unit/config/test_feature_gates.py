"""Feature gates: how they are written, which can be set, and what the manual says of them."""

import re

import pytest

from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import (
    DEFAULT_GATES,
    EVERY_GATE,
    GATES,
    FeatureGateError,
    FeatureGates,
    parse,
    stages_of,
    without_effect,
)
from stowplan.config.releases import RELEASES
from stowplan.plugins.shape_score import UtilizationShapePoint
from stowplan.plugins.volumebinding.plugin import VolumeBindingArgs
from tests.known_plugins import default_configuration, load
from tests.unit.config.writing import HEADER
from tools.generate_plugin_manual import PAGE_OF_GATES, with_gates


@pytest.mark.parametrize(
    ("texts", "is_on"),
    [
        pytest.param([], {"SchedulerPopFromBackoffQ": True, "GenericWorkload": False}, id="nothing said, the defaults"),
        pytest.param(["SchedulerPopFromBackoffQ=false"], {"SchedulerPopFromBackoffQ": False}, id="one"),
        pytest.param(
            ["VolumeLimitScaling=true,StorageCapacityScoring=true"],
            {"VolumeLimitScaling": True, "StorageCapacityScoring": True},
            id="several in one text",
        ),
        pytest.param(
            ["VolumeLimitScaling=true", "StorageCapacityScoring=true"],
            {"VolumeLimitScaling": True, "StorageCapacityScoring": True},
            id="a flag given twice",
        ),
        pytest.param(
            ["VolumeLimitScaling=true", "VolumeLimitScaling=false"], {"VolumeLimitScaling": False}, id="the last counts"
        ),
        pytest.param([" VolumeLimitScaling = T ,,"], {"VolumeLimitScaling": True}, id="blanks and empty pieces"),
        pytest.param([" ", ":VolumeLimitScaling=1"], {"VolumeLimitScaling": True}, id="nothing, and no component"),
        pytest.param(["ContextualLogging=false"], {"ContextualLogging": False}, id="one of another component"),
        pytest.param(["kube:VolumeLimitScaling=1"], {"VolumeLimitScaling": True}, id="the component spelled out"),
        pytest.param(["DRAAdminAccess=true"], {"DRAAdminAccess": True}, id="a locked one as it is"),
        pytest.param(["DRADeviceTaintRules=false"], {"DRADeviceTaintRules": False}, id="stable, but not locked"),
        pytest.param(
            ["AllAlpha=true,GenericWorkload=true"],
            {"CompositePodGroup": True, "PodGroupPreemptionPolicy": True, "SchedulerAsyncAPICalls": False},
            id="all alpha ones, no others",
        ),
        pytest.param(
            ["DRADerivedAttributes=false,AllAlpha=true,GenericWorkload=true"],
            {"DRADerivedAttributes": False, "CompositePodGroup": True},
            id="a gate's own word counts more than that for its stage",
        ),
        pytest.param(
            ["AllBeta=false"],
            {"SchedulerPopFromBackoffQ": False, "DRAAdminAccess": True, "DRADeviceTaintRules": True},
            id="beta ones off, stable ones stay",
        ),
        pytest.param(["AllBeta=true"], {"GenericWorkload": True, "CompositePodGroup": False}, id="all beta ones"),
    ],
)
def test_gates_are_switched(texts: list[str], is_on: dict[str, bool]) -> None:
    gates = parse(*texts)
    assert {name: gates.enabled(name) for name in is_on} == is_on


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "DRAExtendedResource=false",
            "cannot set feature gate DRAExtendedResource to false, feature is locked to true",
            id="a locked one",
        ),
        pytest.param(
            "DRAPrioritizedList=false,DRAAdminAccess=false",
            "[cannot set feature gate DRAPrioritizedList to false, feature is locked to true, "
            "cannot set feature gate DRAAdminAccess to false, feature is locked to true]",
            id="all locked ones are told",
        ),
        pytest.param(
            "GenericWorkloads=true",
            "unrecognized feature gate: GenericWorkloads; did you mean GenericWorkload?",
            id="a typo",
        ),
        pytest.param(
            "dradevicetaint=true",
            "unrecognized feature gate: dradevicetaint; did you mean DRADeviceTaints or DRADeviceTaintRules?",
            id="several that are near",
        ),
        pytest.param(
            "ContextualLoging=true",
            "unrecognized feature gate: ContextualLoging; did you mean ContextualLogging?",
            id="a typo in a gate of another component",
        ),
        pytest.param("VolumeLimitScaling", "missing bool value for VolumeLimitScaling; write", id="no value"),
        pytest.param(
            "VolumeLimitScaling=maybe",
            'invalid value of VolumeLimitScaling=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax; write',
            id="a value that is no truth",
        ),
        pytest.param(
            "kube:AllBeta=true,AllAlpha=true",
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
            id="the component spelled out for some",
        ),
        pytest.param("etcd:A=true", "component not registered: etcd; write kube:A or just A", id="another component"),
        pytest.param(
            "DRAWorkloadResourceClaims=true",
            "DRAWorkloadResourceClaims is enabled, but depends on features that are disabled: [GenericWorkload]",
            id="one that needs another",
        ),
        pytest.param(
            "PodLevelResources=false",
            "[InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: "
            "[PodLevelResources], PodLevelResourcesFixDefaulting is enabled, but depends on features that are "
            "disabled: [PodLevelResources], PodLevelResourcesFixKubeletQOSClass is enabled, but depends on features "
            "that are disabled: [PodLevelResources]]",
            id="one that others need",
        ),
        pytest.param(
            "MatchLabelKeysInPodTopologySpread=false",
            "MatchLabelKeysInPodTopologySpreadSelectorMerge is enabled, but depends on features that are disabled: "
            "[MatchLabelKeysInPodTopologySpread]",
            id="one that a gate of the API server needs",
        ),
        pytest.param(
            "ExecProbeTimeout=false",
            "cannot set feature gate ExecProbeTimeout to false, feature is locked to true",
            id="a locked one of another component",
        ),
        pytest.param(
            "GangScheduling=true",
            "unrecognized feature gate: GangScheduling; it was removed in 1.37, where it is part of GenericWorkload; "
            "leave it out",
            id="one that is a part of another by now",
        ),
        pytest.param(
            "SidecarContainers=true",
            "unrecognized feature gate: SidecarContainers; it was removed in 1.37, where it is always on; leave it out",
            id="one that is always on by now",
        ),
    ],
)
def test_gates_that_cannot_be_set(text: str, expected: str) -> None:
    with pytest.raises(FeatureGateError) as caught:
        parse(text)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("text", "is_on"),
    [
        pytest.param("", {"StorageCapacityScoring": False, "SidecarContainers": True}, id="the defaults of 1.36"),
        pytest.param(
            "GangScheduling=true,GenericWorkload=true", {"GangScheduling": True}, id="one that only 1.36 has by itself"
        ),
        pytest.param("DRAPrioritizedList=false", {"DRAPrioritizedList": False}, id="one that 1.37 locks"),
        pytest.param("AllBeta=true", {"CompositePodGroup": False}, id="one that only 1.37 has is off"),
    ],
)
def test_gates_are_those_of_the_release(text: str, is_on: dict[str, bool]) -> None:
    gates = parse(text, release="1.36")
    assert {name: gates.enabled(name) for name in is_on} == is_on


def test_a_gate_that_is_a_part_of_another_is_on_with_that_one() -> None:
    assert [parse(f"GenericWorkload={each}").enabled("GangScheduling") for each in ("true", "false")] == [True, False]


def test_a_gate_of_a_later_release_is_not_known() -> None:
    with pytest.raises(FeatureGateError, match=r"CompositePodGroup; it is there from 1.37 on, and this is 1.36"):
        parse("CompositePodGroup=true", release="1.36")


def test_some_gates_wait_until_all_parts_of_the_control_plane_are_new() -> None:
    name = "DRAFractionalCapacityRange"
    assert [parse(compatible_with=each).enabled(name) for each in ("", "1.36", "1.37")] == [False, False, True]


def test_a_name_like_no_other_is_answered_with_all_names() -> None:
    with pytest.raises(FeatureGateError, match=r"known: AllAlpha, AllBeta, Clearing.*WatchList$"):
        parse("Zzz=true")


def test_asking_for_a_gate_that_does_not_exist_is_a_fault() -> None:
    with pytest.raises(KeyError, match="'Nope' is not registered"):
        DEFAULT_GATES.enabled("Nope")


def test_gates_are_values() -> None:
    assert parse() == DEFAULT_GATES == FeatureGates(DEFAULT_GATES.on)
    assert parse("VolumeLimitScaling=false") != DEFAULT_GATES


def test_what_a_gate_needs_exists_and_is_no_less_on() -> None:
    for release in RELEASES:
        stages = stages_of(release)
        for name, stage in stages.items():
            for needed in EVERY_GATE[name].needs:
                is_there = needed in stages and stages[needed].default
                assert is_there or not stage.default, f"{name} is on by default but needs {needed}"


def test_the_manual_lists_the_gates_as_they_are() -> None:
    written = PAGE_OF_GATES.read_text(encoding="utf-8")
    assert written == with_gates(written), "run `make docs-plugins` and commit docs/configuration.md"
    listed = re.findall(r"^\| (\w+) \| (?:alpha|beta|GA|-)", written, re.MULTILINE)
    assert listed == list(GATES)


SHAPED = HEADER + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 11}]}}]}]"


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param(
            "StorageCapacityScoring=false",
            'profiles[0].pluginConfig[0].args.shape: Invalid value: [{"Utilization":0,"Score":11}]: '
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            id="off, there must be none",
        ),
        pytest.param(
            "StorageCapacityScoring=true",
            "profiles[0].pluginConfig[0].args.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
            id="on, it must be right",
        ),
    ],
)
def test_whether_volumes_may_have_a_score_curve_is_up_to_a_gate(gates: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(SHAPED, gates=parse(gates))
    assert caught.value.message == expected


@pytest.mark.parametrize(
    ("gates", "shape"),
    [
        pytest.param("StorageCapacityScoring=false", None, id="off, there is none"),
        pytest.param(
            "StorageCapacityScoring=true",
            (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0)),
            id="on, empty storage is best",
        ),
    ],
)
def test_the_default_score_curve_of_volumes(gates: str, shape: object) -> None:
    [profile] = default_configuration(gates=parse(gates)).profiles
    args = profile.plugin_config["VolumeBinding"]
    assert isinstance(args, VolumeBindingArgs)
    assert args.shape == shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="none switched"),
        pytest.param("SchedulerPopFromBackoffQ=false", "", id="one that is asked for"),
        pytest.param("OpportunisticBatching=true", "", id="one that stays as it is"),
        pytest.param(
            "OpportunisticBatching=false",
            "--feature-gates: OpportunisticBatching has no effect: nothing here depends on it",
            id="one that nothing asks for",
        ),
        pytest.param(
            "OpportunisticBatching=false,SchedulerAsyncAPICalls=true",
            "--feature-gates: OpportunisticBatching, SchedulerAsyncAPICalls have no effect: "
            "nothing here depends on them",
            id="several that nothing asks for",
        ),
    ],
)
def test_gates_switched_in_vain_are_told(text: str, expected: str) -> None:
    assert without_effect(parse(text)) == expected
