"""`/healthz`, `/livez` and `/readyz`: health checks in the API server's words; `/statusz` and `/flagz`: what runs.

Who asks for all checks is not told why one failed; who asks for a single one is. What runs, and with which flags, is
told as text for people or as an object for programs.
"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

COMPONENT: Final = "kube-scheduler"
GROUP: Final = "config.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for"
    " debugging purposes only."
)

#: Checks by name; each returns what is wrong, nothing if all is well.
Checks = Mapping[str, Callable[[], str]]
Observe = Callable[[str, str, bool], None]


#: Passes always: whoever can answer is alive.
PING: Final[Checks] = {"ping": lambda: ""}


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """What an endpoint answers."""

    passed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The checks of one endpoint, such as `readyz`; without any it only says that somebody is there."""

    name: str
    checks: Checks = field(default_factory=dict)

    def answer(self, observe: Observe, excluded: Collection[str] = (), is_verbose: bool = False) -> HealthAnswer:
        """Make all checks but the excluded ones; a failure is always told in full."""
        lines, has_passed = [], True
        for name, check in (self.checks or PING).items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok\n")
                continue
            passed = not check()
            observe(name, self.name, passed)
            lines.append(f"[+]{name} ok\n" if passed else f"[-]{name} failed: reason withheld\n")
            has_passed = has_passed and passed
        unknown = sorted(set(excluded) - self.checks.keys())
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if not has_passed:
            return HealthAnswer(False, f"{''.join(lines)}{self.name} check failed\n")
        return HealthAnswer(True, f"{''.join(lines)}{self.name} check passed\n" if is_verbose else "ok")

    def answer_one(self, name: str) -> HealthAnswer | None:
        """Make one check; None if there is none of that name."""
        check = (self.checks or PING).get(name)
        if check is None:
            return None
        problem = check()
        return HealthAnswer(False, f"internal server error: {problem}\n") if problem else HealthAnswer(True, "ok")


# What runs


@dataclass(frozen=True, slots=True)
class StatuszPage:
    """What `/statusz` tells. Times are seconds since the epoch."""

    #: Of the program, as `v1.37.1-stowplan.0.1.0`, and the release that it decides like.
    version: str
    release: str
    started_at: float
    paths: tuple[str, ...]
    now: Callable[[], float]
    kind: ClassVar = "Statusz"

    def text(self) -> str:
        up = int(self.now() - self.started_at)
        started = datetime.datetime.fromtimestamp(self.started_at, datetime.UTC)
        lines = [
            "",
            f"{COMPONENT} statusz",
            _WARNING,
            "",
            f"Started: {started:%a %b} {started.day:2d} {started:%H:%M:%S} UTC {started.year}",
            f"Up: {up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec",
            f"Python version: {platform.python_version()}",
            f"Binary version: {self.version.removeprefix('v')}",
            f"Emulation version: {self.release}",
            f"Paths: {' '.join(self.folders)}",
        ]
        return "\n".join(lines) + "\n"

    def as_object(self, version: str) -> dict[str, Any]:
        started = datetime.datetime.fromtimestamp(int(self.started_at), datetime.UTC)
        return _object(self.kind, version) | {
            "startTime": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": max(0, int(self.now() - self.started_at)),
            # The field is upstream's; what runs here is not Go.
            "goVersion": f"none (Python {platform.python_version()})",
            "binaryVersion": self.version.removeprefix("v"),
            "emulationVersion": self.release,
            "paths": list(self.folders),
        }

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(sorted({f"/{path.split('/')[1]}" for path in self.paths}))


@dataclass(frozen=True, slots=True)
class FlagzPage:
    """What `/flagz` tells: every flag by name."""

    flags: Mapping[str, str]
    kind: ClassVar = "Flagz"

    def text(self) -> str:
        lines = ["", f"{COMPONENT} flagz", _WARNING, *(f"{name}={value}" for name, value in sorted(self.flags.items()))]
        return "\n".join(lines) + "\n"

    def as_object(self, version: str) -> dict[str, Any]:
        return _object(self.kind, version) | {"flags": dict(sorted(self.flags.items()))}


def wanted_version(accept: str, kind: str) -> str | None:
    """Return the version of the object that an Accept header asks for, "" for text, None if it can have neither."""
    if not accept.strip():
        return ""
    for one in accept.split(","):
        media_type, *parameters = (part.strip() for part in one.split(";"))
        given = dict(part.split("=", 1) for part in parameters if "=" in part)
        if media_type == "application/json" and given.get("g") == GROUP and given.get("as") == kind:
            if given.get("v") in VERSIONS:
                return given["v"]
        elif media_type in ("text/plain", "text/*", "*/*"):
            return ""
    return None


def _object(kind: str, version: str) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}}
