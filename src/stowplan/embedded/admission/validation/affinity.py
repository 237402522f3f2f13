"""Checks where a pod wants to be: node affinity, pod affinity and anti-affinity, spread constraints, tolerations."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import (
    check_label_selector,
    check_node_selector,
    check_node_selector_term,
)
from stowplan.embedded.objects.resource import Object

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT_RULE: Final = "must be in the range 1-100"
_WITHOUT_SELECTOR: Final = "must not be specified when labelSelector is not set"


def check_affinity(problems: Problems, affinity: Object, path: str) -> None:
    """Check all that a pod says about nodes and other pods."""
    if node_affinity := affinity.get("nodeAffinity"):
        _check_node_affinity(problems, node_affinity, f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        if pod_affinity := affinity.get(kind):
            _check_pod_affinity(problems, pod_affinity, f"{path}.{kind}")


def _check_node_affinity(problems: Problems, affinity: Object, path: str) -> None:
    if _REQUIRED in affinity:
        check_node_selector(problems, affinity[_REQUIRED], f"{path}.{_REQUIRED}")
    for index, term in enumerate(affinity.get(_PREFERRED, ())):
        place = f"{path}.{_PREFERRED}[{index}]"
        _check_weight(problems, term, place)
        check_node_selector_term(problems, term.get("preference", {}), f"{place}.preference")


def _check_pod_affinity(problems: Problems, affinity: Object, path: str) -> None:
    for index, term in enumerate(affinity.get(_REQUIRED, ())):
        _check_pod_term(problems, term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        place = f"{path}.{_PREFERRED}[{index}]"
        _check_weight(problems, weighted, place)
        _check_pod_term(problems, weighted.get("podAffinityTerm", {}), f"{place}.podAffinityTerm")


def _check_pod_term(problems: Problems, term: Object, path: str) -> None:
    check_label_selector(problems, term.get("labelSelector"), f"{path}.labelSelector")
    check_label_selector(problems, term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces", ()):
        problems.each(f"{path}.namespace", namespace, names.label(namespace))
    _check_label_keys(problems, term, path)
    key = term.get("topologyKey", "")
    if not key:
        problems.required(f"{path}.topologyKey", "can not be empty")
    problems.each(f"{path}.topologyKey", key, names.qualified(key))


def _check_label_keys(problems: Problems, term: Object, path: str) -> None:
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        check_label_keys(problems, term, field, path)
    unwanted = term.get("mismatchLabelKeys", ())
    for index, key in enumerate(term.get("matchLabelKeys", ())):
        if key in unwanted:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            problems.invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def check_label_keys(problems: Problems, term: Object, field: str, path: str) -> None:
    """Check label keys that stand for the values that the pod itself has."""
    keys = term.get(field)
    if not keys:
        return
    if "labelSelector" not in term:
        problems.forbidden(f"{path}.{field}", _WITHOUT_SELECTOR)
        return
    for index, key in enumerate(keys):
        problems.each(f"{path}.{field}[{index}]", key, names.qualified(key))


def _check_weight(problems: Problems, term: Object, path: str) -> None:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        problems.invalid(f"{path}.weight", weight, _WEIGHT_RULE)
