"""The rest of a cluster as a whole: it takes up again what an earlier one left."""

from stowplan.embedded.storage.store import Store
from stowplan.simulate import virtual_time
from tests.unit.embedded.controllers.small_cluster import (
    DEPLOYMENTS,
    JOBS,
    SmallCluster,
    annotated,
    ready_count,
    template,
)
from tests.unit.embedded.given import PODS, resource


def test_a_cluster_that_is_started_again_goes_on_where_it_was() -> None:
    async def story() -> None:
        store = Store()
        first = SmallCluster(store)
        await first.start(nodes=3)
        web = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template(app="web")}
        first.create(DEPLOYMENTS, "web", web)
        once = annotated(template(), duration="30s")
        once["spec"]["restartPolicy"] = "Never"
        first.create(JOBS, "sum", {"template": once})
        await first.pass_time(5)
        await first.stop()
        first.delete(PODS, first.pods(app="web")[0]["metadata"]["name"])
        second = SmallCluster(store)
        await second.start(nodes=0)
        await second.pass_time(5)
        assert ready_count(second.pods(app="web")) == 3
        assert second.get(JOBS, "sum")["status"]["active"] == 1
        await second.pass_time(25)
        assert second.get(JOBS, "sum")["status"]["succeeded"] == 1
        await second.stop()

    virtual_time.run(story())


def test_without_kubelets_pods_stay_as_they_were_bound() -> None:
    async def story() -> None:
        cluster = SmallCluster(has_kubelets=False)
        await cluster.start(nodes=0)
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        cluster.api.create(resource("nodes"), "", {"metadata": {"name": "own"}, "status": ready})
        cluster.create(PODS, "web", template()["spec"])
        await cluster.pass_time(60)
        pod = cluster.get(PODS, "web")
        assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("own", "Pending")
        await cluster.stop()

    virtual_time.run(story())


def test_where_time_stands_still_workloads_have_their_pods_and_none_of_them_runs_or_goes() -> None:
    async def story() -> None:
        cluster = SmallCluster(is_still=True)
        await cluster.start(nodes=1)
        web = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template(app="web")}
        cluster.create(DEPLOYMENTS, "web", web)
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone", "uid": "gone", "controller": True}
        cluster.create(PODS, "orphan", {**template()["spec"], "nodeName": "gone"}, ownerReferences=[owner])
        await cluster.pass_time(600)
        assert {pod["status"]["phase"] for pod in cluster.pods(app="web")} == {"Pending"}
        assert len(cluster.pods(app="web")) == 2
        assert cluster.get(PODS, "orphan")["spec"]["nodeName"] == "gone"
        await cluster.stop()

    virtual_time.run(story())
