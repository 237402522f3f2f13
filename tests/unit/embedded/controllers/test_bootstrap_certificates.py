"""How to tell that the API server is the right one, in every namespace."""

from __future__ import annotations

from typing import Any

from tests.unit.embedded.controllers.small_cluster import SmallCluster, tell
from tests.unit.embedded.given import CONFIG_MAPS, NAMESPACES

NAME = "kube-root-ca.crt"
PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def namespaces_with_it(cluster: SmallCluster) -> set[str]:
    return {each["metadata"]["namespace"] for each in cluster.api.list(CONFIG_MAPS) if each["metadata"]["name"] == NAME}


def test_it_is_in_every_namespace_also_in_new_ones() -> None:
    async def story(cluster: SmallCluster) -> None:
        assert namespaces_with_it(cluster) == {"default", "kube-system", "kube-public", "kube-node-lease"}
        cluster.api.create(NAMESPACES, "", {"metadata": {"name": "shop"}})
        await cluster.pass_time(1)
        found = cluster.get(CONFIG_MAPS, NAME, "shop")
        assert found["data"] == {"ca.crt": PEM}
        assert found["metadata"]["annotations"] == {
            "kubernetes.io/description": (
                "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
                "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
                "distributions of Kubernetes clusters."
            )
        }

    tell(story, nodes=0, authority=PEM)


def test_without_tls_it_says_that_there_is_nothing_to_verify() -> None:
    async def story(cluster: SmallCluster) -> None:
        text = "# This API server is reached without TLS: there is no certificate to verify it by.\n"
        assert cluster.get(CONFIG_MAPS, NAME)["data"] == {"ca.crt": text}

    tell(story, nodes=0)


def test_what_is_deleted_comes_back() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.delete(CONFIG_MAPS, NAME)
        await cluster.pass_time(1)
        assert cluster.get(CONFIG_MAPS, NAME)["data"] == {"ca.crt": PEM}

    tell(story, nodes=0, authority=PEM)


def test_what_is_changed_is_put_right() -> None:
    async def story(cluster: SmallCluster) -> None:
        def spoil(config_map: dict[str, Any]) -> None:
            config_map["data"] = {"ca.crt": "another", "more": "text"}
            config_map["metadata"]["annotations"] = {"mine": "yes"}

        cluster.edit(CONFIG_MAPS, NAME, spoil)
        await cluster.pass_time(1)
        found = cluster.get(CONFIG_MAPS, NAME)
        assert found["data"] == {"ca.crt": PEM}
        assert found["metadata"]["annotations"].keys() == {"mine", "kubernetes.io/description"}

    tell(story, nodes=0, authority=PEM)


def test_a_namespace_that_goes_takes_it_along() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.api.create(NAMESPACES, "", {"metadata": {"name": "shop"}})
        await cluster.pass_time(1)
        cluster.delete(NAMESPACES, "shop")
        await cluster.pass_time(30)
        assert not cluster.exists(NAMESPACES, "shop")
        assert "shop" not in namespaces_with_it(cluster)

    tell(story, nodes=0)


def test_without_controllers_there_is_none() -> None:
    async def story(cluster: SmallCluster) -> None:
        assert namespaces_with_it(cluster) == set()

    tell(story, nodes=0, has_controllers=False)
