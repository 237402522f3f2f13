"""Plays the kubelets: registers nodes, keeps their leases, runs the pods bound to them and ends the deleted ones.

Nothing is run. What a scheduler and the controllers see of a kubelet is all there is: the Node and its Ready condition,
the Lease, a pod that turns Running, and a deleted pod that goes away. A pod that says how long it runs, as it would say
on `stowplan up`, ends at once, with the exit code that it names.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import aiohttp

from tests.e2e.api import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Api, ApiError, Object

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_HEARTBEAT_SECONDS = 10.0
_LEASE_SECONDS = 40
_RETRY_SECONDS = 0.3
_DURATION = "stowplan.dev/duration"
_EXIT_CODE = "stowplan.dev/exit-code"


class Kubelets:
    """The kubelets of one control plane."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._nodes: list[str] = []
        self._tasks: list[concurrent.futures.Future[None]] = []

    def register(self, nodes: Iterable[Object]) -> None:
        """Join nodes to the cluster and report them ready."""
        nodes = list(nodes)
        self._api.all(self._register(node) for node in nodes)
        self._nodes += [node["metadata"]["name"] for node in nodes]

    def replace(self, name: str, node: Object) -> None:
        """Take a node out of the cluster and join another."""
        self._api.delete(f"/api/v1/nodes/{name}")
        self._nodes.remove(name)
        self.register([node])

    def clear(self) -> None:
        """Leave an empty cluster: no pods, no nodes."""
        self._api.all(self._remove(pod) for pod in self._api.items("/api/v1/pods"))
        self._api.delete("/api/v1/nodes")
        self._nodes.clear()

    def start(self) -> None:
        """Run bound pods from now on."""
        self._tasks.append(self._api.spawn(self._run_pods()))

    def start_heartbeats(self) -> None:
        """Keep the leases of all nodes from now on, which matters while a node lifecycle controller watches them."""
        self._api.all(self._renew_lease(name) for name in self._nodes)
        self._tasks.append(self._api.spawn(self._renew_leases()))

    def stop(self) -> None:
        """Fall silent, as after a power cut."""
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(concurrent.futures.CancelledError):
                task.result()
        self._tasks.clear()

    def report(self, node: str, is_ready: bool) -> None:
        """Set the Ready condition of a node."""
        status = {"status": {"conditions": [_ready_condition(is_ready)]}}
        self._api.patch(f"/api/v1/nodes/{node}/status", status, STRATEGIC_PATCH)

    async def _register(self, node: Object) -> None:
        created = {**node, "status": {**node["status"], "conditions": [_ready_condition(True)]}}
        await self._api.call("POST", "/api/v1/nodes", created)
        # Admission taints each new node as not ready; the node lifecycle controller would lift that.
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        await self._api.call("PATCH", path, {"spec": {"taints": node["spec"]["taints"]}}, MERGE_PATCH)

    async def _run_pods(self) -> None:
        """Act on each pod that is bound to a node; after any fault look at all of them again."""
        while True:
            try:
                async with asyncio.TaskGroup() as work:
                    bound = await self._api.call("GET", "/api/v1/pods", query={"fieldSelector": "spec.nodeName!="})
                    for pod in bound["items"]:
                        work.create_task(self._attend(pod))
                    await self._follow_pods(bound["metadata"]["resourceVersion"], work)
            except* (ApiError, aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(_RETRY_SECONDS)

    async def _follow_pods(self, version: str, work: asyncio.TaskGroup) -> None:
        query = {"fieldSelector": "spec.nodeName!=", "resourceVersion": version}
        async for kind, pod in self._api.watch("/api/v1/pods", **query):
            if kind == "ERROR":
                return
            if kind != "DELETED":
                work.create_task(self._attend(pod))

    async def _attend(self, pod: Object) -> None:
        """Do what a kubelet does next with this pod."""
        if "deletionTimestamp" in pod["metadata"]:
            await self._remove(pod)
        elif pod["status"]["phase"] == "Pending":
            await self._report(pod, _running_status(pod))
        elif pod["status"]["phase"] == "Running" and _DURATION in pod["metadata"].get("annotations", {}):
            await self._report(pod, _ended_status(pod))

    async def _report(self, pod: Object, status: Object) -> None:
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        await self._unless_gone("PATCH", f"{_path(pod)}/status", body, STRATEGIC_PATCH)

    async def _remove(self, pod: Object) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await self._unless_gone("DELETE", _path(pod), body, "application/json")

    async def _unless_gone(self, method: str, path: str, body: Object, content_type: str) -> None:
        try:
            await self._api.call(method, path, body, content_type)
        except ApiError as error:
            # 409: another pod has the name by now.
            if error.status not in (404, 409):
                raise

    async def _renew_leases(self) -> None:
        while True:
            try:
                async with asyncio.TaskGroup() as work:
                    for name in self._nodes:
                        work.create_task(self._renew_lease(name))
            except* (ApiError, aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                await asyncio.sleep(_HEARTBEAT_SECONDS)

    async def _renew_lease(self, name: str) -> None:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
        query = {"fieldManager": "kubelets", "force": "true"}
        await self._api.call("PATCH", f"{_LEASES}/{name}", lease, APPLY_PATCH, query)


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _ready_condition(is_ready: bool) -> dict[str, Any]:
    now = _now()
    return {
        "type": "Ready",
        "status": "True" if is_ready else "False",
        "reason": "KubeletReady" if is_ready else "KubeletNotReady",
        "message": "kubelet is posting ready status" if is_ready else "container runtime is down",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _running_status(pod: Object) -> dict[str, Any]:
    now = _now()
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": now}},
        }
        for container in pod["spec"]["containers"]
    ]
    ready = [
        {"type": kind, "status": "True", "lastTransitionTime": now}
        for kind in ("Initialized", "ContainersReady", "Ready")
    ]
    return {"phase": "Running", "startTime": now, "conditions": ready, "containerStatuses": containers}


def _ended_status(pod: Object) -> dict[str, Any]:
    now = _now()
    exit_code = int(pod["metadata"]["annotations"].get(_EXIT_CODE, "0"))
    reason = "Error" if exit_code else "Completed"
    ended = {"exitCode": exit_code, "reason": reason, "startedAt": now, "finishedAt": now}
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": [
            {"type": kind, "status": "False", "lastTransitionTime": now} for kind in ("ContainersReady", "Ready")
        ],
        "containerStatuses": [
            {**one, "ready": False, "started": False, "state": {"terminated": ended}}
            for one in pod["status"]["containerStatuses"]
        ],
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
