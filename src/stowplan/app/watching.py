"""What of the cluster is watched, and how it gets to the flow: one informer for every kind that a plugin needs.

A change waits in the scheduler's inbox until no cycle is under way. While another replica leads there are no cycles,
and changes are applied at once: a new leader must not begin by reading its post.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import msgspec

from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.config.types import ExtenderConfig
from stowplan.engine.scheduler import Scheduler
from stowplan.framework.profile import Profile, listed_by, said_to_be_awaited
from stowplan.kube.backoff import Draw
from stowplan.kube.client import Client
from stowplan.kube.informer import Informer, ServerContact
from stowplan.kube.resources import (
    ALPHA_POD_GROUPS,
    BETA_TAINT_RULES,
    COMMUNITY_POD_GROUP,
    RESOURCES,
    ApiResource,
    dynamic,
)
from stowplan.observe.metrics import Metrics, event_label
from stowplan.observe.own_metrics import WatchState

SECOND_NS: Final = 1_000_000_000

ALWAYS: Final = ("Node", "Pod", "Namespace")
POD_GROUP: Final = "PodGroup"
TAINT_RULE: Final = "DeviceTaintRule"
#: Listed only where a feature gate is on.
GATED: Final[Mapping[str, str]] = MappingProxyType(
    {TAINT_RULE: "DRADeviceTaintRules", "CompositePodGroup": "CompositePodGroup"}
)


def watched(
    profiles: Iterable[Profile], gates: FeatureGates = DEFAULT_GATES, extenders: Iterable[ExtenderConfig] = ()
) -> list[ApiResource]:
    """Return the resources that the plugins of some profiles need; a plugin may await a `resource.version.group`.

    Extenders are sent pods and nodes as they came, so those keep their texts.
    """
    found = {kind: RESOURCES[kind] for kind in ALWAYS} | _with_texts(tuple(extenders))
    for profile in profiles:
        lists, awaits = listed_by(profile), said_to_be_awaited(profile)
        for plugin in {**lists, **awaits}:
            listed, awaited = lists.get(plugin, ()), awaits.get(plugin, ())
            for kind in (*listed, *(one.resource.rpartition("/")[2] for one in awaited)):
                if kind in GATED and not gates.enabled(GATED[kind]):
                    continue
                if kind == POD_GROUP and COMMUNITY_POD_GROUP in listed:
                    # The kind is awaited by its name alone; those of the other API are none of its business.
                    continue
                if kind in ALWAYS:
                    continue
                if kind in RESOURCES:
                    found[kind] = _resource(kind, gates)
                elif kind.count(".") > 1:
                    found[kind] = dynamic(kind)
    return list(found.values())


def _with_texts(extenders: Sequence[ExtenderConfig]) -> dict[str, ApiResource]:
    """Return pods and nodes with the texts that extenders are sent: of pods that wait, of victims, of nodes."""
    found: dict[str, ApiResource] = {}
    if any(one.filter_verb or one.prioritize_verb or one.preempt_verb for one in extenders):
        found["Pod"] = msgspec.structs.replace(RESOURCES["Pod"], keeps_text=lambda pod: not pod.spec.node_name)
    by_value = [one for one in extenders if not one.node_cache_capable]
    if any(one.preempt_verb for one in by_value):
        found["Pod"] = msgspec.structs.replace(RESOURCES["Pod"], keeps_text=lambda pod: True)
    if any(one.filter_verb or one.prioritize_verb for one in by_value):
        found["Node"] = msgspec.structs.replace(RESOURCES["Node"], keeps_text=lambda node: True)
    return found


def _resource(kind: str, gates: FeatureGates) -> ApiResource:
    """Return where a release has the objects of a kind."""
    if kind == TAINT_RULE and not gates.changed("DeviceTaintRulesOfV1"):
        return BETA_TAINT_RULES
    return pod_groups_of(gates) if kind == POD_GROUP else RESOURCES[kind]


def pod_groups_of(gates: FeatureGates) -> ApiResource:
    """Return where a release has pod groups."""
    return RESOURCES[POD_GROUP] if gates.changed("PodGroupsOfV1Beta1") else ALPHA_POD_GROUPS


@dataclass(slots=True)
class Watching:
    """The informers of one scheduler."""

    scheduler: Scheduler
    metrics: Metrics
    #: Whether cycles run, so that changes have to wait for the end of one.
    is_scheduling: bool = False
    informers: tuple[Informer, ...] = ()
    #: There from `open` on.
    contact: ServerContact = field(init=False)

    def open(self, client: Client, resources: Iterable[ApiResource], draw: Draw, report: Callable[[str], None]) -> None:
        """Make the informers; `run` starts them."""
        self.contact = ServerContact(report)
        self.informers = tuple(Informer(client, one, self.take, draw, self.contact) for one in resources)

    def read_as(self, resources: Iterable[ApiResource]) -> None:
        """Read what comes from now on as other resources say: with or without the texts that extenders are sent."""
        by_name = {one.name: one for one in resources}
        for informer in self.informers:
            informer.read_as(by_name.get(informer.resource.name, informer.resource))

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.informers:
                group.create_task(informer.run(), name=f"watch {informer.resource.name}")

    async def settled(self) -> None:
        """Wait until everything that can be had has been listed and taken in."""
        await asyncio.gather(*(informer.settled() for informer in self.informers))
        taken_in = asyncio.get_running_loop().create_future()
        self.submit(lambda now_ns: taken_in.set_result(None))
        await taken_in

    def problem(self) -> str:
        """Return what keeps the cluster from being known, and what to do about it; nothing if all is well."""
        return "; ".join(
            f"{one.resource.name} cannot be watched: {one.unavailable}; grant list and watch on {one.resource.name}"
            for one in self.informers
            if one.resource.is_essential and one.unavailable
        )

    def states(self) -> list[WatchState]:
        """Return how the watches are; of what was never to be had, there is none."""
        now = asyncio.get_running_loop().time()
        return [
            WatchState(one.resource.name, one.silence_seconds(now), one.lists)
            for one in self.informers
            if one.has_synced
        ]

    def objects(self, kind: str) -> list[Any]:
        """Return the objects of a kind as they were last seen."""
        return [
            found
            for informer in self.informers
            if informer.resource.kind == kind
            for found in informer.store.objects.values()
        ]

    def by_key(self, kind: str) -> Mapping[str, Any]:
        """Return the objects of a kind as they were last seen, by `namespace/name` or the name alone."""
        found: Mapping[str, Any] = ChainMap(*(one.store.objects for one in self.informers if one.resource.kind == kind))
        return found

    def find(self, kind: str, key: str) -> Any | None:
        """Return an object as it was last seen; None if it is not there."""
        return self.by_key(kind).get(key)

    def take(self, old: Any | None, new: Any | None) -> None:
        """Take in that an object appeared (no old), changed, or is gone (no new)."""
        self.scheduler.submit(partial(self._apply, old, new))
        if not self.is_scheduling:
            self.scheduler.apply_changes()

    def submit(self, change: Callable[[int], None]) -> None:
        """Have something done between two cycles; at once if none run."""
        self.scheduler.submit(change)
        if not self.is_scheduling:
            self.scheduler.apply_changes()

    def _apply(self, old: Any | None, new: Any | None, now_ns: int) -> None:
        handlers = self.scheduler.event_handlers
        if old is None:
            handlers.add(new, now_ns)
        elif new is None:
            handlers.delete(old, now_ns)
        else:
            handlers.update(old, new, now_ns)
        took_ns = max(0, self.scheduler.environment.now_ns() - now_ns)
        self.metrics.event_handled(event_label(old, new), took_ns / SECOND_NS)
