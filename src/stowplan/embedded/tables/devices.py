"""The columns of dynamic resource allocation: claims, their templates, classes and slices of devices."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.tables.column import AGE, NAME, Sheet, column, value


def claim_state(claim: Object) -> str:
    states = ["deleted"] if reading.is_deleted(claim) else []
    if not reading.mapping(claim, "status", "allocation"):
        return ",".join(states or ["pending"])
    reserved = ["reserved"] if reading.entries(claim, "status", "reservedFor") else []
    return ",".join([*states, "allocated", *reserved])


SHEETS: Final = {
    "deviceclasses.resource.k8s.io": Sheet((NAME, AGE)),
    "resourceclaims.resource.k8s.io": Sheet((NAME, column("State", claim_state), AGE)),
    "resourceclaimtemplates.resource.k8s.io": Sheet((NAME, AGE)),
    "resourceslices.resource.k8s.io": Sheet(
        (
            NAME,
            value("Node", "spec", "nodeName"),
            value("Driver", "spec", "driver"),
            value("Pool", "spec", "pool", "name"),
            AGE,
        )
    ),
}
