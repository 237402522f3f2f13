"""Checks the metadata of any object: its name by the rule of its kind, labels, annotations, owners, finalizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.addresses import address_name
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object, Resource

_MOST_ANNOTATION_BYTES: Final = 256 * 1024
_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")
_NAMED_AS_LABELS: Final = frozenset(("namespaces", "services", "statefulsets.apps"))
_NAMED_AS_SEGMENTS: Final = frozenset(("apiregistration.k8s.io", "certificates.k8s.io", "rbac.authorization.k8s.io"))


def check(problems: Problems, resource: Resource, metadata: Object) -> None:
    """Check the metadata of a new object."""
    _check_name(problems, resource, metadata)
    check_changeable(problems, metadata)


def check_changeable(problems: Problems, metadata: Object, path: str = "metadata") -> None:
    """Check what an update may change too."""
    if labels := metadata.get("labels"):
        check_labels(problems, labels, f"{path}.labels")
    if annotations := metadata.get("annotations"):
        check_annotations(problems, annotations, f"{path}.annotations")
    if owners := metadata.get("ownerReferences"):
        _check_owners(problems, owners, f"{path}.ownerReferences")
    if finalizers := metadata.get("finalizers"):
        _check_finalizers(problems, finalizers, f"{path}.finalizers")


def check_labels(problems: Problems, labels: Mapping[str, str], path: str) -> None:
    """Check labels, or a selector that is written like them."""
    for key, value in labels.items():
        if found := names.qualified(key):
            problems.each(path, key, found)
        if found := names.label_value(value):
            problems.each(path, value, found)


def check_annotations(problems: Problems, annotations: Mapping[str, str], path: str) -> None:
    """Check the keys of annotations, and that there is not too much of them."""
    total = 0
    for key, value in annotations.items():
        if found := names.qualified(key.lower()):
            problems.each(path, key, found)
        total += len(key) + len(value)
    # Bytes are only counted where characters come near the bound.
    if total * 4 > _MOST_ANNOTATION_BYTES and _bytes_in(annotations) > _MOST_ANNOTATION_BYTES:
        problems.too_long(path, _MOST_ANNOTATION_BYTES)


def name_rule(resource: Resource) -> Callable[[str], names.Details]:
    """How objects of a resource may be called."""
    if resource.group in _NAMED_AS_SEGMENTS:
        return names.path_segment
    if resource.qualified == "ipaddresses.networking.k8s.io":
        return address_name
    return names.label if resource.qualified in _NAMED_AS_LABELS else names.subdomain


def _check_name(problems: Problems, resource: Resource, metadata: Object) -> None:
    rule = name_rule(resource)
    generated = metadata.get("generateName")
    if generated and (found := rule(names.prefix(generated))):
        problems.each("metadata.generateName", generated, found)
    name = metadata.get("name", "")
    if found := rule(name):
        problems.each("metadata.name", name, found)


def _check_owners(problems: Problems, owners: list[Object], path: str) -> None:
    controllers = []
    for owner in owners:
        version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        if not version:
            problems.invalid(f"{path}.apiVersion", "", "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                problems.invalid(f"{path}.{field}", "", "must not be empty")
        if (version, kind) == ("v1", "Event"):
            problems.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            controllers.append(f"{kind}/{owner.get('name', '')}")
    if len(controllers) > 1:
        first, second = controllers[:2]
        problem = "Only one reference can have Controller set to true."
        problems.invalid(path, owners, f'{problem} Found "true" in references for {first} and {second}')


def _check_finalizers(problems: Problems, finalizers: list[str], path: str) -> None:
    for finalizer in finalizers:
        problems.each(path, finalizer, names.qualified(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        problems.invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            problems.invalid(f"{path}[{index}]", finalizer, detail)


def _bytes_in(annotations: Mapping[str, str]) -> int:
    texts = (*annotations, *annotations.values())
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)
