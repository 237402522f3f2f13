"""The pod and its shorthands."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stowplan.model.meta import Condition, NamespacedMeta
from stowplan.model.pod import Container, Pod, PodSpec, PodStatus


def test_a_pod_made_without_a_namespace_lives_in_default() -> None:
    assert Pod(metadata=NamespacedMeta(name="a")).key == "default/a"


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        pytest.param("Pending", False, id="pending"),
        pytest.param("Running", False, id="running"),
        pytest.param("Succeeded", True, id="succeeded"),
        pytest.param("Failed", True, id="failed"),
    ],
)
def test_only_ended_pods_are_terminal(phase: str, expected: bool) -> None:
    assert Pod(status=PodStatus(phase=phase)).is_terminal is expected


def test_a_pod_being_deleted_is_terminating() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert Pod(metadata=NamespacedMeta(deletion_timestamp=moment)).is_terminating
    assert not Pod().is_terminating


def test_an_object_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Pod().spec.node_name = "n1"  # type: ignore[misc]


def test_conditions_are_found_by_type() -> None:
    ready = Condition(type="Ready", status="True")
    status = PodStatus(conditions=(Condition(type="Initialized"), ready))
    assert status.condition("Ready") is ready
    assert status.condition("Missing") is None


def test_only_init_containers_that_always_restart_are_sidecars() -> None:
    assert Container(restart_policy="Always").is_restartable_init
    assert not Container().is_restartable_init
    assert PodSpec().restart_policy == "Always"
