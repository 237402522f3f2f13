"""What a pod breaks, in upstream's words, and the parts of pods that all checks look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stowplan.embedded.objects.resource import Object


class Violation(NamedTuple):
    """One rule that a pod breaks, and how."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


def containers(spec: Object) -> Iterator[Object]:
    """All containers of a pod, in the order in which they are spoken of."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def context(part: Object) -> Object:
    """The security context of a pod or a container."""
    found: Object = part.get("securityContext") or {}
    return found


def inner(part: Object, *path: str) -> Any:
    """What a security context says at a path; None if it says nothing."""
    value: Any = context(part)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def names(found: Iterable[Object]) -> list[str]:
    return [container.get("name", "") for container in found]


def quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def counted(word: str, found: list[str]) -> str:
    """One or several, such as `containers "a", "b"`."""
    return f"{plural(word, found)} {quoted(found)}"


def plural(word: str, found: list[str]) -> str:
    return word if len(found) == 1 else f"{word}s"


def uses(found: list[str]) -> str:
    return "uses" if len(found) == 1 else "use"


def setters(is_pod: bool, found: list[str]) -> str:
    """Who says something wrong: the pod, containers, or both."""
    return " and ".join([*(["pod"] if is_pod else []), *([counted("container", found)] if found else [])])
