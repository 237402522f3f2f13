"""Rules of storage: volumes and claims for them, classes, drivers, attachments."""

from __future__ import annotations

import posixpath
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import NOT_POSITIVE, Field
from stowplan.embedded.admission.validation.metadata import check_label_selector, check_node_selector
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.types import release
from stowplan.model.quantity import Quantity

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
#: Whoever has a volume in this way has it alone.
_ALONE: Final = "ReadWriteOncePod"
_PATH_TYPES: Final = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
_LEAST_TOKEN_SECONDS: Final = 600
_MOST_TOKEN_SECONDS: Final = 1 << 32
_LONGEST_DRIVER: Final = 63
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def check_claim(claim: Field) -> None:
    """Check a claim for a volume."""
    spec = claim["spec"]
    spec["accessModes"].check_needed(detail="at least 1 access mode is required")
    _check_access(spec)
    check_label_selector(spec["selector"])
    spec["volumeAttributesClassName"].check_given(names.subdomain)
    # Upstream leaves `requests` out of the path.
    size = Field(spec.problems, "resources[storage]", spec["resources"]["requests"].get("storage"), spec)
    if size.value is None:
        size.required()
    else:
        size.check(_size)


def check_claim_update(claim: Field, before: Object) -> None:
    """A claim, once made, only grows; its volume and class may be filled in."""
    spec, old = dict(claim.value["spec"]), dict(before["spec"])
    for field in ("volumeName", "storageClassName"):
        if not old.get(field):
            spec.pop(field, None)
            old.pop(field, None)
    for each in (spec, old):
        each.pop("resources", None)
        each.pop("volumeAttributesClassName", None)
    if spec != old:
        detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        claim["spec"].forbidden(f"{detail} for bound claims")


def check_volume(volume: Field) -> None:
    """Check a volume: its size, how it is accessed, and that it comes from one place."""
    spec = volume["spec"]
    spec["accessModes"].check_needed()
    _check_access(spec)
    size, capacity = spec["capacity"].entry("storage"), spec["capacity"]
    if not capacity:
        capacity.required()
    elif capacity.value.keys() != {"storage"}:
        capacity.unsupported(("storage",), dict(sorted(capacity.value.items())))
    else:
        size.check(_size)
    spec["persistentVolumeReclaimPolicy"].check_one_of(("Delete", "Recycle", "Retain"))
    _check_attributes_class(spec)
    if spec["nodeAffinity"].value is not None:
        _check_nodes(spec["nodeAffinity"]["required"])
    _check_source(spec)


def _check_access(spec: Field) -> None:
    """Check what claims and volumes have in common: how they are accessed, and their class."""
    modes = spec["accessModes"]
    _check_each_one_of(modes, _ACCESS_MODES)
    if _ALONE in (modes.value or ()) and set(modes.value) != {_ALONE}:
        modes.forbidden(f"may not use {_ALONE} with other access modes")
    spec["volumeMode"].check_one_of(("Block", "Filesystem"))
    spec["storageClassName"].check_given(names.subdomain)


def _check_attributes_class(spec: Field) -> None:
    name = spec["volumeAttributesClassName"]
    if name.value is None:
        return
    if name.check_needed(detail="an empty string is disallowed"):
        name.check(names.subdomain)
    if "csi" not in spec:
        spec["csi"].required("has to be specified when using volumeAttributesClassName")


def _check_nodes(required: Field) -> None:
    if required.value is None:
        required.required("must specify required node constraints")
        return
    check_node_selector(required)


def _check_source(spec: Field) -> None:
    """Check where a volume comes from: one place, which makes sense."""
    sources = sorted(filter(_is_source, spec.value))
    if not sources:
        spec.required("must specify a volume type")
    for extra in sources[1:]:
        spec[extra].forbidden("may not specify more than 1 volume type")
    if "local" in spec:
        if spec["local"]["path"].check_needed():
            check_path(spec["local"]["path"])
        if "nodeAffinity" not in spec:
            spec["nodeAffinity"].required("Local volume requires node affinity")
    if "hostPath" in spec:
        _check_kept_path(spec)
    if "csi" in spec:
        # The volumes that are made here have a driver that is named like a provisioner, which upstream would refuse.
        for needed in ("driver", "volumeHandle"):
            spec["csi"][needed].check_needed()
    if "nfs" in spec:
        check_share(spec["nfs"])


def _check_kept_path(spec: Field) -> None:
    """Check which part of a node is kept, and that nobody wipes all of it."""
    path, policy = spec["hostPath"]["path"], spec["persistentVolumeReclaimPolicy"]
    path.check_needed()
    check_host_path(spec["hostPath"])
    if policy.value == "Recycle" and path.value and posixpath.normpath(f"/{path.value.lstrip('/')}") == "/":
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'")


def check_host_path(source: Field) -> None:
    """Check which part of its node a volume is."""
    if source.get("path"):
        check_path(source["path"])
    source["type"].check_one_of(_PATH_TYPES)


def check_share(source: Field) -> None:
    """Check whose share a volume is."""
    source["server"].check_needed()
    source["path"].check_needed(lambda text: () if text.startswith("/") else ("must be an absolute path",))


def check_path(path: Field, *, is_absolute: bool = True) -> None:
    """Check that a path does not lead up, or away from where it begins."""
    if not is_absolute and path.value.startswith("/"):
        path.invalid("must be a relative path")
    if ".." in path.value.split("/"):
        path.invalid("must not contain '..'")


