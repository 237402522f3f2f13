"""Rules of admission policies and their bindings. Expressions have to be there; what they say is not read."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.metadata import check_label_selector
from stowplan.embedded.admission.validation.webhooks import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    check_conditions,
    check_match,
    check_rule,
)

_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
#: Kinds of patches, and where each is written.
_PATCHES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void"
    "|while"
)
_NOTHING_SAID: Final = "validations or auditAnnotations must contain at least one item"
_BOTH_TOLD: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_MOST_ANNOTATIONS: Final = 20


def check_validating_policy(policy: Field) -> None:
    """Check a policy that refuses."""
    spec = policy["spec"]
    _check_policy(spec)
    validations, annotations = spec["validations"], spec["auditAnnotations"]
    if not validations and not annotations:
        validations.required(_NOTHING_SAID)
        annotations.required(_NOTHING_SAID)
    validations.each(_check_validation)
    _check_annotations(annotations, policy["metadata"].get("name", ""))


def check_mutating_policy(policy: Field) -> None:
    """Check a policy that changes what comes."""
    spec = policy["spec"]
    _check_policy(spec)
    rules = spec["matchConstraints"]["resourceRules"]
    for operation in (each for rule in rules for each in rule["operations"]):
        # Upstream does not say which of the rules.
        Field(spec.problems, f"{rules.path}.operations", operation.value).check_one_of(_MUTATING_OPERATIONS)
    spec["mutations"].check_needed(detail="mutations must contain at least one item")
    spec["mutations"].each(_check_mutation)
    spec["reinvocationPolicy"].check_needed_one_of(REINVOCATION_POLICIES)


def check_validating_binding(binding: Field) -> None:
    """Check what binds a policy that refuses."""
    check_mutating_binding(binding)
    actions, taken = binding["spec"]["validationActions"], set[str]()
    for action in actions:
        action.check_one_of(("Audit", "Deny", "Warn"))
        action.check_unique(taken)
    if {"Deny", "Warn"} <= taken:
        actions.invalid(_BOTH_TOLD)
    actions.check_needed(detail=actions.problems.advice("at least one validation action is required"))


def check_mutating_binding(binding: Field) -> None:
    """Check what binds a policy that changes what comes."""
    spec = binding["spec"]
    spec["policyName"].check_needed(names.subdomain)
    if "paramRef" in spec:
        _check_parameter(spec["paramRef"])
    if "matchResources" in spec:
        _check_match(spec["matchResources"])


def _check_policy(spec: Field) -> None:
    """Check what policies of both kinds have."""
    spec["failurePolicy"].check_one_of(FAILURE_POLICIES)
    if "paramKind" in spec:
        _check_parameter_kind(spec["paramKind"]["apiVersion"], spec["paramKind"]["kind"])
    match = spec["matchConstraints"]
    if match.value is None:
        match.required()
    else:
        _check_match(match)
        match["resourceRules"].check_needed()
    check_conditions(spec["matchConditions"])
    spec["variables"].each(_check_variable)


def _check_match(match: Field) -> None:
    check_match(match)
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match[field]:
            taken: set[str] = set()
            for name in rule["resourceNames"]:
                name.check(names.path_segment)
                name.check_unique(taken)
            check_rule(rule)


def _check_parameter_kind(version: Field, kind: Field) -> None:
    if version.check_needed():
        group, _, plain = version.value.rpartition("/")
        if "/" in group:
            version.invalid(f"unexpected GroupVersion string: {version.value}")
        else:
            if group and (found := names.subdomain(group)):
                version.invalid(",".join(found), group)
            if not plain:
                version.invalid("version must be specified")
            elif found := names.label_with_letter(plain):
                version.invalid(",".join(found), plain)
    if kind.check_needed() and (found := names.label_with_letter(kind.value.lower())):
        kind.invalid(f"may have mixed case, but should otherwise match: {','.join(found)}")


def _check_variable(variable: Field) -> None:
    name = variable.get("name", "")
    if not name.strip():
        variable["name"].required("name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or _RESERVED.fullmatch(name):
        variable["name"].invalid("must be a valid CEL identifier")
    _check_written(variable["expression"])


def _check_written(expression: Field) -> None:
    """Refuse an expression that is not there, or blank."""
    if not (expression.value or "").strip():
        expression.required(f"{expression.path.rpartition('.')[2]} is not specified")


def _check_validation(validation: Field) -> None:
    _check_written(validation["expression"])
    for field in ("messageExpression", "message"):
        text = validation[field]
        if text and not text.value.strip():
            text.invalid("must be non-empty if specified")
    message = validation.get("message", "").strip()
    if "\n" in message or "\r" in message:
        validation["message"].invalid("must not contain line breaks")
    validation["reason"].check_one_of(("Forbidden", "Invalid", "RequestEntityTooLarge"))


def _check_annotations(annotations: Field, policy: str) -> None:
    taken: set[str] = set()
    if len(annotations.value or ()) > _MOST_ANNOTATIONS:
        annotations.invalid(f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations")
    for annotation in annotations:
        key = annotation["key"]
        key.check_other(f"{policy}/{key.value or ''}", names.qualified)
        _check_written(annotation["valueExpression"])
        key.check_unique(taken)


def _check_mutation(mutation: Field) -> None:
    kind = mutation["patchType"]
    kind.check_needed_one_of(_PATCHES)
    field = _PATCHES.get(kind.value)
    if field is None:
        return
    if field not in mutation:
        mutation[field].required(f"must be specified when patchType is {kind.value}")
    else:
        _check_written(mutation[field]["expression"])


def _check_parameter(reference: Field) -> None:
    name, selector = reference["name"], reference["selector"]
    name.check_given(names.path_segment)
    check_label_selector(selector)
    if name and selector.value is not None:
        for field in (name, selector):
            field.forbidden("name and selector are mutually exclusive")
    if not name and selector.value is None:
        reference.required("one of name or selector must be specified")
    reference["parameterNotFoundAction"].check_needed_one_of(("Deny", "Allow"))
