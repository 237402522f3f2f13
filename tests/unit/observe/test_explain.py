"""An explanation keeps every reason, agrees with the scheduler, and changes nothing."""

from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.framework.contract import Filter, PreFilter, refuse
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.observe.explain import explain
from stowplan.observe.explanation import PluginScore, ReasonCount
from stowplan.testing import NodeBuilder, PodBuilder, make_node, make_pod

TAINTED = Rejection(("node(s) had untolerated taint(s)",), Code.UNRESOLVABLE, "TaintToleration")
UNSELECTED = Rejection(("node(s) didn't match Pod's node affinity/selector",), Code.UNRESOLVABLE, "NodeAffinity")
SHORT = Rejection(("Insufficient cpu", "Insufficient memory"), Code.UNRESOLVABLE, "NodeResourcesFit")


def cluster_of(*objects: NodeBuilder | PodBuilder) -> Cluster:
    cluster = Cluster()
    cluster.add_all(builder.build() for builder in objects)
    return cluster


def mixed_cluster() -> Cluster:
    """Seven nodes that refuse the pod below for all combinations of three reasons, and one that takes it."""
    builders = []
    for number in range(8):
        cpu, memory = ("1", "1Gi") if number & 1 else ("8", "32Gi")
        node = make_node(f"n{number}").capacity(cpu=cpu, memory=memory)
        node = node if number & 2 else node.label("disk", "ssd")
        builders.append(node.taint("gpu", "yes") if number & 4 else node)
    return cluster_of(*builders)


def picky_pod() -> Pod:
    return make_pod("picky").requests(cpu="4", memory="8Gi").node_selector("disk", "ssd").build()


def test_every_filter_is_asked_about_every_node() -> None:
    nodes = mixed_cluster().explain(picky_pod()).nodes
    assert {name: report.rejections for name, report in nodes.items()} == {
        "n0": (),
        "n1": (SHORT,),
        "n2": (UNSELECTED,),
        "n3": (UNSELECTED, SHORT),
        "n4": (TAINTED,),
        "n5": (TAINTED, SHORT),
        "n6": (TAINTED, UNSELECTED),
        "n7": (TAINTED, UNSELECTED, SHORT),
    }


def test_the_first_rejection_is_the_one_that_the_scheduler_reports() -> None:
    nodes = mixed_cluster().explain(picky_pod()).nodes
    firsts = {name: report.first.plugin for name, report in nodes.items() if report.first is not None}
    assert firsts == {
        "n1": "NodeResourcesFit",
        "n2": "NodeAffinity",
        "n3": "NodeAffinity",
        "n4": "TaintToleration",
        "n5": "TaintToleration",
        "n6": "TaintToleration",
        "n7": "TaintToleration",
    }


def test_reasons_are_counted_as_first_and_in_all() -> None:
    assert mixed_cluster().explain(picky_pod()).reasons == (
        ReasonCount("NodeAffinity", "node(s) didn't match Pod's node affinity/selector", 2, 4),
        ReasonCount("NodeResourcesFit", "Insufficient cpu", 1, 4),
        ReasonCount("NodeResourcesFit", "Insufficient memory", 1, 4),
        ReasonCount("TaintToleration", "node(s) had untolerated taint(s)", 4, 4),
    )


def test_the_message_is_that_of_the_refusal() -> None:
    cluster = mixed_cluster()
    pod = make_pod("huge").requests(cpu="4", memory="64Gi").node_selector("disk", "ssd").build()
    refused = cluster.choose(pod)
    assert isinstance(refused, Refused)
    explanation = cluster.explain(pod)
    assert f"{explanation.message} {explanation.making_room}" == refused.message


def test_scores_are_given_raw_normalized_and_weighted() -> None:
    cluster = cluster_of(
        make_node("calm").capacity(cpu="8", memory="8Gi"),
        make_node("busy").capacity(cpu="8", memory="8Gi").taint("old", "", "PreferNoSchedule"),
    )
    explanation = cluster.explain(make_pod().requests(cpu="4", memory="4Gi").build())
    assert explanation.nodes["calm"].scores["TaintToleration"] == PluginScore(raw=0, normalized=100, weighted=300)
    assert explanation.nodes["busy"].scores["TaintToleration"] == PluginScore(raw=1, normalized=0, weighted=0)
    assert explanation.nodes["calm"].scores["NodeResourcesFit"] == PluginScore(raw=50, normalized=50, weighted=50)
    assert explanation.weights["TaintToleration"] == 3


