"""Room is made by the same filters that refused the pod, whether their answers are kept or not."""

from __future__ import annotations

import asyncio

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine import scheduling_cycle
from stowplan.engine.results import Refused
from stowplan.engine.room import make_room
from stowplan.simulate.notebook import Notebook
from stowplan.testing import make_node, make_pod


@pytest.mark.parametrize("keep_answers", [True, False], ids=["answers are kept", "nothing is kept"])
def test_a_node_that_would_still_be_refused_says_why(keep_answers: bool) -> None:
    cluster = Cluster(keep_answers=keep_answers)
    cluster.add(make_node("full").capacity(cpu=2).label("kubernetes.io/hostname", "full").build())
    cluster.add(make_node("tainted").taint("dedicated").build())
    cluster.add(make_pod("db").label("app", "db").priority(100).on("full").build())
    cluster.add(make_pod("low").requests(cpu=2).on("full").build())
    _, parts = assemble(cluster, Notebook(), lambda: 0)
    pod = make_pod("p").requests(cpu=2).priority(10).anti_affinity("app", "db", "kubernetes.io/hostname").build()
    profile = cluster.profile_of(pod)
    refused = scheduling_cycle.choose(cluster.field, profile, pod, cluster.cache.table.shape_of(pod))
    assert isinstance(refused, Refused)
    made = asyncio.run(make_room(parts, profile, refused))
    assert made.message == (
        "no new claims to deallocate, preemption: 0/2 nodes are available: 1 Preemption is not helpful for scheduling,"
        " 1 node(s) didn't match pod anti-affinity rules."
    )
