"""`stowplan up` while it stays up: the API, what it prints, how it is asked, how it ends."""

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from stowplan.embedded.storage.persistence import Database
from stowplan.serving.certificates import self_signed
from tests.integration.up.up_process import run, running, started, typed
from tests.limits import LIMIT_SECONDS

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str, cpu: str = "1") -> dict[str, object]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pods_are_placed_until_it_is_told_to_stop(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path, "--nodes", "3") as up:
        assert up.send("POST", PODS, pod("a"))[0] == 201
        up.until(lambda: up.node_of("a").startswith("node-000"))
        up.until(lambda: up.get(f"{PODS}/a")["status"]["phase"] == "Running")
        code, said = up.end(number)
        assert (code, said.splitlines()[-1]) == (0, "The cluster has ended.")


def test_pods_that_were_there_at_the_start_are_counted_as_placed(tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod("a"), pod("b")]}))
    with running(tmp_path, "--nodes", "2", "pods.json") as up:
        up.until(lambda: bool(up.node_of("a") and up.node_of("b")))
        up.until(lambda: up.get(f"{PODS}/b")["status"]["phase"] == "Running")
        _, said = up.end()
    assert "2 placed" in said.splitlines()[-2]


def test_it_writes_a_kubeconfig_that_only_its_owner_reads(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1") as up:
        path = tmp_path / ".stowplan" / "kubeconfig"
        assert f"server: {up.url}\n" in path.read_text()
        assert os.stat(path).st_mode & 0o077 == 0


def test_it_is_asked_by_the_subcommands_in_the_same_folder(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "2") as up:
        up.send("POST", PODS, pod("huge", cpu="64"))
        up.until(lambda: "huge" in run(tmp_path, "queue", "--place", "unschedulable").stdout)
        explained = run(tmp_path, "explain", "pod", "default/huge")
        assert explained.returncode == 0, explained.stderr
        assert explained.stdout.startswith("Pod default/huge fits no node.")
        assert "2 nodes would fit with 48 less cpu" in explained.stdout
        nodes = json.loads(run(tmp_path, "nodes", "-o", "json").stdout)
        assert [one["name"] for one in nodes["nodes"]] == ["node-0001", "node-0002"]


def test_metrics_are_where_it_says(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1") as up:
        up.send("POST", PODS, pod("a"))
        up.until(lambda: bool(up.node_of("a")))
        up.until(lambda: 'result="scheduled"} 1' in up.get(f"{up.scheduler}/metrics"))


def test_what_is_kept_on_disk_is_there_again_after_a_kill(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "2", "--data", "data") as up:
        up.send("POST", PODS, pod("a"))
        up.until(lambda: bool(up.node_of("a")))
        where = up.node_of("a")
        uid = up.get(f"{PODS}/a")["metadata"]["uid"]
        up.process.kill()
        up.process.wait()
    with running(tmp_path, "--data", "data") as up:
        found = up.get(f"{PODS}/a")
        assert (found["spec"]["nodeName"], found["metadata"]["uid"]) == (where, uid)
        assert len(up.get("/api/v1/nodes")["items"]) == 2
        up.send("POST", PODS, pod("b"))
        up.until(lambda: bool(up.node_of("b")))
        assert up.end()[0] == 0


def test_one_folder_serves_one_cluster_at_a_time(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1", "--data", "data"):
        second = run(tmp_path, "up", "--once", "--data", "data")
        assert second.returncode == 2
        assert "is another cluster running on this folder?" in second.stderr


def test_a_port_that_is_taken_is_refused_by_name(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1") as up:
        port = up.url.rpartition(":")[2]
        second = run(tmp_path, "up", "--once", "--nodes", "1", "--port", port)
        assert second.returncode == 2
        assert f"--port {port}: " in second.stderr
        assert second.stderr.endswith("choose another port, or 0 for a free one\n")


def test_with_token_and_tls_only_those_who_show_the_token_come_in(tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.write_bytes(b"".join(self_signed()))
    given = ("--nodes", "1", "--token", "secret", "--cert", str(pair), "--bind-address", "0.0.0.0")
    with running(tmp_path, *given) as up:
        assert up.url.startswith("https://127.0.0.1:")
        assert run(tmp_path, "nodes").returncode == 0
        (tmp_path / "wrong").write_text("wrong")
        asked = ("nodes", "--server", up.scheduler, "--insecure-skip-tls-verify", "--token-file", "wrong")
        refused = run(tmp_path, *asked)
        assert (refused.returncode, "401 Unauthorized" in refused.stderr) == (2, True)


@pytest.mark.parametrize("left_out", [(), ("--without", "controllers")], ids=["with controllers", "without"])
def test_the_api_has_a_service_of_its_own_that_leads_to_its_port(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    service = "/api/v1/namespaces/default/services/kubernetes"
    with running(tmp_path, "--nodes", "0", *left_out) as up:
        up.until(lambda: up.send("GET", service, None)[0] == 200)
        spec = up.get(service)["spec"]
        assert spec["clusterIP"] == "10.96.0.1"
        port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": int(up.url.rpartition(":")[2])}
        assert spec["ports"] == [port]


def test_every_namespace_has_the_certificate_of_the_server_and_never_its_key(tmp_path: Path) -> None:
    pair, (certificate, key) = tmp_path / "pair.pem", self_signed()
    pair.write_bytes(key + certificate)
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("a")))
    data = str(tmp_path / "data")
    assert (
        run(tmp_path, "up", "--once", "--nodes", "1", "--cert", str(pair), "--data", data, str(manifest)).returncode
        == 0
    )
    with running(tmp_path, "--data", data, "--without", "controllers") as up:
        published = {item["metadata"]["namespace"]: item["data"] for item in up.get("/api/v1/configmaps")["items"]}
    assert published.keys() == {"default", "kube-node-lease", "kube-public", "kube-system"}
    assert published["default"] == {"ca.crt": certificate.decode()}


def test_what_is_left_out_is_for_others_to_play(tmp_path: Path) -> None:
    left_out = ("--without", "scheduler", "--without", "kubelets", "--without", "controllers")
    with running(tmp_path, "--nodes", "1", *left_out) as up:
        assert up.scheduler == ""
        node = up.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
        up.send("POST", PODS, pod("a"))
        up.send("POST", PODS, pod("b"))
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": target}
        assert up.send("POST", f"{PODS}/a/binding", binding)[0] == 201
        up.send("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        assert up.get("/api/v1/namespaces/shop/serviceaccounts")["items"] == []
        assert up.get("/api/v1/configmaps")["items"] == []
        found = {item["metadata"]["name"]: item for item in up.get(PODS)["items"]}
        assert {name: item["spec"].get("nodeName") for name, item in found.items()} == {"a": node, "b": None}
        assert {name: item["status"]["phase"] for name, item in found.items()} == {"a": "Pending", "b": "Pending"}
        assert up.end()[0] == 0


def test_a_cluster_that_was_kept_without_nodes_gets_none(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "0", "--data", "data") as up:
        up.end()
    with running(tmp_path, "--data", "data") as up:
        assert up.get("/api/v1/nodes")["items"] == []


def test_requests_are_written_down_where_asked_for(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1", "--audit-log", "audit.log") as up:
        up.send("POST", PODS, pod("a"), **{"User-Agent": "me"})
        up.until(lambda: bool(up.node_of("a")))
    events = [json.loads(line) for line in (tmp_path / "audit.log").read_text(encoding="utf-8").splitlines()]
    ours = [(event["verb"], event["responseStatus"]["code"]) for event in events if event["userAgent"] == "me"]
    assert ours == [("create", 201)]
    assert "binding" in {event.get("objectRef", {}).get("subresource") for event in events}


def test_a_cluster_begins_as_a_copy_of_a_live_one(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with running(first, "--nodes", "2") as original:
        original.send("POST", PODS, pod("a"))
        original.until(lambda: original.get(f"{PODS}/a")["status"].get("phase") == "Running")
        was = original.get(f"{PODS}/a")
        with running(second, "--from", str(first / ".stowplan" / "kubeconfig")) as copy:
            found = copy.get(f"{PODS}/a")
            assert found["metadata"]["uid"] == was["metadata"]["uid"]
            assert found["metadata"]["creationTimestamp"] == was["metadata"]["creationTimestamp"]
            assert found["spec"] == was["spec"]
            assert len(copy.get("/api/v1/nodes")["items"]) == 2
            copy.send("POST", PODS, pod("b"))
            copy.until(lambda: bool(copy.node_of("b")))
        assert original.node_of("b") == ""


def test_the_commands_that_it_offers_work_as_they_stand_there(tmp_path: Path) -> None:
    (tmp_path / "pod.json").write_text(json.dumps(pod("a")))
    for kubeconfig in ((), ("--kubeconfig", "other place/config")):
        with running(tmp_path, "--nodes", "1", "pod.json", *kubeconfig) as up:
            offered = [line.partition("-m stowplan ")[2].split()[0] for line in up.offered]
            assert offered == ["explain", "queue", "nodes"]
            for line in up.offered:
                asked = typed(line, tmp_path)
                assert (asked.returncode, asked.stderr) == (0, ""), line


def test_a_second_cluster_leaves_the_kubeconfig_of_one_that_runs_alone(tmp_path: Path) -> None:
    path = tmp_path / ".stowplan" / "kubeconfig"
    with running(tmp_path, "--nodes", "1") as first:
        written = path.read_text()
        for once in ((), ("--once", "--kubeconfig", ".stowplan/kubeconfig")):
            second = run(tmp_path, "up", "--nodes", "1", "--port", "0", *once)
            assert second.returncode == 2
            assert second.stderr == (
                f"Error: .stowplan/kubeconfig leads to a cluster that runs, at {first.url}; "
                "end that one, or name another file with --kubeconfig\n"
            )
        assert path.read_text() == written
        with running(tmp_path, "--nodes", "1", "--kubeconfig", "second") as second_up:
            assert f"server: {second_up.url}\n" in (tmp_path / "second").read_text()
        first.process.kill()
        first.process.wait()
    with running(tmp_path, "--nodes", "1") as third:
        assert f"server: {third.url}\n" in path.read_text()


def test_what_another_program_wrote_is_not_overwritten(tmp_path: Path) -> None:
    theirs = tmp_path / "config"
    theirs.write_text("apiVersion: v1\nkind: Config\nclusters: []\n")
    result = run(tmp_path, "up", "--nodes", "1", "--port", "0", "--kubeconfig", "config")
    problem = "config is another program's; name another file with --kubeconfig"
    assert (result.returncode, result.stderr) == (2, f"Error: {problem}\n")
    assert theirs.read_text() == "apiVersion: v1\nkind: Config\nclusters: []\n"


PROFILES = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: %s}]\n%s"
)


def test_a_hangup_reads_the_configuration_again_and_says_what_became_of_it(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(PROFILES % ("default-scheduler", ""))
    with running(tmp_path, "--nodes", "1", "--config", "config.yaml") as up:
        told = up.tell_again(signal.SIGHUP)
        assert told == "note: config.yaml is read again: nothing has changed\n"
        config.write_text(PROFILES % ("mine", "podMaxBackoffSeconds: 20"))
        told = up.tell_again(signal.SIGHUP)
        assert told == (
            "note: config.yaml is read again: profile 'mine' added, profile 'default-scheduler' removed; "
            "what needs a restart: podMaxBackoffSeconds\n"
        )
        mine = pod("a")
        mine["spec"] = {**mine["spec"], "schedulerName": "mine"}  # type: ignore[dict-item]
        up.send("POST", PODS, mine)
        up.until(lambda: bool(up.node_of("a")))
        config.write_text(PROFILES % ("mine", "paralelism: 1"))
        told = up.tell_again(signal.SIGHUP)
        assert told.startswith("note: config.yaml is refused, and the configuration in force stays: decode: strict ")
        assert up.end()[0] == 0


def test_a_hangup_without_a_configuration_is_answered_too(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1") as up:
        told = up.tell_again(signal.SIGHUP)
        assert told == "note: there is no configuration to read again; give one with --config\n"


def test_ctrl_c_ends_it_well_also_while_it_starts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pods.yaml")
    with started(tmp_path, "up", "--nodes", "1", "--port", "0", "pods.yaml") as process:
        # To open it waits for the reader: from then on nothing comes.
        with (tmp_path / "pods.yaml").open("w"):
            process.send_signal(signal.SIGINT)
            said, problems = process.communicate(timeout=LIMIT_SECONDS)
        assert (process.returncode, said, problems) == (0, "The cluster has ended.\n", "")


def test_ctrl_c_cuts_off_what_has_not_been_decided(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pods.yaml")
    for command in (("up", "--once", "--nodes", "1"), ("schedule",)):
        with started(tmp_path, *command, "pods.yaml") as process, (tmp_path / "pods.yaml").open("w"):
            process.send_signal(signal.SIGINT)
            said, problems = process.communicate(timeout=LIMIT_SECONDS)
            assert (process.returncode, said, problems) == (130, "", "")


def make_private(folder: Path) -> Path:
    """Make a folder with an empty database that nobody else may look into, so that nothing has to be said of that."""
    folder.mkdir(0o700)
    (folder / "cluster.db").touch(0o600)
    return folder / "cluster.db"


def make_corrupt(folder: Path) -> None:
    database = make_private(folder / "data")
    database.write_bytes(b"SQLite format 3\0" + b"not really" * 500)


def make_foreign(folder: Path) -> None:
    with closing(sqlite3.connect(make_private(folder / "data"))) as connection:
        connection.execute("CREATE TABLE objects (something TEXT)")


def make_damaged(folder: Path) -> None:
    """Keep a cluster whose nodes cannot be read any more."""
    database = Database(folder / "data")
    database.close()
    with closing(sqlite3.connect(folder / "data" / "cluster.db")) as connection:
        connection.execute("INSERT INTO objects VALUES ('nodes', '', 'n', 2, x'7b22')")
        connection.commit()


def make_file(folder: Path) -> None:
    (folder / "data").write_text("no folder")


DAMAGED = "data/cluster.db: not the database of a cluster, or damaged ("


@pytest.mark.parametrize(
    ("prepare", "arguments", "problem"),
    [
        pytest.param(make_file, ("--data", "data"), "data: no cluster can be kept there: File exists", id="a file"),
        pytest.param(make_file, ("--data", "data/x"), "data/x: no cluster can be kept there: Not a d", id="below"),
        pytest.param(make_corrupt, ("--data", "data"), DAMAGED, id="no database"),
        pytest.param(make_foreign, ("--data", "data"), DAMAGED, id="a database of something else"),
        pytest.param(make_damaged, ("--data", "data"), DAMAGED, id="half an object"),
        pytest.param(make_file, ("--kubeconfig", "data/config"), "data/config: cannot be written: ", id="no folder"),
        pytest.param(make_file, ("--kubeconfig", "."), ". is a folder; name another", id="a folder as kubeconfig"),
        pytest.param(make_file, ("--config", "."), ".: cannot be read: Is a directory; check the path", id="a folder"),
        pytest.param(make_file, ("--shapes", "."), ".: cannot be read: Is a directory; check the path", id="as shapes"),
        pytest.param(make_file, ("--from", "data"), "data: expected objects, got str; ", id="no dump"),
        pytest.param(make_file, ("--audit-log", "."), "--audit-log .: Is a directory", id="as a log"),
        pytest.param(make_file, ("--cert", "."), "--cert .: ", id="as a certificate"),
        pytest.param(make_file, ("--cert", "data"), "--cert data: ", id="no certificate"),
        pytest.param(make_file, ("--bind-address", "nowhere.invalid"), "--bind-address", id="no address"),
        pytest.param(make_file, ("gone.yaml",), "gone.yaml: cannot be read: No such file", id="no manifest"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, prepare: Callable[[Path], None], arguments: tuple[str, ...], problem: str
) -> None:
    prepare(tmp_path)
    result = run(tmp_path, "up", "--nodes", "1", "--port", "0", *arguments)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"Error: {problem}"), result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
