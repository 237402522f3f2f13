"""Who is measured on a real API server, under which names, with which rights, and how its writes are read.

Beside kube-scheduler and Stowplan there is a scheduler that decides nothing (`random_binder`): what it reaches is what
API server, etcd and a client of ours leave to any scheduler on the machine. All have the same configuration and show a
token of the same service account, as what runs in a pod does; a token costs the server less than a certificate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tests.e2e.access import wait_until_allowed
from tests.e2e.api import Object
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess, kube_scheduler, stowplan

THEIRS, OURS, RANDOM = "kube-scheduler", "stowplan", "random-binder"
CONFIGURATION: Final[Mapping[str, Any]] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 5000, "burst": 5000},
}
NAMESPACE: Final = "kube-system"
_SCHEDULER, _ADMINISTRATOR = "measured", "maker"
_ROLES: Final = ("system:kube-scheduler", "system:volume-scheduler")
_CREATED: Final = 201


def _random_binder(
    plane: Plane, configuration: Mapping[str, Any] | None, name: str, kubeconfig: Path
) -> SchedulerProcess:
    program = [sys.executable, "-m", "tests.e2e.random_binder"]
    return SchedulerProcess(plane, name, program, kubeconfig, configuration)


#: Given a control plane, a configuration, a name for its files, and a kubeconfig.
CONTENDERS: Final[Mapping[str, Callable[[Plane, Mapping[str, Any] | None, str, Path], SchedulerProcess]]] = {
    THEIRS: kube_scheduler,
    OURS: stowplan,
    RANDOM: _random_binder,
}


def order_of(number: int, turns: int) -> list[str]:
    """Return whose turn it is: there and back again, and another begins with the next number."""
    names = list(CONTENDERS)
    first = number % len(names)
    row = names[first:] + names[:first]
    return [name for turn in range(turns) for name in (row if turn % 2 == 0 else reversed(row))]


def make_scheduler_identity(plane: Plane) -> Path:
    """Make a service account that may do what kube-scheduler may; return its kubeconfig."""
    plane.create_service_account(NAMESPACE, _SCHEDULER)
    for role in _ROLES:
        plane.grant(NAMESPACE, _SCHEDULER, role)
    asked = {"verb": "update", "resource": "persistentvolumes"}
    wait_until_allowed(plane.api, f"system:serviceaccount:{NAMESPACE}:{_SCHEDULER}", asked)
    return plane.service_account_kubeconfig(NAMESPACE, _SCHEDULER)


def make_administrator(plane: Plane) -> Path:
    """Make a service account that may do everything, for who makes the objects; return its kubeconfig."""
    plane.create_service_account(NAMESPACE, _ADMINISTRATOR)
    plane.grant(NAMESPACE, _ADMINISTRATOR, "cluster-admin")
    asked = {"verb": "create", "resource": "nodes"}
    wait_until_allowed(plane.api, f"system:serviceaccount:{NAMESPACE}:{_ADMINISTRATOR}", asked)
    return plane.service_account_kubeconfig(NAMESPACE, _ADMINISTRATOR)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Diary:
    """What is added to an audit log from now on about a namespace: when pods were bound, and when events were written.

    To read it costs no scheduler anything, and the API server writes it for all alike.
    """

    def __init__(self, log: Path, namespace: str) -> None:
        self._log = log.open("rb")
        self._log.seek(0, 2)
        self._rest = b""
        self._namespace = f'"namespace":"{namespace}"'.encode()
        self.bound_at: list[float] = []
        self.told_at: list[float] = []

    def read(self) -> None:
        *lines, self._rest = (self._rest + self._log.read()).split(b"\n")
        for line in lines:
            if b'"verb":"create"' in line and self._namespace in line:
                self._take(json.loads(line))

    def close(self) -> None:
        self._log.close()

    def _take(self, event: Object) -> None:
        if event["responseStatus"]["code"] != _CREATED:
            return
        moment = datetime.fromisoformat(event["stageTimestamp"]).timestamp()
        match event["objectRef"]:
            case {"resource": "pods", "subresource": "binding"}:
                self.bound_at.append(moment)
            case {"resource": "events"}:
                self.told_at.append(moment)
