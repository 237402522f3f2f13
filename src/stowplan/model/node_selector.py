"""Node selectors that answer: required terms (one must hold) and preferred terms (each adds its weight).

A term that cannot be understood is kept with its errors: they show only when no other term matches, as upstream
does for pods that were let in long ago. `plugins/nodeaffinity.py` is the main reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from stowplan.model import selectors
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from stowplan.model.label_syntax import SelectorError, aggregate, invalid, unsupported
from stowplan.model.selectors import Requirement

_OPERATORS = {**selectors.OPERATORS, "Gt": selectors.GREATER_THAN, "Lt": selectors.LESS_THAN}
NAME_FIELD = "metadata.name"


class FieldRequirement(msgspec.Struct, frozen=True, gc=False):
    """A condition on a field of the node; the only field a node has is `metadata.name`, others read as ""."""

    key: str
    value: str
    is_equal: bool

    def matches(self, node_name: str) -> bool:
        found = node_name if self.key == NAME_FIELD else ""
        return (found == self.value) == self.is_equal


class CompiledTerm(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One term: all its conditions must hold. With `errors` it never matches."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, node_name: str, labels: Mapping[str, str]) -> bool:
        if self.errors or not all(requirement.matches(labels) for requirement in self.labels):
            return False
        # A node without a name has no fields to be asked about.
        return not node_name or all(requirement.matches(node_name) for requirement in self.fields)


class CompiledNodeSelector(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Terms of which one must hold; without any it matches no node."""

    terms: tuple[CompiledTerm, ...] = ()

    @property
    def parse_error(self) -> str | None:
        """Everything wrong with the selector, None if all of it is understood."""
        messages = tuple(message for term in self.terms for message in term.errors)
        return aggregate(messages) if messages else None

    def matches(self, node_name: str, labels: Mapping[str, str]) -> bool:
        return any(term.matches(node_name, labels) for term in self.terms)

    def match(self, node_name: str, labels: Mapping[str, str]) -> tuple[bool, str | None]:
        """Whether some term holds, and if none does what was wrong with the terms, if anything."""
        if self.matches(node_name, labels):
            return True, None
        return False, self.parse_error


def printed(selector: NodeSelector) -> str:
    """Return a node selector as upstream prints it where it cannot be understood."""
    terms = (
        f"NodeSelectorTerm{{MatchExpressions:{_printed(term.match_expressions)},"
        f"MatchFields:{_printed(term.match_fields)},}},"
        for term in selector.node_selector_terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{''.join(terms)}}},}}"


def _printed(requirements: Iterable[NodeSelectorRequirement]) -> str:
    texts = (
        f"NodeSelectorRequirement{{Key:{each.key},Operator:{each.operator},Values:[{' '.join(each.values or ())}],}},"
        for each in requirements
    )
    return f"[]NodeSelectorRequirement{{{''.join(texts)}}}"


class WeightedTerm(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    weight: int
    term: CompiledTerm


@lru_cache(maxsize=8192)
def compile_node_selector(selector: NodeSelector) -> CompiledNodeSelector:
    """Compile a node selector; equal ones share the result. Errors stay inside the terms they concern."""
    return CompiledNodeSelector(
        tuple(
            _compile_term(term, f"nodeSelectorTerms[{index}]")
            for index, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


@lru_cache(maxsize=8192)
def compile_preferred_terms(terms: tuple[PreferredSchedulingTerm, ...]) -> tuple[WeightedTerm, ...]:
    """Compile preferred terms, leaving out empty and weightless ones. Raise SelectorError if one is invalid."""
    compiled = [
        WeightedTerm(term.weight, _compile_term(term.preference, f"[{index}]"))
        for index, term in enumerate(terms)
        if term.weight != 0 and not _is_empty(term.preference)
    ]
    errors = [message for weighted in compiled for message in weighted.term.errors]
    if errors:
        raise SelectorError(*errors)
    return tuple(compiled)


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _compile_term(term: NodeSelectorTerm, path: str) -> CompiledTerm:
    labels: list[Requirement] = []
    fields: list[FieldRequirement] = []
    errors: list[str] = []
    for index, expression in enumerate(term.match_expressions):
        try:
            labels.append(_label_requirement(expression, f"{path}.matchExpressions[{index}]"))
        except SelectorError as error:
            errors += error.messages
    for index, expression in enumerate(term.match_fields):
        try:
            fields.append(_field_requirement(expression, f"{path}.matchFields[{index}]"))
        except SelectorError as error:
            errors += error.messages
    if errors:
        return CompiledTerm(errors=tuple(errors))
    return CompiledTerm(selectors.select(labels).requirements, tuple(fields))


def _label_requirement(expression: NodeSelectorRequirement, path: str) -> Requirement:
    operator = _OPERATORS.get(expression.operator)
    if operator is None:
        raise SelectorError(unsupported(f"{path}.operator", expression.operator, tuple(_OPERATORS)))
    return selectors.make_requirement(expression.key, operator, expression.values, path)


def _field_requirement(expression: NodeSelectorRequirement, path: str) -> FieldRequirement:
    if expression.operator not in ("In", "NotIn"):
        raise SelectorError(unsupported(f"{path}.operator", expression.operator, ("In", "NotIn")))
    values = expression.values
    if values is None or len(values) != 1:
        shown = None if values is None else list(values)
        raise SelectorError(invalid(f"{path}.values", shown, "must have one element"))
    return FieldRequirement(expression.key, values[0], expression.operator == "In")
