"""Namespaces: what they begin with, and how they end."""

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import (
    DEPLOYMENTS,
    SmallCluster,
    condition,
    is_refused,
    tell,
    template,
)
from tests.unit.embedded.given import CONFIG_MAPS, NAMESPACES, PODS, resource

ACCOUNTS = resource("serviceaccounts")
CLASSES = resource("priorityclasses.scheduling.k8s.io")


def create_namespace(cluster: SmallCluster, name: str) -> None:
    cluster.api.create(NAMESPACES, "", {"metadata": {"name": name}})


def config_map(name: str, **metadata: object) -> Object:
    return {"metadata": {"name": name, "namespace": "team", **metadata}}


def test_a_new_cluster_has_its_namespaces_and_priority_classes() -> None:
    async def story(cluster: SmallCluster) -> None:
        names = sorted(each["metadata"]["name"] for each in cluster.api.list(NAMESPACES))
        assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
        values = {each["metadata"]["name"]: each["value"] for each in cluster.api.list(CLASSES)}
        assert values == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

    tell(story)


def test_every_namespace_has_a_default_service_account_and_gets_it_back() -> None:
    async def story(cluster: SmallCluster) -> None:
        create_namespace(cluster, "team")
        await cluster.pass_time(0.1)
        assert cluster.exists(ACCOUNTS, "default", "team")
        cluster.api.delete(ACCOUNTS, "team", "default")
        await cluster.pass_time(0.1)
        assert cluster.exists(ACCOUNTS, "default", "team")

    tell(story)


def test_a_deleted_namespace_takes_everything_in_it_along() -> None:
    async def story(cluster: SmallCluster) -> None:
        create_namespace(cluster, "team")
        await cluster.pass_time(0.1)
        web = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template(app="web")}
        cluster.create(DEPLOYMENTS, "web", web, namespace="team")
        cluster.api.create(CONFIG_MAPS, "team", config_map("settings"))
        await cluster.pass_time(3)
        assert len(cluster.api.list(PODS, "team")) == 2
        cluster.api.delete(NAMESPACES, "", "team")
        assert cluster.get(NAMESPACES, "team")["status"]["phase"] == "Terminating"
        assert is_refused(lambda: cluster.api.create(CONFIG_MAPS, "team", config_map("late")), 403)
        await cluster.pass_time(5)
        assert not cluster.exists(NAMESPACES, "team")
        left = [each for of in (PODS, DEPLOYMENTS, CONFIG_MAPS, ACCOUNTS) for each in cluster.api.list(of, "team")]
        assert left == []

    tell(story)


def test_a_namespace_waits_for_finalizers_and_says_so() -> None:
    async def story(cluster: SmallCluster) -> None:
        create_namespace(cluster, "team")
        cluster.api.create(CONFIG_MAPS, "team", config_map("held", finalizers=["example.com/hold"]))
        cluster.api.delete(NAMESPACES, "", "team")
        await cluster.pass_time(5)
        namespace = cluster.get(NAMESPACES, "team")
        assert condition(namespace, "NamespaceContentRemaining")["message"] == (
            "Some resources are remaining: configmaps. has 1 resource instances"
        )
        assert condition(namespace, "NamespaceFinalizersRemaining")["message"] == (
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
        )
        held = cluster.get(CONFIG_MAPS, "held", "team")
        held["metadata"]["finalizers"] = []
        cluster.api.update(CONFIG_MAPS, "team", "held", held)
        await cluster.pass_time(2)
        assert not cluster.exists(NAMESPACES, "team")

    tell(story)
