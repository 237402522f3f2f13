"""Whether what was written for the claims of a pod has come true, looked at whenever the cluster tells something."""

from __future__ import annotations

from typing import Any

from stowplan.framework.handle import PreparingHandle
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumebinding.migration import Migrations
from stowplan.plugins.volumebinding.plan import Plan
from stowplan.plugins.volumes.annotations import SELECTED_NODE, is_fully_bound

#: Kind, namespace and name.
Key = tuple[str, str, str]


class CompletionError(Exception):
    """What was planned will not come true; the text is upstream's."""


class Completion:
    """Follows one pod's claims; `written` has the objects that were written, as the cluster answered."""

    def __init__(self, handle: PreparingHandle, migrations: Migrations, pod: Pod, plan: Plan) -> None:
        self._handle = handle
        self._migrations = migrations
        self._pod = pod
        self._plan = plan
        self._written: dict[Key, str] = {}
        self._looked_at: tuple[int, int] | None = None

    def note_written(self, found: Any) -> None:
        """Remember what the cluster answered to a write: older versions of the object say nothing."""
        self._written[key_of(found)] = found.metadata.resource_version

    def is_reached(self) -> bool:
        """Say whether all claims are bound; raise CompletionError if they will not be."""
        listers, node_name = self._handle.listers, self._plan.node_name
        if not len(self._handle.row_of(node_name)):
            raise CompletionError(f'failed to get node "{node_name}": node "{node_name}" not found')
        if not self._handle.is_placed(self._pod):
            raise CompletionError(f'pod does not exist any more: pod "{self._pod.name}" not found')
        versions = listers.version("PersistentVolume"), listers.version("PersistentVolumeClaim")
        if versions == self._looked_at:
            return False
        self._looked_at = versions
        bindings = all(self._is_tied(volume, claim) for volume, claim in self._plan.bindings)
        return bindings and all(map(self._is_made, self._plan.provisions))

    def _is_tied(self, chosen: PersistentVolume, wanted: PersistentVolumeClaim) -> bool:
        volume = self._handle.listers.persistent_volume(chosen.name)
        if volume is None:
            raise CompletionError(f'failed to check binding: persistentvolumes "{chosen.name}" not found')
        claim = self._claim(wanted, "failed to check binding")
        if self._is_outdated(volume):
            return False
        self._check_reach(volume)
        ref = volume.spec.claim_ref
        if ref is None or (wanted.uid and not ref.uid):
            raise CompletionError(f'ClaimRef got reset for pv "{volume.name}"')
        return is_fully_bound(claim)

    def _is_made(self, wanted: PersistentVolumeClaim) -> bool:
        claim = self._claim(wanted, "failed to check provisioning pvc")
        if self._is_outdated(claim):
            return False
        if not claim.metadata.annotations:
            raise CompletionError(f'selectedNode annotation reset for PVC "{claim.name}"')
        if claim.metadata.annotations.get(SELECTED_NODE, "") != self._plan.node_name:
            raise CompletionError(f'provisioning failed for PVC "{claim.name}"')
        if claim.spec.volume_name:
            volume = self._handle.listers.persistent_volume(claim.spec.volume_name)
            if volume is None:
                # Claims and volumes are told of one by one.
                return False
            self._check_reach(volume)
        return is_fully_bound(claim)

    def _claim(self, wanted: PersistentVolumeClaim, doing: str) -> PersistentVolumeClaim:
        claim = self._handle.listers.persistent_volume_claim(wanted.namespace, wanted.name)
        if claim is None:
            raise CompletionError(f'{doing}: persistentvolumeclaims "{wanted.key}" not found')
        return claim

    def _check_reach(self, volume: PersistentVolume) -> None:
        node_name = self._plan.node_name
        if not self._migrations.admitted(volume, self._handle.row_of(node_name)).all():
            problem = f'pv "{volume.name}" node affinity doesn\'t match node "{node_name}"'
            raise CompletionError(f"{problem}: no matching NodeSelectorTerms")

    def _is_outdated(self, found: PersistentVolume | PersistentVolumeClaim) -> bool:
        """Say whether the cluster has not told us yet of what we wrote."""
        written, known = self._written.get(key_of(found), ""), found.metadata.resource_version
        return written.isdecimal() and known.isdecimal() and int(known) < int(written)


def key_of(found: Any) -> Key:
    return found.kind, found.metadata.namespace, found.metadata.name
