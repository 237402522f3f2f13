"""Nodes and pods of many kinds, so that a plugin meets every sort of fact it may read."""

from __future__ import annotations

from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.testing.node_builder import make_node
from stowplan.testing.pod_builder import HOSTNAME, make_pod

GPU = "example.com/gpu"


def specimen_nodes() -> list[Node]:
    """Return a dozen nodes that differ in size, zone, labels, taints, images, and in what they lack."""
    plain = [
        make_node(f"plain-{number}").capacity(cpu=2 * number, memory=f"{4 * number}Gi").zone(f"zone-{number % 3}")
        for number in range(1, 6)
    ]
    return [
        *(builder.build() for builder in plain),
        make_node("gpu").capacity({GPU: 4}, cpu=16, memory="64Gi").zone("zone-0").taint("gpu", "yes").build(),
        make_node("tainted").capacity(cpu=8, memory="32Gi").taint("old", "", "PreferNoSchedule").build(),
        make_node("cordoned").capacity(cpu=8, memory="32Gi").zone("zone-1").cordon().build(),
        make_node("ssd").capacity(cpu=8, memory="16Gi").label("disk", "ssd").zone("zone-2").build(),
        make_node("image").capacity(cpu=4, memory="8Gi").image("app:v1", 700 * 1024 * 1024).zone("zone-1").build(),
        make_node("annotated").capacity(cpu=4, memory="8Gi").annotation("celsius", "55").build(),
        make_node("nothing").build(),
    ]


def specimen_pods() -> list[Pod]:
    """Return pods that already run on the nodes above, and pods to be scheduled."""
    web = make_pod("web").label("app", "web").requests(cpu="500m", memory="1Gi")
    running = [
        web.name("web-1").on("plain-1"),
        web.name("web-2").on("plain-4").priority(10),
        make_pod("db").label("app", "db").requests(cpu=2).anti_affinity("app", "web").on("ssd"),
        make_pod("proxy").host_port(80).on("plain-2"),
        make_pod("cache").label("app", "cache").prefer_near(20, "app", "web", HOSTNAME).on("plain-5"),
    ]
    pending = [
        make_pod("silent"),
        web.name("web-3").spread(),
        web.name("web-4").spread(soft=True).image("app:v1"),
        make_pod("gpu").requests({GPU: 1}, cpu=4).tolerate("gpu", "yes"),
        make_pod("huge").requests(cpu=64, memory="1Ti"),
        make_pod("picky").node_selector("disk", "ssd").node_affinity(HOSTNAME, "NotIn", "gpu"),
        make_pod("wishful").label("app", "wishful").prefer_node(10, "disk", "In", "ssd").prefer_away(5, "app", "web"),
        make_pod("friend").affinity("app", "web").host_port(80),
        make_pod("loner").label("app", "web").anti_affinity("app", "web").priority(100),
        make_pod("gated").gate("example.com/wait").annotation("note", "later"),
        make_pod("owned").label("app", "web").owner("ReplicaSet", "web"),
    ]
    return [builder.build() for builder in (*running, *pending)]
