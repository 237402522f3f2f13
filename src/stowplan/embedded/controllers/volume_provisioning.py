"""Stands in for every provisioner: whoever is asked for a volume, the volume is there at once. Nothing is stored on it.

A volume for a pod that was placed is made where that pod goes: on its node, or in its zone. One that is made before
anybody was placed is spread over what its class allows, the claims of a StatefulSet one after the other. What is
deleted with its claim needs nobody here: there is no disk to remove.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from itertools import product

from stowplan.embedded.controllers.volume_binding import reference_to
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.metadata import ObjectKey, find_resource
from stowplan.embedded.informers.nodes import KnownNode
from stowplan.embedded.informers.volumes import DEFAULT_CLASS, PROVISIONED_BY, SELECTED_NODE, KnownClaim
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object

#: Makes volumes that one node reaches.
LOCAL = "stowplan.dev/local"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_NUMBERED = re.compile(r"(.*)-([0-9]+)$")

#: Labels of the nodes that reach a volume.
Segment = Mapping[str, str]


class ProvisioningController(Controller):
    """Makes a volume for each claim that somebody is asked for one for."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "external-provisioner", context.volumes.claims.resource)
        self._volumes = context.volumes
        self._csi_nodes = find_resource(context.api, "storage.k8s.io/v1", "CSINode")
        for informer in (context.nodes, *context.volumes.informers):
            self._watch(informer)
        context.volumes.claims.add_event_handler(self._on_claim)

    def reconcile(self, key: ObjectKey) -> None:
        """Make the volume of a claim that is still without one."""
        claim = self._volumes.claims.get(key)
        storage_class = self._volumes.class_of(claim) if claim is not None else None
        if claim is None or storage_class is None or not _is_asked(claim):
            return
        if storage_class.provisioner != claim.provisioner or self._volumes.volume(_name(claim.uid)) is not None:
            return
        if storage_class.waits_for_consumer and not claim.selected_node:
            return
        node = self._context.nodes.named(claim.selected_node)
        class_obj = self._api.get(self._volumes.classes.resource, "", storage_class.name)
        if claim.selected_node and (node is None or not allows(class_obj, node.labels)):
            # The choice is taken back: the node is gone, or outside of what the class allows.
            obj = self._api.get(self._resource, *claim.key)
            del obj["metadata"]["annotations"][SELECTED_NODE]
            self._update(self._resource, obj)
            problem = f'the volume cannot be made for node "{claim.selected_node}"'
            message = f'failed to provision volume with StorageClass "{claim.class_name}": {problem}'
            self._warning(obj, "ProvisioningFailed", message)
        else:
            self._provide(claim, class_obj, node)

    def _provide(self, claim: KnownClaim, storage_class: Object, node: KnownNode | None) -> None:
        claim_obj = self._api.get(self._resource, *claim.key)
        volume = volume_for(claim_obj, storage_class, self._segment(claim, storage_class, node))
        said = f'External provisioner is provisioning volume for claim "{claim.namespace}/{claim.name}"'
        self._normal(claim_obj, "Provisioning", said)
        try:
            self._api.create(self._volumes.volumes.resource, "", volume)
        except StatusError as error:
            message = f'failed to provision volume with StorageClass "{claim.class_name}": {error.message}'
            self._warning(claim_obj, "ProvisioningFailed", message)
            raise
        said = f"Successfully provisioned volume {volume['metadata']['name']}"
        self._normal(claim_obj, "ProvisioningSucceeded", said)

    def _segment(self, claim: KnownClaim, storage_class: Object, node: KnownNode | None) -> Segment:
        """Where the volume is reached from: by what its driver says of the node, or its class, or what is usual."""
        if node is None:
            return spread(storage_class, claim.name)
        usual = [HOSTNAME] if claim.provisioner == LOCAL else [ZONE]
        keys = self._driver_keys(claim.provisioner, node) or allowed_keys(storage_class) or usual
        return {key: node.labels[key] for key in keys if key in node.labels}

    def _driver_keys(self, driver: str, node: KnownNode) -> list[str]:
        stored = self._api.store.get(self._csi_nodes, "", node.name)
        drivers = reading.entries(stored.object, "spec", "drivers") if stored is not None else []
        return next((reading.texts(each, "topologyKeys") for each in drivers if each.get("name") == driver), [])

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
        "nodeAffinity": affinity(segment),
        "mountOptions": storage_class.get("mountOptions"),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": storage_class["metadata"]["name"],
        "volumeMode": spec.get("volumeMode", "Filesystem"),
    }
    return {
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: driver}},
        "spec": {key: value for key, value in made.items() if value is not None},
    }


def _name(claim_uid: str) -> str:
    return f"pvc-{claim_uid}"


def _is_asked(claim: KnownClaim) -> bool:
    return bool(claim.provisioner) and not (claim.volume or claim.is_bind_completed or claim.is_terminating)


def allowed_keys(storage_class: Object) -> list[str]:
    """The labels by which a class says where its volumes may be."""
    return list(dict.fromkeys(each["key"] for term in _terms(storage_class) for each in term))


def allows(storage_class: Object, labels: Mapping[str, str]) -> bool:
    """Whether the volumes of a class may be where a node is."""
    terms = _terms(storage_class)
    return not terms or any(all(labels.get(each["key"]) in each["values"] for each in term) for term in terms)


def spread(storage_class: Object, claim_name: str) -> Segment:
    """One of the parts of the cluster that a class allows, chosen by the name of the claim."""
    segments = [segment for term in _terms(storage_class) for segment in _segments(term)]
    if not segments:
        return {}
    found = _NUMBERED.match(claim_name)
    stem, number = (found[1], int(found[2])) if found else (claim_name, 0)
    return segments[(zlib.crc32(stem.encode()) + number) % len(segments)]


def affinity(segment: Segment) -> Object | None:
    """The node affinity of a volume that only a part of the cluster reaches; None for the whole."""
    if not segment:
        return None
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(segment.items())]
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}


def _terms(storage_class: Object) -> list[list[Object]]:
    terms = reading.entries(storage_class, "allowedTopologies")
    # An API server refuses an expression without key or values; ours stores it, and no node satisfies it.
    return [
        [{"key": each.get("key", ""), "values": each.get("values", ())} for each in expressions]
        for expressions in (reading.entries(term, "matchLabelExpressions") for term in terms)
    ]


def _segments(term: list[Object]) -> list[Segment]:
    """Every combination of values that a term allows."""
    keys = [each["key"] for each in term]
    return [dict(zip(keys, values, strict=True)) for values in product(*(each["values"] for each in term))]
