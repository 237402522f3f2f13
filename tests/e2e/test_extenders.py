"""The same extenders with kube-scheduler and with Stowplan: the same questions, the same nodes, the same words."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import trustme

from tests.e2e.api import Object
from tests.e2e.extender_scenes import NAMESPACE, PREEMPTING, SCENES, WANTED, ExtenderScene, pod
from tests.e2e.kubelets import Kubelets
from tests.e2e.plane import Plane
from tests.e2e.processes import free_port
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan
from tests.integration.extender_process import Server, serving

# With more workers, kube-scheduler's choice between equals is a matter of luck.
CONFIGURATION: Final[dict[str, Any]] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
}
FILES: Final = ("caFile", "certFile", "keyFile")
POD: Final = f"/api/v1/namespaces/{NAMESPACE}/pods/{WANTED}"
# Each release tells of preemption in its own words; the rest is between a scheduler and its extenders.
ON_EACH_PLANE, ON_ONE_PLANE = pytest.mark.each_release, pytest.mark.only_on("real-1.37")


@dataclass(frozen=True)
class Heard:
    """What can be read of the pod, and what the extenders were asked about it."""

    node: str
    nominated: str
    condition: tuple[str, str, str]
    events: frozenset[tuple[str, str, str]]
    gone: frozenset[str]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Extenders:
    """The extenders that run, by name, and the folder with certificates."""

    servers: Mapping[str, Server]
    folder: Path

    def configured(self, described: Object) -> Object:
        """Return an extender as a configuration has it."""
        found = copy.deepcopy(described)
        name, behaviour = found["urlPrefix"]
        scheme = "http" if name in ("plain", "down") else "https"
        found["urlPrefix"] = self.servers[name].url(behaviour, scheme).rstrip("/")
        tls = found.get("tlsConfig", {})
        tls |= {key: str(self.folder / tls[key]) for key in FILES if key in tls}
        return found


@pytest.fixture(scope="module")
def extenders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extenders]:
    folder = tmp_path_factory.mktemp("extenders")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(folder / "other.pem"))
    for name, host in (("secure", "127.0.0.1"), ("named", "extender.test")):
        authority.issue_cert(host).private_key_and_cert_chain_pem.write_to_path(str(folder / f"{name}.pem"))
    client = authority.issue_cert("scheduler.test")
    client.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    client.private_key_pem.write_to_path(str(folder / "key.pem"))
    secure, named = (("--certificate", str(folder / f"{name}.pem")) for name in ("secure", "named"))
    strict = (*secure, "--client-authority", str(folder / "ca.pem"))
    options = {"plain": (), "unencrypted": (), "secure": secure, "named": named, "strict": strict}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving(*given)) for name, given in options.items()}
        # A port that was free a moment ago, and that nobody listens at.
        yield Extenders(servers | {"down": Server(free_port())}, folder)


@pytest.fixture(scope="module")
def kubelets(plane: Plane) -> Iterator[Kubelets]:
    plane.create_namespace(NAMESPACE)
    kubelets = Kubelets(plane.api)
    kubelets.start()
    yield kubelets
    kubelets.stop()
    kubelets.clear()


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(scene, id=scene.name, marks=ON_EACH_PLANE if scene in PREEMPTING else ON_ONE_PLANE)
        for scene in SCENES
    ],
)
def test_the_same_comes_of_an_extender(
    scene: ExtenderScene, plane: Plane, kubelets: Kubelets, extenders: Extenders
) -> None:
    theirs = hear(scene, plane, kubelets, extenders, kube_scheduler)
    assert any(scene.says in message for _, _, message in theirs.events)

    assert hear(scene, plane, kubelets, extenders, stowplan) == theirs


def hear(
    scene: ExtenderScene, plane: Plane, kubelets: Kubelets, extenders: Extenders, make: Callable[..., SchedulerProcess]
) -> Heard:
    """Return what comes of a scene with one of the schedulers; the cluster is empty afterwards."""
    configured = [extenders.configured(described) for described in scene.extenders]
    scheduler = make(plane, {**CONFIGURATION, "extenders": configured}, name=f"{make.__name__}-extenders")
    before = len(asked(extenders))
    try:
        kubelets.register(scene.nodes)
        plane.api.create_all(scene.running)
        for running in scene.running:
            plane.api.wait_for(plane.api.path_of(running), lambda item: item["status"]["phase"] == "Running")
        plane.api.create(scene.wanted or pod(WANTED))
        # It begins when all is there, so it knows all of it when it looks at the pod.
        scheduler.start()
        return listen(scene, plane, lambda: asked(extenders)[before:])
    finally:
        scheduler.stop()
        kubelets.clear()


def listen(scene: ExtenderScene, plane: Plane, questions: Callable[[], list[Object]]) -> Heard:
    """Wait until it is clear what becomes of the pod, and return that."""
    if scene.is_bound_by_us:
        bind(plane, questions)
    uid = plane.api.get(POD)["metadata"]["uid"]
    events = f"/api/v1/namespaces/{NAMESPACE}/events?fieldSelector=involvedObject.uid%3D{uid}"
    listing = plane.api.wait_for(events, lambda found: any(scene.says in one["message"] for one in found["items"]))
    is_placed = any(event["reason"] == "Scheduled" for event in listing["items"])
    item = plane.api.wait_for(
        POD, lambda found: bool(found["spec"].get("nodeName")) or (not is_placed and judged(found))
    )
    found = {one["type"]: one for one in item["status"]["conditions"]}.get("PodScheduled", {})
    left = {one["metadata"]["name"] for one in plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")}
    return Heard(
        item["spec"].get("nodeName", ""),
        item["status"].get("nominatedNodeName", ""),
        (found.get("status", ""), found.get("reason", ""), steady(found.get("message", ""))),
        frozenset((one["type"], one["reason"], steady(one["message"])) for one in listing["items"]),
        frozenset(running["metadata"]["name"] for running in scene.running) - left,
        tuple(dict.fromkeys(question(one) for one in questions())),
    )


def steady(message: str) -> str:
    """Leave out where Go noticed the end of a connection: while writing or while reading, as it happens."""
    return message.replace("readLoopPeekFailLocked: ", "")


def bind(plane: Plane, questions: Callable[[], list[Object]]) -> None:
    """Bind the pod as soon as the extender was told to, which only says that it did."""
    plane.api.wait_for(POD, lambda item: any(one["path"].endswith("/bind") for one in questions()))
    body = questions()[-1]["body"]
    target = {"apiVersion": "v1", "kind": "Node", "name": body["Node"]}
    metadata = {"namespace": NAMESPACE, "name": body["PodName"], "uid": body["PodUID"]}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    plane.api.run(plane.api.call("POST", f"{POD}/binding", binding))


def judged(item: Object) -> bool:
    return any(one["type"] == "PodScheduled" for one in item["status"].get("conditions", ()))


def asked(extenders: Extenders) -> list[Object]:
    """Return what the extender without TLS was asked so far; the others cannot be asked about that."""
    return extenders.servers["plain"].asked("")


def question(request: Object) -> str:
    """Return a question in short: the verb, and which nodes and pods it is about."""
    body = request["body"]
    if "Node" in body:
        return f"{request['path']} {body['PodName']} {body['Node']}"
    if "Nodes" in body:
        listed = [item["metadata"]["name"] for item in (body["Nodes"] or {}).get("items") or ()]
        return f"{request['path']} nodes {sorted(listed)} names {sorted(body['NodeNames'] or ())}"
    full, meta = body["NodeNameToVictims"], body["NodeNameToMetaVictims"]
    victims = {name: [one["metadata"]["name"] for one in of["Pods"]] for name, of in sorted((full or {}).items())}
    by_uid = {name: len(of["Pods"]) for name, of in sorted((meta or {}).items())}
    return f"{request['path']} victims {victims} by uid {by_uid}"
