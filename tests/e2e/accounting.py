"""What must hold after any fault: pods bound once or refused for a true reason, no node overcommitted, nothing leaked.

The cluster is asked, not the scheduler, except for what only the scheduler knows: what it still holds in memory.
"""

from __future__ import annotations

import re
import signal
import ssl
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from tests.e2e.api import Object
from tests.e2e.burst import FITTING, NODES, REASONS, Burst, is_bound, refusal_of
from tests.e2e.plane import Plane
from tests.e2e.scheduler_process import SchedulerProcess

_SAMPLE = re.compile(r"^(\w+(?:\{[^}]*\})?) (\S+)", re.MULTILINE)


def settled(nodes: int, bound: int, refused: int) -> dict[str, float]:
    """Return what a scheduler holds once a burst is over."""
    return {
        'scheduler_pending_pods{queue="active"}': 0,
        'scheduler_pending_pods{queue="backoff"}': 0,
        'scheduler_pending_pods{queue="gated"}': 0,
        'scheduler_pending_pods{queue="unschedulable"}': refused,
        'scheduler_cache_size{type="assumed_pods"}': 0,
        'scheduler_cache_size{type="nodes"}': nodes,
        'scheduler_cache_size{type="pods"}': bound,
    }


SETTLED: Final = settled(len(NODES), len(FITTING), len(REASONS))


def assert_placed(plane: Plane, burst: Burst) -> None:
    """Every pod that fits has a node, every other a true reason, and no node holds more than it has."""
    pods = burst.wait_until_over()
    assert sorted(item["metadata"]["name"] for item in pods if is_bound(item)) == sorted(FITTING)
    assert_true_reasons([item for item in pods if not is_bound(item)])
    excess = overcommitted(plane.api.items("/api/v1/nodes"), plane.api.items("/api/v1/pods"))
    assert not excess, f"millicores asked of nodes that they do not have: {excess}"


def assert_true_reasons(refused: Collection[Object]) -> None:
    said = {item["metadata"]["name"]: refusal_of(item) for item in refused}
    assert said.keys() == REASONS.keys()
    false = {
        name: found
        for name, found in said.items()
        if found[0] != "Unschedulable" or not found[1].startswith(REASONS[name])
    }
    assert not false, f"not for these reasons: {false}"


def overcommitted(nodes: Collection[Object], pods: Collection[Object]) -> dict[str, int]:
    """Return by how many millicores the nodes are asked for more than they have."""
    room = {item["metadata"]["name"]: _milli_cpu(item["status"]["allocatable"]["cpu"]) for item in nodes}
    asked: Counter[str] = Counter()
    for item in filter(is_bound, pods):
        containers = item["spec"]["containers"]
        asked[item["spec"]["nodeName"]] += sum(_milli_cpu(one["resources"]["requests"]["cpu"]) for one in containers)
    return {name: amount - room.get(name, 0) for name, amount in asked.items() if amount > room.get(name, 0)}


def bind_codes(plane: Plane, namespace: str) -> dict[str, list[int]]:
    """Return how the API server answered the bindings of each pod, as its audit log has it."""
    codes: dict[str, list[int]] = defaultdict(list)
    for event in plane.audit_events():
        target = event.get("objectRef", {})
        if target.get("subresource") == "binding" and target.get("namespace") == namespace:
            codes[target["name"]].append(event["responseStatus"]["code"])
    return dict(codes)


def assert_bound_once(
    plane: Plane, namespace: str, names: Collection[str] = FITTING, besides: Collection[str] = ()
) -> None:
    """One binding of each of these pods was accepted, and there was none of others; some do not matter.

    A scheduler that is killed does not wait for the answer. The API server then writes 504 down, even if the binding
    was carried out, and nobody may have tried again.
    """
    codes = {name: given for name, given in bind_codes(plane, namespace).items() if name not in besides}
    doubtful = {name for name, given in codes.items() if given.count(201) != 1 and given != [504]}
    assert codes.keys() == set(names)
    assert not doubtful, f"not bound exactly once: { {name: codes[name] for name in sorted(doubtful)} }"


def assert_nothing_leaked(plane: Plane, scheduler: SchedulerProcess, expected: Mapping[str, float] = SETTLED) -> None:
    """The scheduler holds no pod that it need not hold, and knows the cluster as it is."""
    held: dict[str, float] = {}

    def is_settled() -> bool:
        held.update(read_metrics(plane, scheduler))
        return {name: held.get(name) for name in expected} == expected

    try:
        scheduler.process.wait_until(is_settled)
    except TimeoutError as error:
        leaked = {name: held.get(name) for name, amount in expected.items() if held.get(name) != amount}
        raise AssertionError(f"{scheduler.name} still holds {leaked}") from error
    assert "Cache mismatch" not in _dump(scheduler)


def read_metrics(plane: Plane, scheduler: SchedulerProcess) -> dict[str, float]:
    """Return the samples of a scheduler's /metrics by name and labels."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(plane.admin.certificate, plane.admin.key)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(f"{scheduler.url}/metrics", timeout=30) as response:
        return {name: float(value) for name, value in _SAMPLE.findall(response.read().decode())}


def _dump(scheduler: SchedulerProcess) -> str:
    """Have the scheduler compare its cache with the cluster, and return what it says."""
    process = scheduler.process
    before = process.log.stat().st_size

    def said() -> str:
        return process.log.read_bytes()[before:].decode(errors="replace")

    process.send(signal.SIGUSR2)
    process.wait_until(lambda: "Dump of scheduling queue" in said())
    return said()


def _milli_cpu(text: str) -> int:
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)
