"""Defaults of containers: pull policy, termination message, probes, references to the pod's own fields."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stowplan.embedded.objects.resource import Object

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = frozenset((*_PROBES, "lifecycle"))
_PROBE_NUMBERS: Final = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))


def complete(container: Object) -> None:
    """Fill in one container, of whatever sort."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    container.setdefault("resources", {})
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for variable in container.get("env", ()):
        name_version((variable.get("valueFrom") or {}).get("fieldRef"))
    if not _HANDLERS.isdisjoint(container):
        _complete_handlers(container)


def name_version(field_reference: Object | None) -> None:
    """Say which version of the pod a reference to one of its fields means."""
    if field_reference is not None and not field_reference.get("apiVersion"):
        field_reference["apiVersion"] = "v1"


def request_what_is_limited(resources: Object) -> None:
    """Let a limit stand for the request that is not there."""
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.setdefault("requests", {})
    for name, amount in limits.items():
        requests.setdefault(name, amount)


def _complete_handlers(container: Object) -> None:
    for name in _PROBES:
        if name in container:
            _complete_probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _complete_http(handler)


def _complete_probe(probe: Object) -> None:
    for name, number in _PROBE_NUMBERS:
        if not probe.get(name):
            probe[name] = number
    _complete_http(probe)


def _complete_http(handler: Object) -> None:
    request = handler.get("httpGet")
    if request is not None:
        request["path"] = request.get("path") or "/"
        request["scheme"] = request.get("scheme") or "HTTP"


@lru_cache(maxsize=4096)
def _pull_policy(image: str) -> str:
    """Only an image that may change under its name is pulled each time."""
    name, _, digest = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    if tag == "latest" or (name and not colon and not digest):
        return "Always"
    return "IfNotPresent"
