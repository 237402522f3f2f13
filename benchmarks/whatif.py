"""What questions cost: `python -m benchmarks.whatif [--nodes 5000] [--pods 20]`.

A cluster of so many nodes with so many pods each; then the drain of every node, one at a time, the question whether a
pod like no other fits, and the headroom for a template. `--assertions 50` asks so many assertions instead, of a new
process, over a snapshot in a file. Prints CPU seconds; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stowplan.app.cluster import Cluster
from stowplan.app.what_if import ClusterWorld
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from stowplan.whatif.drain import drain
from stowplan.whatif.fits import fits
from stowplan.whatif.headroom import MixShare, headroom

ZONES = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whatif")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20, help="on each node")
    parser.add_argument("--drained", type=int, default=0, help="drain so many nodes; all if not given")
    parser.add_argument("--assertions", type=int, default=0, help="over a snapshot, in a new process")
    given = parser.parse_args()
    if given.assertions:
        report_assertions(given.nodes, given.pods, given.assertions)
        return
    world = ClusterWorld(make_cluster(given.nodes, given.pods))
    print(f"{given.nodes} nodes with {given.pods} pods each")
    names = world.cache.table.names()[: given.drained or given.nodes]
    report("fits, a new shape", 20, lambda number: ask_fits(world, _pod(f"new-{number}", f"{100 + number}m")))
    report("headroom for a template", 3, lambda number: ask_headroom(world, _pod("more", "500m")))
    report("headroom for a template that spreads", 1, lambda number: ask_headroom(world, _spread("spread")))
    report("drain of one node", len(names), lambda number: ask_drain(world, names[number]))


def report(title: str, times: int, ask: Callable[[int], None]) -> None:
    """Ask so many times; print what one takes, and all."""
    ask(0)
    started = time.process_time()
    for number in range(times):
        ask(number)
    took = time.process_time() - started
    print(f"  {title}: {1000 * took / times:.2f} ms, {took:.1f} s for {times}")


def report_assertions(nodes: int, pods: int, count: int) -> None:
    """Have `stowplan test` read a snapshot of so many nodes, and check assertions of several sorts; print its time."""
    cluster = make_cluster(nodes, pods)
    found = (*cluster.cache.table.nodes, *(one.pod for one in cluster.cache.pods()))
    objects = [decode.to_builtins(one) for one in found]
    for number, one in enumerate(objects):
        # As a server has seen them.
        one["metadata"] |= {"uid": f"uid-{number}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    sorts = (
        {"after": [{"lose_zone": "zone-1"}], "all_placed": "default/*"},
        {"survives_drain": "node-7"},
        {"not_on": {"nodes": "topology.kubernetes.io/zone=zone-2", "pods": "default/pod-1"}},
        {"after": [{"lose_nodes": ["node-1", "node-2"]}], "all_placed": "default/pod-1*"},
    )
    checks = [{"name": f"assertion {number}", **sorts[number % len(sorts)]} for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        snapshot, file = Path(folder) / "prod.json", Path(folder) / "checks.json"
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
        file.write_text(json.dumps(checks), encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "stowplan", "test", str(file), "--snapshot", str(snapshot)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = (done.stdout or done.stderr).splitlines()[-1]
    print(f"{nodes} nodes with {pods} pods each: {last}; {took:.1f} s for {count}")


def ask_fits(world: ClusterWorld, pod: Pod) -> None:
    with world.suppose() as supposed:
        assert fits(supposed, [pod]).fits


def ask_headroom(world: ClusterWorld, pod: Pod) -> None:
    with world.suppose() as supposed:
        assert headroom(supposed, [MixShare(pod)]).rounds


def ask_drain(world: ClusterWorld, name: str) -> None:
    with world.suppose() as supposed:
        node = supposed.cache.table.nodes[supposed.cache.table.row_of[name]]
        assert drain(supposed, [node]).can_be_drained


def make_cluster(nodes: int, pods: int) -> Cluster:
    cluster = Cluster()
    for number in range(nodes):
        node = make_node(f"node-{number}").capacity(cpu="8", memory="32Gi", pods=110)
        cluster.add(node.label("topology.kubernetes.io/zone", f"zone-{number % ZONES}").build())
    for number in range(nodes * pods):
        pod = make_pod(f"pod-{number}").label("app", f"app-{number % 50}").requests(cpu="200m", memory="512Mi")
        cluster.add(pod.on(f"node-{number % nodes}").build())
    return cluster


def _pod(name: str, cpu: str) -> Pod:
    return make_pod(name).requests(cpu=cpu, memory="256Mi").build()


def _spread(name: str) -> Pod:
    pod = make_pod(name).label("app", "spread").requests(cpu="2", memory="1Gi")
    return pod.spread("topology.kubernetes.io/zone", max_skew=1).build()


if __name__ == "__main__":
    main()
