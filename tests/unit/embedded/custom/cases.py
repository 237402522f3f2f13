"""The cases of `cases.yaml`, for the tests of the embedded server and the end-to-end tests of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowplan.embedded.objects.resource import Object

_CASES: Object = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
RULES: Object = _CASES["rules"]
BEFORE: Object = _CASES["before"]
FORMATS: dict[str, dict[str, list[str]]] = _CASES["formats"]


def cases(name: str) -> list[Any]:
    """The cases of one part of the file, as parameters of a test."""
    return [pytest.param(case, id=case["id"]) for case in _CASES[name]]


def complaints(case: Object) -> list[tuple[str, str]]:
    """What is wrong in a case: fields and messages."""
    return [(each["field"], each["message"]) for each in case["complaints"]]


def definition(plural: str, schema: Object) -> Object:
    """A definition of one version."""
    kind = plural.capitalize().removesuffix("s")
    names = {"plural": plural, "singular": plural.removesuffix("s"), "kind": kind, "listKind": f"{kind}List"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cases.example.com"},
        "spec": {"group": "cases.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def with_spec(schema: Object) -> Object:
    """The schema of objects whose `spec` has a schema."""
    return {"type": "object", "properties": {"spec": schema}}


def rule(name: str, spec: Object) -> Object:
    """An object that the rules are asked of."""
    return {"apiVersion": "cases.example.com/v1", "kind": "Rule", "metadata": {"name": name}, "spec": spec}
