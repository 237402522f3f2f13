"""Checks what describes storage beside volumes and their classes: drivers, attachments, attributes."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import IMMUTABLE, Problems
from stowplan.embedded.objects.resource import Object

_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES: Final = ("Persistent", "Ephemeral")
_LEAST_TOKEN_SECONDS: Final = 600
_MOST_TOKEN_SECONDS: Final = 1 << 32
_LONGEST_DRIVER: Final = 63
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def check_driver(problems: Problems, driver: Object) -> None:
    """Check a CSI driver."""
    spec = driver["spec"]
    problems.check_one_of("spec.fsGroupPolicy", spec["fsGroupPolicy"], _GROUP_POLICIES)
    audiences = set()
    for index, request in enumerate(spec.get("tokenRequests", ())):
        audience, path = request.get("audience", ""), f"spec.tokenRequests[{index}]"
        if audience in audiences:
            problems.duplicate(f"{path}.audience", audience)
            continue
        audiences.add(audience)
        seconds = request.get("expirationSeconds", _LEAST_TOKEN_SECONDS)
        if seconds < _LEAST_TOKEN_SECONDS:
            problems.invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        if seconds > _MOST_TOKEN_SECONDS:
            detail = "may not specify a duration larger than 2^32 seconds"
            problems.invalid(f"{path}.expirationSeconds", seconds, detail)
    for mode in spec["volumeLifecycleModes"]:
        problems.check_one_of("spec.volumeLifecycleModes", mode, _LIFECYCLES)


def check_driver_update(problems: Problems, driver: Object, before: Object) -> None:
    spec, old = driver["spec"], before.get("spec") or {}
    # Upstream calls the path so.
    problems.check_unchanged("spec.attachedRequired", spec.get("attachRequired"), old.get("attachRequired"))
    modes = spec.get("volumeLifecycleModes")
    problems.check_unchanged("spec.volumeLifecycleModes", modes, old.get("volumeLifecycleModes"))


def check_attachment(problems: Problems, attachment: Object) -> None:
    """Check the note that a volume is to be attached to a node."""
    spec = attachment.get("spec") or {}
    check_driver_name(problems, spec.get("attacher", ""), "spec.attacher")
    source = spec.get("source") or {}
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        problems.required("spec.source", _ONE_SOURCE)
    elif name is not None and inline is not None:
        problems.forbidden("spec.source", _ONE_SOURCE)
    elif name == "":
        problems.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    node = spec.get("nodeName", "")
    problems.each("spec.nodeName", node, names.subdomain(node))


def check_attachment_update(problems: Problems, attachment: Object, before: Object) -> None:
    spec = attachment.get("spec") or {}
    if spec != before.get("spec"):
        source = spec.get("source") or {}
        # The fields as Go has them, as upstream shows them.
        shown = {
            "Attacher": spec.get("attacher", ""),
            "Source": {
                "PersistentVolumeName": source.get("persistentVolumeName"),
                "InlineVolumeSpec": source.get("inlineVolumeSpec"),
            },
            "NodeName": spec.get("nodeName", ""),
        }
        problems.invalid("spec", shown, IMMUTABLE)


def check_attributes(problems: Problems, attributes: Object) -> None:
    """Check a class of attributes that volumes can be given."""
    check_driver_name(problems, attributes.get("driverName", ""), "driverName")
    parameters = attributes.get("parameters") or {}
    if "" in parameters:
        problems.invalid("parameters", "", "field can not be empty.")
    if not parameters:
        problems.required("parameters", "must contain at least one key/value pair")


def check_attributes_update(problems: Problems, attributes: Object, before: Object) -> None:
    for field in ("driverName", "parameters"):
        if attributes.get(field) != before.get(field):
            problems.forbidden(field, f"updates to {field} are forbidden.")


def check_driver_name(problems: Problems, name: str, path: str) -> None:
    """Check the name of a driver, wherever it is named."""
    if not name:
        problems.required(path)
        return
    if len(name) > _LONGEST_DRIVER:
        problems.too_long(path, _LONGEST_DRIVER)
    problems.each(path, name, names.subdomain(name.lower()))