def test_the_winner_and_the_runner_up_are_named() -> None:
    cluster = cluster_of(*(make_node(f"n{cpu}").capacity(cpu=cpu, memory="8Gi") for cpu in (4, 16, 8)))
    pod = make_pod().requests(cpu="2", memory="1Gi").build()
    explanation = cluster.explain(pod)
    assert (explanation.feasible, explanation.best, explanation.runner_up) == (("n16", "n8", "n4"), ("n16",), "n8")
    chosen = cluster.choose(pod)
    assert isinstance(chosen, Chosen)
    assert (chosen.node_name, chosen.total) == ("n16", explanation.nodes["n16"].total)


def test_equally_good_nodes_all_win() -> None:
    cluster = cluster_of(*(make_node(name).capacity(cpu="4", memory="8Gi") for name in ("a", "b")), make_node("c"))
    explanation = cluster.explain(make_pod().requests(cpu="1", memory="1Gi").build())
    assert (explanation.best, explanation.runner_up) == (("a", "b"), None)


def test_a_node_nominated_for_the_pod_wins_whatever_it_scores() -> None:
    cluster = cluster_of(*(make_node(f"n{cpu}").capacity(cpu=cpu, memory="8Gi") for cpu in (4, 16)))
    explanation = cluster.explain(make_pod().requests(cpu="2").nominated_to("n4").build())
    assert (explanation.best, explanation.runner_up) == (("n4",), "n16")


def test_room_is_left_for_pods_nominated_to_a_node() -> None:
    nominated = make_pod("first").requests(cpu="3").priority(10).nominated_to("n").build()
    cluster = cluster_of(make_node("n").capacity(cpu="4", memory="8Gi"))
    cluster.add(nominated)
    explanation = cluster.explain(make_pod("second").requests(cpu="2").build())
    assert explanation.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert [rejection.reasons for rejection in explanation.nodes["n"].rejections] == [("Insufficient cpu",)]
    assert [str(miss) for miss in explanation.misses] == ["1 node would fit with 1 less cpu"]


def test_a_gate_is_told_and_the_nodes_are_still_looked_at() -> None:
    explanation = cluster_of(make_node("n")).explain(make_pod().gate("example.com/wait").build())
    assert explanation.gate is not None
    assert explanation.gate.reasons == ("waiting for scheduling gates: [example.com/wait]",)
    assert explanation.feasible == ("n",)


def test_a_cluster_without_nodes_is_told_in_the_words_of_the_scheduler() -> None:
    cluster = Cluster()
    failed = cluster.choose(make_pod().build())
    assert isinstance(failed, Failed)
    assert cluster.explain(make_pod().build()).message == failed.message == "no nodes available to schedule pods"


class RefusesAll(PreFilter):
    def pre_filter(self, pod: Pod, nodes: Any) -> Rejection:
        return refuse("not today")


class RefusesToo(PreFilter):
    def pre_filter(self, pod: Pod, nodes: Any) -> Rejection:
        return refuse("not ever")


class Fails(Filter):
    def filter(self, pod: Pod, nodes: Any, state: Any) -> Any:
        raise RuntimeError("no sensor")


def test_every_refusal_of_the_pod_as_a_whole_is_kept() -> None:
    cluster = cluster_of(make_node("n"))
    explanation = explain(cluster.field, Profile("p", pre_filter=(RefusesAll(), RefusesToo())), make_pod().build())
    assert explanation.message == "0/1 nodes are available: not today."
    assert [(refusal.plugin, refusal.reasons) for refusal in explanation.rejections] == [
        ("RefusesAll", ("not today",)),
        ("RefusesToo", ("not ever",)),
    ]
    assert explanation.misses == ()


def test_a_plugin_that_fails_is_named() -> None:
    cluster = cluster_of(make_node("n"))
    explanation = explain(cluster.field, Profile("p", filter=(Fails(),)), make_pod().build())
    fault = "plugin 'Fails' failed in Filter for pod 'default/pod': RuntimeError: no sensor"
    assert explanation.message.startswith(f"{fault} (at {__file__}:")
    assert explanation.faults == (explanation.message,)


def placements(*, explains: bool) -> list[str]:
    cluster = cluster_of(*(make_node(f"n{number}").capacity(cpu="4", memory="8Gi") for number in range(9)))
    pod = make_pod("web").requests(cpu="1").label("app", "web").anti_affinity("app", "web")
    placed = []
    for number in range(10):
        wanted = pod.name(f"web-{number}").build()
        if explains:
            cluster.explain(wanted)
        result = cluster.schedule(wanted)
        placed.append(result.node_name if isinstance(result, Chosen) else "refused")
    return placed


def test_explaining_changes_no_decision() -> None:
    explained = placements(explains=True)
    assert explained == placements(explains=False)
    assert sorted(explained) == ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "refused"]
