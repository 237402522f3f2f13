"""Pods of one template hold in common what they have in common, and each keeps what is its own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stowplan.model import decode, shared_parts
from stowplan.model.pod import Pod
from stowplan.model.shared_parts import SharedPodParts


def told(name: str, node: str = "", zone: str = "a", **spec: Any) -> Pod:
    """Read a pod anew, as an API server tells of it."""
    content = {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "generateName": "web-",
            "uid": f"uid-of-{name}",
            "labels": {"app": "web", "zone": zone},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "controller": True}],
        },
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}],
            "tolerations": [{"key": "slow", "operator": "Exists"}],
            "volumes": [{"name": f"token-of-{name}"}, {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        },
    }
    return decode.decode_as(Pod, msgspec.json.encode(content))


def test_what_is_equal_is_the_same_and_what_differs_stays() -> None:
    shared = SharedPodParts()
    first, second = shared.share(told("web-1")), shared.share(told("web-2"))
    assert second == told("web-2")
    assert first == told("web-1")
    assert second.spec.containers is first.spec.containers
    assert second.spec.tolerations is first.spec.tolerations
    assert second.metadata.labels is first.metadata.labels
    assert second.metadata.owner_references is first.metadata.owner_references
    assert second.spec.node_selector is first.spec.node_selector, "empty maps too"


def test_another_template_under_the_name_is_not_taken_for_the_first() -> None:
    shared = SharedPodParts()
    shared.share(told("web-1"))
    other = told("web-2", tolerations=[{"key": "fast", "operator": "Exists"}])
    assert [one.key for one in shared.share(other).spec.tolerations] == ["fast"]


def test_siblings_in_different_zones_have_the_labels_of_their_zone() -> None:
    shared = SharedPodParts()
    pods = [shared.share(told(f"web-{number}", zone=zone)) for number, zone in enumerate("abab")]
    assert [pod.labels["zone"] for pod in pods] == ["a", "b", "a", "b"]
    assert pods[2].labels is pods[0].labels
    assert pods[3].labels is pods[1].labels


def test_a_pod_on_a_node_keeps_what_placement_reads_of_volumes_and_conditions() -> None:
    pod = SharedPodParts().share(told("web-1", node="node-1"))
    assert [volume.name for volume in pod.spec.volumes] == ["data"]
    (condition,) = pod.status.conditions
    assert (condition.type, condition.status, condition.last_transition_time) == ("PodScheduled", "True", None)
    assert pod.node_name == "node-1"


def test_a_pod_that_waits_keeps_everything() -> None:
    assert SharedPodParts().share(told("web-1")) == told("web-1")


def test_siblings_on_nodes_share_conditions_and_volumes_though_times_and_drawn_names_differ() -> None:
    shared = SharedPodParts()
    first, second = shared.share(told("web-1", node="node-1")), shared.share(told("web-2", node="node-2"))
    assert second.status.conditions is first.status.conditions
    assert second.spec.volumes is first.spec.volumes
    assert (first.node_name, second.node_name) == ("node-1", "node-2")


def test_defaults_stay_what_they_are() -> None:
    shared = SharedPodParts()
    started = b'{"metadata":{"name":"a"},"spec":{"nodeName":"n"},"status":{"startTime":"2026-01-01T00:00:00Z"}}'
    shared.share(decode.decode_as(Pod, started))
    shared.share(decode.decode_as(Pod, b'{"metadata":{"name":"b","labels":{"app":"web"}}}'))
    shared.share(decode.decode_as(Pod, b"{}"))
    fresh = decode.decode_as(Pod, b"{}")
    assert (fresh.name, fresh.labels, fresh.node_name, fresh.status.start_time) == ("", {}, "", None)
    assert (Pod().status.start_time, Pod().node_name, Pod().labels) == (None, "", {})


def test_templates_without_end_are_not_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_parts, "MOST_KNOWN", 2)
    shared = SharedPodParts()
    for number in range(5):
        pod = told(f"web-{number}", zone=str(number))
        msgspec.structs.force_setattr(pod.metadata, "generate_name", f"web-{number}-")
        assert shared.share(pod).labels["zone"] == str(number)
    assert len(shared._last) <= 2
    assert len(shared._labels) <= 2


def test_more_labels_than_anybody_has_are_not_remembered() -> None:
    shared = SharedPodParts()
    labels = {f"key-{number}": "" for number in range(shared_parts.MOST_LABELS + 1)}
    pod = told("web-1")
    msgspec.structs.force_setattr(pod.metadata, "labels", labels)
    shared.share(pod)
    assert shared._labels == {}
