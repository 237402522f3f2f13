"""`stowplan up` serves the page and its API, in the form that the types of the answers say."""

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stowplan.web.answers import ClusterAnswer, DecisionsAnswer, NodeAnswer, NodesAnswer, QueueAnswer, RowsAnswer
from stowplan.web.api import QUESTIONS
from stowplan.web.openapi import EVENT_TYPES
from stowplan.web.openapi import text as description
from stowplan.web.pod_answers import GroupAnswer, PodAnswer, PodNodesAnswer, PodsAnswer, WeightsAnswer
from tests.integration.up.up_process import Up, running
from tests.limits import LIMIT_SECONDS

API = "/api/stowplan/v1"
MANIFESTS = """
apiVersion: v1
kind: Pod
metadata: {name: small, labels: {app: web}}
spec:
  containers: [{name: main, image: web, env: [{name: GREETING, value: hello}], resources: {requests: {cpu: "1"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "999"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: others}
spec: {schedulerName: somebody-else, containers: [{name: main, image: web}]}
"""
GROUPS = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: runs}
spec: {schedulingPolicy: {gang: {minCount: 1}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: waits}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
"""
MEMBER = """
---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  schedulingGroup: {podGroupName: %s}
  containers: [{name: main, image: web, resources: {requests: {cpu: "%s"}}}]
"""
DRAIN = {"question": {"drain": {"names": ["node-0001"]}}}
WEIGHTS = {"profile": "default-scheduler", "weights": {"NodeResourcesFit": 0}, "last": 10}
ASKED: dict[str, tuple[str, Any]] = {
    "cluster": ("cluster", None),
    "nodes": ("nodes?label=topology.kubernetes.io/zone", None),
    "nodes/{name}": ("nodes/node-0001", None),
    "queue": ("queue?limit=5&q=large&place=unschedulable&namespace=default", None),
    "decisions": ("decisions?limit=5", None),
    "pods": ("pods?q=default/&limit=5", None),
    "pods/{namespace}/{name}": ("pods/default/large", None),
    "pods/{namespace}/{name}/nodes": ("pods/default/small/nodes", None),
    "whatif": ("whatif", DRAIN),
    "weights": ("weights", WEIGHTS),
}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "pods.yaml").write_text(MANIFESTS, encoding="utf-8")
    with running(folder, "--nodes", "3", "pods.yaml") as cluster:
        cluster.until(lambda: bool(cluster.node_of("small")))
        cluster.until(lambda: ask(cluster, "queue", QueueAnswer).counts["unschedulable"] == 1)
        yield cluster


def fetch(url: str, body: Any = None, **headers: str) -> tuple[int, Message, bytes]:
    """Ask, and return code, headers and body, whatever comes back; no certificate is looked at."""
    data = json.dumps(body).encode() if body is not None else None
    sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    request = urllib.request.Request(url, data, sent)
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS, context=unverified) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def ask(up: Up, path: str, kind: Any, body: Any = None) -> Any:
    """Ask the API, and have the answer be of a type, to the letter."""
    code, headers, said = fetch(f"{up.scheduler}{API}/{path}", body)
    assert code == 200, said
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Content-Type-Options"] == "nosniff"
    return msgspec.json.decode(said, type=kind, strict=True)


def test_the_page_is_led_to_and_loads_nothing_from_elsewhere(up: Up) -> None:
    code, headers, body = fetch(f"{up.scheduler}/")
    assert code == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'; script-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert body.startswith(b"<!doctype html>")
    assert fetch(f"{up.scheduler}/page/", If_None_Match=headers["ETag"])[0] == 304


@pytest.mark.parametrize("name", ["../pyproject.toml", "..%2f__init__.py", "static_files.py", "nothing.js"])
def test_nothing_but_the_files_of_the_page_is_served(up: Up, name: str) -> None:
    assert fetch(f"{up.scheduler}/page/{name}")[0] == 404


def test_every_question_of_the_api_is_asked_here() -> None:
    assert {one.path for one in QUESTIONS} - ASKED.keys() == {"groups/{namespace}/{name}"}


@pytest.mark.parametrize("question", [one for one in QUESTIONS if one.path in ASKED], ids=lambda one: one.path)
def test_an_answer_is_of_its_type(up: Up, question: Any) -> None:
    path, body = ASKED[question.path]
    ask(up, path, question.answer, body)


def test_nodes_are_columns(up: Up) -> None:
    found: NodesAnswer = ask(up, "nodes?label=kubernetes.io/hostname", NodesAnswer)
    assert found.names == ["node-0001", "node-0002", "node-0003"]
    assert found.status == ["Ready"] * 3
    assert found.group is not None
    assert [found.group.values[code] for code in found.group.codes] == found.names
    assert sum(found.resources["cpu"].requested) == 1000
    assert sum(found.resources["pods"].requested) == 1


def test_what_there_is_names_profiles_resources_and_labels(up: Up) -> None:
    found: ClusterAnswer = ask(up, "cluster", ClusterAnswer)
    assert found.is_scheduling
    assert (found.counts.nodes, found.counts.placed, found.counts.by_place["unschedulable"]) == (3, 1, 1)
    assert [one.name for one in found.profiles] == ["default-scheduler"]
    assert found.profiles[0].filters[0] == "NodeName"
    assert found.resources[:3] == ["cpu", "memory", "pods"]
    assert "kubernetes.io/hostname" in [one.key for one in found.labels]


def test_a_refused_pod_says_which_filter_left_nothing(up: Up) -> None:
    found: PodAnswer = ask(up, "pods/default/large", PodAnswer)
    assert found.explanation is not None
    assert found.explanation.message == "0/3 nodes are available: 3 Insufficient cpu."
    assert [(one.plugin, one.refused, one.left) for one in found.funnel] == [("", 0, 3), ("NodeResourcesFit", 3, 0)]
    assert found.attempts[0].outcome == "refused"


def test_the_manifest_of_a_pod_is_the_whole_object(up: Up) -> None:
    found: PodAnswer = ask(up, "pods/default/small", PodAnswer)
    assert found.manifest_is_whole
    assert (found.manifest["kind"], found.manifest["metadata"]["labels"]["app"]) == ("Pod", "web")
    (container,) = found.manifest["spec"]["containers"]
    # Nothing that is decided depends on these.
    assert container["env"] == [{"name": "GREETING", "value": "hello"}]
    assert found.manifest["spec"]["restartPolicy"] == "Always"
    assert "managedFields" not in found.manifest["metadata"]


def test_a_pod_of_another_scheduler_is_shown_and_not_explained(up: Up) -> None:
    found: PodAnswer = ask(up, "pods/default/others", PodAnswer)
    assert found.explanation is None
    assert "somebody-else" in found.unexplained


def test_all_nodes_for_a_pod_are_columns(up: Up) -> None:
    found: PodNodesAnswer = ask(up, "pods/default/large/nodes", PodNodesAnswer)
    assert (found.feasible, found.total) == ([False] * 3, [None] * 3)
    assert [found.plugins[number].name for number in found.first_plugin] == ["NodeResourcesFit"] * 3
    assert [[found.reasons[code].text for code in codes] for codes in found.reason_codes] == [["Insufficient cpu"]] * 3
    fits: PodNodesAnswer = ask(up, "pods/default/small/nodes", PodNodesAnswer)
    weighted = [[column.weighted[row] or 0 for column in fits.plugins] for row in range(3)]
    assert [sum(row) for row in weighted] == fits.total


def test_a_node_says_whom_it_has_room_for_and_what_keeps_others_away(up: Up) -> None:
    found: NodeAnswer = ask(up, "nodes/node-0001", NodeAnswer)
    assert {tuple(one.requests.items()) for one in found.fragmentation.shapes} == {(("cpu", 1000),), (("cpu", 999000),)}
    (refused,) = found.refused_lately
    assert (refused.pod, refused.plugin, refused.reasons) == ("default/large", "NodeResourcesFit", ["Insufficient cpu"])


def test_weights_in_force_change_nothing(up: Up) -> None:
    found: WeightsAnswer = ask(up, "weights", WeightsAnswer, {"profile": "default-scheduler", "weights": {}})
    assert (found.asked, found.not_asked, found.changed) == (1, 0, [])


def test_decisions_and_pods_are_listed(up: Up) -> None:
    decided: DecisionsAnswer = ask(up, "decisions", DecisionsAnswer)
    assert {(one.pod, one.outcome, one.attempts) for one in decided.decisions} == {
        ("default/small", "bound", 1),
        ("default/large", "refused", 1),
    }
    listed: PodsAnswer = ask(up, "pods?q=Large", PodsAnswer)
    assert [(one.pod, one.node, one.place) for one in listed.pods] == [("default/large", None, "unschedulable")]


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        pytest.param("queue?size=1", 400, "size: unknown parameter; known: place, namespace, q, limit", id="unknown"),
        pytest.param("queue?limit=10001", 400, "limit: Invalid value: '10001': Expected `int` <= 10000", id="too many"),
        pytest.param("queue?limit=1&limit=2", 400, "limit: is there twice", id="twice"),
        pytest.param("queue?place=bed", 400, "place: Invalid value: 'bed'", id="no place"),
        pytest.param("nodes/nobody", 404, 'node "nobody" not found', id="no node"),
        pytest.param("pods/default/nobody", 404, 'pod "default/nobody" not found', id="no pod"),
        pytest.param("groups/default/nobody", 404, "", id="no group"),
        pytest.param("nothing", 404, "is not here", id="no question"),
    ],
)
def test_what_cannot_be_answered_is_a_status_that_says_why(up: Up, path: str, code: int, said: str) -> None:
    answered, headers, body = fetch(f"{up.scheduler}{API}/{path}")
    assert (answered, json.loads(body)["kind"]) == (code, "Status")
    assert said in json.loads(body)["message"]
    assert headers["Content-Type"].startswith("application/json")


def test_a_name_that_is_markup_stays_text(up: Up) -> None:
    name = urllib.parse.quote("<img src=x onerror=alert(1)>", safe="")
    code, headers, _ = fetch(f"{up.scheduler}{API}/pods/default/{name}")
    assert (code, headers["X-Content-Type-Options"]) == (404, "nosniff")
    assert headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("header", [{"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}])
def test_web_pages_of_others_are_refused(up: Up, header: dict[str, str]) -> None:
    assert fetch(f"{up.scheduler}{API}/cluster", **header)[0] == 403


def test_only_what_a_question_is_asked_by_is_taken(up: Up) -> None:
    code, headers, _ = fetch(f"{up.scheduler}{API}/cluster", {})
    assert (code, headers["Allow"]) == (405, "GET")
    assert fetch(f"{up.scheduler}{API}/weights")[0] == 405


def test_it_describes_itself(up: Up) -> None:
    assert fetch(f"{up.scheduler}{API}/openapi.json")[2].decode() == description()


def test_who_watches_gets_a_full_picture_then_what_changes(up: Up) -> None:
    with urllib.request.urlopen(f"{up.scheduler}{API}/events", timeout=LIMIT_SECONDS) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        first = [next_event(answer) for _ in range(5)]
        assert [name for name, _ in first] == ["nodes", "queue", "decisions", "rates", "scheduling"]
        pod = {"metadata": {"name": "late"}, "spec": {"containers": [{"name": "main", "image": "web"}]}}
        assert up.send("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
        rows = None
        while rows is None:
            name, rows = next_event(answer)
            rows = rows if name == "rows" else None
        assert isinstance(rows, RowsAnswer)
        assert len(rows.rows) == 1
        assert rows.requested["pods"] in ([1], [2])


def next_event(stream: Any) -> tuple[str, Any]:
    """Read one event, which is of one of the types that it may be of."""
    name = stream.readline().decode().removeprefix("event: ").strip()
    data = stream.readline().removeprefix(b"data: ")
    assert stream.readline() == b"\n"
    for kind in EVENT_TYPES[name]:
        try:
            return name, msgspec.json.decode(data, type=kind, strict=True)
        except msgspec.ValidationError:
            continue
    raise AssertionError(f"{name}: {data!r}")


def test_a_group_has_its_members_whether_it_waits_or_runs(tmp_path: Path) -> None:
    members = "".join(MEMBER % each for each in (("r", "runs", 1), ("w0", "waits", 1), ("w1", "waits", 999)))
    (tmp_path / "groups.yaml").write_text(GROUPS + members, encoding="utf-8")
    with running(tmp_path, "--nodes", "1", "--feature-gates", "GenericWorkload=true", "groups.yaml") as up:
        up.until(lambda: bool(up.node_of("r")) and len(ask(up, "decisions", DecisionsAnswer).decisions) == 3)
        runs: GroupAnswer = ask(up, "groups/default/runs", GroupAnswer)
        assert (runs.needed, runs.pending, runs.scheduled, runs.place, runs.problem) == (1, 0, 1, "", "")
        assert [(one.pod, one.node, one.place) for one in runs.members] == [("default/r", "node-0001", None)]
        waits: GroupAnswer = ask(up, "groups/default/waits", GroupAnswer)
        assert (waits.needed, waits.pending, waits.place) == (2, 2, "error backoff")
        assert [(one.pod, one.node) for one in waits.members] == [("default/w0", None), ("default/w1", None)]
        queue: QueueAnswer = ask(up, "queue", QueueAnswer)
        pod: PodAnswer = ask(up, "pods/default/w0", PodAnswer)
        assert {waits.group, pod.group, *(one.group for one in queue.pods)} == {"default/waits"}


def test_with_a_token_the_files_are_for_everybody_and_the_api_is_not(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1", "--token", "secret") as up:
        assert fetch(f"{up.scheduler}/")[0] == 200
        code, headers, _ = fetch(f"{up.scheduler}{API}/cluster")
        assert (code, headers["X-Content-Type-Options"]) == (403, "nosniff")
        assert fetch(f"{up.scheduler}{API}/cluster", Authorization="Bearer wrong")[0] == 401
        assert fetch(f"{up.scheduler}{API}/cluster", Authorization="Bearer secret")[0] == 200


def test_who_watches_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "1") as up:
        answer = urllib.request.urlopen(f"{up.scheduler}{API}/events", timeout=LIMIT_SECONDS)
        assert next_event(answer)[0] == "nodes"
        assert up.end()[0] == 0
        answer.close()
