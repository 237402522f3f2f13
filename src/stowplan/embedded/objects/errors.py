"""Refusals as the API speaks them: `Status` objects with upstream's reasons and codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from stowplan.embedded.objects.resource import Object, Resource

#: An object may have a hundred thousand things wrong with it, and the answer to it would be twenty times as long.
MOST_CAUSES: Final = 1000


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with one field, such as ("FieldValueRequired", "spec.containers", "Required value")."""

    reason: str
    field: str
    message: str


class StatusError(Exception):
    """A request that is refused; `status` is what the caller is told."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Object:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({"details": self.details} if self.details else {}),
            "code": self.code,
        }


def not_found(resource: Resource, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{resource.qualified} "{name}" not found', _about(resource, name))


def already_exists(resource: Resource, name: str) -> StatusError:
    return StatusError(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', _about(resource, name))


def conflict(resource: Resource, name: str, problem: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {problem}'
    return StatusError(409, "Conflict", message, _about(resource, name))


def forbidden(resource: Resource, name: str, problem: str) -> StatusError:
    message = f'{resource.qualified} "{name}" is forbidden: {problem}'
    return StatusError(403, "Forbidden", message, _about(resource, name))


def bad_request(problem: str) -> StatusError:
    return StatusError(400, "BadRequest", problem)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> StatusError:
    """Refuse an object for what is wrong with its fields; of very much, the first things."""
    causes = causes[:MOST_CAUSES]
    problems = [f"{cause.field}: {cause.message}" for cause in causes]
    spelled = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    return StatusError(
        422,
        "Invalid",
        f'{kind} "{name}" is invalid: {spelled}',
        _details(name, resource.group, resource.kind, causes=listed),
    )


def invalid_options(kind: str, problem: str) -> StatusError:
    """Refuse the options of a request, such as its DeleteOptions."""
    return StatusError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {problem}')


def method_not_allowed(verb: str, resource: Resource) -> StatusError:
    message = f'{verb} is not supported on resources of kind "{resource.qualified}"'
    return StatusError(405, "MethodNotAllowed", message, _details("", resource.group, resource.plural))


def expired(problem: str) -> StatusError:
    return StatusError(410, "Expired", problem)


def _about(resource: Resource, name: str) -> dict[str, Any]:
    return _details(name, resource.group, resource.plural)


def _details(name: str, group: str, kind: str, **more: Any) -> dict[str, Any]:
    """What the refusal is about; what is empty, such as the name of the core group, is left out."""
    told = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in told.items() if value}
