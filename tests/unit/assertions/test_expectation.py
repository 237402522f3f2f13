"""Every word of an assertion: when it holds, and what it says if it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stowplan import Cluster, make_node, make_pod
from stowplan.assertions import (
    QuestionError,
    add_nodes,
    add_pods,
    cordon,
    expect,
    label,
    lose_nodes,
    lose_zone,
    remove_pods,
)
from stowplan.model.kinds import PodDisruptionBudget, PodDisruptionBudgetSpec
from stowplan.model.meta import LabelSelector, NamespacedMeta
from tests.state import fingerprint


def node(name: str, zone: str, cpu: int = 4, **labels: str) -> Any:
    builder = make_node(name).capacity(cpu=cpu, memory="16Gi", pods=10).zone(zone)
    for key, value in labels.items():
        builder = builder.label(key, value)
    return builder


def pod(name: str, namespace: str = "shop", cpu: int = 2) -> Any:
    return make_pod(name, namespace).requests(cpu=cpu)


def cluster_of(*objects: Any) -> Cluster:
    cluster = Cluster(ties="upstream")
    cluster.add_all(one.build() for one in objects)
    return cluster


def two_zones(*more: Any) -> Cluster:
    """Two nodes of four cores in two zones; of the shop, one pod on each."""
    return cluster_of(node("a", "eu-1a"), node("b", "eu-1b"), pod("web-0").on("a"), pod("web-1").on("b"), *more)


def failure(check: Callable[[], object]) -> str:
    with pytest.raises(AssertionError) as caught:
        check()
    return str(caught.value)


def refused(check: Callable[[], object]) -> str:
    with pytest.raises(QuestionError) as caught:
        check()
    return str(caught.value)


# all_placed


def test_pods_of_a_lost_zone_find_another_node() -> None:
    expect(two_zones()).after(lose_zone("eu-1a")).all_placed("shop/*")


def test_a_pod_of_a_lost_zone_without_a_place_is_told_with_its_reasons_and_the_nearest_miss() -> None:
    cluster = two_zones(pod("web-2", cpu=1).on("b"))
    assert failure(lambda: expect(cluster).after(lose_zone("eu-1a")).all_placed("shop/*")) == (
        "1 of 3 pods of shop/* has no node, after losing zone eu-1a (1 node, 1 pod):\n"
        "  shop/web-0 (was on a): 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available:"
        " 1 No preemption victims found for incoming pod.\n"
        "    nearest miss: 1 node would fit with 1 less cpu (b)"
    )


def test_pods_that_are_refused_alike_are_told_together() -> None:
    cluster = cluster_of(node("a", "z", cpu=8), node("b", "z", cpu=1), pod("x").on("a"), pod("y").on("a"))
    assert failure(lambda: expect(cluster).after(lose_nodes("a")).all_placed("shop/*")) == (
        "2 of 2 pods of shop/* have no node, after losing nodes a (1 node, 2 pods):\n"
        "  shop/x (was on a), shop/y (was on a): 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are"
        " available: 1 Preemption is not helpful for scheduling.\n"
        "    nearest miss: 1 node would fit with 1 less cpu (b)"
    )


def test_pods_of_another_pattern_do_not_count() -> None:
    cluster = two_zones(pod("batch", "jobs", cpu=3).on("b"))
    expect(cluster).after(lose_nodes("b")).all_placed("shop/web-*")
    assert failure(lambda: expect(cluster).after(lose_nodes("b")).all_placed()).startswith(
        "1 of 3 pods of */* has no node"
    )


def test_pods_that_wait_in_the_cluster_are_tried() -> None:
    expect(two_zones(pod("late"))).all_placed("shop/late")
    assert failure(lambda: expect(two_zones(pod("late", cpu=3))).all_placed("shop/late")).startswith(
        "1 of 1 pod of shop/late has no node:\n  shop/late: 0/2 nodes are available: 2 Insufficient cpu."
    )


def test_a_pod_that_a_gate_holds_has_no_node_and_no_nearest_miss() -> None:
    cluster = two_zones(pod("late").gate("team.example/go"))
    assert failure(lambda: expect(cluster).all_placed("shop/late")) == (
        "1 of 1 pod of shop/late has no node:\n  shop/late: waiting for scheduling gates: [team.example/go]"
    )


def test_a_pod_of_another_scheduler_that_waits_has_no_node() -> None:
    cluster = two_zones(pod("late").scheduler_name("other"))
    assert failure(lambda: expect(cluster).all_placed("shop/late")) == (
        "1 of 1 pod of shop/late has no node:\n  shop/late: it is left to another scheduler, 'other'"
    )


def test_pods_evict_less_important_ones_and_these_look_for_another_node() -> None:
    cluster = cluster_of(
        node("a", "eu-1a"), node("b", "eu-1b"), pod("db", cpu=4).priority(10).on("a"), pod("low", cpu=3).on("b")
    )
    expect(cluster).after(lose_zone("eu-1a")).all_placed("shop/db")
    assert failure(lambda: expect(cluster).after(lose_zone("eu-1a")).all_placed("shop/low")).startswith(
        "1 of 1 pod of shop/low has no node, after losing zone eu-1a (1 node, 1 pod):\n"
        "  shop/low (was on b, evicted for shop/db): 0/1 nodes are available: 1 Insufficient cpu."
    )
    expect(cluster).after(lose_zone("eu-1a"), add_nodes(like="a")).all_placed()


def test_pods_of_daemon_sets_go_with_their_node() -> None:
    agent = pod("agent", cpu=4).owner("DaemonSet", "agent")
    cluster = cluster_of(node("a", "eu-1a"), node("b", "eu-1b"), agent.on("a"), pod("web").on("b"))
    expect(cluster).after(lose_nodes("a")).all_placed()


def test_a_pattern_of_no_pod_does_not_hold() -> None:
    assert failure(lambda: expect(two_zones()).all_placed("shpo/*")) == (
        "no pod of the cluster is of shpo/*; there are pods in: shop"
    )


def test_nothing_of_the_cluster_is_changed_whether_it_holds_or_not() -> None:
    cluster = two_zones(pod("web-2", cpu=1).on("b"), pod("late"))
    before = fingerprint(cluster)
    expect(cluster).after(lose_zone("eu-1a"), add_nodes(like="b", count=2)).all_placed()
    failure(lambda: expect(cluster).after(lose_zone("eu-1a")).all_placed())
    failure(lambda: expect(cluster).survives_drain("a", "b"))
    failure(lambda: expect(cluster).never_on(label("topology.kubernetes.io/zone")))
    assert fingerprint(cluster) == before


# never_on, not_on


def spot(*more: Any) -> Cluster:
    return cluster_of(
        node("safe", "z"), node("cheap", "z", spot="yes").taint("spot"), pod("web", cpu=1).on("safe"), *more
    )


def test_a_taint_keeps_pods_off() -> None:
    expect(spot()).never_on(label("spot"), pods="shop/*")


def test_a_pod_that_is_on_such_a_node_is_told() -> None:
    cluster = spot(pod("job", "jobs").on("cheap"))
    assert failure(lambda: expect(cluster).never_on(label("spot"), pods="jobs/*")) == (
        "1 of 1 pod of jobs/* may be on nodes with spot:\n  jobs/job: is on cheap"
    )


def test_a_pod_that_nothing_keeps_off_may_be_there_some_day() -> None:
    cluster = spot(pod("free", cpu=1).tolerate("spot").on("safe"))
    assert failure(lambda: expect(cluster).never_on(label("spot"), pods="shop/*")) == (
        "1 of 2 pods of shop/* may be on nodes with spot:\n  shop/free: nothing keeps it off cheap"
    )
    expect(cluster).not_on(label("spot"), pods="shop/*")


def test_that_a_node_is_full_keeps_nobody_off_for_good() -> None:
    cluster = spot(
        pod("free", cpu=2).tolerate("spot").on("safe"), pod("big", "jobs", cpu=3).tolerate("spot").on("cheap")
    )
    assert failure(lambda: expect(cluster).never_on(label("spot"), pods="shop/free")) == (
        "1 of 1 pod of shop/free may be on nodes with spot:\n"
        "  shop/free: nothing but room keeps it off cheap: Insufficient cpu"
    )


def test_where_pods_go_after_a_loss_counts() -> None:
    cluster = spot(pod("free", cpu=1).tolerate("spot").on("safe"))
    after = expect(cluster).after(lose_nodes("safe"))
    assert failure(lambda: after.not_on(label("spot=yes"), pods="shop/*")) == (
        "1 of 2 pods of shop/* is on nodes with spot=yes, after losing nodes safe (1 node, 2 pods):\n"
        "  shop/free: is on cheap, where it went"
    )


def test_labels_that_no_node_has_are_refused() -> None:
    assert refused(lambda: expect(spot()).never_on(label("sopt"))) == (
        "no node has the labels sopt; look at the labels with `stowplan nodes`"
    )
    assert refused(lambda: label("a in")).startswith("label: Invalid value: 'a in': ")
    assert refused(lambda: expect(spot()).never_on("spot")) == (  # type: ignore[arg-type]
        "never_on: expected nodes by their labels, such as label('spot'), got 'spot'"
    )


# fits, add_pods


JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "nightly", "namespace": "jobs"},
    "spec": {
        "parallelism": 1,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "job", "resources": {"requests": {"cpu": "1"}}}],
            }
        },
    },
}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(JOB), encoding="utf-8")
    return path


def test_the_pods_of_a_workload_fit_or_it_is_told_how_many_do(job: Path) -> None:
    expect(two_zones()).fits(job, replicas=4)
    text = failure(lambda: expect(two_zones()).fits(job, replicas=5))
    head, line, miss = text.split("\n")
    assert head == f"4 of 5 pods of {job} fit:"
    assert line.startswith("  jobs/nightly-")
    assert line.endswith(": 0/2 nodes are available: 2 Insufficient cpu.")
    assert miss == "    nearest miss: 2 nodes would fit without the pod's request for cpu (a, b)"


def test_what_is_supposed_counts_for_what_fits(job: Path) -> None:
    expect(two_zones()).after(add_nodes(like="a")).fits(job, replicas=8)
    failure(lambda: expect(two_zones()).after(cordon("a")).fits(job, replicas=3))
    expect(two_zones()).after(remove_pods("shop/web-0")).fits(job, replicas=6)


def test_pods_that_are_added_wait_with_the_others(job: Path) -> None:
    expect(two_zones()).after(add_pods(job, replicas=4)).all_placed("jobs/*")
    text = failure(lambda: expect(two_zones()).after(add_pods(job, replicas=5), lose_nodes("b")).all_placed("*/*"))
    assert text.startswith("4 of 7 pods of */* have no node, after adding")


def test_a_daemon_set_has_a_pod_for_every_node_that_is_meant(tmp_path: Path) -> None:
    requests = {"requests": {"cpu": "2"}}
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "main", "image": "agent:1", "resources": requests}]},
    }
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    content = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
    agent = tmp_path / "agent.json"
    agent.write_text(json.dumps(content))
    expect(two_zones()).fits(agent).after(add_pods(agent)).all_placed("default/agent-*")
    told = failure(lambda: expect(two_zones(pod("web-2", cpu=1).on("b"))).fits(agent))
    assert told.startswith(f"1 of 2 pods of {agent} fit:\n  default/agent-b: 0/2 nodes are available: 1 Insufficient")
    assert "leave that out" in refused(lambda: expect(two_zones()).fits(agent, replicas=2))


def test_a_pod_that_waits_may_be_before_one_that_is_drained() -> None:
    cluster = two_zones(pod("late", cpu=4))
    failure(lambda: expect(cluster).all_placed("shop/late"))
    expect(cluster).survives_drain("a")


def test_files_and_numbers_that_cannot_be_used_are_refused(job: Path) -> None:
    assert refused(lambda: expect(two_zones()).fits("none.yaml")) == (
        "none.yaml: cannot be read: No such file or directory; check the path"
    )
    assert refused(lambda: expect(two_zones()).fits(job, replicas=0)) == (
        f"{job}: replicas: Invalid value: 0: write a number, 1 or more"
    )


# survives_drain


def test_a_drain_that_leaves_nobody_homeless_is_survived() -> None:
    expect(two_zones()).survives_drain("a")
    expect(two_zones()).survives_drain(selector="topology.kubernetes.io/zone=eu-1b")


def test_a_drain_that_leaves_somebody_homeless_tells_whom() -> None:
    cluster = two_zones(pod("web-2", cpu=1).on("b"))
    assert failure(lambda: expect(cluster).survives_drain(zone="eu-1a")) == (
        "1 node (a) cannot be drained without harm:\n"
        "  shop/web-0 (on a): 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.\n"
        "    nearest miss: 1 node would fit if the pod tolerated node.kubernetes.io/unschedulable:NoSchedule (a)\n"
        "    nearest miss: 1 node would fit with 1 less cpu (b)"
    )


def test_a_drain_that_a_budget_forbids_tells_which() -> None:
    cluster = two_zones()
    spec = PodDisruptionBudgetSpec(selector=LabelSelector(), min_available=2)
    cluster.add(PodDisruptionBudget(metadata=NamespacedMeta(name="all", namespace="shop"), spec=spec))
    assert failure(lambda: expect(cluster).survives_drain("a")) == (
        "1 node (a) cannot be drained without harm:\n  shop/web-0 (on a): stays: evicting it would violate shop/all"
    )


# Steps


def test_nodes_may_come_like_one_that_is_lost() -> None:
    expect(two_zones(pod("web-2", cpu=1).on("b"))).after(lose_nodes("a"), add_nodes(like="a")).all_placed()


def test_nodes_may_come_of_a_shape() -> None:
    cluster = two_zones(pod("large", cpu=16))
    failure(lambda: expect(cluster).all_placed("shop/large"))
    expect(cluster).after(add_nodes(shape=make_node("xl").capacity(cpu=16, pods=10).build())).all_placed("shop/large")
    shape = {"metadata": {"name": "xl"}, "status": {"allocatable": {"cpu": "16", "pods": "10"}}}
    expect(cluster).after(add_nodes(shape=shape)).all_placed("shop/large")


def test_nodes_are_lost_by_pattern_and_by_label() -> None:
    told = failure(lambda: expect(two_zones()).after(lose_nodes("*")).all_placed())
    assert told.startswith("2 of 2 pods of */* have no node, after losing nodes * (2 nodes, 2 pods):")
    zone = "topology.kubernetes.io/zone in (eu-1a)"
    expect(two_zones()).after(lose_nodes(selector=zone)).all_placed()


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (
            lambda cluster: expect(cluster).after(lose_zone("eu-9")).all_placed(),
            "no node has the label topology.kubernetes.io/zone=eu-9; the zones are: eu-1a, eu-1b",
        ),
        (
            lambda cluster: expect(cluster).after(lose_nodes("c")).all_placed(),
            "node 'c' is not in the cluster; name one of the 2 that are",
        ),
        (
            lambda cluster: expect(cluster).after(lose_nodes("c*")).all_placed(),
            "no node is called 'c*'; look at the names with `stowplan nodes`",
        ),
        (lambda cluster: lose_nodes(), "no node is named; give names, a label selector or a zone"),
        (lambda cluster: add_nodes(), "add_nodes: write either like, the name of a node, or shape, a node"),
        (
            lambda cluster: expect(cluster).after(remove_pods("x/*")).all_placed(),
            "remove_pods: no pod of the cluster is of x/*; there are pods in: shop",
        ),
        (
            lambda cluster: expect(cluster).all_placed("shop"),
            "pods: Invalid value: 'shop': write NAMESPACE/NAME, with * for any text: shop/*",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_remedy(ask: Callable[[Cluster], object], problem: str) -> None:
    assert refused(lambda: ask(two_zones())) == problem


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        pytest.param(
            lambda: lose_zone(3),  # type: ignore[arg-type]
            "zone: Invalid value: 3: write a text",
            id="a number for a zone",
        ),
        pytest.param(
            lambda: lose_nodes(["a"]),  # type: ignore[arg-type]
            "names: Invalid value: ['a']: write a text",
            id="a list for a name",
        ),
        pytest.param(
            lambda: add_nodes(like="a", count=1.5),  # type: ignore[arg-type]
            "count: Invalid value: 1.5: write a whole number",
            id="half a node",
        ),
        pytest.param(
            lambda: add_nodes(like="a", count=True), "count: Invalid value: True: write a whole number", id="a bool"
        ),
        pytest.param(
            lambda: add_nodes(shape={"metadata": {"name": "x"}, "status": {"allocatible": {"cpu": 4}}}),
            "add_nodes: shape.status.allocatable: Required value: say what it has, such as {cpu: 8, pods: 110}",
            id="a node that has nothing",
        ),
        pytest.param(
            lambda: add_nodes(shape={}),
            "add_nodes: shape.metadata.name: Required value: give the node a name",
            id="a node without a name",
        ),
        pytest.param(
            lambda: add_nodes(shape=pod("web").build()), "add_nodes: shape: it is a Pod; write a Node", id="a pod"
        ),
        pytest.param(
            lambda: add_pods("job.yaml", replicas="4"),  # type: ignore[arg-type]
            "replicas: Invalid value: '4': write a whole number",
            id="a text",
        ),
    ],
)
def test_a_step_of_wrong_values_is_refused_where_it_is_written(ask: Callable[[], object], problem: str) -> None:
    assert refused(ask) == problem


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        pytest.param(
            lambda asked: asked.fits("job.yaml", replicas="4"),
            "replicas: Invalid value: '4': write a whole number",
            id="a text for a number",
        ),
        pytest.param(
            lambda asked: asked.fits(pod("web").build()),
            "file: expected the path of a file, got Pod; write a Pod or a workload to a file, and name that",
            id="a pod for a file",
        ),
        pytest.param(
            lambda asked: asked.fits(""),
            "file: the path is empty; write a Pod or a workload to a file, and name that",
            id="no path",
        ),
        pytest.param(
            lambda asked: asked.survives_drain("a", batches="2"),
            "batches: Invalid value: '2': write a whole number",
            id="a text for batches",
        ),
        pytest.param(
            lambda asked: asked.survives_drain(["a"]), "names: Invalid value: ['a']: write a text", id="a list of names"
        ),
        pytest.param(
            lambda asked: asked.survives_drain("a", selector="spot"),
            "no node has the labels spot; the labels that nodes have are: kubernetes.io/hostname,"
            " topology.kubernetes.io/zone",
            id="labels that no node has, beside a name",
        ),
        pytest.param(
            lambda asked: asked.after(cordon("a", zone="eu-9")).all_placed(),
            "no node has the label topology.kubernetes.io/zone=eu-9; the zones are: eu-1a, eu-1b",
            id="a zone that is not there, beside a name",
        ),
    ],
)
def test_a_word_of_wrong_values_is_refused(ask: Callable[[Any], object], problem: str) -> None:
    assert refused(lambda: ask(expect(two_zones()))) == problem


def test_what_is_no_cluster_or_no_step_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a stowplan\.Cluster, got dict; Cluster\.from_yaml reads one"):
        expect({})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"after: expected steps such as lose_zone\('eu-1a'\), got str"):
        expect(two_zones()).after("eu-1a")  # type: ignore[arg-type]


# What waits


def test_a_cluster_knows_the_pods_that_wait_until_they_have_a_node() -> None:
    cluster = two_zones(pod("late"))
    assert [one.key for one in cluster.pending] == ["shop/late"]
    cluster.schedule(cluster.pending[0])
    assert cluster.pending == ()
    cluster.add(pod("later").build())
    cluster.add(pod("later").on("a").build())
    assert cluster.pending == ()
    cluster.add(pod("gone").build())
    cluster.remove(pod("gone").build())
    assert cluster.pending == ()
