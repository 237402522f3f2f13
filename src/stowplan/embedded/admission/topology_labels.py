"""A pod that gets a node gets its zone and region too, as labels, so that what runs in it can tell where it is."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.surroundings import Surroundings, served
from stowplan.embedded.objects.resource import Object

_COPIED: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def copy_from_node(metadata: Object, node_name: str, api: Surroundings) -> None:
    """Label a pod after its node; a node that is not there has no labels."""
    node = api.store.get(served("", "nodes"), "", node_name)
    found = {key: node.labels[key] for key in _COPIED if key in node.labels} if node is not None else {}
    if found:
        metadata["labels"] = {**metadata.get("labels", {}), **found}
