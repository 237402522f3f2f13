"""What a failed assertion says: what was supposed, what does not hold, and of every pod concerned why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stowplan.assertions.settling import SettledCluster, UnplacedPod
from stowplan.model.pod import Pod
from stowplan.observe.explanation import some
from stowplan.whatif.changes import replacement
from stowplan.whatif.drain import Drain
from stowplan.whatif.fits import Fits

MOST_NAMES: Final = 5
#: So many pods are named of those that are refused alike; of the rest it is told how many there are.
MOST_PODS: Final = 20
#: Of so many kinds of refusal the nearest misses are looked for, which takes a while of each.
MOST_EXPLAINED: Final = 5
INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Broken:
    """An assertion that does not hold."""

    supposed: tuple[str, ...]
    head: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        after = f", after {' and '.join(self.supposed)}" if self.supposed else ""
        body = "".join(f"\n{INDENT}{line}" for line in self.lines)
        return f"{self.head}{after}{':' if self.lines else ''}{body}"


def broken(found: SettledCluster, head: str, lines: Sequence[str] = ()) -> Broken:
    """Put together what does not hold, and after what."""
    return Broken(tuple(found.supposed.told), head, tuple(lines))


class _Alike:
    """Pods of which the same is said, told in one line, with what would have helped one of them below it."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._first: dict[str, Pod] = {}

    def add(self, name: str, message: str, pod: Pod | None = None) -> None:
        self._names.setdefault(message, []).append(name)
        if pod is not None:
            self._first.setdefault(message, pod)

    def lines(self, nearest_misses: Callable[[Pod], Iterable[str]]) -> list[str]:
        found = []
        explained = 0
        for message, names in self._names.items():
            found.append(f"{some(names, MOST_PODS)}: {message}")
            pod = self._first.get(message)
            if pod is not None and explained < MOST_EXPLAINED:
                explained += 1
                found += [f"{INDENT}nearest miss: {miss}" for miss in nearest_misses(pod)]
        return found


def of_unplaced(found: SettledCluster, missing: Sequence[UnplacedPod]) -> list[str]:
    """Tell of pods without a node."""
    alike = _Alike()
    for one in missing:
        alike.add(f"{one.pod.key}{_where(one)}", one.message, one.pod)
    return alike.lines(found.nearest_misses)


def _where(one: UnplacedPod) -> str:
    was = [f"was on {one.left}"] if one.left else []
    if one.evicted_for:
        was.append(f"evicted for {one.evicted_for}")
    return f" ({', '.join(was)})" if was else ""


def of_fits(found: SettledCluster, answer: Fits, pods: Mapping[str, Pod]) -> list[str]:
    """Tell of pods of a file that do not fit, with the others placed."""
    alike = _Alike()
    for one in answer.pods:
        if one.node is None:
            alike.add(one.pod, one.message, pods[one.pod])
    return alike.lines(found.nearest_misses)


def of_drain(found: SettledCluster, answer: Drain, there: Mapping[str, Pod]) -> list[str]:
    """Tell of pods, of those that were there, that a drain leaves without a node, and of those that a budget holds."""
    alike = _Alike()
    for one in (moved for batch in answer.batches for moved in batch.moved):
        name = f"{one.pod} (on {one.from_node})"
        if one.held_by:
            alike.add(name, f"stays: {one.message}")
        elif one.is_homeless:
            alike.add(name, one.message, replacement(there[one.pod]))
    return alike.lines(found.nearest_misses)


def of_pods(said: Iterable[tuple[Pod, str]]) -> list[str]:
    """Tell what is said of pods."""
    alike = _Alike()
    for pod, text in said:
        alike.add(pod.key, text)
    return alike.lines(lambda pod: ())