def check_volume_update(volume: Field, before: Object) -> None:
    """A volume stays where it is; who has it may change."""
    spec, old = volume["spec"], before["spec"]
    sources = filter(_is_source, spec.value.keys() | old.keys())
    if any(spec.get(source) != old.get(source) for source in sources):
        spec["persistentvolumesource"].forbidden("spec.persistentvolumesource is immutable after creation")
    spec["volumeMode"].check_unchanged(old.get("volumeMode"))
    if old.get("nodeAffinity"):
        spec["nodeAffinity"].check_unchanged(old["nodeAffinity"])


def check_class(storage_class: Field) -> None:
    """Check a storage class."""
    provisioner = Field(storage_class.problems, "provisioner", storage_class.get("provisioner", "").lower())
    provisioner.check_needed(names.qualified)
    storage_class["reclaimPolicy"].check_one_of(("Delete", "Retain"))
    storage_class["volumeBindingMode"].check_one_of(("Immediate", "WaitForFirstConsumer"))
    _check_topologies(storage_class["allowedTopologies"])


def check_driver(driver: Field) -> None:
    """Check a CSI driver."""
    spec = driver["spec"]
    spec["fsGroupPolicy"].check_one_of(("File", "None", "ReadWriteOnceWithFSType"))
    audiences: set[str] = set()
    for request in spec["tokenRequests"]:
        if request.get("audience", "") in audiences:
            request["audience"].duplicate(shown=request.get("audience", ""))
            continue
        audiences.add(request.get("audience", ""))
        seconds = request["expirationSeconds"]
        if seconds.value is not None and seconds.value < _LEAST_TOKEN_SECONDS:
            seconds.invalid("may not specify a duration less than 10 minutes")
        seconds.check_at_most(_MOST_TOKEN_SECONDS, "may not specify a duration larger than 2^32 seconds")
    _check_each_one_of(spec["volumeLifecycleModes"], ("Persistent", "Ephemeral"))


def check_driver_update(driver: Field, before: Object) -> None:
    spec, old = driver["spec"], before.get("spec") or {}
    # Upstream calls the path so.
    Field(spec.problems, "spec.attachedRequired", spec.get("attachRequired")).check_unchanged(old.get("attachRequired"))
    spec["volumeLifecycleModes"].check_unchanged(old.get("volumeLifecycleModes"))


def check_attachment(attachment: Field) -> None:
    """Check the note that a volume is to be attached to a node."""
    spec, source = attachment["spec"], attachment["spec"]["source"]
    check_driver_name(spec["attacher"])
    name, inline = source["persistentVolumeName"], source["inlineVolumeSpec"]
    if name.value is None and inline.value is None:
        source.required(_ONE_SOURCE)
    elif name.value is not None and inline.value is not None:
        source.forbidden(_ONE_SOURCE)
    elif name.value == "":
        name.required("must specify non empty persistentVolumeName")
    spec["nodeName"].check(names.subdomain)


def check_attachment_update(attachment: Field, before: Object) -> None:
    spec = attachment["spec"]
    if (spec.value or {}) != before.get("spec"):
        # The fields as Go has them, as upstream shows them.
        shown = {
            "Attacher": spec.get("attacher", ""),
            "Source": {
                "PersistentVolumeName": spec["source"].get("persistentVolumeName"),
                "InlineVolumeSpec": spec["source"].get("inlineVolumeSpec"),
            },
            "NodeName": spec.get("nodeName", ""),
        }
        spec.refuse_change(shown)


def check_attributes(attributes: Field) -> None:
    """Check a class of attributes that volumes can be given."""
    check_driver_name(attributes["driverName"])
    parameters = attributes["parameters"]
    if "" in parameters:
        parameters.invalid("field can not be empty.", "")
    parameters.check_needed(detail="must contain at least one key/value pair")


def check_attributes_update(attributes: Field, before: Object) -> None:
    for field in ("driverName", "parameters"):
        if attributes.get(field) != before.get(field):
            attributes[field].forbidden(f"updates to {field} are forbidden.")


def _is_source(field: str) -> bool:
    """Whether a field of a volume says where it comes from: those are a struct of their own in Go."""
    return bool(release.type_named("io.k8s.api.core.v1.PersistentVolumeSpec").fields[field].embedded_in)


def check_driver_name(name: Field) -> None:
    """Check the name of a driver, wherever it is named."""
    if not name.check_needed():
        return
    if len(name.value) > _LONGEST_DRIVER:
        name.too_long(_LONGEST_DRIVER)
    for detail in names.subdomain(name.value.lower()):
        name.invalid(detail)


def _check_topologies(terms: Field) -> None:
    """Check where volumes of a class may be: no term twice; one without expressions counts as twice."""
    said: set[frozenset[tuple[str, frozenset[str]]]] = {frozenset()}
    for term in terms:
        allowed: dict[str, frozenset[str]] = {}
        for expression in term["matchLabelExpressions"]:
            values, key = expression["values"], expression["key"]
            values.check_needed()
            taken: set[str] = set()
            for value in values:
                value.check_unique(taken)
            key.check(names.qualified)
            if (key.value or "") in allowed:
                key.duplicate(shown=key.value or "")
            allowed[key.value or ""] = frozenset(taken)
        meant = frozenset(allowed.items())
        if meant in said:
            term["matchLabelExpressions"].duplicate(shown="")
        said.add(meant)


def _check_each_one_of(values: Field, supported: tuple[str, ...]) -> None:
    """Refuse values outside a fixed list; upstream does not say which of them."""
    for value in values.value or ():
        if value not in supported:
            values.unsupported(supported, value)


def _size(amount: str) -> tuple[str, ...]:
    return (NOT_POSITIVE,) if Quantity.parse(str(amount)).sign <= 0 else ()
