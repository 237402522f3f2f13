"""Feature gates: how they are written, which can be set, and what the manual says of them."""

import re

import pytest

from stowplan.config.errors import ConfigError
from stowplan.config.feature_gates import (
    DEFAULT_GATES,
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
        pytest.param([], {"SchedulerPopFromBackoffQ": True, "GangScheduling": False}, id="nothing said, the defaults"),
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
        pytest.param(["kube:VolumeLimitScaling=1"], {"VolumeLimitScaling": True}, id="the component spelled out"),
        pytest.param(["SchedulerQueueingHints=true"], {"SchedulerQueueingHints": True}, id="a locked one as it is"),
        pytest.param(["DRAPrioritizedList=false"], {"DRAPrioritizedList": False}, id="stable, but not locked"),
        pytest.param(
            ["AllAlpha=true"],
            {"GangScheduling": True, "WorkloadAwarePreemption": True, "SchedulerAsyncAPICalls": False},
            id="all alpha ones, no others",
        ),
        pytest.param(
            ["VolumeLimitScaling=false,AllAlpha=true"],
            {"VolumeLimitScaling": False, "GangScheduling": True},
            id="a gate's own word counts more than that for its stage",
        ),
        pytest.param(
            ["AllBeta=false"],
            {"SchedulerPopFromBackoffQ": False, "SchedulerQueueingHints": True, "DRAPrioritizedList": True},
            id="beta ones off, stable ones stay",
        ),
        pytest.param(["AllBeta=true"], {"SchedulerAsyncAPICalls": True, "GangScheduling": False}, id="all beta ones"),
    ],
)
def test_gates_are_switched(texts: list[str], is_on: dict[str, bool]) -> None:
    gates = parse(*texts)
    assert {name: gates.enabled(name) for name in is_on} == is_on


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "SchedulerQueueingHints=false",
            "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true",
            id="a locked one",
        ),
        pytest.param(
            "SidecarContainers=false,DRAAdminAccess=false",
            "[cannot set feature gate SidecarContainers to false, feature is locked to true, "
            "cannot set feature gate DRAAdminAccess to false, feature is locked to true]",
            id="all locked ones are told",
        ),
        pytest.param(
            "GangSchedulling=true",
            "unrecognized feature gate: GangSchedulling; did you mean GangScheduling?",
            id="a typo",
        ),
        pytest.param(
            "dradevicetaint=true",
            "unrecognized feature gate: dradevicetaint; did you mean DRADeviceTaints or DRADeviceTaintRules?",
            id="several that are near",
        ),
        pytest.param("VolumeLimitScaling", "missing bool value for VolumeLimitScaling; write", id="no value"),
        pytest.param(
            "VolumeLimitScaling=maybe",
            'invalid value of VolumeLimitScaling=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax; write',
            id="a value that is no truth",
        ),
        pytest.param("etcd:A=true", "component not registered: etcd; write kube:A or just A", id="another component"),
        pytest.param(
            "GangScheduling=true",
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
            id="one that needs another",
        ),
        pytest.param(
            "PodLevelResources=false,NodeDeclaredFeatures=false",
            "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: "
            "[PodLevelResources NodeDeclaredFeatures]",
            id="one that others need",
        ),
    ],
)
def test_gates_that_cannot_be_set(text: str, expected: str) -> None:
    with pytest.raises(FeatureGateError) as caught:
        parse(text)
    assert str(caught.value).startswith(expected)


def test_a_name_like_no_other_is_answered_with_all_names() -> None:
    with pytest.raises(FeatureGateError, match=r"known: AllAlpha, AllBeta, Clearing.*WorkloadAwarePreemption$"):
        parse("Zzz=true")


def test_asking_for_a_gate_that_does_not_exist_is_a_fault() -> None:
    with pytest.raises(KeyError, match="'Nope' is not registered"):
        DEFAULT_GATES.enabled("Nope")


def test_gates_are_values() -> None:
    assert parse() == DEFAULT_GATES == FeatureGates(DEFAULT_GATES.on)
    assert parse("VolumeLimitScaling=true") != DEFAULT_GATES


def test_what_a_gate_needs_exists_and_is_no_less_on() -> None:
    for release in RELEASES:
        stages = stages_of(release)
        for name, stage in stages.items():
            for needed in GATES[name].needs:
                assert stages[needed].default or not stage.default, f"{name} is on by default but needs {needed}"


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
            "",
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
        pytest.param("", None, id="off, there is none"),
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
        pytest.param("GenericWorkload=true,GangScheduling=true", "", id="one that another needs"),
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
        pytest.param(
            "GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
            "--feature-gates: TopologyAwareWorkloadScheduling has no effect: nothing here depends on it",
            id="one that only names plugins which are not there",
        ),
    ],
)
def test_gates_switched_in_vain_are_told(text: str, expected: str) -> None:
    assert without_effect(parse(text)) == expected
