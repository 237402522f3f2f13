"""DaemonSets put one pod on every node they may run on."""

from typing import Any

import msgspec
import pytest

from stowplan.embedded.controllers.daemon import counted_pod, next_step
from stowplan.embedded.informers.pods import KnownPod
from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.known_pods import PLAIN
from tests.unit.embedded.controllers.small_cluster import DAEMON_SETS, SmallCluster, tell, template
from tests.unit.embedded.given import NODES


def spec(**more: Any) -> Object:
    return {"selector": {"matchLabels": {"app": "log"}}, "template": template(app="log"), **more}


def set_image(obj: Object) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"


def placed(cluster: SmallCluster) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in cluster.pods(app="log"))


def test_every_node_has_one_pod_made_for_it_also_those_that_come_later() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DAEMON_SETS, "log", spec())
        await cluster.pass_time(3)
        assert placed(cluster) == ["node-0", "node-1", "node-2"]
        cluster.add_node("node-9")
        await cluster.pass_time(3)
        assert placed(cluster) == ["node-0", "node-1", "node-2", "node-9"]
        pod = next(pod for pod in cluster.pods(app="log") if pod["spec"]["nodeName"] == "node-9")
        required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        name = {"key": "metadata.name", "operator": "In", "values": ["node-9"]}
        assert required == {"nodeSelectorTerms": [{"matchFields": [name]}]}
        cordoned = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
        assert cordoned in pod["spec"]["tolerations"]
        assert cluster.get(DAEMON_SETS, "log")["status"] == {
            "currentNumberScheduled": 4,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 4,
            "numberReady": 4,
            "observedGeneration": 1,
            "updatedNumberScheduled": 4,
            "numberAvailable": 4,
        }

    tell(story)


def test_only_nodes_with_the_label_run_it_and_it_leaves_when_the_label_goes() -> None:
    async def story(cluster: SmallCluster) -> None:
        made = template(app="log")
        made["spec"]["nodeSelector"] = {"disk": "ssd"}
        cluster.create(DAEMON_SETS, "log", spec(template=made))
        cluster.edit(NODES, "node-1", lambda node: node["metadata"].update(labels={"disk": "ssd"}))
        await cluster.pass_time(3)
        assert placed(cluster) == ["node-1"]
        cluster.edit(NODES, "node-1", lambda node: node["metadata"].update(labels={}))
        await cluster.pass_time(3)
        assert placed(cluster) == []

    tell(story)


@pytest.mark.parametrize(
    ("effect", "is_there_after"),
    [
        pytest.param("NoSchedule", True, id="a pod stays on a node that is tainted later"),
        pytest.param("NoExecute", False, id="a taint that ends pods ends this one too"),
    ],
)
def test_taints(effect: str, is_there_after: bool) -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DAEMON_SETS, "log", spec())
        await cluster.pass_time(3)
        taint = {"key": "own", "value": "a", "effect": effect}
        cluster.edit(NODES, "node-0", lambda node: node["spec"].update(taints=[taint]))
        await cluster.pass_time(3)
        assert ("node-0" in placed(cluster)) is is_there_after

    tell(story)


def test_an_update_replaces_one_pod_at_a_time() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(DAEMON_SETS, "log", spec())
        await cluster.pass_time(3)
        cluster.edit(DAEMON_SETS, "log", set_image)
        fewest = 3
        for _ in range(100):
            await cluster.pass_time(0.1)
            status = cluster.get(DAEMON_SETS, "log")["status"]
            fewest = min(fewest, status.get("numberAvailable", 0))
        assert fewest == 2
        assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="log")} == {"app:2"}
        assert (status["updatedNumberScheduled"], status["observedGeneration"]) == (3, 2)

    tell(story)


def test_with_a_surge_the_new_pod_comes_before_the_old_one_goes() -> None:
    async def story(cluster: SmallCluster) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        cluster.create(DAEMON_SETS, "log", spec(updateStrategy=strategy))
        await cluster.pass_time(3)
        cluster.edit(DAEMON_SETS, "log", set_image)
        for _ in range(100):
            await cluster.pass_time(0.1)
            assert cluster.get(DAEMON_SETS, "log")["status"]["numberAvailable"] == 3
        assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods(app="log")} == {"app:2"}
        assert len(cluster.pods(app="log")) == 3

    tell(story)


def pod(name: str, revision: str, is_ready: bool = True) -> KnownPod:
    return msgspec.structs.replace(
        PLAIN, name=name, uid=name, labels={"controller-revision-hash": revision}, is_ready=is_ready
    )


@pytest.mark.parametrize(
    ("pods_by_node", "rolling", "expected"),
    [
        pytest.param([[pod("a", "old")], [pod("b", "old")]], {}, (["a"], []), id="one at a time by default"),
        pytest.param([[pod("a", "old")], [pod("b", "old")]], {"maxUnavailable": "100%"}, (["a", "b"], []), id="or all"),
        pytest.param([[pod("a", "old")], []], {}, ([], []), id="a node without a pod counts as missing"),
        pytest.param([[pod("a", "old", False)], [pod("b", "old")]], {}, (["a"], []), id="unready ones go at once"),
        pytest.param([[pod("a", "new")], [pod("b", "old")]], {}, (["b"], []), id="new ones stay"),
        pytest.param([[pod("a", "old")], [pod("b", "old")]], {"maxSurge": 1}, ([], ["0"]), id="a surge doubles first"),
        pytest.param([[pod("a", "old"), pod("b", "new")]], {"maxSurge": 1}, (["a"], []), id="then the old one goes"),
        pytest.param([[pod("a", "old"), pod("b", "new", False)]], {"maxSurge": 1}, ([], []), id="once the new serves"),
    ],
)
def test_a_step_of_an_update(
    pods_by_node: list[list[KnownPod]], rolling: Object, expected: tuple[list[str], list[str]]
) -> None:
    deleted, doubled = next_step(
        {str(at): pods for at, pods in enumerate(pods_by_node)}, "new", rolling, lambda pod: pod.is_ready
    )
    assert ([pod.name for pod in deleted], doubled) == expected


def test_the_ready_new_pod_speaks_for_its_node() -> None:
    assert counted_pod([pod("a", "old"), pod("b", "new")], "new").name == "b"
    assert counted_pod([pod("a", "old"), pod("b", "new", is_ready=False)], "new").name == "a"
