"""Whether a change is worth another attempt for a pod, as the plugins that rejected it see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from stowplan.framework import plugin_faults
from stowplan.framework.changes import Change, ObjectChange, is_covered
from stowplan.framework.contract import Awaited
from stowplan.model.pod import Pod, pod_id
from stowplan.queue.entry import QueuedPod, Rejector

Hint = Callable[[Pod, Any, Any], bool]
PreHint = Callable[[Any, Any], Callable[[Pod], bool] | None]
#: What each plugin awaits, by scheduler name and plugin.
AwaitedBy = Mapping[str, Mapping[str, tuple[Awaited, ...]]]

#: Measuring costs about as much as most hints take to answer: one question in so many is enough.
SAMPLED: Final = 10


class HintTimer(msgspec.Struct, frozen=True):
    """Who measures how long hints take: `note` is told the plugin, the change, the answer and the nanoseconds.

    `note_narrowing` is told the plugin, and whether it has left out any pods.
    """

    now_ns: Callable[[], int]
    note: Callable[[str, str, str, int], None]
    note_narrowing: Callable[[str, bool], None] = lambda plugin, is_narrowed: None


class QueueingStrategy(Enum):
    """What to do with a pod that a change may concern."""

    SKIP = "leave it"
    AFTER_BACKOFF = "try it again once it has waited long enough"
    IMMEDIATELY = "try it again now"


class Said(Enum):
    """What a hint answered, in upstream's words."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"
    ERROR = "Error"


class Narrowing(msgspec.Struct, frozen=True):
    """The pods that a change may concern, by the plugins that could tell; nobody else is asked about the change."""

    by_plugin: Mapping[str, Sequence[Callable[[Pod], bool]]]

    def concerns(self, pod: Pod) -> bool:
        """Say whether any of the plugins takes the pod for one that the change may concern."""
        return any(self.concerns_for(plugin, pod) for plugin in self.by_plugin)

    def concerns_for(self, plugin: str, pod: Pod) -> bool:
        """Say whether a plugin takes the pod for one that the change may concern; one that cannot tell does."""
        tests = self.by_plugin.get(plugin)
        return tests is None or any(test(pod) for test in tests)


class Hints:
    """The hints of all plugins of all profiles, by change."""

    def __init__(self, awaited_by: AwaitedBy, timer: HintTimer | None = None) -> None:
        self._awaited_by = awaited_by
        #: Who measures, if anybody does; set by the queue.
        self.timer = timer
        self._asked = 0
        # There are only so many sorts of change; each is looked up once.
        self._by_change: dict[Change, dict[Rejector, tuple[Hint | None, ...]]] = {}

    def awaiting(self, change: Change) -> Mapping[Rejector, tuple[Hint | None, ...]]:
        """Return the plugins that await a change, with their hints."""
        known = self._by_change.get(change)
        if known is None:
            known = self._by_change[change] = self._find(change)
        return known

    def narrowed(self, event: ObjectChange) -> Narrowing | None:
        """Ask the plugins that can tell at once which pods an event may concern; None for all of them."""
        if event.old is None and event.new is None:
            return None
        tests: dict[str, list[Callable[[Pod], bool]]] = {}
        for plugin, pre_hint in self._pre_hints(event.change):
            try:
                test = pre_hint(event.old, event.new)
            except plugin_faults.FAULTS:
                return None
            if self.timer is not None:
                self.timer.note_narrowing(plugin, test is not None)
            if test is None:
                return None
            tests.setdefault(plugin, []).append(test)
        return Narrowing(tests) if tests else None

    def strategy(self, entry: QueuedPod, event: ObjectChange, narrowed: Narrowing | None = None) -> QueueingStrategy:
        """Ask the plugins that rejected a pod whether the event may help it, as far as it may concern the pod."""
        if not entry.rejected_by:
            return QueueingStrategy.AFTER_BACKOFF
        if event.change.is_wildcard:
            is_for_another = event.new is not None and pod_id(event.new) != entry.id
            return QueueingStrategy.SKIP if is_for_another else QueueingStrategy.AFTER_BACKOFF
        # Plain loops: this is asked of every pod that waits, for every pod that gets a node.
        for name in entry.pending_plugins:
            if self._helps(name, entry, event, narrowed):
                return QueueingStrategy.IMMEDIATELY
        for name in entry.unschedulable_plugins:
            if self._helps(name, entry, event, narrowed):
                return QueueingStrategy.AFTER_BACKOFF
        return QueueingStrategy.SKIP

    def best(self, entry: QueuedPod, events: Iterable[ObjectChange]) -> QueueingStrategy:
        """Return the most that any of several events is worth."""
        if not entry.rejected_by:
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for event in events:
            found = self.strategy(entry, event)
            if found is not QueueingStrategy.SKIP:
                best = found
            if best is QueueingStrategy.IMMEDIATELY or (
                best is QueueingStrategy.AFTER_BACKOFF and not entry.pending_plugins
            ):
                return best
        return best

    def _helps(self, plugin: str, entry: QueuedPod, event: ObjectChange, narrowed: Narrowing | None) -> bool:
        if narrowed is not None and not narrowed.concerns_for(plugin, entry.pod):
            return False
        hints = self.awaiting(event.change).get((entry.pod.spec.scheduler_name, plugin), ())
        return any(hint is None or self._says_yes(plugin, hint, entry.pod, event) for hint in hints)

    def _says_yes(self, plugin: str, hint: Hint, pod: Pod, event: ObjectChange) -> bool:
        self._asked += 1
        if self.timer is None or self._asked % SAMPLED:
            return _answer(hint, pod, event) is not Said.SKIP
        started_ns = self.timer.now_ns()
        said = _answer(hint, pod, event)
        self.timer.note(plugin, event.change.label, said.value, self.timer.now_ns() - started_ns)
        return said is not Said.SKIP

    def _pre_hints(self, change: Change) -> Iterator[tuple[str, PreHint]]:
        if change.is_wildcard:
            return
        for plugins in self._awaited_by.values():
            for plugin, awaited in plugins.items():
                for one in awaited:
                    if one.pre_hint is not None and is_covered(change, one.resource, one.actions):
                        yield plugin, one.pre_hint

    def _find(self, change: Change) -> dict[Rejector, tuple[Hint | None, ...]]:
        found: dict[Rejector, tuple[Hint | None, ...]] = {}
        for scheduler_name, plugins in self._awaited_by.items():
            for plugin, awaited in plugins.items():
                hints = tuple(one.hint for one in awaited if is_covered(change, one.resource, one.actions))
                if hints:
                    found[scheduler_name, plugin] = hints
        return found


def _answer(hint: Hint, pod: Pod, event: ObjectChange) -> Said:
    try:
        return Said.QUEUE if hint(pod, event.old, event.new) else Said.SKIP
    except plugin_faults.FAULTS:
        # A pod must not be stuck because a plugin failed to judge an event.
        return Said.ERROR
