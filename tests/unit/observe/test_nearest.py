"""The nearest misses say what would have helped, and the scheduler agrees."""

from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.engine.failure import Chosen
from stowplan.framework.contract import FilterNode
from stowplan.framework.remedies import Need, RejectedRows, Remedy
from stowplan.model.pod import Pod
from stowplan.observe.explanation import Explanation
from stowplan.testing import NodeBuilder, PodBuilder, make_node, make_pod
from stowplan.testing.builders import ZONE

SMALL = make_node("small").capacity(cpu="4", memory="8Gi")
WEB = make_pod("web-0").label("app", "web")


def explain(pod: PodBuilder, *objects: NodeBuilder | PodBuilder) -> Explanation:
    cluster = Cluster()
    cluster.add_all(builder.build() for builder in objects)
    return cluster.explain(pod.build())


def misses(pod: PodBuilder, *objects: NodeBuilder | PodBuilder) -> list[str]:
    return [str(miss) for miss in explain(pod, *objects).misses]


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(
            make_pod().requests(cpu="4500m"), [SMALL], "1 node would fit with 500m less cpu", id="cpu by how much"
        ),
        pytest.param(
            make_pod().requests(memory=str(9 * 1024**3 - 1)),
            [SMALL],
            "1 node would fit with 1Gi less memory",
            id="memory in mebibytes, rounded up",
        ),
        pytest.param(
            make_pod().requests(cpu="5").container(cpu="3"),
            [SMALL],
            "1 node would fit with 4 less cpu",
            id="containers add up",
        ),
        pytest.param(
            make_pod().requests(cpu="5", memory="9Gi"),
            [SMALL],
            "1 node would fit with 1 less cpu and with 1Gi less memory",
            id="two resources",
        ),
        pytest.param(
            make_pod().requests({"example.com/gpu": 2}),
            [SMALL],
            "1 node would fit without the pod's request for example.com/gpu",
            id="a resource that the node does not have",
        ),
        pytest.param(
            make_pod().requests(cpu="1"),
            [SMALL, make_pod("full").requests(cpu="5").on("small")],
            "1 node would fit without the pod's request for cpu",
            id="an overcommitted node",
        ),
        pytest.param(
            make_pod(), [make_node("n").capacity(pods=0)], "1 node would fit with fewer pods on the node", id="pods"
        ),
        pytest.param(
            make_pod(),
            [make_node("n").taint("gpu", "yes")],
            "1 node would fit if the pod tolerated gpu=yes:NoSchedule",
            id="a taint",
        ),
        pytest.param(
            make_pod().tolerate("a"),
            [make_node("n").taint("a").taint("b").taint("c", "d", "NoExecute").taint("e", "", "PreferNoSchedule")],
            "1 node would fit if the pod tolerated b:NoSchedule and if the pod tolerated c=d:NoExecute",
            id="several taints, only those that matter",
        ),
        pytest.param(
            make_pod(),
            [make_node("n").cordon()],
            "1 node would fit if the pod tolerated node.kubernetes.io/unschedulable:NoSchedule",
            id="a cordoned node",
        ),
        pytest.param(
            make_pod(),
            [make_node("n").cordon().taint("node.kubernetes.io/unschedulable")],
            "1 node would fit if the pod tolerated node.kubernetes.io/unschedulable:NoSchedule",
            id="a cordoned node with its taint is one thing to tolerate",
        ),
        pytest.param(
            make_pod().node_selector("disk", "ssd").node_selector("arch", "arm"),
            [make_node("n").label("disk", "hdd").label("arch", "arm")],
            "1 node would fit without the node selector disk=ssd",
            id="the label that is wrong",
        ),
        pytest.param(
            make_pod().node_affinity("disk", "In", "ssd"),
            [make_node("n")],
            "1 node would fit without the pod's required node affinity",
            id="node affinity",
        ),
        pytest.param(
            make_pod().node_selector("disk", "ssd").node_affinity("arch", "Exists"),
            [make_node("n")],
            "1 node would fit without the node selector disk=ssd and without the pod's required node affinity",
            id="selector and affinity",
        ),
        pytest.param(
            make_pod().host_port(80),
            [make_node("n"), make_pod("proxy").host_port(80).on("n")],
            "1 node would fit without the pod's host ports",
            id="host ports",
        ),
        pytest.param(
            make_pod().affinity("app", "db"),
            [make_node("n")],
            "1 node would fit without the pod's required pod affinity",
            id="pod affinity",
        ),
        pytest.param(
            WEB.name("web-1").anti_affinity("app", "web"),
            [make_node("n"), WEB.on("n")],
            "1 node would fit without the pod's required pod anti-affinity",
            id="pod anti-affinity",
        ),
        pytest.param(
            WEB.name("web-1"),
            [make_node("n"), make_pod("loner").anti_affinity("app", "web").on("n")],
            "1 node would fit if InterPodAffinity did not object: "
            "node(s) didn't satisfy existing pods anti-affinity rules",
            id="somebody else's anti-affinity, which no change of the pod helps",
        ),
        pytest.param(
            WEB.name("web-1").spread(),
            [make_node("a").zone("a"), make_node("b").zone("b").cordon(), WEB.on("a")],
            f"1 node would fit without spreading over {ZONE}",
            id="a spread constraint",
        ),
    ],
)
def test_a_miss_says_what_would_help(pod: PodBuilder, objects: list[NodeBuilder | PodBuilder], expected: str) -> None:
    assert misses(pod, *objects)[0] == expected


