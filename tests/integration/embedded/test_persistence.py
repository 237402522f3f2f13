"""What was acknowledged is there after a kill -9, and versions go on where they were."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

import pytest

from stowplan.embedded.storage.persistence import Database, DatabaseInUseError
from tests.integration.embedded.running import make_api, make_namespace, running
from tests.integration.embedded.talking import CONFIG_MAPS, Caller, config_map
from tests.integration.embedded.toys import TOYS


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Caller]]:
    """A server process on a folder, and a connection to it; whatever is left of it is killed in the end."""
    command = [sys.executable, "-m", "tests.integration.embedded.server_process", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        caller = Caller(int(process.stdout.readline()))
        yield process, caller
        caller.close()
    finally:
        process.kill()
        process.communicate()


def write_until_killed(caller: Caller, acknowledged: list[tuple[str, str]]) -> None:
    """Create as fast as it goes; note each name and version once it is acknowledged."""
    for number in range(1_000_000):
        try:
            reply = caller.post(CONFIG_MAPS, config_map(f"c{number}", "x" * 500))
        except (HTTPException, OSError):
            return
        assert reply.code == 201, reply.text
        acknowledged.append((f"c{number}", reply.content["metadata"]["resourceVersion"]))


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: list[tuple[str, str]] = []
    with served(tmp_path) as (process, caller):
        caller.post(CONFIG_MAPS, config_map("gone"))
        caller.delete(f"{CONFIG_MAPS}/gone")
        writer = threading.Thread(target=write_until_killed, args=(caller, acknowledged))
        writer.start()
        while len(acknowledged) < 300 and writer.is_alive():
            writer.join(timeout=0.01)
        process.kill()
        writer.join()
    with served(tmp_path) as (_, caller):
        content = caller.get(CONFIG_MAPS).content
        found = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in content["items"]}
        assert len(acknowledged) >= 300
        # One more may have been written whose answer never arrived.
        assert [(name, found.get(name)) for name, _ in acknowledged] == acknowledged
        assert len(found) - len(acknowledged) in (0, 1)
        newest = max(int(version) for version in found.values())
        assert int(content["metadata"]["resourceVersion"]) >= newest
        again = caller.post(CONFIG_MAPS, config_map("after")).content
        assert int(again["metadata"]["resourceVersion"]) == int(content["metadata"]["resourceVersion"]) + 1


def test_the_version_of_a_removal_is_not_given_again(tmp_path: Path) -> None:
    database = Database(tmp_path)
    api = make_api(database)
    make_namespace(api, "default")
    config_maps = api.catalogue.find("", "v1", "configmaps")
    assert config_maps is not None
    api.create(config_maps, "default", config_map("a"))
    api.delete(config_maps, "default", "a")
    last = api.store.version
    database.close()
    again = Database(tmp_path)
    assert make_api(again).store.version == last
    again.close()


def test_a_watch_from_before_a_restart_is_told_to_begin_anew(tmp_path: Path) -> None:
    database = Database(tmp_path)
    api = make_api(database)
    make_namespace(api, "default")
    database.close()
    again = Database(tmp_path)
    with running(make_api(again)) as cluster:
        caller = Caller(cluster.port)
        (event,) = caller.watch(CONFIG_MAPS, resourceVersion=1, timeoutSeconds=5)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        caller.close()
    again.close()


def test_definitions_are_served_again_after_a_restart(tmp_path: Path) -> None:
    toys = "/apis/example.com/v1/namespaces/default/toys"
    with served(tmp_path) as (_, caller):
        assert caller.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", TOYS).code == 201
        toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "ball"}, "spec": {"colour": "red"}}
        assert caller.post(toys, toy).code == 201
    with served(tmp_path) as (_, caller):
        assert caller.get(f"{toys}/ball").content["spec"] == {"colour": "red"}
        assert caller.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toys.example.com").code == 200
        assert caller.get(f"{toys}/ball").code == 404


def test_a_folder_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    first = Database(tmp_path)
    with pytest.raises(DatabaseInUseError, match="is another cluster running on this folder"):
        Database(tmp_path)
    first.close()


def test_a_condition_without_a_type_that_was_kept_once_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(tmp_path)
    api = make_api(database)
    nodes = api.catalogue.find("", "v1", "nodes")
    assert nodes is not None
    good = {"type": "Ready", "status": "True"}
    status = {"conditions": [{"status": "True"}, good]}
    api.store.write(nodes, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status})
    database.close()
    again = Database(tmp_path)
    assert make_api(again).get(nodes, "", "n")["status"] == {"conditions": [good]}
    assert caplog.messages == ["nodes /n: what was kept without its key is left out: status.conditions[0].type"]
    again.close()
