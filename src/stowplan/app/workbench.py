"""What a researcher asks of a whole cluster: nodes and placements as columns, how full it is, how fragmented.

All of it is read off the table, in the scheduler's own numbers: requests, not use; millicores of cpu, bytes of memory
and storage, and whole units of the rest. docs/workbench.md has the columns and the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan.app.frames import Frame, Values, text_column
from stowplan.app.objects import check_pod
from stowplan.cache.cache import Cache, CachedPod
from stowplan.framework import html_text
from stowplan.model.pod import Pod
from stowplan.observe.amount_text import amount_text
from stowplan.table.resources import CPU, FIXED, MEMORY
from stowplan.table.table import Table, zone_of

Amounts = NDArray[np.int64]


def nodes_frame(cache: Cache) -> Frame:
    """Return the nodes in the order in which the table has them."""
    table = cache.table
    columns: dict[str, Values] = {
        "name": text_column(table.names()),
        "zone": text_column([zone_of(node) for node in table.nodes]),
        "unschedulable": np.array([node.spec.unschedulable for node in table.nodes], dtype=np.bool_),
        "pods": np.array([len(list(cache.pods_on(name))) for name in table.names()], dtype=np.int64),
    }
    for name, row in _resources(table):
        has, taken = table.resources.allocatable[row].copy(), table.resources.requested[row].copy()
        columns[f"{name}_allocatable"] = has
        columns[f"{name}_requested"] = taken
        columns[f"{name}_free"] = has - taken
        columns[f"{name}_utilisation"] = _shares(taken, has)
    return Frame(columns)


def placements_frame(cache: Cache) -> Frame:
    """Return the pods that have a node in the order in which they came to it, also where the node is not known."""
    placed = list(cache.pods())
    amounts = [_cpu_and_memory(cache.table, one) for one in placed]
    return Frame(
        {
            "namespace": text_column([one.pod.namespace for one in placed]),
            "name": text_column([one.pod.name for one in placed]),
            "node": text_column([one.node_name for one in placed]),
            "priority": np.array([one.pod.priority for one in placed], dtype=np.int64),
            "scheduler_name": text_column([one.pod.spec.scheduler_name for one in placed]),
            "cpu_requested": np.array([cpu for cpu, _ in amounts], dtype=np.int64),
            "memory_requested": np.array([memory for _, memory in amounts], dtype=np.int64),
            "is_assumed": np.array([one.is_assumed for one in placed], dtype=np.bool_),
        }
    )


def _cpu_and_memory(table: Table, placed: CachedPod) -> tuple[int, int]:
    amounts = placed.shape.amounts
    if amounts is not None:
        return int(amounts[CPU]), int(amounts[MEMORY])
    # It was never counted, for its node is not there; a question must not give its resources a row.
    weight = table.accounted(placed.pod)
    return weight.milli_cpu, weight.memory


def utilisation(cache: Cache) -> dict[str, float]:
    """Return requested / allocatable over all nodes by resource; not a number where there is nothing to give."""
    resources = cache.table.resources
    return {
        name: _share(_sum(resources.requested[row]), _sum(resources.allocatable[row]))
        for name, row in _resources(cache.table)
    }


def fragmentation(cache: Cache, pod: Pod | None = None) -> dict[str, float]:
    """Return, by resource, which share of what is free is on nodes with less of it than a pod asks for.

    Without a pod, that is the most that any placed pod asks for of the resource. Not a number where nothing is free.
    """
    wanted = _largest(cache.table) if pod is None else _wanted(cache.table, pod)
    resources, shares = cache.table.resources, dict[str, float]()
    for name, row in _resources(cache.table):
        free = np.maximum(resources.allocatable[row] - resources.requested[row], 0)
        shares[name] = _share(_sum(free[free < wanted.get(name, 0)]), _sum(free))
    return shares


def _largest(table: Table) -> Mapping[str, int]:
    """Return the most that any pod on a node asks for, by resource."""
    most = np.zeros(len(table.resources.allocatable), dtype=np.int64)
    for shape in {shape for shapes in table.shapes_on for shape in shapes}:
        amounts = table.amounts_of(shape)
        np.maximum(most[: len(amounts)], amounts, out=most[: len(amounts)])
    return {name: int(most[row]) for name, row in table.resources.index_of.items()}


def _wanted(table: Table, pod: Pod) -> Mapping[str, int]:
    check_pod(pod)
    asked = table.incoming(pod)
    fixed = {"cpu": asked.milli_cpu, "memory": asked.memory, "ephemeral-storage": asked.ephemeral_storage, "pods": 1}
    return fixed | dict(asked.scalar)


def overview(cache: Cache) -> str:
    """Write the cluster in HTML: how many nodes and pods, and what there is of each resource."""
    resources, shares = cache.table.resources, utilisation(cache)
    rows = []
    for name, row in _resources(cache.table):
        has, taken = _sum(resources.allocatable[row]), _sum(resources.requested[row])
        share = "" if math.isnan(shares[name]) else f"{shares[name]:.1%}"
        rows.append((name, *(amount_text(name, int(amount)) for amount in (has, taken, has - taken)), share))
    headings = ("resource", "allocatable", "requested", "free", "utilisation")
    title = html_text.line(f"Cluster ({count_text(cache)})")
    return title + html_text.table(headings, rows, len(rows))


def count_text(cache: Cache) -> str:
    return f"nodes: {len(cache.table)}, pods with a node: {len(list(cache.pods()))}"


def _resources(table: Table) -> Iterator[tuple[str, int]]:
    """Yield the resources that are shown, with their rows: those that all nodes have, then what any has or takes."""
    resources = table.resources
    yield from FIXED.items()
    for name, row in sorted(resources.index_of.items()):
        if name not in FIXED and (resources.allocatable[row].any() or resources.requested[row].any()):
            yield name, row


def _sum(amounts: Amounts) -> float:
    # Not in whole numbers: bytes of many large nodes may be more than an int64 holds.
    return float(amounts.sum(dtype=np.float64))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _shares(part: Amounts, whole: Amounts) -> NDArray[np.float64]:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole != 0)
    return shares
