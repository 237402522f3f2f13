"""Checks persistent volumes and storage classes."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.model.quantity import Quantity

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_POLICIES: Final = ("Delete", "Recycle", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
#: What a volume says besides where it comes from.
_NOT_A_SOURCE: Final = frozenset(
    (
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    )
)


def check_volume(problems: Problems, volume: Object) -> None:
    """Check a volume: its size, how it is accessed, and that it comes from one place."""
    spec = volume["spec"]
    if not spec.get("accessModes"):
        problems.required("spec.accessModes")
    for mode in spec.get("accessModes") or ():
        problems.check_one_of("spec.accessModes", mode, _MODES)
    size = reading.at(spec, "capacity", "storage")
    if size is None:
        problems.required("spec.capacity")
    elif Quantity.parse(str(size)).sign <= 0:
        problems.invalid("spec.capacity[storage]", size, "must be greater than zero")
    sources = sorted(spec.keys() - _NOT_A_SOURCE)
    if not sources:
        problems.required("spec", "must specify a volume type")
    for extra in sources[1:]:
        problems.forbidden(f"spec.{extra}", "may not specify more than 1 volume type")
    if "local" in spec and "nodeAffinity" not in spec:
        problems.required("spec.nodeAffinity", "Local volume requires node affinity")
    problems.check_one_of("spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"], _POLICIES)


def check_volume_update(problems: Problems, volume: Object, before: Object) -> None:
    """A volume stays where it is; who has it may change."""
    spec, old = volume["spec"], before["spec"]
    sources = (spec.keys() | old.keys()) - _NOT_A_SOURCE
    if any(spec.get(source) != old.get(source) for source in sources):
        problems.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation")
    problems.check_unchanged("spec.volumeMode", spec.get("volumeMode"), old.get("volumeMode"))
    if old.get("nodeAffinity"):
        problems.check_unchanged("spec.nodeAffinity", spec.get("nodeAffinity"), old["nodeAffinity"])


def check_class(problems: Problems, storage_class: Object) -> None:
    """Check a storage class."""
    provisioner = storage_class.get("provisioner", "").lower()
    problems.check_name("provisioner", provisioner, names.qualified)
    problems.check_one_of("reclaimPolicy", storage_class["reclaimPolicy"], _POLICIES[::2])
    problems.check_one_of("volumeBindingMode", storage_class["volumeBindingMode"], _BINDING_MODES)


def check_class_update(problems: Problems, storage_class: Object, before: Object) -> None:
    """A class keeps what its volumes were made by."""
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        problems.check_unchanged(field, storage_class.get(field), before.get(field))
