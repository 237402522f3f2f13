"""`stowplan run --page` serves the page; what it shows is for those who may see it."""

import subprocess
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from stowplan.web.answers import ClusterAnswer
from stowplan.web.pod_answers import PodAnswer
from tests.integration.up.up_process import PROGRAM, Up, environment, running
from tests.integration.web.test_page_of_up import API, fetch
from tests.unit.app.test_live import free_port


@contextmanager
def scheduling(up: Up, folder: Path, *flags: str) -> Iterator[str]:
    """Have `run` schedule on a cluster of `up`; return where its pages are."""
    port = free_port()
    command = [*PROGRAM, "run", "--kubeconfig=.stowplan/kubeconfig", "--leader-elect=false"]
    command += ["--bind-address=127.0.0.1", f"--secure-port={port}", *flags]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.DEVNULL)
    try:
        up.until(lambda: is_ready(f"https://127.0.0.1:{port}"))
        yield f"https://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def is_ready(server: str) -> bool:
    try:
        return fetch(f"{server}/readyz")[0] == 200
    except urllib.error.URLError:
        return False


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("run")
    with running(folder, "--nodes", "2", "--without", "scheduler", "--authorization", "rbac") as cluster:
        yield cluster


def test_with_the_flag_the_files_are_for_everybody_and_the_api_for_those_who_may(up: Up) -> None:
    with scheduling(up, up.folder, "--page") as server:
        assert fetch(f"{server}/page/")[0] == 200
        assert fetch(f"{server}/")[2].startswith(b"<!doctype html>")
        assert fetch(f"{server}{API}/cluster")[0] == 403


def test_who_may_ask_is_answered_but_not_for_a_page_of_somebody_else(up: Up) -> None:
    with scheduling(up, up.folder, "--page", f"--authorization-always-allow-paths=/readyz,{API}/*") as server:
        cluster = f"{server}{API}/cluster"
        assert msgspec.json.decode(fetch(cluster)[2], type=ClusterAnswer).counts.nodes == 2
        assert fetch(cluster, Origin=server)[0] == 200
        assert fetch(cluster, Origin="https://evil.example")[0] == 403
        assert fetch(cluster, Origin=server.replace("https", "http"))[0] == 403
        assert fetch(cluster, Sec_Fetch_Site="same-site")[0] == 403


def test_a_token_shows_the_api_only_to_whom_a_role_lets_read_it(up: Up) -> None:
    accounts, roles = "/api/v1/namespaces/default/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    role = {"metadata": {"name": "page"}, "rules": [{"nonResourceURLs": ["/stowplan/v1/*"], "verbs": ["get"]}]}
    assert up.send("POST", roles, role)[0] == 201
    binding = {
        "metadata": {"name": "page"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "page"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "reader"}],
    }
    assert up.send("POST", roles.replace("roles", "rolebindings"), binding)[0] == 201
    reviewers = [f"--{asks}-kubeconfig=.stowplan/kubeconfig" for asks in ("authentication", "authorization")]
    answers = {}
    with scheduling(up, up.folder, "--page", *reviewers) as server:
        for name in ("reader", "somebody"):
            assert up.send("POST", accounts, {"metadata": {"name": name}})[0] == 201
            code, token = up.send("POST", f"{accounts}/{name}/token", {})
            assert code == 201
            by_token = f"Bearer {token['status']['token']}"
            answers[name] = fetch(f"{server}{API}/cluster", Authorization=by_token)
    assert answers["reader"][0] == 200
    # Who has any token may get what is below /api, by the role system:discovery.
    assert answers["somebody"][0] == 403
    assert b'serviceaccount:default:somebody\\" cannot get path \\"/stowplan/v1/cluster' in answers["somebody"][2]


def test_a_manifest_is_asked_for_where_the_cluster_is(up: Up) -> None:
    with scheduling(up, up.folder, "--page", f"--authorization-always-allow-paths=/readyz,{API}/*") as server:
        pod = {"metadata": {"name": "shown"}, "spec": {"containers": [{"name": "main", "image": "web", "tty": True}]}}
        assert up.send("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
        up.until(lambda: fetch(f"{server}{API}/pods/default/shown")[0] == 200)
        found = msgspec.json.decode(fetch(f"{server}{API}/pods/default/shown")[2], type=PodAnswer)
        assert found.manifest_is_whole
        assert found.manifest["spec"]["containers"][0]["tty"] is True


def test_without_the_flag_there_is_no_page(up: Up) -> None:
    with scheduling(up, up.folder, "--authorization-always-allow-paths=*") as server:
        assert fetch(f"{server}/page/")[0] == 404
        assert fetch(f"{server}{API}/cluster")[0] == 404
