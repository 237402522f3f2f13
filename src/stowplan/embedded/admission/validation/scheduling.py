"""Rules of where a pod wants to be: affinity, spread constraints, tolerations, gates; and of the taints of nodes."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import (
    check_label_selector,
    check_node_selector,
    check_node_selector_term,
)
from stowplan.model.label_syntax import quoted

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_COMPARING: Final = "TaintTolerationComparisonOperators"
_CANONICAL: Final = re.compile("0|-?[1-9][0-9]*")
_NUMBER: Final = re.compile("[+-]?[0-9]{1,1000}")
_MATCH_ALL: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def check_affinity(affinity: Field) -> None:
    """Check all that a pod says about nodes and other pods."""
    of_nodes = affinity["nodeAffinity"]
    if _REQUIRED in of_nodes:
        check_node_selector(of_nodes[_REQUIRED])
    for weighted in of_nodes[_PREFERRED]:
        _check_weight(weighted)
        check_node_selector_term(weighted["preference"])
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in affinity[kind][_REQUIRED]:
            _check_pod_term(term)
        for weighted in affinity[kind][_PREFERRED]:
            _check_weight(weighted)
            _check_pod_term(weighted["podAffinityTerm"])


def _check_weight(term: Field) -> None:
    term["weight"].check_between(1, 100, "must be in the range 1-100")


def _check_pod_term(term: Field) -> None:
    check_label_selector(term["labelSelector"])
    check_label_selector(term["namespaceSelector"])
    for namespace in term.get("namespaces", ()):
        term["namespace"].check_other(namespace, names.label)
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        _check_label_keys(term, field)
    for key in term["matchLabelKeys"]:
        if key.value in term.get("mismatchLabelKeys", ()):
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys")
    term["topologyKey"].check_needed(detail="can not be empty")
    term["topologyKey"].check(names.qualified)


def _check_label_keys(term: Field, field: str) -> None:
    """Check label keys that stand for the values that the pod itself has."""
    if term[field] and "labelSelector" not in term:
        term[field].forbidden("must not be specified when labelSelector is not set")
        return
    for key in term[field]:
        key.check(names.qualified)


def check_spread_constraints(constraints: Field) -> None:
    """Check topology spread constraints, each of which must differ from the others."""
    pairs = [(each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")) for each in constraints.value]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, constraint in enumerate(constraints):
        _check_constraint(constraint)
        if last[pairs[index]] > index:
            key, outcome = pairs[index]
            constraint["{topologyKey, whenUnsatisfiable}"].duplicate(shown=f"{{{key}, {outcome}}}")


def _check_constraint(constraint: Field) -> None:
    constraint["maxSkew"].check_positive()
    constraint["topologyKey"].check_needed(detail="can not be empty")
    constraint["whenUnsatisfiable"].check_is_one_of(("DoNotSchedule", "ScheduleAnyway"))
    domains, outcome = constraint["minDomains"], constraint.get("whenUnsatisfiable", "")
    if domains.value is not None:
        domains.check_positive()
        if outcome != "DoNotSchedule":
            domains.invalid(f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {outcome}")
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        constraint[field].check_one_of(("Honor", "Ignore"))
    _check_label_keys(constraint, "matchLabelKeys")
    check_label_selector(constraint["labelSelector"])


def check_tolerations(tolerations: Field) -> None:
    """Check tolerations. Every pod has some, so that fields are looked up only to complain of them."""
    for toleration in tolerations:
        said = toleration.value
        key, operator, value, effect = (said.get(field, "") for field in ("key", "operator", "value", "effect"))
        if key and names.qualified(key):
            toleration["key"].check(names.qualified)
        if not key and operator != "Exists":
            toleration["operator"].invalid(_MATCH_ALL, operator)
        if "tolerationSeconds" in said and effect != "NoExecute":
            toleration["effect"].invalid("effect must be 'NoExecute' when `tolerationSeconds` is set", effect)
        if value or operator != "Exists":
            _check_toleration_value(toleration, operator, value)
        if effect and effect not in _EFFECTS:
            toleration["effect"].unsupported(_EFFECTS)


def _check_toleration_value(toleration: Field, operator: str, value: str) -> None:
    match operator:
        case "Exists":
            toleration["operator"].invalid("value must be empty when `operator` is 'Exists'", value)
        case "" | "Equal":
            toleration["operator"].check_other(value, names.label_value)
        case "Lt" | "Gt" if _COMPARING in toleration.problems.gates:
            toleration["value"].check(_number)
        case _:
            known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
            toleration["operator"].unsupported(known)


def _number(value: str) -> list[str]:
    found = []
    if not value:
        found.append("must be non-empty")
    elif not _CANONICAL.fullmatch(value):
        found.append("must be a valid decimal integer in canonical form")
    if not _NUMBER.fullmatch(value):
        found.append(f"strconv.ParseInt: parsing {quoted(value)}: invalid syntax")
    elif not -(2**63) <= int(value) < 2**63:
        found.append(f"strconv.ParseInt: parsing {quoted(value)}: value out of range")
    return found


def check_gates(gates: Field) -> None:
    """Check scheduling gates."""
    taken: set[str] = set()
    for gate in gates:
        named = Field(gate.problems, gate.path, gate.get("name"))
        named.check(names.qualified)
        named.check_unique(taken)


def check_taints(taints: Field) -> None:
    """Check the taints of a node, which differ in key or effect."""
    taken: set[tuple[str, str]] = set()
    for taint in taints:
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        if names.qualified(key) or names.label_value(value) or effect not in _EFFECTS:
            taint["key"].check(names.qualified)
            taint["value"].check(names.label_value)
            taint["effect"].check_needed_one_of(_EFFECTS)
        if (key, effect) in taken:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            taint.duplicate("taints must be unique by key and effect pair", shown)
        taken.add((key, effect))
