"""The cache and the queue are written down, with what the cluster knows better."""

from stowplan.cache.cache import Cache
from stowplan.config.feature_gates import DEFAULT_GATES, default_gates
from stowplan.observe import dump
from stowplan.queue.places import QueueRules
from stowplan.queue.queue import SchedulingQueue
from stowplan.testing import make_node, make_pod


def make_state() -> tuple[Cache, SchedulingQueue]:
    cache = Cache()
    cache.add_node(make_node("n1").capacity(cpu="4").build())
    cache.assume(make_pod("placed").requests(cpu="1").build(), "n1")
    queue = SchedulingQueue(QueueRules(lambda pod, gated_by: None, lambda pod, queued_at_ns: queued_at_ns), {})
    queue.add(make_pod("waiting").build(), 1)
    return cache, queue


def test_a_node_is_described_with_its_pods() -> None:
    cache, queue = make_state()
    queue.nominations.put(make_pod("waiting").build(), "n1")
    lines = dump.nodes_text(cache, queue).splitlines()
    assert lines[:2] == ["Node name: n1", "Deleted: false"]
    assert lines[2].startswith("Requested Resources: {")
    assert "cpu:1000" in lines[2]
    assert "cpu:4000" in lines[3]
    assert lines[4:] == [
        "Scheduled Pods(number: 1):",
        "name: placed, namespace: default, uid: uid-default-placed, phase: Pending, nominated node: ",
        "Nominated Pods(number: 1):",
        "name: waiting, namespace: default, uid: uid-default-waiting, phase: Pending, nominated node: ",
    ]


def test_a_node_that_only_its_pods_know_is_deleted() -> None:
    cache, queue = make_state()
    cache.remove_node("n1")
    assert dump.nodes_text(cache, queue).splitlines()[1] == "Deleted: true"


def test_the_queue_is_summed_up_and_listed() -> None:
    _, queue = make_state()
    assert dump.queue_summary(queue, DEFAULT_GATES) == "activeQ:1; backoffQ:0; unschedulableEntities:0"
    assert dump.queue_summary(queue, default_gates("1.36")) == "activeQ:1; backoffQ:0; unschedulablePods:0"
    assert dump.queue_text(queue).startswith("name: waiting, namespace: default")


def test_what_the_cluster_has_alike_is_no_mismatch() -> None:
    cache, queue = make_state()
    pods = [make_pod("placed").build(), make_pod("waiting").build()]
    assert dump.compare(cache, queue, [make_node("n1").build()], pods) == dump.Mismatch()


def test_what_only_one_side_has_is_named() -> None:
    cache, queue = make_state()
    found = dump.compare(cache, queue, [make_node("n2").build()], [make_pod("new").build()])
    assert found == dump.Mismatch(
        missed_nodes=("n2",),
        redundant_nodes=("n1",),
        missed_pods=("uid-default-new",),
        redundant_pods=("uid-default-placed", "uid-default-waiting"),
    )


def test_a_sound_state_has_no_faults() -> None:
    assert dump.faults(*make_state()) == []


def test_a_state_that_contradicts_itself_is_told() -> None:
    cache, queue = make_state()
    queue.places.entries.clear()
    [fault] = dump.faults(cache, queue)
    assert fault.startswith("queue: known and found differ")
