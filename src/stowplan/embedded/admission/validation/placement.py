"""Checks the simpler words a pod has on where to run: spread constraints, tolerations, scheduling gates."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.affinity import check_label_keys
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.objects.resource import Object
from stowplan.model.label_syntax import quoted

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OUTCOMES: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")
_NOT_POSITIVE: Final = "must be greater than zero"
_COMPARING: Final = "TaintTolerationComparisonOperators"
_CANONICAL: Final = re.compile("0|-?[1-9][0-9]*")
_NUMBER: Final = re.compile("[+-]?[0-9]{1,1000}")
_MATCH_ALL: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def check_spread_constraints(problems: Problems, constraints: list[Object], path: str) -> None:
    """Check topology spread constraints, each of which must differ from the others."""
    pairs = [(each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")) for each in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        _check_constraint(problems, constraint, place)
        if last[pairs[index]] > index:
            key, outcome = pairs[index]
            problems.duplicate(f"{place}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {outcome}}}")


def _check_constraint(problems: Problems, constraint: Object, path: str) -> None:
    skew, outcome = constraint.get("maxSkew", 0), constraint.get("whenUnsatisfiable", "")
    if skew <= 0:
        problems.invalid(f"{path}.maxSkew", skew, _NOT_POSITIVE)
    if not constraint.get("topologyKey"):
        problems.required(f"{path}.topologyKey", "can not be empty")
    if outcome not in _OUTCOMES:
        problems.unsupported(f"{path}.whenUnsatisfiable", outcome, _OUTCOMES)
    domains = constraint.get("minDomains")
    if domains is not None and domains <= 0:
        problems.invalid(f"{path}.minDomains", domains, _NOT_POSITIVE)
    if domains is not None and outcome != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {outcome}"
        problems.invalid(f"{path}.minDomains", domains, detail)
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        problems.check_one_of(f"{path}.{field}", constraint.get(field), _POLICIES)
    check_label_keys(problems, constraint, "matchLabelKeys", path)
    check_label_selector(problems, constraint.get("labelSelector"), f"{path}.labelSelector")


def check_tolerations(problems: Problems, tolerations: list[Object], path: str) -> None:
    """Check tolerations."""
    for index, toleration in enumerate(tolerations):
        key, operator, effect = (toleration.get(name, "") for name in ("key", "operator", "effect"))
        place = f"{path}[{index}]"
        if key and (found := names.qualified(key)):
            problems.each(f"{place}.key", key, found)
        if not key and operator != "Exists":
            problems.invalid(f"{place}.operator", operator, _MATCH_ALL)
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            problems.invalid(f"{place}.effect", effect, detail)
        _check_toleration_value(problems, toleration, place)
        if effect and effect not in EFFECTS:
            problems.unsupported(f"{place}.effect", effect, EFFECTS)


def _check_toleration_value(problems: Problems, toleration: Object, path: str) -> None:
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    if operator == "Exists":
        if value:
            problems.invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("", "Equal"):
        problems.each(f"{path}.operator", value, names.label_value(value))
    elif operator in ("Lt", "Gt") and _COMPARING in problems.gates:
        _check_number(problems, value, f"{path}.value")
    else:
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        problems.unsupported(f"{path}.operator", operator, known)


def _check_number(problems: Problems, value: str, path: str) -> None:
    if not value:
        problems.invalid(path, value, "must be non-empty")
    elif not _CANONICAL.fullmatch(value):
        problems.invalid(path, value, "must be a valid decimal integer in canonical form")
    if not _NUMBER.fullmatch(value):
        problems.invalid(path, value, f"strconv.ParseInt: parsing {quoted(value)}: invalid syntax")
    elif not -(2**63) <= int(value) < 2**63:
        problems.invalid(path, value, f"strconv.ParseInt: parsing {quoted(value)}: value out of range")


def check_gates(problems: Problems, gates: list[Object], path: str) -> None:
    """Check scheduling gates."""
    taken: set[str] = set()
    for index, gate in enumerate(gates):
        place, name = f"{path}[{index}]", gate.get("name", "")
        problems.each(place, name, names.qualified(name))
        if name in taken:
            problems.duplicate(place, name)
        taken.add(name)
