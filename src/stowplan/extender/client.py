"""One extender, asked over HTTP: what each verb sends, and what is made of the reply.

`connect` makes them from the configuration; nothing is contacted before the first question. `transport.py` carries the
bytes, `messages.py` knows their meaning. What several extenders come to together is in `chain.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from stowplan.config import types as config
from stowplan.extender import messages
from stowplan.extender.messages import MetaVictims, ReplyError, UndecodableError
from stowplan.extender.transport import HttpTransport
from stowplan.framework.contract import MAX_SCORE, Preemption
from stowplan.framework.extender import Filtered, NodesByName, PodsOn
from stowplan.framework.handle import ExtenderError
from stowplan.model.pod import Container, Pod

T = TypeVar("T")

#: The highest score in the protocol. Higher ones are taken as they come, as upstream does.
MAX_EXTENDER_PRIORITY: Final = 10
# Totals are 64-bit numbers; within this, any number of extenders can be added up.
_MOST_ADDED = 2**53


def connect(extenders: Iterable[config.ExtenderConfig]) -> tuple[HttpExtender, ...]:
    """Make the extenders in the order they are asked; raise ConfigError if a certificate of one cannot be used.

    Those that may fail come last, as upstream has it: they are not to be in the way of the others.
    """
    made = [HttpExtender(settings, HttpTransport(settings)) for settings in extenders]
    return tuple(sorted(made, key=lambda extender: extender.is_ignorable))


class HttpExtender:
    """An extender as the configuration describes it. Close it when the scheduler stops, or uses others."""

    def __init__(self, settings: config.ExtenderConfig, transport: HttpTransport) -> None:
        self._settings = settings
        self._transport = transport
        self._managed = frozenset(resource.name for resource in settings.managed_resources)
        self.name, self.weight, self.is_ignorable = settings.url_prefix, settings.weight, settings.ignorable
        self.is_filter, self.is_prioritizer = bool(settings.filter_verb), bool(settings.prioritize_verb)
        self.is_binder, self.is_preemptor = bool(settings.bind_verb), bool(settings.preempt_verb)

    def is_interested(self, pod: Pod) -> bool:
        """Say whether the pod asks for a resource that this extender manages; one that manages none hears of all."""
        if not self._managed:
            return True
        return self._asks_for_managed(pod.spec.containers) or self._asks_for_managed(pod.spec.init_containers)

    async def filter(self, pod: Pod, nodes: NodesByName) -> Filtered:
        """Ask which of the nodes can take the pod. One that was sent nodes is not heard if it replies names."""
        body = messages.nodes_request(pod, nodes, only_names=self._settings.node_cache_capable)
        reply = await self._ask(self._settings.filter_verb, body, messages.read_filter)
        if reply.error:
            raise ExtenderError(reply.error)
        is_by_name = self._settings.node_cache_capable and reply.node_names is not None
        names = (reply.node_names if is_by_name else reply.nodes) or ()
        return Filtered(self._passed(names, nodes), reply.failed, reply.unresolvable, has_whole_nodes=not is_by_name)

    async def prioritize(self, pod: Pod, nodes: NodesByName) -> dict[str, int]:
        """Ask for scores, and return what they add to the totals; scores of other nodes are left out."""
        body = messages.nodes_request(pod, nodes, only_names=self._settings.node_cache_capable)
        verb = self._settings.prioritize_verb
        added: dict[str, int] = {}
        for node_name, given in await self._ask(verb, body, messages.read_priorities):
            if node_name in nodes:
                score = given * self._settings.weight * (MAX_SCORE // MAX_EXTENDER_PRIORITY)
                added[node_name] = added.get(node_name, 0) + score
        for node_name, score in added.items():
            if abs(score) > _MOST_ADDED:
                problem = f'the score of node "{node_name}" adds {score} to its total'
                raise self._fault(verb, f"{problem}; reply with scores from 0 to {MAX_EXTENDER_PRIORITY}")
        return added

    async def bind(self, pod: Pod, node_name: str) -> None:
        body = messages.binding_request(pod, node_name)
        error = await self._ask(self._settings.bind_verb, body, messages.read_binding)
        if error:
            raise ExtenderError(error)

    async def preempt(self, pod: Pod, candidates: Sequence[Preemption], pods_on: PodsOn) -> list[Preemption]:
        """Ask on which nodes, and at whose cost, room may be made."""
        body = messages.preemption_request(pod, candidates, only_names=self._settings.node_cache_capable)
        reply = await self._ask(self._settings.preempt_verb, body, messages.read_preemption)
        return [self._preemption(node_name, victims, pods_on(node_name)) for node_name, victims in reply.items()]

    async def retire(self) -> None:
        await self._transport.retire()

    async def close(self) -> None:
        await self._transport.close()

    async def _ask(self, verb: str, body: bytes, read: Callable[[bytes], T]) -> T:
        reply = await self._transport.post(verb, body)
        try:
            return read(reply)
        except UndecodableError as fault:
            raise ExtenderError(str(fault)) from None
        except ReplyError as fault:
            raise self._fault(verb, str(fault)) from None

    def _passed(self, names: Iterable[str], nodes: NodesByName) -> tuple[str, ...]:
        for name in names:
            if name not in nodes:
                raise ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in the input node list'
                )
        return tuple(dict.fromkeys(names))

    def _preemption(self, node_name: str, victims: MetaVictims, pods: Iterable[Pod] | None) -> Preemption:
        if pods is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node_name}"')
        by_uid = {pod.uid: pod for pod in pods}
        for uid in victims.uids:
            if uid not in by_uid:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name},"
                    " but the pod is not found on that node"
                )
        return Preemption(node_name, tuple(by_uid[uid] for uid in victims.uids), victims.pdb_violations)

    def _asks_for_managed(self, containers: Iterable[Container]) -> bool:
        return any(
            not self._managed.isdisjoint(resources)
            for container in containers
            for resources in (container.resources.requests, container.resources.limits)
        )

    def _fault(self, verb: str, problem: str) -> ExtenderError:
        return ExtenderError(f'extender "{self.name}": reply to {verb}: {problem}')
