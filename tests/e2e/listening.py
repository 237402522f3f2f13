"""What a scheduler says of a pod, as `kubectl describe` shows it: set up a scene, wait for an answer, clear up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tests.e2e.accounting import read_metrics
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.kubelets import Kubelets
from tests.e2e.manifests import pod
from tests.e2e.plane import Plane
from tests.e2e.scenes import NAMESPACE, WANTED, Scene
from tests.e2e.scheduler_process import SchedulerProcess

_HELD: Final = 'scheduler_pending_pods{queue="gated"}'
_SCOUT: Final = "scout"
_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
_EVENT: Final = re.compile(r"  (?P<type>\S+) +(?P<reason>\S+) +.+?  +(?P<origin>\S+)  (?P<message>.*)")


@dataclass(frozen=True)
class Said:
    """What can be read about one pod. Of an event: type, reason, from, message; of a condition, all but its times."""

    conditions: list[Object]
    nominated: str
    described: list[str]
    events: list[tuple[str, ...]]


def listen(plane: Plane, kubelets: Kubelets, scene: Scene, scheduler: SchedulerProcess) -> dict[str, Said]:
    """Return what the scheduler that runs now says of the pods of a scene."""
    _set_up(plane.api, kubelets, scene)
    try:
        plane.api.create(scene.wanted)
        if scene.is_held:
            scheduler.process.wait_until(lambda: read_metrics(plane, scheduler).get(_HELD) == 1)
        else:
            plane.api.wait_for(_path(WANTED), is_judged)
        return {name: _hear(plane, name, count) for name, count in scene.awaited.items()}
    finally:
        _clear_up(plane.api, kubelets, scene)


def _set_up(api: Api, kubelets: Kubelets, scene: Scene) -> None:
    api.create_all(scene.budgets)
    for node in scene.nodes:
        kubelets.register([node])
    api.create_all(scene.running)
    for running in scene.running:
        api.wait_for(_path(running["metadata"]["name"]), lambda item: item["status"]["phase"] == "Running")
    if scene.nodes:
        scout(api, scene.nodes[-1])


def scout(api: Api, last: Object, namespace: str = NAMESPACE) -> None:
    """See a pod placed on the node that came last: by then the scheduler knows of all the others, and of their pods."""
    field = {"key": "metadata.name", "operator": "In", "values": [last["metadata"]["name"]]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    tolerations = [_CORDON, *({"key": taint["key"], "operator": "Exists"} for taint in last["spec"].get("taints", ()))]
    made = pod(
        namespace,
        _SCOUT,
        affinity={"nodeAffinity": required},
        tolerations=tolerations,
        priorityClassName="system-node-critical",
    )
    api.create(made)
    api.wait_for(_path(_SCOUT, namespace), lambda item: bool(item["spec"].get("nodeName")))


def _hear(plane: Plane, name: str, count: int) -> Said:
    uid = plane.api.get(_path(name))["metadata"]["uid"]
    events = f"/api/v1/namespaces/{NAMESPACE}/events?fieldSelector=involvedObject.uid%3D{uid}"
    plane.api.wait_for(events, lambda listing: len(listing["items"]) >= count)
    item = plane.api.wait_for(_path(name), _is_at_rest)
    conditions = [
        {key: value for key, value in condition.items() if not key.endswith("Time")}
        for condition in item["status"].get("conditions", ())
    ]
    wanted = plane.api.get(_path(WANTED))["metadata"]["uid"]
    described = plane.kubectl("describe", "pod", name, "--namespace", NAMESPACE).replace(wanted, "the wanted pod")
    return Said(
        sorted(conditions, key=lambda condition: str(condition["type"])),
        item["status"].get("nominatedNodeName", ""),
        [*_section(described, "NominatedNodeName"), *_section(described, "Conditions")],
        [_without_age(line) for line in _section(described, "Events")[3:]],
    )


def is_judged(item: Object) -> bool:
    """Tell whether a scheduler has placed a pod or refused it, or is about to bind it."""
    found = {condition["type"] for condition in item["status"].get("conditions", ())}
    return "PodScheduled" in found or "nominatedNodeName" in item["status"]


def _is_at_rest(item: Object) -> bool:
    """Tell whether a kubelet has nothing more to say of a pod."""
    return not item["spec"].get("nodeName") or item["status"]["phase"] == "Running"


def _section(described: str, title: str) -> list[str]:
    """Return the lines of one part of a description, with its title."""
    found: list[str] = []
    for line in described.splitlines():
        if found and not line.startswith(" "):
            break
        if found or line.startswith(f"{title}:"):
            found.append(line)
    return found


def _without_age(line: str) -> tuple[str, ...]:
    event = _EVENT.fullmatch(line)
    if event is None:
        raise ValueError(f"kubectl describes an event in a way that is not known here: {line!r}")
    return event["type"], event["reason"], event["origin"], event["message"]


def _clear_up(api: Api, kubelets: Kubelets, scene: Scene) -> None:
    for running in scene.running:
        if "finalizers" in running["metadata"]:
            _let_go(api, running["metadata"]["name"])
    for budget in scene.budgets:
        api.delete(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/{budget['metadata']['name']}")
    kubelets.clear()


def _let_go(api: Api, name: str) -> None:
    try:
        api.patch(_path(name), {"metadata": {"finalizers": None}})
    except ApiError as error:
        if error.status != 404:
            raise


def _path(name: str, namespace: str = NAMESPACE) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
