"""Questions before a cluster is changed, on a real API server: the answer comes true."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from stowplan.app.cluster import Cluster
from stowplan.app.what_if import ClusterWorld
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.whatif.headroom import MixShare, headroom
from tests.e2e.api import Api, Object
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import node, pod
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler
from tests.e2e.waiting import all_decided

SEEDS = 20
MORE = 3
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def real_scheduler(plane: Plane) -> Iterator[SchedulerProcess]:
    scheduler = kube_scheduler(plane, name="kube-scheduler-whatif")
    try:
        scheduler.start()
        yield scheduler
    finally:
        scheduler.stop()


@pytest.mark.only_on("real-1.37")
@pytest.mark.usefixtures("real_scheduler")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_kube_scheduler_binds_as_many_pods_as_there_is_headroom_for(
    api: Api, kubelets: Kubelets, namespace: str, seed: int
) -> None:
    rng = Random(seed)
    kubelets.register(drawn_nodes(rng))
    api.create_all(pod(namespace, f"there-{n}", {"cpu": rng.choice(("250m", "1"))}) for n in range(rng.randrange(8)))
    api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_decided)
    template = drawn_template(rng, namespace)
    expected = headroom_of(api, template)

    api.create_all(renamed(template, f"more-{n}") for n in range(expected + MORE))
    pods = api.wait_for(f"/api/v1/namespaces/{namespace}/pods", all_decided)["items"]
    bound = [one for one in pods if one["metadata"]["name"].startswith("more-") and one["spec"].get("nodeName")]
    assert len(bound) == expected


def drawn_nodes(rng: Random) -> list[Object]:
    def taints() -> list[dict[str, str]]:
        return [{"key": "only", "value": "batch", "effect": "NoSchedule"}] if rng.random() < 0.2 else []

    return [
        node(
            f"n{number}",
            {"cpu": rng.choice(("2", "4", "8")), "memory": rng.choice(("4Gi", "8Gi")), "pods": rng.choice(("5", "12"))},
            {ZONE: rng.choice("abc")},
            taints(),
        )
        for number in range(rng.randint(3, 7))
    ]


def drawn_template(rng: Random, namespace: str) -> Object:
    spec: dict[str, Any] = {}
    selector = {"matchLabels": {"app": "more"}}
    match rng.choice(("plain", "plain", "hard spread", "anti-affinity", "tolerant")):
        case "hard spread":
            spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**spread, "labelSelector": selector}]
        case "anti-affinity":
            term = {"topologyKey": HOST, "labelSelector": selector}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        case "tolerant":
            spec["tolerations"] = [{"key": "only", "operator": "Exists"}]
    found = pod(
        namespace, "more", {"cpu": rng.choice(("300m", "700m")), "memory": rng.choice(("200Mi", "900Mi"))}, **spec
    )
    return {**found, "metadata": {**found["metadata"], "labels": {"app": "more"}}}


def renamed(template: Object, name: str) -> Object:
    return {**template, "metadata": {**template["metadata"], "name": name}}


def headroom_of(api: Api, template: Object) -> int:
    """Ask a cluster that was copied from the API server."""
    cluster = Cluster()
    for path in ("/api/v1/namespaces", "/api/v1/nodes", "/api/v1/pods"):
        listed = api.get(path)
        kind = listed["kind"].removesuffix("List")
        cluster.add_all(decode.decode_object({"apiVersion": "v1", "kind": kind, **one}) for one in listed["items"])
    defaulted = {**template, "spec": {"schedulerName": "default-scheduler", **template["spec"]}}
    with ClusterWorld(cluster).suppose() as world:
        return headroom(world, [MixShare(decode.convert(Pod, defaulted))]).rounds
