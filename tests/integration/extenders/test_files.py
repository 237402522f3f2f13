"""Extenders in the programs that work on files, and in the library: schedule, explain, config check, Cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stowplan.app.cluster import Chosen, Cluster, Failed, Refused
from stowplan.app.configuration import read_configuration
from stowplan.testing import make_node, make_pod
from tests.integration.extender_process import Server, serving
from tests.integration.extenders.world import (
    VERBS,
    configuration,
    manifests,
    nobody_listens,
    node,
    pod,
    refused_at,
    written,
)
from tests.integration.up.up_process import run

POD = make_pod("web").requests(cpu="1").build()


# stowplan schedule


def schedule(folder: Path, *extenders: dict[str, Any], nodes: tuple[str, ...]) -> tuple[int, dict[str, Any], str]:
    """Schedule a pod on nodes; return the exit code, what became of it, and what was noted."""
    cluster = manifests(folder, *(node(name) for name in nodes), pod("web"))
    ended = run(folder, "schedule", cluster, "--config", written(folder, *extenders), "-o", "json")
    return ended.returncode, json.loads(ended.stdout), ended.stderr


def test_schedule_takes_no_node_that_an_extender_rejects(server: Server, tmp_path: Path) -> None:
    extender = {"urlPrefix": server.url("capital"), **VERBS}
    code, found, _ = schedule(tmp_path, extender, nodes=("bad-1", "good-2", "odd-3"))
    assert code == 0
    assert found["placements"] == [{"pod": "default/web", "node": "good-2", "feasibleNodes": 1, "score": None}]


def test_schedule_adds_what_an_extender_scores(server: Server, tmp_path: Path) -> None:
    extender = {"urlPrefix": server.url("capital"), **VERBS}
    cluster = manifests(tmp_path, node("good-9", cpu="4"), node("good-1", cpu="64"), pod("web"))
    alone = run(tmp_path, "schedule", cluster, "-o", "json")
    together = run(tmp_path, "schedule", cluster, "--config", written(tmp_path, extender), "-o", "json")
    assert [placed["node"] for placed in json.loads(alone.stdout)["placements"]] == ["good-1"]
    (placed,) = json.loads(together.stdout)["placements"]
    (before,) = json.loads(alone.stdout)["placements"]
    # 9 points against 1, each worth 10 times the weight of 2.
    assert placed["node"] == "good-9"
    assert placed["score"] - before["score"] > 9 * 20 - 100


def test_schedule_refuses_a_pod_for_which_an_extender_lets_no_node_through(server: Server, tmp_path: Path) -> None:
    extender = {"urlPrefix": server.url("capital"), **VERBS}
    code, found, _ = schedule(tmp_path, extender, nodes=("bad-1", "bad-2", "odd-3"))
    assert code == 1
    message = (
        "0/3 nodes are available: 1 it is hopeless, 2 it is bad. preemption: 0/3 nodes are available: "
        "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    )
    assert found["refused"] == [{"pod": "default/web", "message": message}]


def test_schedule_places_nothing_past_an_extender_that_cannot_be_reached(tmp_path: Path) -> None:
    with nobody_listens() as address:
        code, found, _ = schedule(tmp_path, {"urlPrefix": f"http://{address}", **VERBS}, nodes=("good-1",))
    assert code == 1
    assert found["failed"] == [{"pod": "default/web", "message": refused_at(address)}]
    assert found["refused"] == []


def test_schedule_goes_on_without_an_extender_that_may_fail_and_says_so(tmp_path: Path) -> None:
    with nobody_listens() as address:
        extender = {"urlPrefix": f"http://{address}", "filterVerb": "filter", "ignorable": True}
        code, found, noted = schedule(tmp_path, extender, nodes=("good-1",))
    assert code == 0
    assert [placed["node"] for placed in found["placements"]] == ["good-1"]
    assert f"extender http://{address} ignored in filter: {refused_at(address)}" in noted.replace("\n", " ")


# stowplan explain


def explain(folder: Path, *extenders: dict[str, Any], nodes: tuple[str, ...]) -> dict[str, Any]:
    cluster = manifests(folder, *(node(name) for name in nodes), pod("web"))
    arguments = ("explain", "web", cluster, "--config", written(folder, *extenders), "--all-nodes", "-o", "json")
    found: dict[str, Any] = json.loads(run(folder, *arguments).stdout)
    return found


def test_explain_says_which_nodes_an_extender_rejects_and_why(server: Server, tmp_path: Path) -> None:
    url = server.url("capital")
    found = explain(tmp_path, {"urlPrefix": url, **VERBS}, nodes=("bad-1", "good-2", "odd-3"))
    assert found["best"] == ["good-2"]
    assert found["nodes"]["bad-1"]["rejections"] == [
        {"plugin": f"extender {url}", "code": "Unschedulable", "reasons": ["it is bad"]}
    ]
    assert found["nodes"]["odd-3"]["rejections"] == [
        {"plugin": f"extender {url}", "code": "UnschedulableAndUnresolvable", "reasons": ["it is hopeless"]}
    ]
    assert [said["says"] for said in found["extenders"]] == ["rejects 2 nodes: 1 it is bad, 1 it is hopeless"]


def test_explain_says_what_each_extender_adds_to_a_score(server: Server, tmp_path: Path) -> None:
    one, two = (
        {"urlPrefix": server.url(name), "prioritizeVerb": "prioritize", "weight": weight}
        for name, weight in (("capital", 2), ("small", 3))
    )
    found = explain(tmp_path, one, two, nodes=("good-4", "good-7"))
    assert found["best"] == ["good-7"]
    assert [said["added"] for said in found["extenders"]] == [
        {"good-7": 140, "good-4": 80},
        {"good-7": 210, "good-4": 120},
    ]
    scores = found["nodes"]["good-7"]["plugins"]
    assert scores[f"extender {one['urlPrefix']}"] == {"raw": 7, "normalized": 70, "weighted": 140}
    assert found["nodes"]["good-7"]["total"] - found["nodes"]["good-4"]["total"] == 150


def test_explain_says_how_an_extender_failed(tmp_path: Path) -> None:
    with nobody_listens() as address:
        found = explain(tmp_path, {"urlPrefix": f"http://{address}", **VERBS}, nodes=("good-1",))
    assert found["message"] == refused_at(address)
    assert found["extenders"][0]["errors"] == {"filter": refused_at(address)}
    assert found["feasibleNodes"] == 0


def test_explain_says_that_an_extender_is_not_asked_about_a_pod(server: Server, tmp_path: Path) -> None:
    managed = {"managedResources": [{"name": "example.com/gpu"}]}
    found = explain(tmp_path, {"urlPrefix": server.url("capital"), **VERBS, **managed}, nodes=("bad-1",))
    assert found["best"] == ["bad-1"]
    assert found["extenders"][0]["says"] == "is not asked: the pod wants none of its managedResources"


def test_an_explanation_as_text_has_a_line_for_each_extender(server: Server, tmp_path: Path) -> None:
    url = server.url("capital")
    cluster = manifests(tmp_path, node("bad-1"), pod("web"))
    said = run(tmp_path, "explain", "web", cluster, "--config", written(tmp_path, {"urlPrefix": url, **VERBS})).stdout
    assert "What extenders say" in said
    assert f"{url}  rejects 1 node: 1 it is bad" in said


# The configuration


@pytest.mark.parametrize(
    "command", [pytest.param(("config", "check"), id="check"), pytest.param(("config", "show"), id="show")]
)
def test_a_certificate_that_is_none_is_found_before_anything_runs(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    tls = {"caFile": str(tmp_path / "ca.pem")}
    config = written(tmp_path, {"urlPrefix": "https://ext", "enableHTTPS": True, "tlsConfig": tls})
    ended = run(tmp_path, *command, config)
    assert ended.returncode != 0
    said = " ".join(ended.stderr.split())
    assert 'couldn\'t build extenders: extender "https://ext": tlsConfig.caData or caFile:' in said


def test_a_resource_that_is_left_to_an_extender_does_not_count_for_plugins(server: Server, tmp_path: Path) -> None:
    wanting = pod("web")
    wanting["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
    cluster = manifests(tmp_path, node("good-1"), wanting)
    messages = []
    for is_ignored in (False, True):
        managed = {"managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": is_ignored}]}
        config = written(tmp_path, {"urlPrefix": server.url("capital"), **VERBS, **managed})
        found = json.loads(run(tmp_path, "schedule", cluster, "--config", config, "-o", "json").stdout)
        messages.append([*(one["message"] for one in found["refused"]), *(one["node"] for one in found["placements"])])
    message = (
        "0/1 nodes are available: 1 Insufficient example.com/gpu. "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    assert messages == [[message], ["good-1"]]


# The library


BAD = (
    "0/1 nodes are available: 1 it is bad. "
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)


def cluster_with(*extenders: dict[str, Any], nodes: tuple[str, ...]) -> Cluster:
    cluster = Cluster(read_configuration(configuration(*extenders)))
    cluster.add_all(make_node(name).capacity(cpu="4", memory="8Gi", pods=9).build() for name in nodes)
    return cluster


def test_a_cluster_in_a_script_asks_its_extenders(server: Server) -> None:
    cluster = cluster_with({"urlPrefix": server.url("capital"), **VERBS}, nodes=("bad-1", "good-2", "good-3"))
    result = cluster.schedule(POD)
    assert isinstance(result, Chosen)
    assert (result.node_name, result.feasible_count) == ("good-3", 2)
    assert cluster.explain(make_pod("other").build()).best == ("good-3",)


def test_a_cluster_can_be_used_inside_an_event_loop_that_runs(server: Server) -> None:
    async def in_a_notebook() -> Any:
        cluster = cluster_with({"urlPrefix": server.url("capital"), **VERBS}, nodes=("bad-1",))
        return cluster.schedule(POD)

    result = asyncio.run(in_a_notebook())
    assert isinstance(result, Refused)
    assert result.message == BAD


def test_a_cluster_refuses_what_its_extenders_refuse(server: Server) -> None:
    result = cluster_with({"urlPrefix": server.url("capital"), **VERBS}, nodes=("bad-1",)).schedule(POD)
    assert isinstance(result, Refused)
    assert result.message == BAD


PREEMPTS = {"filterVerb": "filter", "preemptVerb": "preempt"}


def test_a_cluster_evicts_only_whom_its_extenders_agree_to(server: Server) -> None:
    cluster = cluster_with({"urlPrefix": server.url("capital"), **PREEMPTS}, nodes=("bad-1", "good-2"))
    # The least harm would be done on the bad one.
    for name, node_name, priority in (("meek", "bad-1", 0), ("proud", "good-2", 5)):
        cluster.add(make_pod(name).requests(cpu="3").priority(priority).on(node_name).build())
    urgent = make_pod("urgent").requests(cpu="3").priority(10).build()
    foreseen = cluster.choose(urgent)
    assert isinstance(foreseen, Refused)
    assert foreseen.preemption is not None
    explained = cluster.explain(urgent).preemption
    assert explained == foreseen.preemption
    result = cluster.schedule(urgent)
    assert isinstance(result, Chosen)
    assert (result.node_name, [victim.name for victim in result.victims]) == ("good-2", ["proud"])
    assert (foreseen.preemption.node_name, foreseen.preemption.victims) == ("good-2", result.victims)


def test_an_extender_that_cannot_be_asked_keeps_everybody_where_they_are(server: Server) -> None:
    down = {"urlPrefix": server.url("failing"), "preemptVerb": "preempt"}
    cluster = cluster_with(down, nodes=("good-1",))
    cluster.add(make_pod("meek").requests(cpu="3").on("good-1").build())
    result = cluster.schedule(make_pod("urgent").requests(cpu="3").priority(10).build())
    assert isinstance(result, Refused)
    assert result.message.startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: ")
    assert [pod.name for pod in cluster.pods_on("good-1")] == ["meek"]


def test_a_cluster_places_nothing_past_an_extender_that_is_down() -> None:
    with nobody_listens() as address:
        cluster = cluster_with({"urlPrefix": f"http://{address}", **VERBS}, nodes=("good-1",))
        result = cluster.schedule(POD)
    assert isinstance(result, Failed)
    assert result.message == refused_at(address)
    assert cluster.placed(POD) is None


def test_a_cluster_warns_of_an_extender_it_does_without() -> None:
    with nobody_listens() as address:
        extender = {"urlPrefix": f"http://{address}", "filterVerb": "filter", "ignorable": True}
        cluster = cluster_with(extender, nodes=("good-1",))
        with pytest.warns(UserWarning, match="extender ignored in filter: Post"):
            assert isinstance(cluster.schedule(POD), Chosen)


def test_a_cluster_keeps_its_connection_for_the_next_pod() -> None:
    with serving() as server:
        cluster = cluster_with({"urlPrefix": server.url("capital"), "filterVerb": "filter"}, nodes=("good-1",))
        cluster.schedule(POD)
        cluster.schedule(make_pod("other").build())
        first, second = server.asked("capital")
    assert first["client"] == second["client"]


def test_two_extenders_at_one_address_are_told_apart(server: Server, tmp_path: Path) -> None:
    url = server.url("capital")
    filters, scores = {"urlPrefix": url, "filterVerb": "filter"}, {**VERBS, "urlPrefix": url, "filterVerb": ""}
    found = explain(tmp_path, filters, scores, nodes=("bad-1", "good-2", "good-3"))
    assert [said["says"] for said in found["extenders"]] == ["rejects 1 node: 1 it is bad", "scores 2 nodes"]
    assert found["nodes"]["good-3"]["total"] - found["nodes"]["good-2"]["total"] == 20
