"""Questions about a cluster that is up, over the wire: found by the kubeconfig, and by an address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.up.up_process import Up, run, running

PAGE = "/debug/stowplan/whatif"
PODS = "/api/v1/namespaces/default/pods"
TOKEN = "secret"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


QUESTION = {"question": {"headroom": {"mix": [{"pod": pod("large", "10")}]}}}


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """Have two nodes of 16 cores, one of them with a pod of 10 that is in no file."""
    (tmp_path / "large.json").write_text(json.dumps(pod("large", "10")))
    (tmp_path / "token").write_text(TOKEN)
    with running(tmp_path, "--nodes", "2", "--token", TOKEN) as up:
        assert up.send("POST", PODS, pod("there", "10"), **BEARER)[0] == 201
        up.until(lambda: rounds(up) == 1)
        yield up


def rounds(up: Up) -> int:
    code, found = up.send("POST", f"{up.scheduler}{PAGE}", QUESTION, **BEARER)
    assert code == 200, found
    return int(found["headroom"]["rounds"])


def placed(up: Up) -> list[tuple[str, str]]:
    listed = up.send("GET", PODS, None, **BEARER)[1]["items"]
    return [(one["metadata"]["name"], one["spec"].get("nodeName", "")) for one in listed]


def test_it_is_asked_by_the_kubeconfig_and_by_its_address_with_a_token_until_it_has_ended(up: Up) -> None:
    before = placed(up)
    found = run(up.folder, "whatif", "headroom", "-f", "large.json", "-o", "json")
    assert (found.returncode, json.loads(found.stdout)["headroom"]["pods"]) == (0, {"default/large": 1}), found.stderr
    where = ("--server", up.scheduler, "--token-file", "token")
    found = run(up.folder, "whatif", "fits", "-f", "large.json", "--replicas", "2", *where)
    assert (found.returncode, "1 of 2 pods fit" in found.stdout) == (1, True), found.stderr
    assert (placed(up), rounds(up)) == (before, 1)
    assert up.send("POST", f"{up.scheduler}{PAGE}", QUESTION)[0] == 403
    assert up.send("POST", f"{up.scheduler}{PAGE}", QUESTION, Authorization="Bearer wrong")[0] == 401

    # Nobody else could have said so: with the wire cut there is no answer.
    (up.folder / "old").write_text((up.folder / ".stowplan" / "kubeconfig").read_text())
    up.end()
    found = run(up.folder, "whatif", "headroom", "-f", "large.json", "--kubeconfig", "old")
    assert (found.returncode, found.stdout) == (2, "")
    assert f"POST {PAGE}: cannot connect" in found.stderr
