"""When an embedded cluster has nothing more to do: controllers and kubelet are done, and every pod is decided on.

A pod that is refused may wait for ever, one that failed with an error again and again may fail for ever, one that was
placed may wait for its volumes; a pod that runs may end some day. None of them keeps a cluster from being quiet.
"""

from __future__ import annotations

import asyncio
from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.local.cluster import LocalCluster

_LOOK_AGAIN_SECONDS: Final = 0.02
#: Without it in its text a pod is not being deleted; looked for before a hundred thousand pods are decoded.
_MARK: Final = b'"deletionTimestamp"'


class Settling:
    """Watches one cluster come to rest."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        pods = cluster.pods
        self._node_at, self._phase_at = pods.fields.index("spec.nodeName"), pods.fields.index("status.phase")

    async def quiet(self) -> None:
        """Wait until the controllers have done what there is to do without a scheduler."""
        while not self._cluster.is_quiet():  # noqa: ASYNC110 (many places, none of which tells)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def settled(self) -> None:
        """Wait until every pod is decided on."""
        while not self._is_settled():  # noqa: ASYNC110 (many places, none of which tells)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _is_settled(self) -> bool:
        cluster = self._cluster
        # Asked at every look: it counts them.
        is_quiet = cluster.is_quiet()
        return is_quiet and cluster.scheduler.is_idle and self._is_running() and self._is_seen()

    def _is_seen(self) -> bool:
        """Say whether the scheduler knows every pod and node as it is now."""
        cluster = self._cluster
        watching = cluster.scheduler.replica.watching
        for resource, kind in ((cluster.pods, "Pod"), (cluster.nodes, "Node")):
            seen = {one.metadata.uid: one.metadata.resource_version for one in watching.objects(kind)}
            for stored in cluster.api.store.list(resource):
                if self._has_ended(kind, stored.fields):
                    continue
                if seen.get(stored.uid) != str(stored.version):
                    return False
        return True

    def _has_ended(self, kind: str, fields: tuple[str, ...]) -> bool:
        return kind == "Pod" and fields[self._phase_at] in ("Succeeded", "Failed")

    def _is_running(self) -> bool:
        """Say whether every bound pod has been taken on by a kubelet, and every pod that is to go has gone."""
        cluster = self._cluster
        for stored in cluster.api.store.list(cluster.pods):
            is_pending = stored.fields[self._node_at] and stored.fields[self._phase_at] in ("", "Pending")
            if is_pending and not reading.text(stored.object, "status", "startTime"):
                return False
            if _MARK in stored.body and _is_going(stored.object["metadata"]):
                return False
        return True


def _is_going(metadata: Object) -> bool:
    """Say whether a pod is about to go; one with finalizers waits for somebody we do not know."""
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")
