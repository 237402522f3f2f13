"""Checks label selectors and node selectors."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.metadata import check_labels
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

_SETS: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_COMPARISONS: Final = ("Gt", "Lt")
_NOT_AN_OPERATOR: Final = "not a valid selector operator"
_NAME_FIELD: Final = "metadata.name"


def check_label_selector(problems: Problems, selector: Object | None, path: str) -> None:
    """Check a metav1.LabelSelector, where there is one."""
    if not selector:
        return
    check_labels(problems, selector.get("matchLabels", {}), f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions", ())):
        _check_label_expression(problems, expression, f"{path}.matchExpressions[{index}]")


def check_node_selector(problems: Problems, selector: Object, path: str) -> None:
    """Check the terms of a node selector, of which there must be one."""
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        problems.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
        return
    for index, term in enumerate(terms):
        check_node_selector_term(problems, term, f"{path}.nodeSelectorTerms[{index}]")


def check_node_selector_term(problems: Problems, term: Object, path: str) -> None:
    for index, expression in enumerate(term.get("matchExpressions", ())):
        _check_node_expression(problems, expression, f"{path}.matchExpressions[{index}]")
    for index, expression in enumerate(term.get("matchFields", ())):
        _check_field_expression(problems, expression, f"{path}.matchFields[{index}]")


def _check_label_expression(problems: Problems, expression: Object, path: str) -> None:
    operator, values = expression.get("operator", ""), expression.get("values", [])
    if operator not in (*_SETS, *_PRESENCE):
        problems.invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR)
    else:
        _check_value_count(problems, operator, values, f"{path}.values")
    _check_key_and_values(problems, expression, path)


def _check_node_expression(problems: Problems, expression: Object, path: str) -> None:
    operator, values = expression.get("operator", ""), expression.get("values", [])
    if operator in _COMPARISONS:
        if len(values) != 1:
            problems.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in (*_SETS, *_PRESENCE):
        problems.invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR)
    else:
        _check_value_count(problems, operator, values, f"{path}.values")
    _check_key_and_values(problems, expression, path)


def _check_field_expression(problems: Problems, expression: Object, path: str) -> None:
    key, operator, values = expression.get("key", ""), expression.get("operator", ""), expression.get("values", [])
    if operator not in _SETS:
        problems.invalid(f"{path}.operator", operator, _NOT_AN_OPERATOR)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        problems.required(f"{path}.values", detail)
    if key != _NAME_FIELD:
        problems.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        problems.each(f"{path}.values[{index}]", value, names.subdomain(value))


def _check_value_count(problems: Problems, operator: str, values: list[str], path: str) -> None:
    if operator in _SETS and not values:
        problems.required(path, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _PRESENCE and values:
        problems.forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def _check_key_and_values(problems: Problems, expression: Object, path: str) -> None:
    key = expression.get("key", "")
    problems.each(f"{path}.key", key, names.qualified(key))
    for index, value in enumerate(expression.get("values", ())):
        problems.each(f"{path}.values[{index}]", value, names.label_value(value))
