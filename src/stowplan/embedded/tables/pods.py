"""The columns of pods: how many containers are ready, and in one word how the pod is."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, Columns, TableColumn, column, value, wide
from stowplan.embedded.tables.wording import NONE, age_of

_ENDED: Final = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def ready(pod: Object) -> str:
    """Count ready containers; sidecars count, other init containers do not."""
    sidecars, tried = _sidecars(pod), _tried_init_statuses(pod)
    started = [each for each in tried if each.get("name") in sidecars and each.get("started")]
    count = sum(reading.is_true(each, "ready") for each in started)
    if not _initialising(pod) or reading.has_condition(pod, "Initialized"):
        count += sum(map(_is_running, reading.entries(pod, "status", "containerStatuses")))
    return f"{count}/{len(reading.entries(pod, 'spec', 'containers')) + len(sidecars)}"


def status(pod: Object) -> str:
    """Find the word that says most about a pod."""
    word = _before_start(pod)
    initialising = _initialising(pod)
    if initialising:
        word = initialising
    if not initialising or reading.has_condition(pod, "Initialized"):
        word = _running_word(pod, word)
    if not reading.is_deleted(pod):
        return word
    if reading.text(pod, "status", "reason") == "NodeLost":
        return "Unknown"
    return word if reading.text(pod, "status", "phase") in _ENDED else "Terminating"


def restarts(pod: Object, now: datetime) -> str:
    """Count restarts, and say when the last one was."""
    counted = [each for each in _init_statuses(pod) if each.get("name") in _sidecars(pod)]
    if _initialising(pod) and not reading.has_condition(pod, "Initialized"):
        counted = _tried_init_statuses(pod)
    else:
        counted = counted + reading.entries(pod, "status", "containerStatuses")
    total = sum(reading.count(each, "restartCount") for each in counted)
    ended = max((reading.text(each, "lastState", "terminated", "finishedAt") for each in counted), default="")
    return f"{total} ({age_of(ended, now)} ago)" if total and ended else str(total)


def readiness_gates(pod: Object) -> str:
    gates = reading.entries(pod, "spec", "readinessGates")
    met = sum(reading.has_condition(pod, reading.text(gate, "conditionType")) for gate in gates)
    return f"{met}/{len(gates)}" if gates else NONE


def conditions(pod: Object) -> list[Object]:
    """Tell clients which rows are of pods that have ended."""
    phase = reading.text(pod, "status", "phase")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]


def _before_start(pod: Object) -> str:
    scheduled = reading.condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        return "SchedulingGated"
    return reading.text(pod, "status", "reason") or reading.text(pod, "status", "phase")


def _initialising(pod: Object) -> str:
    """Say what the first init container that is not done is doing, or nothing if all are done."""
    current = len(_tried_init_statuses(pod)) - 1
    statuses = _init_statuses(pod)
    if current < 0 or _is_passed(pod, statuses[current]):
        return ""
    ended = reading.at(statuses[current], "state", "terminated")
    if isinstance(ended, dict):
        return f"Init:{_ended_word(ended)}"
    waiting = reading.text(statuses[current], "state", "waiting", "reason")
    if waiting and waiting != "PodInitializing":
        return f"Init:{waiting}"
    return f"Init:{current}/{len(reading.entries(pod, 'spec', 'initContainers'))}"


def _running_word(pod: Object, word: str) -> str:
    statuses = reading.entries(pod, "status", "containerStatuses")
    # The first container has the last word.
    for container in reversed(statuses):
        ended = reading.at(container, "state", "terminated")
        waiting = reading.text(container, "state", "waiting", "reason")
        if waiting:
            word = waiting
        elif isinstance(ended, dict):
            word = _ended_word(ended)
    if word == "Completed" and any(_is_running(each) for each in statuses):
        return "Running" if reading.has_condition(pod, "Ready") else "NotReady"
    return word


def _ended_word(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{reading.count(ended, 'exitCode')}"


def _init_statuses(pod: Object) -> list[Object]:
    return reading.entries(pod, "status", "initContainerStatuses")


def _tried_init_statuses(pod: Object) -> list[Object]:
    """The init containers up to the first that holds the others up."""
    tried = []
    for each in _init_statuses(pod):
        tried.append(each)
        if not _is_passed(pod, each):
            break
    return tried


def _is_passed(pod: Object, init_status: Object) -> bool:
    ended = reading.at(init_status, "state", "terminated")
    if isinstance(ended, dict) and reading.count(ended, "exitCode") == 0:
        return True
    return init_status.get("name") in _sidecars(pod) and reading.is_true(init_status, "started")


def _sidecars(pod: Object) -> set[str]:
    found = reading.entries(pod, "spec", "initContainers")
    return {reading.text(each, "name") for each in found if each.get("restartPolicy") == "Always"}


def _is_running(container: Object) -> bool:
    state = reading.mapping(container, "state")
    return reading.is_true(container, "ready") and isinstance(state.get("running"), dict)


def _ip(pod: Object) -> str:
    addresses = reading.entries(pod, "status", "podIPs")
    return (reading.text(addresses[0], "ip") if addresses else reading.text(pod, "status", "podIP")) or NONE


COLUMNS: Final[Columns] = {
    "pods": (
        column("Ready", ready),
        column("Status", status),
        TableColumn("Restarts", restarts),
        AGE,
        wide("IP", _ip),
        value("Node", "spec.nodeName", NONE, priority=1),
        value("Nominated Node", "status.nominatedNodeName", NONE, priority=1),
        wide("Readiness Gates", readiness_gates),
    ),
}
