"""Plays the part of every kubelet that says "I am here": a Ready condition for each new node, and a lease kept alive.

Only leases are written as time passes, a few at a time: with very many nodes each is renewed less often rather than all
at once, and the lease says how long it holds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, find_resource
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.kubelet.pod_status import address_of_node
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.releases import VERSIONS
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.parts import STATUS
from stowplan.embedded.requests.request import TRUSTED, Target
from stowplan.model.timestamps import format_micro_time

LEASE_NAMESPACE = "kube-node-lease"
_TICK_SECONDS = 1.0
#: However many nodes there are, no more leases than these are written in a second.
_LEASES_PER_SECOND = 100
#: A lease outlives this many renewals.
_RENEWALS_PER_LEASE = 4

_HEALTH = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


class Heartbeats(Controller):
    """The heartbeats of all nodes. A Ready condition that somebody else has written stays as it is."""

    def __init__(self, context: ControllerContext, interval_seconds: float) -> None:
        super().__init__(context, "kubelet", context.nodes.resource)
        self._interval_seconds = interval_seconds
        self._version = VERSIONS[context.api.catalogue.release]
        self._leases = find_resource(context.api, "coordination.k8s.io/v1", "Lease")
        self._round: deque[str] = deque()
        self._watch(context.nodes, self._on_node)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [*super().work(), self._renew_leases()]

    def reconcile(self, key: ObjectKey) -> None:
        """Complete a node that has just come, and give it a lease."""
        node = self._context.nodes.get(key)
        if node is None:
            return
        if "Ready" not in node.conditions or not node.address:
            self._complete(node)
        self._renew(node)

    async def _renew_leases(self) -> None:
        """Renew some leases at each tick, in turn."""
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            count = -(-len(self._round) // max(1, round(self._interval_seconds / _TICK_SECONDS)))
            for _ in range(min(count, round(_LEASES_PER_SECOND * _TICK_SECONDS), len(self._round))):
                name = self._round.popleft()
                node = self._context.nodes.named(name)
                # A node that is gone leaves the round here; one that came is added when it registers.
                if node is not None:
                    self._round.append(name)
                    self._try_renew(node)

    def _try_renew(self, node: KnownNode) -> None:
        try:
            self._renew(node)
        except StatusError:
            # Somebody else changed it, or the namespace is gone: the next turn is another chance.
            return
        except Exception as error:
            # The lease of one node, whatever is in it, keeps no other from being renewed.
            self._failures.tell(node.key, error)

    def _renew(self, node: KnownNode) -> None:
        stored = self._api.store.get(self._leases, LEASE_NAMESPACE, node.name)
        # How long a lease holds: the longer the more nodes take turns.
        interval = max(self._interval_seconds, len(self._round) / _LEASES_PER_SECOND)
        spec: Object = {
            "holderIdentity": node.name,
            "leaseDurationSeconds": round(interval * _RENEWALS_PER_LEASE),
            "renewTime": format_micro_time(self._now()),
        }
        if stored is None:
            owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
            meta = {"name": node.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
            self._api.insert(Target(self._leases, LEASE_NAMESPACE), {"metadata": meta, "spec": spec}, TRUSTED)
            return
        lease = stored.object
        lease["spec"] = {**(lease.get("spec") or {}), **spec}
        self._api.replace(Target(self._leases, LEASE_NAMESPACE, node.name), lease, TRUSTED)

    def _complete(self, node: KnownNode) -> None:
        """Write what a kubelet reports when it registers, where the node does not say it already."""
        obj = self._api.get(self._resource, "", node.name)
        status = obj.setdefault("status", {})
        moment = self._moment()
        if conditions.find(status, "Ready") is None:
            for what in _HEALTH:
                if conditions.find(status, what[0]) is None:
                    conditions.put(status, conditions.make(what, moment, lastHeartbeatTime=moment))
        if not node.address:
            address = {"type": "InternalIP", "address": address_of_node(self._api.store.version)}
            others = [each for each in status.get("addresses") or [] if each.get("type") != "InternalIP"]
            names = [] if others else [{"type": "Hostname", "address": node.name}]
            status["addresses"] = [address, *others, *names]
        info = status.get("nodeInfo") or {}
        if not info.get("kubeletVersion"):
            told = {key: value for key, value in info.items() if value}
            status["nodeInfo"] = {**_NODE_INFO, "kubeletVersion": self._version, **told}
        self._api.replace(Target(self._resource, "", node.name, STATUS), obj, TRUSTED)

    def _on_node(self, before: KnownNode | None, after: KnownNode | None) -> None:
        if after is None:
            return
        if before is None:
            self._round.append(after.name)
        if before is None or before.uid != after.uid or "Ready" not in after.conditions:
            self._queue.add(after.key)


_NODE_INFO = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "stowplan://1",
    "kernelVersion": "",
    "kubeProxyVersion": "",
    "kubeletVersion": "",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "",
    "systemUUID": "",
}
