"""Keeps apart pods that want the same port of their node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Awaited, Filter, PreFilter, Reject, Requeue, Skip, reject
from stowplan.framework.remedies import Need, RejectedRows, Variant, with_containers
from stowplan.framework.verdict import WordedError
from stowplan.model.pod import Pod
from stowplan.table.columns import Scores
from stowplan.table.nodes import Nodes

REASON: Final = "node(s) didn't have free ports for the requested pod ports"
EVERY_ADDRESS: Final = "0.0.0.0"


class NodePorts(PreFilter, Filter, Requeue):
    """Two pods cannot have the same port of one node.

    Rejects: nodes where a pod holds a host port that this pod asks for, of the same protocol, on the same address or
        where either of them means every address (no `hostIP`, or 0.0.0.0). Ports of containers and sidecars count.
        Skipped for pods without host ports.
    Requeued by: a node added; a pod deleted that held one of the ports.
    Remedies: to do without host ports.
    Upstream: pkg/scheduler/framework/plugins/nodeports.
    """

    judges_resizes = False
    looks_at_rows_alone = True

    def pre_filter(self, pod: Pod, nodes: Nodes) -> _Conflicts | Skip:
        ports = frozenset(_host_ports(pod))
        return _Conflicts.of(ports) if ports else SKIP

    def filter(self, pod: Pod, nodes: Nodes, state: _Conflicts | None) -> Iterator[Reject]:
        if state is None:
            raise WordedError('reading "PreFilterNodePorts" from cycleState: not found')
        holders = nodes.count(state)
        gone = nodes.gone()
        if gone is not None and any(gone):
            holders = holders - _forgotten(pod.priority, nodes, state, gone)
        is_taken = holders > 0
        if is_taken.any():
            yield reject(is_taken, REASON)

    def events(self) -> tuple[Awaited, ...]:
        return (
            Awaited(changes.ASSIGNED_POD, Action.DELETE, _is_schedulable_after_pod_deleted),
            Awaited(changes.NODE, Action.ADD),
        )

    def remedies(self, rejected: RejectedRows) -> tuple[Need]:
        def drop(pod: Pod) -> Pod:
            return with_containers(pod, lambda container: replace(container, ports=()))

        return (Need(Variant("without the pod's host ports", drop), rejected.mask),)


class _HostPort(NamedTuple):
    protocol: str
    port: int
    address: str


@dataclass(frozen=True, slots=True)
class _Conflicts:
    """Counts the host ports of a pod that collide with any of `ports`."""

    ports: frozenset[_HostPort]
    #: Protocol and port of each, whatever its address.
    anywhere: frozenset[tuple[str, int]] = field(compare=False)

    @staticmethod
    def of(ports: frozenset[_HostPort]) -> _Conflicts:
        return _Conflicts(ports, frozenset((port.protocol, port.port) for port in ports))

    def amount(self, pod: Pod) -> int:
        return sum(self.concerns(held) for held in _host_ports(pod))

    def concerns(self, held: _HostPort) -> bool:
        # A pod may have tens of thousands of ports, so none is held against each other one.
        if held.address == EVERY_ADDRESS:
            return (held.protocol, held.port) in self.anywhere
        return held in self.ports or held._replace(address=EVERY_ADDRESS) in self.ports


@dataclass(frozen=True, slots=True)
class _HeldByImportant:
    """Counts how many of exactly these ports a pod of at least this priority holds."""

    ports: frozenset[_HostPort]
    priority: int

    def amount(self, pod: Pod) -> int:
        return sum(port in self.ports for port in _host_ports(pod)) if pod.priority >= self.priority else 0


def _is_schedulable_after_pod_deleted(pod: Pod, old: Pod, new: None) -> bool:
    """Say whether a pod that is gone held, on a node, a port that `pod` wants."""
    return changes.counts_on_a_node(old) and _Conflicts.of(frozenset(_host_ports(pod))).amount(old) > 0


def _host_ports(pod: Pod) -> list[_HostPort]:
    sidecars = [container for container in pod.spec.init_containers if container.is_restartable_init]
    return [
        _HostPort(port.protocol or "TCP", port.host_port, port.host_ip or EVERY_ADDRESS)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    ]


def _forgotten(priority: int, nodes: Nodes, conflicts: _Conflicts, gone: list[list[Pod]]) -> Scores:
    """Count the holders that upstream loses sight of in each hypothetical row.

    A node there has a set of ports, not a count of holders: with one holder gone the port is free although another, too
    important to be evicted, still has it.
    """
    forgotten = np.zeros(len(nodes), dtype=np.int64)
    as_it_is = nodes.take(nodes.all_rows)
    freed = [frozenset(port for pod in pods for port in _host_ports(pod) if conflicts.concerns(port)) for pods in gone]
    for ports in _groups(freed):
        is_freed = np.fromiter((ports <= each for each in freed), dtype=bool, count=len(freed))
        forgotten += is_freed * as_it_is.count(_HeldByImportant(ports, priority))
    return forgotten


def _groups(freed: list[frozenset[_HostPort]]) -> set[frozenset[_HostPort]]:
    """Say which ports are counted together: those that are freed in the same rows, as there may be thousands."""
    rows_of: dict[_HostPort, list[int]] = {}
    for row, ports in enumerate(freed):
        for port in ports:
            rows_of.setdefault(port, []).append(row)
    ports_of: dict[tuple[int, ...], list[_HostPort]] = {}
    for port, rows in rows_of.items():
        ports_of.setdefault(tuple(rows), []).append(port)
    return {frozenset(ports) for ports in ports_of.values()}
