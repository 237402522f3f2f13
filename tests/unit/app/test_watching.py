"""What is watched follows from the plugins, and changes get to the flow."""

from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import read_configuration
from stowplan.app.watching import watched
from stowplan.config import feature_gates
from stowplan.framework.contract import ScoreNode
from stowplan.model.kinds import Service
from stowplan.model.pod import Pod
from stowplan.observe.metrics import event_label
from stowplan.testing import make_node, make_pod

HEADING = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FEW = """profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: NodeName}, {name: DefaultBinder}]
"""


def kinds(text: str, gates: str = "") -> set[str]:
    cluster = Cluster(read_configuration(HEADING + text))
    return {one.kind for one in watched(cluster.profiles.values(), feature_gates.parse(gates))}


def test_without_plugins_that_list_only_the_basics_are_watched() -> None:
    assert kinds(FEW) == {"Node", "Pod", "Namespace"}


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param("DefaultPreemption", {"PodDisruptionBudget"}, id="preemption honours budgets"),
        pytest.param(
            "PodTopologySpread",
            {"Service", "ReplicationController", "ReplicaSet", "StatefulSet"},
            id="default spreading follows what owns a pod",
        ),
    ],
)
def test_a_plugin_brings_the_kinds_it_lists(plugin: str, expected: set[str]) -> None:
    more = FEW.replace("{name: NodeName}", f"{{name: NodeName}}, {{name: {plugin}}}")
    assert kinds(more) - kinds(FEW) == expected


class ByService(ScoreNode):
    lists = ("Service",)

    def score_node(self, pod: Pod, node: Any, state: Any) -> int:
        return 0


def test_a_plugin_from_elsewhere_that_only_scores_brings_the_kinds_it_lists() -> None:
    more = FEW.replace("{name: NodeName}", f"{{name: NodeName}}, {{name: '{__name__}:ByService'}}")
    assert kinds(more) - kinds(FEW) == {"Service"}


@pytest.mark.parametrize(
    ("plugin", "gates", "expected"),
    [
        pytest.param("Coscheduling", "", {"podgroups.scheduling.x-k8s.io"}, id="the community's"),
        pytest.param(
            "GangScheduling",
            "GenericWorkload=true",
            {"podgroups.scheduling.k8s.io"},
            id="Kubernetes' own",
        ),
    ],
)
def test_of_two_apis_that_have_pod_groups_the_one_is_watched_that_the_plugin_reads(
    plugin: str, gates: str, expected: set[str]
) -> None:
    sorted_by = 'queueSort: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}]}'
    text = f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {plugin}}}]}}, {sorted_by}}}}}]"
    parsed = feature_gates.parse(gates)
    cluster = Cluster(read_configuration(HEADING + text, parsed), feature_gates=parsed)
    names = {one.name for one in watched(cluster.profiles.values(), parsed)}
    assert {name for name in names if name.startswith("podgroups.")} == expected


def test_rules_that_taint_devices_are_watched_only_where_their_gate_is_on() -> None:
    assert kinds("") - kinds("", "DRADeviceTaintRules=false") == {"DeviceTaintRule"}


@pytest.mark.parametrize(
    ("release", "expected"),
    [("1.37", "/apis/resource.k8s.io/v1/devicetaintrules"), ("1.36", "/apis/resource.k8s.io/v1beta2/devicetaintrules")],
)
def test_rules_that_taint_devices_are_where_the_release_has_them(release: str, expected: str) -> None:
    gates = feature_gates.parse("DRADeviceTaintRules=true", release=release)
    found = {one.kind: one for one in watched(Cluster(feature_gates=gates).profiles.values(), gates)}
    assert found["DeviceTaintRule"].path == expected
    rule = found["DeviceTaintRule"].decode(b'{"metadata": {"name": "r"}, "spec": {"taint": {"key": "k"}}}')
    assert (rule.kind, rule.selector is None) == ("DeviceTaintRule", release == "1.37")


def placed(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name="n1"))


POD, NODE = make_pod("p").build(), make_node("n").build()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, POD, "UnscheduledPodAdd", id="a pod that waits appeared"),
        pytest.param(None, placed(POD), "AssignedPodAdd", id="a placed pod appeared"),
        pytest.param(placed(POD), None, "AssignedPodDelete", id="a placed pod is gone"),
        pytest.param(POD, placed(POD), "AssignedPodUpdate", id="a pod was placed"),
        pytest.param(NODE, NODE, "NodeUpdate", id="a node changed"),
        pytest.param(None, Service(), "ServiceAdd", id="something else appeared"),
    ],
)
def test_changes_have_upstreams_labels(old: Any, new: Any, expected: str) -> None:
    assert event_label(old, new) == expected


@pytest.mark.parametrize(
    ("extenders", "expected"),
    [
        pytest.param("[]", {}, id="nobody is sent anything"),
        pytest.param("[{urlPrefix: 'http://e', bindVerb: b}]", {}, id="who binds is sent names"),
        pytest.param(
            "[{urlPrefix: 'http://e', filterVerb: f, nodeCacheCapable: true}]",
            {"pending": True, "placed": False},
            id="who knows the nodes is sent the pod",
        ),
        pytest.param(
            "[{urlPrefix: 'http://e', filterVerb: f}]",
            {"pending": True, "placed": False, "node": True},
            id="others are sent nodes",
        ),
        pytest.param(
            "[{urlPrefix: 'http://e', preemptVerb: p}]",
            {"pending": True, "placed": True},
            id="or victims",
        ),
    ],
)
def test_texts_are_kept_of_what_extenders_are_sent(extenders: str, expected: dict[str, bool]) -> None:
    config = read_configuration(f"{HEADING}{FEW}extenders: {extenders}\n")
    found = {one.kind: one.keeps_text for one in watched(Cluster(config).profiles.values(), extenders=config.extenders)}
    kept: dict[str, bool] = {}
    if (of_pods := found["Pod"]) is not None:
        kept = {"pending": of_pods(make_pod("a").build()), "placed": of_pods(make_pod("a").on("n1").build())}
    if (of_nodes := found["Node"]) is not None:
        kept["node"] = of_nodes(make_node("n1").build())
    assert kept == expected