def test_nodes_are_grouped_and_the_nearest_comes_first() -> None:
    nodes = [make_node(f"n{cpu}").capacity(cpu=cpu, memory="8Gi") for cpu in (2, 4, 3)]
    [miss] = explain(make_pod().requests(cpu="5"), *nodes).misses
    assert str(miss) == "3 nodes would fit with 1 to 3 less cpu"
    assert (miss.nodes, miss.is_checked) == (("n4", "n3", "n2"), True)


def test_few_remedies_come_before_many_and_large_groups_before_small() -> None:
    nodes = [
        make_node("a").taint("x").taint("y"),
        make_node("b").taint("x"),
        make_node("c").taint("y"),
        make_node("d").taint("y"),
    ]
    assert misses(make_pod(), *nodes) == [
        "2 nodes would fit if the pod tolerated y:NoSchedule",
        "1 node would fit if the pod tolerated x:NoSchedule",
        "1 node would fit if the pod tolerated x:NoSchedule and if the pod tolerated y:NoSchedule",
    ]


def test_a_node_that_needs_too_much_is_no_near_miss() -> None:
    node = make_node("n").taint("a").taint("b").taint("c").taint("d")
    assert misses(make_pod(), node) == []


def test_a_resource_that_the_profile_ignores_is_not_blamed() -> None:
    text = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - pluginConfig:
      - name: NodeResourcesFit
        args: {ignoredResources: [example.com/gpu]}
"""
    from stowplan.app.configuration import read_configuration

    cluster = Cluster(read_configuration(text))
    cluster.add(SMALL.build())
    explanation = cluster.explain(make_pod().requests({"example.com/gpu": 1}, cpu="5").build())
    assert [str(miss) for miss in explanation.misses] == ["1 node would fit with 1 less cpu"]


def test_a_pod_changed_as_a_miss_says_fits_all_its_nodes() -> None:
    cluster = Cluster()
    for number in range(60):
        node = make_node(f"n{number}").capacity(cpu=number % 7 + 1, memory=f"{number % 5 + 1}Gi").zone(f"z{number % 3}")
        node = node.taint("gpu", str(number % 2)) if number % 4 == 0 else node
        cluster.add((node.label("disk", "ssd") if number % 3 else node).build())
        cluster.add(WEB.name(f"web-{number}").requests(cpu="500m").on(f"n{number}").build())
    pod = (
        make_pod("p").requests(cpu="6500m", memory="4Gi").node_selector("disk", "ssd").anti_affinity("app", "x").build()
    )
    found = cluster.explain(pod).misses
    assert sum(len(miss.nodes) for miss in found) > 20
    for miss in found:
        changed = pod
        for remedy in miss.remedies:
            changed = remedy.relax(changed) or pytest.fail(f"{remedy} does not change the pod")
        result = cluster.choose(changed)
        assert isinstance(result, Chosen)
        assert set(miss.nodes) <= set(cluster.explain(changed).feasible)


def test_a_pod_that_asks_for_very_much_is_explained_at_once() -> None:
    # Each of these took hours: all combinations of three constraints, and a pod for each resource and label.
    resources = make_pod().requests({f"example.com/r{number}": "1" for number in range(1000)})
    labelled = spread = make_pod()
    for number in range(300):
        labelled, spread = labelled.node_selector(f"k{number}", "v"), spread.spread(f"example.com/k{number}")
    assert misses(resources, SMALL)[0].startswith("1 node would fit if NodeResourcesFit did not object: Insufficient")
    assert misses(labelled, SMALL)[0].startswith("1 node would fit if NodeAffinity did not object")
    assert misses(spread, SMALL)[0].startswith(
        "1 node would fit without spreading over example.com/k0 and example.com/k1"
    )


class Warmer(Remedy):
    def relax(self, pod: Pod) -> Pod:
        return make_pod(pod.name).label("warm", "yes").build()

    def __str__(self) -> str:
        return "if the pod were warm"


class Freezing(FilterNode):
    def filter_node(self, pod: Pod, node: Any, state: Any) -> str | None:
        return None if pod.labels.get("warm") else "too cold"

    def remedies(self, rejected: RejectedRows) -> list[Need]:
        return [Need(Warmer(), rejected.mask)]


class Broken(Freezing):
    def remedies(self, rejected: RejectedRows) -> list[Need]:
        raise RuntimeError("nobody knows")


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param("Freezing", "1 node would fit if the pod were warm", id="what it says is checked and told"),
        pytest.param("Broken", "1 node would fit if Broken did not object: too cold", id="a fault is not told"),
    ],
)
def test_a_plugin_from_elsewhere_says_what_would_help(plugin: str, expected: str) -> None:
    version = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    listed = {"plugins": {"filter": {"enabled": [{"name": f"{__name__}:{plugin}"}]}}}
    cluster = Cluster({**version, "profiles": [listed]})
    cluster.add(SMALL.build())
    [miss] = cluster.explain(make_pod().build()).misses
    assert (str(miss), miss.is_checked) == (expected, plugin == "Freezing")
