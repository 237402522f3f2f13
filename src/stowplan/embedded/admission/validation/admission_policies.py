"""Checks admission policies and their bindings. Expressions have to be there; what they say is not read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.admission.validation.selectors import check_label_selector
from stowplan.embedded.admission.validation.webhooks import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    check_conditions,
    check_rule,
)
from stowplan.embedded.objects.resource import Object

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
#: Kinds of patches, and where each is written.
_PATCHES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_WHEN_MISSING: Final = ("Deny", "Allow")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    (
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)
_NOTHING_SAID: Final = "validations or auditAnnotations must contain at least one item"
_BOTH_TOLD: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_MOST_ANNOTATIONS: Final = 20


def check_validating_policy(problems: Problems, policy: Object) -> None:
    """Check a policy that refuses."""
    spec = policy["spec"]
    _check_policy(problems, spec)
    validations, annotations = spec.get("validations", ()), spec.get("auditAnnotations", ())
    if not validations and not annotations:
        problems.required("spec.validations", _NOTHING_SAID)
        problems.required("spec.auditAnnotations", _NOTHING_SAID)
    for index, validation in enumerate(validations):
        _check_validation(problems, validation, f"spec.validations[{index}]")
    _check_annotations(problems, annotations, policy["metadata"].get("name", ""))


def check_mutating_policy(problems: Problems, policy: Object) -> None:
    """Check a policy that changes what comes."""
    spec = policy["spec"]
    _check_policy(problems, spec)
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules", ()):
        for operation in rule.get("operations", ()):
            path = "spec.matchConstraints.resourceRules.operations"
            problems.check_one_of(path, operation, _MUTATING_OPERATIONS)
    mutations = spec.get("mutations", ())
    if not mutations:
        problems.required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(mutations):
        _check_mutation(problems, mutation, f"spec.mutations[{index}]")
    problems.check_needed_one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), REINVOCATION_POLICIES)


def check_validating_binding(problems: Problems, binding: Object) -> None:
    """Check what binds a policy that refuses."""
    check_mutating_binding(problems, binding)
    actions, path = binding["spec"].get("validationActions", []), "spec.validationActions"
    for index, action in enumerate(actions):
        problems.check_one_of(f"{path}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            problems.duplicate(f"{path}[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        problems.invalid(path, actions, _BOTH_TOLD)
    if not actions:
        problems.required(path, "at least one validation action is required")


def check_mutating_binding(problems: Problems, binding: Object) -> None:
    """Check what binds a policy that changes what comes."""
    spec = binding["spec"]
    problems.check_name("spec.policyName", spec.get("policyName", ""), names.subdomain)
    if "paramRef" in spec:
        _check_parameter(problems, spec["paramRef"], "spec.paramRef")
    if "matchResources" in spec:
        _check_match(problems, spec["matchResources"], "spec.matchResources")


def _check_policy(problems: Problems, spec: Object) -> None:
    """Check what policies of both kinds have."""
    problems.check_one_of("spec.failurePolicy", spec["failurePolicy"], FAILURE_POLICIES)
    if "paramKind" in spec:
        _check_parameter_kind(problems, spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        problems.required("spec.matchConstraints")
    else:
        _check_match(problems, match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            problems.required("spec.matchConstraints.resourceRules")
    check_conditions(problems, spec.get("matchConditions", ()), "spec.matchConditions")
    for index, variable in enumerate(spec.get("variables", ())):
        _check_variable(problems, variable, f"spec.variables[{index}]")


def _check_match(problems: Problems, match: Object, path: str) -> None:
    problems.check_one_of(f"{path}.matchPolicy", match["matchPolicy"], MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        check_label_selector(problems, match[field], f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field, ())):
            _check_resource_names(problems, rule.get("resourceNames", []), f"{path}.{field}[{index}].resourceNames")
            check_rule(problems, rule, f"{path}.{field}[{index}]")


def _check_resource_names(problems: Problems, listed: list[str], path: str) -> None:
    for index, name in enumerate(listed):
        problems.each(f"{path}[{index}]", name, names.path_segment(name))
        if name in listed[:index]:
            problems.duplicate(f"{path}[{index}]", name)


def _check_parameter_kind(problems: Problems, kind: Object, path: str) -> None:
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    if not version:
        problems.required(f"{path}.apiVersion")
    elif version.count("/") > 1:
        problems.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    else:
        group, _, plain = version.rpartition("/")
        if group and (found := names.subdomain(group)):
            problems.invalid(f"{path}.apiVersion", group, ",".join(found))
        if not plain:
            problems.invalid(f"{path}.apiVersion", version, "version must be specified")
        elif found := names.label_with_letter(plain):
            problems.invalid(f"{path}.apiVersion", plain, ",".join(found))
    if not name:
        problems.required(f"{path}.kind")
    elif found := names.label_with_letter(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(found)}"
        problems.invalid(f"{path}.kind", name, detail)


def _check_variable(problems: Problems, variable: Object, path: str) -> None:
    name = variable.get("name", "")
    if not name.strip():
        problems.required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        problems.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not variable.get("expression", "").strip():
        problems.required(f"{path}.expression", "expression is not specified")


def _check_validation(problems: Problems, validation: Object, path: str) -> None:
    if not validation.get("expression", "").strip():
        problems.required(f"{path}.expression", "expression is not specified")
    for field in ("messageExpression", "message"):
        text = validation.get(field, "")
        if text and not text.strip():
            problems.invalid(f"{path}.{field}", text, "must be non-empty if specified")
    message = validation.get("message", "")
    if "\n" in message.strip() or "\r" in message.strip():
        problems.invalid(f"{path}.message", message, "must not contain line breaks")
    problems.check_one_of(f"{path}.reason", validation.get("reason"), _REASONS)


def _check_annotations(problems: Problems, annotations: Sequence[Object], policy: str) -> None:
    path, taken = "spec.auditAnnotations", set()
    if len(annotations) > _MOST_ANNOTATIONS:
        problems.invalid(path, annotations, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations")
    for index, annotation in enumerate(annotations):
        key = annotation.get("key", "")
        problems.each(f"{path}[{index}].key", f"{policy}/{key}", names.qualified(f"{policy}/{key}"))
        if not annotation.get("valueExpression", "").strip():
            problems.required(f"{path}[{index}].valueExpression", "valueExpression is not specified")
        if key in taken:
            problems.duplicate(f"{path}[{index}].key", key)
        taken.add(key)


def _check_mutation(problems: Problems, mutation: Object, path: str) -> None:
    kind = mutation.get("patchType", "")
    problems.check_needed_one_of(f"{path}.patchType", kind, _PATCHES)
    field = _PATCHES.get(kind)
    if field is None:
        return
    if field not in mutation:
        problems.required(f"{path}.{field}", f"must be specified when patchType is {kind}")
    elif not mutation[field].get("expression", "").strip():
        problems.required(f"{path}.{field}.expression", "expression is not specified")


def _check_parameter(problems: Problems, reference: Object, path: str) -> None:
    name = reference.get("name", "")
    if name:
        problems.each(f"{path}.name", name, names.path_segment(name))
    if "selector" in reference:
        check_label_selector(problems, reference["selector"], f"{path}.selector")
    if name and "selector" in reference:
        for field in ("name", "selector"):
            problems.forbidden(f"{path}.{field}", "name and selector are mutually exclusive")
    if not name and "selector" not in reference:
        problems.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    problems.check_needed_one_of(f"{path}.parameterNotFoundAction", action, _WHEN_MISSING)
