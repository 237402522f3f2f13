"""Where a new volume can be reached from, as the node affinity of a PersistentVolume. Pure.

A volume for a pod that was placed is made where that pod goes: on its node, or in its zone. One that is made before
anybody was placed is spread over what its class allows, the claims of a StatefulSet one after the other.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from itertools import product

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_NUMBERED = re.compile(r"(.*)-([0-9]+)$")

#: Labels of the nodes that reach a volume.
Segment = Mapping[str, str]


def around(labels: Mapping[str, str], keys: Iterable[str]) -> Segment:
    """The part of the cluster that a node is in, by these labels of it."""
    return {key: labels[key] for key in keys if key in labels}


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
    return [
        reading.entries(term, "matchLabelExpressions") for term in reading.entries(storage_class, "allowedTopologies")
    ]


def _segments(term: list[Object]) -> list[Segment]:
    """Every combination of values that a term allows."""
    keys = [each["key"] for each in term]
    return [dict(zip(keys, values, strict=True)) for values in product(*(each["values"] for each in term))]
