"""Stands in for every provisioner: whoever is asked for a volume, the volume is there at once. Nothing is stored on it.

What is deleted with its claim needs nobody here: there is no disk to remove.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from stowplan.embedded.controllers import volume_topology
from stowplan.embedded.controllers.volume_binding import reference_to
from stowplan.embedded.controllers.volume_topology import HOSTNAME, ZONE, Segment
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Key
from stowplan.embedded.following.nodes import KnownNode
from stowplan.embedded.following.setting import Setting
from stowplan.embedded.following.storage import DEFAULT_CLASS, PROVISIONED_BY, SELECTED_NODE, KnownClaim, Storage
from stowplan.embedded.following.work import Worker, WorkQueue
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object

#: Makes volumes that one node reaches.
LOCAL = "stowplan.dev/local"


class VolumeProvisioning:
    """Makes a volume for each claim that somebody is asked for one for."""

    def __init__(self, setting: Setting, storage: Storage) -> None:
        self._setting, self._api = setting, setting.api
        self._storage = storage
        self._claims = resources.find(setting.api, "v1", "PersistentVolumeClaim")
        self._volumes = resources.find(setting.api, "v1", "PersistentVolume")
        self._classes = resources.find(setting.api, "storage.k8s.io/v1", "StorageClass")
        self._drivers = resources.find(setting.api, "storage.k8s.io/v1", "CSINode")
        self._recorder = setting.recorder("external-provisioner")
        self._queue = WorkQueue()
        self._failures = setting.failures("external-provisioner", self._claims)
        storage.claims.tell(self._on_claim)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        followers = (self._setting.nodes.follower, *self._storage.followers)
        return [Worker(self._queue, self.reconcile, followers, self._failures).run()]

    def reconcile(self, key: Key) -> float | None:
        """Make the volume of a claim that is still without one."""
        claim = self._storage.claim(key)
        storage_class = self._storage.class_of(claim) if claim is not None else None
        if claim is None or storage_class is None or not _is_asked(claim):
            return None
        if storage_class.provisioner != claim.provisioner or self._storage.volume(_name(claim.uid)) is not None:
            return None
        if storage_class.waits_for_consumer and not claim.selected_node:
            return None
        node = self._setting.nodes.get(claim.selected_node)
        class_obj = self._api.get(self._classes, "", storage_class.name)
        if claim.selected_node and (node is None or not volume_topology.allows(class_obj, node.labels)):
            self._let_choose_again(claim)
        else:
            self._provide(claim, class_obj, node)
        return None

    def _provide(self, claim: KnownClaim, storage_class: Object, node: KnownNode | None) -> None:
        claim_obj = self._api.get(self._claims, *claim.key)
        segment = self._segment(claim, storage_class, node)
        volume = volume_for(claim_obj, storage_class, segment)
        said = f'External provisioner is provisioning volume for claim "{claim.namespace}/{claim.name}"'
        self._recorder.normal(self._claims, claim_obj, "Provisioning", said)
        try:
            self._api.create(self._volumes, "", volume)
        except StatusError as error:
            message = f'failed to provision volume with StorageClass "{claim.class_name}": {error.message}'
            self._recorder.warning(self._claims, claim_obj, "ProvisioningFailed", message)
            raise
        said = f"Successfully provisioned volume {volume['metadata']['name']}"
        self._recorder.normal(self._claims, claim_obj, "ProvisioningSucceeded", said)

    def _segment(self, claim: KnownClaim, storage_class: Object, node: KnownNode | None) -> Segment:
        """Where the volume is reached from: by what its driver says of the node, or its class, or what is usual."""
        if node is None:
            return volume_topology.spread(storage_class, claim.name)
        usual = [HOSTNAME] if claim.provisioner == LOCAL else [ZONE]
        keys = self._driver_keys(claim.provisioner, node) or volume_topology.allowed_keys(storage_class) or usual
        return volume_topology.around(node.labels, keys)

    def _driver_keys(self, driver: str, node: KnownNode) -> list[str]:
        stored = self._api.store.get(self._drivers, "", node.name)
        drivers = reading.entries(stored.object, "spec", "drivers") if stored is not None else []
        return next((reading.texts(each, "topologyKeys") for each in drivers if each.get("name") == driver), [])

    def _let_choose_again(self, claim: KnownClaim) -> None:
        """Take back a choice that cannot be served: the node is gone, or outside of what the class allows."""
        obj = self._api.get(self._claims, *claim.key)
        del obj["metadata"]["annotations"][SELECTED_NODE]
        self._api.update(self._claims, *claim.key, obj)
        problem = f'the volume cannot be made for node "{claim.selected_node}"'
        message = f'failed to provision volume with StorageClass "{claim.class_name}": {problem}'
        self._recorder.warning(self._claims, obj, "ProvisioningFailed", message)

    def _on_claim(self, _: KnownClaim | None, after: KnownClaim | None) -> None:
        if after is not None and _is_asked(after):
            self._queue.add(after.key)


def standard_class() -> Object:
    """Make the class that a new cluster offers to claims that name none."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": LOCAL,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def volume_for(claim: Object, storage_class: Object, segment: Segment) -> Object:
    """Make the volume of a claim, as a CSI driver would report it."""
    spec, name = claim["spec"], _name(claim["metadata"]["uid"])
    driver = storage_class["provisioner"]
    made: Object = {
        "accessModes": spec["accessModes"],
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "claimRef": reference_to(claim),
        "csi": {"driver": driver, "volumeHandle": name},
        "nodeAffinity": volume_topology.affinity(segment),
        "mountOptions": storage_class.get("mountOptions"),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": storage_class["metadata"]["name"],
        "volumeMode": spec.get("volumeMode", "Filesystem"),
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: driver}},
        "spec": {key: value for key, value in made.items() if value is not None},
    }


def _name(claim_uid: str) -> str:
    return f"pvc-{claim_uid}"


def _is_asked(claim: KnownClaim) -> bool:
    return bool(claim.provisioner) and not (claim.volume or claim.is_bind_completed or claim.is_terminating)
