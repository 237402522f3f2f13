"""Health checks and how their results are told: `/healthz`, `/livez` and `/readyz`, in the API server's words.

Who asks for all checks is not told why one failed; who asks for a single one is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

Check = Callable[[], str]
Observe = Callable[[str, str, bool], None]


def ping() -> str:
    """Pass always: whoever can answer is alive."""
    return ""


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check by its name; it returns what is wrong, nothing if all is well."""

    name: str
    check: Check


PING = NamedCheck("ping", ping)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint answers."""

    passed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The checks of one endpoint, such as `readyz`; without any it only says that somebody is there."""

    name: str
    checks: Sequence[NamedCheck] = field(default=(PING,))

    def answer(self, observe: Observe, excluded: Collection[str] = (), is_verbose: bool = False) -> Answer:
        """Make all checks but the excluded ones; a failure is always told in full."""
        lines, has_passed = [], True
        for check in self.checks or (PING,):
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            passed = not check.check()
            observe(check.name, self.name, passed)
            lines.append(f"[+]{check.name} ok\n" if passed else f"[-]{check.name} failed: reason withheld\n")
            has_passed = has_passed and passed
        unknown = sorted(set(excluded) - {check.name for check in self.checks})
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if not has_passed:
            return Answer(False, f"{''.join(lines)}{self.name} check failed\n")
        return Answer(True, f"{''.join(lines)}{self.name} check passed\n" if is_verbose else "ok")

    def answer_one(self, name: str) -> Answer | None:
        """Make one check; None if there is none of that name."""
        for check in self.checks or (PING,):
            if check.name == name:
                problem = check.check()
                return Answer(False, f"internal server error: {problem}\n") if problem else Answer(True, "ok")
        return None
