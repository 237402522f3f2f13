"""Rules of the metadata of any object (name, labels, annotations, owners, finalizers), and of selectors by labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field, Rule
from stowplan.embedded.objects.resource import Resource

_MOST_ANNOTATION_BYTES: Final = 256 * 1024
_NAMED_AS_LABELS: Final = frozenset(("namespaces", "services", "statefulsets.apps"))
_NAMED_AS_SEGMENTS: Final = frozenset(("apiregistration.k8s.io", "certificates.k8s.io", "rbac.authorization.k8s.io"))
_SETS: Final = ("In", "NotIn")
_NOT_AN_OPERATOR: Final = "not a valid selector operator"


def check_new(metadata: Field, resource: Resource) -> None:
    """Check the metadata of a new object."""
    rule = name_rule(resource)
    if generated := metadata.get("generateName"):
        for detail in rule(names.prefix(generated)):
            metadata["generateName"].invalid(detail)
    if rule(metadata.get("name", "")):
        metadata["name"].check(rule)
    check_changeable(metadata)


def check_changeable(metadata: Field) -> None:
    """Check what an update may change too."""
    metadata.check_present(_CHANGEABLE)


def name_rule(resource: Resource) -> Rule:
    """How objects of a resource may be called."""
    if resource.group in _NAMED_AS_SEGMENTS:
        return names.path_segment
    if resource.qualified == "ipaddresses.networking.k8s.io":
        return names.canonical_address
    return names.label if resource.qualified in _NAMED_AS_LABELS else names.subdomain


def check_labels(labels: Field) -> None:
    """Check labels, or a selector that is written like them."""
    for key, value in (labels.value or {}).items():
        for detail in names.qualified(key):
            labels.invalid(detail, key)
        for detail in names.label_value(value):
            labels.invalid(detail, value)


def check_annotations(annotations: Field) -> None:
    """Check the keys of annotations, and that there is not too much of them."""
    total = 0
    for key, value in (annotations.value or {}).items():
        for detail in names.qualified(key.lower()):
            annotations.invalid(detail, key)
        total += len(key) + len(value)
    # Bytes are only counted where characters come near the bound.
    if total * 4 > _MOST_ANNOTATION_BYTES and _bytes_in(annotations.value) > _MOST_ANNOTATION_BYTES:
        annotations.too_long(_MOST_ANNOTATION_BYTES)


def _check_owners(owners: Field) -> None:
    controllers = []
    for owner in owners.value or ():
        version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                # Upstream does not say which of the owners.
                detail = "version must not be empty" if name == "apiVersion" else "must not be empty"
                Field(owners.problems, f"{owners.path}.{name}", "").invalid(detail)
        if (version, kind) == ("v1", "Event"):
            owners.invalid("/v1, Kind=Event is disallowed from being an owner", owner)
        if owner.get("controller"):
            controllers.append(f"{kind}/{owner.get('name', '')}")
    if len(controllers) > 1:
        first, second = controllers[:2]
        problem = "Only one reference can have Controller set to true."
        owners.invalid(f'{problem} Found "true" in references for {first} and {second}')


def _check_finalizers(finalizers: Field) -> None:
    for name in finalizers.value or ():
        finalizers.check_other(name, names.qualified)
    if {"orphan", "foregroundDeletion"} <= set(finalizers.value or ()):
        finalizers.invalid("finalizer orphan and foregroundDeletion cannot be both set")
    for finalizer in finalizers:
        if "/" not in finalizer.value and finalizer.value not in ("kubernetes", "orphan", "foregroundDeletion"):
            finalizer.invalid("name is neither a standard finalizer name nor is it fully qualified")


_CHANGEABLE: Final = (
    ("labels", check_labels),
    ("annotations", check_annotations),
    ("ownerReferences", _check_owners),
    ("finalizers", _check_finalizers),
)


def _bytes_in(annotations: Mapping[str, str]) -> int:
    texts = (*annotations, *annotations.values())
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def check_label_selector(selector: Field) -> bool:
    """Check a metav1.LabelSelector, where there is one; return whether it will do."""
    known = len(selector.problems.causes)
    if selector:
        check_labels(selector["matchLabels"])
        for expression in selector["matchExpressions"]:
            _check_operator(expression, ())
            _check_key_and_values(expression)
    return len(selector.problems.causes) == known


def check_node_selector(selector: Field) -> None:
    """Check the terms of a node selector, of which there must be one."""
    terms = selector["nodeSelectorTerms"]
    terms.check_needed(detail="must have at least one node selector term")
    terms.each(check_node_selector_term)


def check_node_selector_term(term: Field) -> None:
    for expression in term["matchExpressions"]:
        _check_operator(expression, ("Gt", "Lt"))
        _check_key_and_values(expression)
    term["matchFields"].each(_check_field_expression)


def _check_operator(expression: Field, comparisons: tuple[str, ...]) -> None:
    """Check an operator, and that it has as many values as it needs."""
    operator, values = expression.get("operator", ""), expression["values"]
    if operator in comparisons:
        if len(values.value or ()) != 1:
            values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator in _SETS:
        values.check_needed(detail="must be specified when `operator` is 'In' or 'NotIn'")
    elif operator not in ("Exists", "DoesNotExist"):
        expression["operator"].invalid(_NOT_AN_OPERATOR, operator)
    elif values:
        values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def _check_key_and_values(expression: Field) -> None:
    expression["key"].check(names.qualified)
    expression["values"].check_each(names.label_value)


def _check_field_expression(expression: Field) -> None:
    operator, values = expression.get("operator", ""), expression["values"]
    if operator not in _SETS:
        expression["operator"].invalid(_NOT_AN_OPERATOR, operator)
    elif len(values.value or ()) != 1:
        values.required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
    if expression.get("key", "") != "metadata.name":
        expression["key"].invalid("not a valid field selector key", expression.get("key", ""))
        return
    values.check_each(names.subdomain)
