"""Defaults of what asks for devices."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object

_EXACT: Final = "ExactCount"


def complete_claim(claim: Object) -> None:
    """Fill in a claim for devices."""
    _complete_spec(claim.setdefault("spec", {}))


def complete_template(template: Object) -> None:
    """Fill in a template of such claims."""
    spec = template.setdefault("spec", {})
    spec.setdefault("metadata", {})
    _complete_spec(spec.setdefault("spec", {}))


def _complete_spec(spec: Object) -> None:
    for request in reading.entries(spec.setdefault("devices", {}), "requests"):
        if "exactly" in request:
            _complete_request(request["exactly"])
        for alternative in reading.entries(request, "firstAvailable"):
            _complete_request(alternative)


def _complete_request(request: Object) -> None:
    """Ask for one device unless something else is said."""
    if request.setdefault("allocationMode", _EXACT) == _EXACT:
        request.setdefault("count", 1)
