"""Claims and volumes are born with a finalizer, so that what is in use does not go under somebody's feet.

The controller that knows who uses them takes it off.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects.resource import Object

_FINALIZERS: Final = {
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
    "PersistentVolume": "kubernetes.io/pv-protection",
}


def protect(obj: Object) -> None:
    """Give a new claim or volume its finalizer."""
    finalizer = _FINALIZERS[obj["kind"]]
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)
