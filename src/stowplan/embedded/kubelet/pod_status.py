"""What a kubelet reports of a pod at each turn of its life. Pure; `kubelet` decides when."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Network

from stowplan.embedded.informers import conditions
from stowplan.embedded.objects.resource import Object

_RUNTIME = "stowplan://"
#: Private ranges: there is no network, but everybody expects pods and nodes to have an address.
_PODS, _NODES = IPv4Network("10.64.0.0/10"), IPv4Network("172.16.0.0/12")
_STATES = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a pod is reached, and the node it is on."""

    pod: str
    node: str


def hold(pod: Object, node_address: str, moment: str) -> bool:
    """Take on a pod whose containers cannot be made yet; return False if that was said before."""
    status = pod.setdefault("status", {})
    if status.get("startTime"):
        return False
    status |= {
        "phase": "Pending",
        **_at("host", node_address),
        "startTime": moment,
        "containerStatuses": [_waiting(container) for container in pod["spec"]["containers"]],
    }
    _put(status, "PodReadyToStartContainers", "False", moment)
    _put(status, "Initialized", "True", moment)
    _set_unready(pod, moment)
    return True


def start(pod: Object, addresses: Addresses, moment: str, is_node_ready: bool = True) -> None:
    """Let all containers of a pod run."""
    status = pod.setdefault("status", {})
    init_containers = [_initialised(pod, container, moment) for container in pod["spec"].get("initContainers") or []]
    status |= {
        "phase": "Running",
        **_at("host", addresses.node),
        **_at("pod", addresses.pod),
        "startTime": status.get("startTime") or moment,
        "containerStatuses": [_running(pod, container, moment) for container in pod["spec"]["containers"]],
    }
    if init_containers:
        status["initContainerStatuses"] = init_containers
    for kind in _STATES:
        _put(status, kind, "True", moment)
    refresh_readiness(pod, moment, is_node_ready)


def _at(what: str, address: str) -> Object:
    # A node may have no address; a list with one that is empty would be refused whenever the pod is written again.
    return {f"{what}IP": address, f"{what}IPs": [{"ip": address}]} if address else {}


def refresh_readiness(pod: Object, moment: str, is_node_ready: bool = True) -> bool:
    """Say whether a running pod is ready: its containers run and its readiness gates are open; return what changed."""
    status = pod["status"]
    shut = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or []]
    shut = [kind for kind in shut if not conditions.is_true(status, kind)]
    if not is_node_ready or not all(container.get("ready") for container in _containers(pod)):
        return _put(status, "Ready", "False", moment)
    if shut:
        listed = ", ".join(f'"{kind}"' for kind in shut)
        message = f'the status of pod readiness gate {listed} is not "True"'
        return _put(status, "Ready", "False", moment, ("ReadinessGatesNotReady", message))
    return _put(status, "Ready", "True", moment)


def finish(pod: Object, exit_code: int, moment: str) -> None:
    """Let all containers of a pod end, and with them the pod."""
    status = pod["status"]
    status["phase"] = "Failed" if exit_code else "Succeeded"
    for name in ("containerStatuses", "initContainerStatuses"):
        status[name] = [_terminated(each, exit_code, moment) for each in status.get(name) or []]
        if not status[name]:
            del status[name]
    reason = "PodFailed" if exit_code else "PodCompleted"
    _put(status, "PodReadyToStartContainers", "False", moment)
    _put(status, "Initialized", "True", moment, (reason if not exit_code else "", ""))
    for kind in ("Ready", "ContainersReady"):
        _put(status, kind, "False", moment, (reason, ""))


def crash(pod: Object, exit_code: int, moment: str, wait_seconds: float) -> None:
    """Let the containers of a pod end and wait to be started again."""
    for each in _containers(pod):
        each["lastState"] = {"terminated": _termination(each, exit_code, moment)}
        message = f"back-off {wait_seconds:.0f}s restarting failed container={each['name']}"
        each["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        each["ready"] = each["started"] = False
    _set_unready(pod, moment)


def restart(pod: Object, exit_code: int, moment: str) -> None:
    """Let the containers of a pod run once more; those that still run end with the exit code first."""
    for each in _containers(pod):
        if "running" in (each.get("state") or {}):
            each["lastState"] = {"terminated": _termination(each, exit_code, moment)}
        each["restartCount"] = each.get("restartCount", 0) + 1
        each["state"] = {"running": {"startedAt": moment}}
        each["ready"] = each["started"] = True
        each["containerID"] = _container_id(pod, each["name"], each["restartCount"])
    _put(pod["status"], "ContainersReady", "True", moment)
    refresh_readiness(pod, moment)


def _containers(pod: Object) -> list[Object]:
    """What is told of the containers; whoever may write a status may have taken that away."""
    found: list[Object] = pod["status"].get("containerStatuses") or []
    return found


def _set_unready(pod: Object, moment: str) -> None:
    names = [each["name"] for each in _containers(pod)]
    why = ("ContainersNotReady", f"containers with unready status: [{' '.join(names)}]")
    for kind in ("ContainersReady", "Ready"):
        _put(pod["status"], kind, "False", moment, why)


def _put(status: Object, kind: str, value: str, moment: str, why: tuple[str, str] = ("", "")) -> bool:
    """Set a condition; without a reason or a message it has no such field."""
    made = conditions.make((kind, value, *why), moment, lastProbeTime=None)
    return conditions.put(status, {key: field for key, field in made.items() if field != ""})


def _waiting(container: Object) -> Object:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}},
        "lastState": {},
    }


def _running(pod: Object, container: Object, moment: str) -> Object:
    return {
        **_waiting(container),
        "imageID": f"{_RUNTIME}sha256:{_digest(container.get('image', ''))}",
        "containerID": _container_id(pod, container["name"], 0),
        "ready": True,
        "started": True,
        "state": {"running": {"startedAt": moment}},
    }


def _initialised(pod: Object, container: Object, moment: str) -> Object:
    """An init container has done its work; a sidecar goes on running."""
    status = _running(pod, container, moment)
    return status if container.get("restartPolicy") == "Always" else {**_terminated(status, 0, moment), "ready": True}


def _terminated(status: Object, exit_code: int, moment: str) -> Object:
    if "terminated" in status["state"]:
        return status
    ended = {"terminated": _termination(status, exit_code, moment)}
    return {**status, "state": ended, "ready": False, "started": False}


def _termination(status: Object, exit_code: int, moment: str) -> Object:
    return {
        "exitCode": exit_code,
        "reason": "Error" if exit_code else "Completed",
        "startedAt": ((status.get("state") or {}).get("running") or {}).get("startedAt", moment),
        "finishedAt": moment,
        # One that never ran has none.
        "containerID": status.get("containerID", ""),
    }


def _container_id(pod: Object, name: str, restarts: int) -> str:
    uid = pod["metadata"]["uid"]
    return f"{_RUNTIME}{_digest(f'{uid}/{name}/{restarts}')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def address_of_pod(number: int) -> str:
    """The address of the pod with this number; numbers far apart may share one."""
    return _numbered(_PODS, number)


def address_of_node(number: int) -> str:
    return _numbered(_NODES, number)


def _numbered(network: IPv4Network, number: int) -> str:
    # The first address names the network itself, the last one everybody in it.
    return str(network[1 + number % (network.num_addresses - 2)])
