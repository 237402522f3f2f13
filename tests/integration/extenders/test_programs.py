"""Extenders in the programs that keep running: up, up --once, run, and how they are asked about pods."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.extender_process import Server, serving
from tests.integration.extenders.world import VERBS, manifests, nobody_listens, node, pod, refused_at, written
from tests.integration.up.up_process import PROGRAM, Up, environment, run, running
from tests.limits import LIMIT_SECONDS

PODS = "/api/v1/namespaces/default/pods"


def condition_of(up: Up, name: str) -> dict[str, Any]:
    """Return the condition PodScheduled of a pod; empty if nobody has written it."""
    conditions = up.get(f"{PODS}/{name}")["status"].get("conditions", ())
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def waiting(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(folder, "queue", "-o", "json").stdout)["pods"]
    return found


# stowplan up --once


def test_up_once_places_and_refuses_as_an_extender_says(server: Server, tmp_path: Path) -> None:
    config = written(tmp_path, {"urlPrefix": server.url("capital"), **VERBS})
    cluster = manifests(tmp_path, node("bad-1"), node("good-2", cpu="2"), pod("a", cpu="2"), pod("b", cpu="2"))
    ended = run(tmp_path, "up", "--once", cluster, "--config", config, "--seed", "1", "-o", "json")
    assert ended.returncode == 1, ended.stderr
    found = json.loads(ended.stdout)
    assert [one["node"] for one in found["placements"]] == ["good-2"]
    (refused,) = found["refused"]
    assert refused["message"].startswith("0/2 nodes are available: 1 Insufficient cpu, 1 it is bad.")


def test_up_once_binds_nothing_past_an_extender_that_cannot_be_reached(tmp_path: Path) -> None:
    cluster = manifests(tmp_path, node("good-1"), pod("web"))
    with nobody_listens() as address:
        config = written(tmp_path, {"urlPrefix": f"http://{address}", **VERBS})
        ended = run(tmp_path, "up", "--once", cluster, "--config", config, "--timeout", "3", "-o", "json")
    assert ended.returncode == 1, ended.stderr
    found = json.loads(ended.stdout)
    assert found["placements"] == []
    assert [one["message"] for one in found["failed"]] == [refused_at(address)]


# stowplan up


def test_up_asks_an_extender_that_binds_instead_of_binding(server: Server, tmp_path: Path) -> None:
    binder = {"urlPrefix": server.url("small"), "bindVerb": "bind"}
    cluster = manifests(tmp_path, node("bad-1"))
    with running(tmp_path, cluster, "--config", written(tmp_path, binder)) as up:
        up.send("POST", PODS, pod("web"))
        up.until(lambda: bool(condition_of(up, "web")))
        condition = condition_of(up, "web")
        assert (condition["reason"], condition["message"]) == ("SchedulerError", "web does not go to bad-1")
        assert up.node_of("web") == ""


def test_a_running_scheduler_explains_what_its_extender_said(server: Server, tmp_path: Path) -> None:
    url = server.url("capital")
    cluster = manifests(tmp_path, node("bad-1"), node("bad-2"))
    with running(tmp_path, cluster, "--config", written(tmp_path, {"urlPrefix": url, **VERBS})) as up:
        up.send("POST", PODS, pod("web"))
        up.until(lambda: bool(condition_of(up, "web")))
        found = json.loads(run(tmp_path, "explain", "web", "--all-nodes", "-o", "json").stdout)
    assert found["message"] == "0/2 nodes are available: 2 it is bad."
    assert [said["says"] for said in found["extenders"]] == ["rejects 2 nodes: 2 it is bad"]
    assert found["nodes"]["bad-1"]["rejections"][0]["plugin"] == f"extender {url}"
    (tried,) = found["story"]["attempts"][:1]
    assert tried["extenders"] == [{"extender": url, "verb": "filter", "said": "rejects 2 nodes: 2 it is bad"}]


def test_the_queue_of_a_running_scheduler_says_what_an_extender_said(server: Server, tmp_path: Path) -> None:
    url = server.url("capital")
    with running(
        tmp_path, manifests(tmp_path, node("bad-1")), "--config", written(tmp_path, {"urlPrefix": url, **VERBS})
    ) as up:
        up.send("POST", PODS, pod("web"))
        up.until(lambda: bool(condition_of(up, "web")) and bool(waiting(tmp_path)[0]["message"]))
        (found,) = waiting(tmp_path)
        assert found["rejectedBy"] == ["Extender"]
        assert found["extenders"] == [{"extender": url, "verb": "filter", "said": "rejects 1 node: 1 it is bad"}]
        assert f"extender {url}: filter: rejects 1 node: 1 it is bad" in run(tmp_path, "queue", "--messages").stdout


def test_the_queue_says_how_an_extender_failed(tmp_path: Path) -> None:
    with nobody_listens() as address:
        config = written(tmp_path, {"urlPrefix": f"http://{address}", **VERBS})
        with running(tmp_path, manifests(tmp_path, node("good-1")), "--config", config) as up:
            up.send("POST", PODS, pod("web"))
            up.until(lambda: bool(condition_of(up, "web")))
            assert condition_of(up, "web")["message"] == refused_at(address)
            up.until(lambda: bool(waiting(tmp_path)[0]["message"]))
            (found,) = waiting(tmp_path)
    heard = {"extender": f"http://{address}", "verb": "filter", "said": refused_at(address)}
    assert found["extenders"] == [heard]
    assert found["message"] == refused_at(address)


def test_what_an_extender_rejected_is_tried_again_after_any_change(tmp_path: Path) -> None:
    with serving() as server:
        config = written(tmp_path, {"urlPrefix": server.url("capital"), **VERBS})
        with running(tmp_path, manifests(tmp_path, node("bad-1")), "--config", config) as up:
            up.send("POST", PODS, pod("web"))
            up.until(lambda: bool(condition_of(up, "web")))
            up.send("POST", "/api/v1/nodes", node("good-2"))
            up.until(lambda: up.node_of("web") == "good-2")


# stowplan run


@contextmanager
def beside(folder: Path, config: str, *objects: dict[str, Any]) -> Iterator[Up]:
    """Have a cluster without a scheduler, and `stowplan run` beside it."""
    with running(folder, manifests(folder, *objects), "--without", "scheduler") as up:
        flags = ["--master", up.url, "--config", config, "--leader-elect=false", "--secure-port", str(free_port())]
        process = subprocess.Popen([*PROGRAM, "run", *flags], cwd=folder, env=environment(), stderr=subprocess.PIPE)
        try:
            yield up
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT_SECONDS)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_run_binds_where_an_extender_lets_pods_go(server: Server, tmp_path: Path) -> None:
    config = written(tmp_path, {"urlPrefix": server.url("capital"), **VERBS})
    with beside(tmp_path, config, node("bad-9", cpu="64"), node("good-1", cpu="16"), node("good-9"), pod("web")) as up:
        up.until(lambda: up.node_of("web") == "good-9")


def test_run_binds_nothing_past_an_extender_that_cannot_be_reached(tmp_path: Path) -> None:
    with nobody_listens() as address:
        config = written(tmp_path, {"urlPrefix": f"http://{address}", **VERBS})
        with beside(tmp_path, config, node("good-1"), pod("web")) as up:
            up.until(lambda: bool(condition_of(up, "web")))
            condition = condition_of(up, "web")
            assert (condition["reason"], condition["message"]) == ("SchedulerError", refused_at(address))
            assert up.node_of("web") == ""


def test_run_does_not_begin_with_a_certificate_that_is_none(tmp_path: Path) -> None:
    tls = {"caData": "bm8gY2VydGlmaWNhdGU="}
    config = written(tmp_path, {"urlPrefix": "https://ext", "enableHTTPS": True, "tlsConfig": tls})
    ended = run(tmp_path, "run", "--master", "http://127.0.0.1:1", "--config", config, "--leader-elect=false")
    assert ended.returncode == 1
    assert "couldn't build extenders" in ended.stderr
    assert "Traceback" not in ended.stderr
