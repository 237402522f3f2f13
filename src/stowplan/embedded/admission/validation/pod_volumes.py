"""Rules of the volumes of a pod, and of how its containers see them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from stowplan.embedded.admission.validation import names, storage
from stowplan.embedded.admission.validation.field import Field
from stowplan.model.quantity import Quantity

#: What the source of a volume cannot do without.
_NEEDED_BY_SOURCE: Final = {
    "persistentVolumeClaim": "claimName",
    "configMap": "name",
    "secret": "secretName",
    "hostPath": "path",
    "csi": "driver",
    "image": "reference",
    "gitRepo": "repository",
    "ephemeral": "volumeClaimTemplate",
}
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_MOST_MODE: Final = 0o777


def check_volumes(volumes: Field) -> set[str]:
    """Check that each volume has a name of its own and one source; return the names of those that are right."""
    known: set[str] = set()
    causes = volumes.problems.causes
    for volume in volumes:
        problems = len(causes)
        sources = [name for name in volume.value if name != "name"]
        for extra in sources[1:]:
            volume[extra].forbidden("may not specify more than 1 volume type")
        if sources:
            source = volume[sources[0]]
            if needed := _NEEDED_BY_SOURCE.get(sources[0]):
                source[needed].check_needed()
            if check := _OF_SOURCES.get(sources[0]):
                check(source)
        name = volume["name"]
        if name.check_needed(names.label) and name.value in known:
            name.duplicate()
        if len(causes) == problems:
            known.add(name.value)
    return known


def check_mounts(mounts: Field, volumes: Collection[str]) -> None:
    taken: set[str] = set()
    for mount in mounts:
        name, path = mount["name"], mount["mountPath"]
        name.check_needed()
        if (name.value or "") not in volumes:
            name.not_found(name.value or "")
        if path.check_needed() and path.value in taken:
            path.invalid("must be unique")
        taken.add(path.value or "")
        _check_part(mount, mounts)


def _check_part(mount: Field, mounts: Field) -> None:
    """Check which part of a volume is mounted; upstream does not say in which mount of the container."""
    part, made_part, propagation = (mount.get(name) for name in ("subPath", "subPathExpr", "mountPropagation"))
    if part and made_part:
        mount["subPathExpr"].invalid("subPathExpr and subPath are mutually exclusive")
    for name, path in (("subPath", part), ("subPathExpr", made_part)):
        if path and path.startswith("/"):
            _of_all(mounts, name, path).invalid("must be a relative path")
        elif path and ".." in path.split("/"):
            _of_all(mounts, name, path).invalid("must not contain '..'")
    if propagation is not None and propagation not in _PROPAGATIONS:
        _of_all(mounts, "mountPropagation", propagation).unsupported(_PROPAGATIONS)


def _of_all(mounts: Field, name: str, value: Any) -> Field:
    return Field(mounts.problems, name, value, mounts)


def check_devices(devices: Field, volumes: Collection[str]) -> None:
    """Check which volumes a container sees as devices, and where."""
    for device in devices:
        name, path = device["name"], device["devicePath"]
        name.check_needed()
        if (name.value or "") not in volumes:
            name.not_found(name.value or "")
        if path.check_needed() and ".." in path.value.split("/"):
            path.invalid("can not contain backsteps ('..')")


def _check_files(source: Field) -> None:
    """Check which keys become files, and who may read them."""
    mode = source["defaultMode"]
    if mode.value is not None and not 0 <= mode.value <= _MOST_MODE:
        mode.invalid("must be a number between 0 and 0777 (octal), both inclusive")
    for item in source["items"]:
        item["key"].check_needed()
        path = item["path"]
        if path.check_needed():
            storage.check_path(path, is_absolute=False)


def _check_memory(source: Field) -> None:
    size = source["sizeLimit"]
    if size.value is not None and Quantity.parse(str(size.value)).sign < 0:
        size.forbidden("SizeLimit field must be a valid resource quantity")


def _check_claim(source: Field) -> None:
    if "volumeClaimTemplate" in source:
        storage.check_claim(source["volumeClaimTemplate"])


_OF_SOURCES: Final[Mapping[str, Callable[[Field], None]]] = {
    "hostPath": storage.check_host_path,
    "nfs": storage.check_share,
    "secret": _check_files,
    "configMap": _check_files,
    "emptyDir": _check_memory,
    "ephemeral": _check_claim,
}
