"""What makes two pods alike: pods of one signature share a shape, and everything that was worked out for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from stowplan.model.decode import convert
from stowplan.model.meta import Condition
from stowplan.model.pod import ContainerStatus, Pod, PodResourceClaim, PodStatus
from stowplan.model.quantity import Quantity
from stowplan.model.volumes import ResourceRequirements, Volume
from stowplan.table.shape import signature
from stowplan.table.table import Table
from stowplan.testing import PodBuilder, make_pod

WEB = make_pod("web-1").label("app", "web").requests(cpu="1")
SCHEDULED = Condition(type="PodScheduled", reason="Unschedulable")
PENDING = Condition(type="PodResizePending", reason="Infeasible")


def volume(**source: Any) -> Pod:
    return with_spec(volumes=(convert_volume({"name": "v", **source}),))


def convert_volume(content: dict[str, Any]) -> Volume:
    return convert(Volume, content)


def with_spec(**fields: Any) -> Pod:
    pod = WEB.build()
    return replace(pod, spec=replace(pod.spec, **fields))


def with_meta(**fields: Any) -> Pod:
    pod = WEB.build()
    return replace(pod, metadata=replace(pod.metadata, **fields))


def with_status(**fields: Any) -> Pod:
    return replace(WEB.build(), status=PodStatus(**fields))


def held(cpu: str) -> tuple[ContainerStatus, ...]:
    resources = ResourceRequirements(requests={"cpu": Quantity.parse(cpu)})
    return (ContainerStatus(name="main", resources=resources),)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(WEB.name("web-2").build(), id="name and uid"),
        pytest.param(WEB.annotation("note", "x").build(), id="annotations"),
        pytest.param(WEB.on("n1").build(), id="the node it is bound to"),
        pytest.param(WEB.nominated_to("n1").phase("Running").build(), id="phase and nomination"),
        pytest.param(WEB.gate("wait").build(), id="scheduling gates"),
        pytest.param(with_meta(resource_version="7", generation=3), id="version and generation"),
        pytest.param(with_spec(service_account_name="robot"), id="service account"),
        pytest.param(volume(emptyDir={}), id="a volume that exists on every node"),
        pytest.param(with_status(conditions=(SCHEDULED,)), id="a condition that is of no resize"),
    ],
)
def test_pods_that_no_plugin_can_tell_apart_are_alike(other: Pod) -> None:
    assert signature(other) == signature(WEB.build())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_pod("web-1", "other").label("app", "web").requests(cpu="1").build(), id="namespace"),
        pytest.param(WEB.label("tier", "1").build(), id="labels"),
        pytest.param(WEB.owner("ReplicaSet", "web").build(), id="controller"),
        pytest.param(with_meta(deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)), id="being deleted"),
        pytest.param(WEB.requests(cpu="2").build(), id="requests"),
        pytest.param(WEB.image("app:v1").build(), id="image"),
        pytest.param(WEB.host_port(80).build(), id="host port"),
        pytest.param(WEB.container().build(), id="another container"),
        pytest.param(WEB.init_container().build(), id="an init container"),
        pytest.param(WEB.node_selector("disk", "ssd").build(), id="node selector"),
        pytest.param(WEB.node_affinity("disk", "Exists").build(), id="node affinity"),
        pytest.param(WEB.affinity("app", "db").build(), id="pod affinity"),
        pytest.param(WEB.anti_affinity("app", "db").build(), id="pod anti-affinity"),
        pytest.param(WEB.tolerate("gpu").build(), id="tolerations"),
        pytest.param(WEB.spread().build(), id="spread constraints"),
        pytest.param(WEB.priority(5).build(), id="priority"),
        pytest.param(with_spec(overhead={"cpu": Quantity.parse("1m")}), id="overhead"),
        pytest.param(with_spec(resources=ResourceRequirements()), id="requests of the pod as a whole"),
        pytest.param(with_spec(host_network=True), id="host network"),
        pytest.param(with_spec(host_users=False), id="users of its own"),
        pytest.param(with_spec(resource_claims=(PodResourceClaim(name="gpu"),)), id="resource claims"),
        pytest.param(volume(persistentVolumeClaim={"claimName": "data"}), id="a volume that binds it to some nodes"),
        pytest.param(with_status(container_statuses=held("2")), id="a resize under way"),
        pytest.param(with_status(conditions=(PENDING,)), id="a resize that is never granted, whatever is held"),
    ],
)
def test_pods_that_some_plugin_tells_apart_differ(other: Pod) -> None:
    assert signature(other) != signature(WEB.build())


def test_resizes_differ_by_what_is_held_and_by_why_it_waits() -> None:
    pods = [
        with_status(container_statuses=held("2")),
        with_status(container_statuses=held("3")),
        with_status(container_statuses=held("2"), conditions=(PENDING,)),
    ]
    assert len({signature(pod) for pod in pods}) == 3


GENERATED: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


def renamed(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, name="web-2"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            volume(persistentVolumeClaim={"claimName": "data"}),
            volume(persistentVolumeClaim={"claimName": "more"}),
            id="a claim of its own",
        ),
        pytest.param(volume(**GENERATED), renamed(volume(**GENERATED)), id="a generated claim"),
    ],
)
def test_what_the_claims_of_a_pod_are_called_is_counted_by_but_not_in_its_signature(one: Pod, other: Pod) -> None:
    table = Table()
    shape = table.shape_of(one)
    assert signature(one) == signature(other)
    assert table.shape_of(other) is not shape
    assert table.shape_of(one) is shape


def test_how_a_claim_is_mounted_is_in_the_signature() -> None:
    source = {"claimName": "data"}
    read_only = volume(persistentVolumeClaim={**source, "readOnly": True})
    assert signature(volume(persistentVolumeClaim=source)) != signature(read_only)


def test_what_the_claims_for_devices_are_called_is_not_in_the_signature() -> None:
    one = with_spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="one"),))
    other = with_spec(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="other"),))
    assert signature(one) == signature(other)


def test_alike_pods_share_a_shape_while_somebody_has_it() -> None:
    table = Table()
    shape = table.shape_of(WEB.build())
    assert table.shape_of(WEB.name("web-2").build()) is shape
    assert table.shape_of(WEB.requests(cpu="2").build()) is not shape


@pytest.mark.parametrize(
    "builder", [pytest.param(WEB, id="plain"), pytest.param(WEB.anti_affinity("a", "b"), id="with a term")]
)
def test_a_shape_that_nobody_has_is_forgotten(builder: PodBuilder) -> None:
    table = Table()
    table.shape_of(builder.build())
    assert table.terms.all() == []
