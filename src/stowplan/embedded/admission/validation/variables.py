"""Rules of the environment of a container: variables, and where their values come from."""

from __future__ import annotations

import re
from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.field import Field

_ORIGINS: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS: Final = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
#: Fields of pods that are no single text.
_MAPS: Final = ("metadata.annotations", "metadata.labels")
_IS_ENTRY: Final = re.compile(r"metadata\.(?:labels|annotations)\['(.*)'\]")
_AMOUNTS: Final = tuple(
    f"{of}.{what}" for of in ("limits", "requests") for what in ("cpu", "ephemeral-storage", "memory")
)


def check_variables(variables: Field) -> None:
    for variable in variables:
        variable["name"].check_needed(names.environment)
        if variable.get("value") and variable.get("valueFrom"):
            variable["valueFrom"].invalid("may not be specified when `value` is not empty", "")
        elif "valueFrom" in variable:
            _check_origin(variable["valueFrom"])


def _check_origin(origin: Field) -> None:
    given = [name for name in _ORIGINS if name in origin]
    if not given:
        *most, last = (f"`{name}`" for name in _ORIGINS)
        origin.invalid(f"must specify one of: {', '.join(most)} or {last}", "")
    elif len(given) > 1:
        origin.invalid("may not have more than one field specified at a time", "")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in origin:
            origin[name]["name"].check(names.subdomain)
            origin[name]["key"].check_needed(names.config_key)
    if "fieldRef" in origin:
        _check_field(origin["fieldRef"])
    if "resourceFieldRef" in origin:
        amount = origin["resourceFieldRef"]["resource"]
        if amount.check_needed() and not amount.value.partition(".")[2].startswith("hugepages-"):
            amount.check_one_of(_AMOUNTS)


def _check_field(reference: Field) -> None:
    path = reference["fieldPath"]
    if not path.check_needed() or path.value in _FIELDS:
        return
    entry = _IS_ENTRY.fullmatch(path.value)
    if entry is not None:
        reference.check_other(entry[1], names.qualified)
    elif path.value in _MAPS:
        path.unsupported(_FIELDS)
    else:
        path.invalid(f"error converting fieldPath: field label not supported: {path.value}")


def check_sources(sources: Field) -> None:
    """Check where variables come from by the dozen."""
    for source in sources:
        source["prefix"].check_given(names.environment)
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in given:
            source[name]["name"].check_needed(names.subdomain)
        if not given:
            sources.invalid("must specify one of: `configMapRef` or `secretRef`", "")
        elif len(given) > 1:
            sources.invalid("may not have more than one field specified at a time", "")
