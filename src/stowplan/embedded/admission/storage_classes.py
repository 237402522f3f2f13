"""A claim that names no class gets the default one, if the cluster has any."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.surroundings import Surroundings, served
from stowplan.embedded.objects.resource import Object

_MARK: Final = "storageclass.kubernetes.io/is-default-class"


def assign(claim: Object, api: Surroundings) -> None:
    """Give a new claim the default class, of several the youngest; "" asks for none."""
    if "storageClassName" in claim["spec"]:
        return
    classes = [stored.object["metadata"] for stored in api.store.list(served("storage.k8s.io", "storageclasses"))]
    defaults = [each for each in classes if (each.get("annotations") or {}).get(_MARK) == "true"]
    if defaults:
        defaults.sort(key=lambda each: str(each["name"]))
        # Of those that were made in the same second the first by name.
        youngest = max(defaults, key=lambda each: str(each.get("creationTimestamp", "")))
        claim["spec"]["storageClassName"] = youngest["name"]
