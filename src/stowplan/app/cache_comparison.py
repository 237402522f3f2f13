"""Holds the cache against what the watches told, a slice at a time between two cycles.

A change waits in the scheduler's inbox until it is taken in, so that a look may be ahead of the cache: only what two
looks in a row find different is told. `observe/dump.py` has the comparison that SIGUSR2 asks for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from stowplan.app.watching import Watching
from stowplan.cache.cache import Cache
from stowplan.model.pod import Pod, pod_id

EVERY_SECONDS: Final = 60.0
#: Less than a millisecond of work at a time.
SLICE: Final = 500

T = TypeVar("T")
#: Kind, side and identity of an object that only one of both has.
Difference: TypeAlias = tuple[str, str, str]
Differences: TypeAlias = set[Difference]


async def compare_regularly(watching: Watching, cache: Cache, tell: Callable[[Counter[tuple[str, str]]], None]) -> None:
    """Compare until cancelled; tell how many differences there are, by kind and side."""
    before: Differences = set()
    while True:
        now = await compare(watching, cache)
        tell(Counter((kind, side) for kind, side, _ in before & now))
        before = now
        await asyncio.sleep(EVERY_SECONDS)


async def compare(watching: Watching, cache: Cache) -> Differences:
    """Return nodes and placed pods that are only in what the watches told, or only in the cache."""
    look = _Look(watching.by_key("Node"), watching.by_key("Pod"), cache)
    names, keys = [*{*look.nodes, *cache.table.row_of}], list(look.pods)
    steps = [partial(look.at_nodes, part) for part in _slices(names)]
    steps += [partial(look.at_watched, part) for part in _slices(keys)]
    steps += [partial(look.at_cached, part) for part in _slices([placed.pod for placed in cache.pods()])]
    for step in steps:
        taken = asyncio.get_running_loop().create_future()
        watching.submit(partial(_take, step, taken))
        await taken
    return look.found


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at everything; who is gone by the time it gets there is no difference."""

    nodes: Mapping[str, Any]
    pods: Mapping[str, Pod]
    cache: Cache
    found: Differences = field(default_factory=set)

    def at_nodes(self, names: Sequence[str]) -> None:
        for name in names:
            if (name in self.nodes) is not self.cache.has_node(name):
                self.found.add(("node", "missed" if name in self.nodes else "redundant", name))

    def at_watched(self, keys: Sequence[str]) -> None:
        for key in keys:
            pod = self.pods.get(key)
            if pod is not None and pod.node_name and not self._has(pod):
                self.found.add(("pod", "missed", pod_id(pod)))

    def at_cached(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            watched = self.pods.get(pod.key)
            is_watched = watched is not None and pod_id(watched) == pod_id(pod)
            if not is_watched and self.cache.placed(pod) is not None:
                self.found.add(("pod", "redundant", pod_id(pod)))

    def _has(self, pod: Pod) -> bool:
        placed = self.cache.placed(pod)
        return placed is not None and placed.node_name == pod.node_name


def _take(step: Callable[[], None], taken: asyncio.Future[None], now_ns: int) -> None:
    step()
    if not taken.done():
        taken.set_result(None)


def _slices(found: Sequence[T]) -> Iterator[Sequence[T]]:
    return (found[start : start + SLICE] for start in range(0, len(found), SLICE))
