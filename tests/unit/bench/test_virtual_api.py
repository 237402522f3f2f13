"""The API server of a benchmark does to objects what a real one does, as far as a scheduler can see it."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stowplan.bench.device_claims import ClaimController
from stowplan.bench.virtual_api import VirtualApi, VirtualObjectWriter, VirtualWriter
from stowplan.framework.handle import ConflictError
from stowplan.kube.writes import AlreadyBoundError, PodGoneError
from stowplan.model import decode
from stowplan.model.dra import ResourceClaim, ResourceClaimTemplate
from stowplan.model.kinds import Binding
from stowplan.model.meta import Condition, NamespacedMeta, ObjectReference
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.pod_group import PodGroup
from stowplan.testing import make_node, make_pod

NOW = datetime(2026, 1, 2, tzinfo=UTC)
replace = msgspec.structs.replace


@pytest.fixture
def api() -> VirtualApi:
    draws = itertools.count()
    return VirtualApi(lambda: NOW, lambda below: next(draws) % below)


def told(api: VirtualApi, *kinds: type) -> list[tuple[Any, Any]]:
    heard: list[tuple[Any, Any]] = []
    api.watch(lambda old, new: heard.append((old, new)), frozenset(kinds))
    return heard


def binding(pod: Pod, node_name: str, uid: str | None = None) -> Binding:
    meta = NamespacedMeta(namespace=pod.namespace, name=pod.name, uid=pod.uid if uid is None else uid)
    return Binding(metadata=meta, target=ObjectReference(kind="Node", name=node_name))


def pod_named(prefix: str) -> Pod:
    pod = make_pod("").build()
    return replace(pod, metadata=replace(pod.metadata, name="", generate_name=prefix, uid=""))


def test_names_versions_and_uids_are_given_out(api: VirtualApi) -> None:
    heard = told(api, Pod)
    first, second = api.create(pod_named("web-")), api.create(pod_named("web-"))
    assert first.name.startswith("web-")
    assert len(first.name) == len("web-") + 5
    assert first.name != second.name
    assert first.uid != second.uid
    assert int(first.metadata.resource_version) < int(second.metadata.resource_version)
    assert heard == [(None, first), (None, second)]


def test_a_name_is_taken_once(api: VirtualApi) -> None:
    api.create(make_node("n").build())
    with pytest.raises(ValueError, match='Node "n" already exists'):
        api.create(make_node("n").build())


def test_only_what_is_watched_is_told(api: VirtualApi) -> None:
    heard = told(api, Node)
    api.create(make_pod("p").build())
    node = api.create(make_node("n").build())
    assert heard == [(None, node)]


def test_a_binding_makes_a_new_version_with_the_labels_of_the_zone(api: VirtualApi) -> None:
    api.create(make_node("n").label("topology.kubernetes.io/zone", "z").label("other", "o").build())
    pod = api.create(make_pod("p").label("app", "web").build())
    heard = told(api, Pod)
    api.bind(binding(pod, "n"))
    ((old, new),) = heard
    assert old is pod
    assert new.node_name == "n"
    assert new.labels == {"app": "web", "topology.kubernetes.io/zone": "z"}
    assert new.status.condition("PodScheduled") == Condition(
        type="PodScheduled", status="True", last_transition_time=NOW
    )
    assert new.metadata.resource_version != old.metadata.resource_version
    with pytest.raises(AlreadyBoundError, match='already bound to node "n"'):
        api.bind(binding(pod, "m"))


def test_a_binding_is_for_the_pod_that_was_meant(api: VirtualApi) -> None:
    pod = api.create(make_pod("p").build())
    with pytest.raises(PodGoneError):
        api.bind(binding(pod, "n", uid="another"))
    api.delete(pod)
    with pytest.raises(PodGoneError):
        api.bind(binding(pod, "n"))


@pytest.mark.parametrize(
    ("node", "grace", "finalizers", "is_gone"),
    [
        pytest.param("", 30, (), True, id="a pod that is nowhere ends at once"),
        pytest.param("n", 30, (), False, id="a bound one gets its time, and nobody ends it"),
        pytest.param("n", 0, (), True, id="unless it needs none"),
        pytest.param("", 0, ("example.com/wait",), False, id="a finalizer holds it"),
    ],
)
def test_pods_are_deleted_gracefully(
    api: VirtualApi, node: str, grace: int, finalizers: tuple[str, ...], is_gone: bool
) -> None:
    pod = make_pod("p").build()
    spec = replace(pod.spec, node_name=node, termination_grace_period_seconds=grace)
    pod = api.create(replace(pod, spec=spec, metadata=replace(pod.metadata, finalizers=finalizers)))
    heard = told(api, Pod)
    api.delete(pod)
    ((_, new),) = heard
    assert (new is None) == is_gone
    if not is_gone:
        assert new.is_terminating
        # Asked again, nothing changes.
        api.delete(pod)
        assert len(heard) == 1


def test_victims_are_told_why_and_go(api: VirtualApi) -> None:
    pod = make_pod("p").build()
    pod = api.create(replace(pod, spec=replace(pod.spec, node_name="n", termination_grace_period_seconds=0)))
    heard = told(api, Pod)
    assert asyncio.run(VirtualWriter(api).evict(pod, Condition(type="DisruptionTarget", status="True")))
    assert [new is None for _, new in heard] == [False, True]
    # One that is gone already is what was wanted.
    assert not asyncio.run(VirtualWriter(api).evict(pod, Condition(type="DisruptionTarget", status="True")))


def test_a_condition_that_is_there_already_is_no_change(api: VirtualApi) -> None:
    pod = api.create(make_pod("p").build())
    heard = told(api, Pod)
    refused = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
    for _ in range(2):
        asyncio.run(VirtualWriter(api).update_status(pod, refused, ""))
    assert len(heard) == 1


def test_a_patch_of_an_older_version_is_a_conflict(api: VirtualApi) -> None:
    node = api.create(make_node("n").build())
    writer = VirtualObjectWriter(api)
    changed = asyncio.run(writer.patch(node, {"metadata": {"labels": {"a": "b"}}}))
    assert changed.labels["a"] == "b"
    with pytest.raises(ConflictError, match="has been modified"):
        asyncio.run(writer.patch(node, {"metadata": {"labels": {"a": "c"}}}))


def test_claims_of_templates_come_and_go_with_their_pod(api: VirtualApi) -> None:
    ClaimController(api, for_groups=False)
    template = {
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}},
    }
    api.create(decode.convert(ResourceClaimTemplate, template))
    content = {
        "metadata": {"name": "p"},
        "spec": {"resourceClaims": [{"name": "r", "resourceClaimTemplateName": "one"}]},
    }
    pod = api.create(decode.convert(Pod, content))
    (claim,) = api.all(ResourceClaim)
    assert claim.spec.devices.requests[0].name == "gpu"
    assert claim.controller is not None
    assert claim.controller.uid == pod.uid
    (status,) = api.pods[pod.key].status.resource_claim_statuses
    assert (status.name, status.resource_claim_name) == ("r", claim.name)
    api.delete(pod)
    assert api.all(ResourceClaim) == []


@pytest.mark.parametrize(("for_groups", "claims"), [(True, 1), (False, 2)])
def test_pods_share_the_claim_of_their_group_where_groups_have_claims(
    api: VirtualApi, for_groups: bool, claims: int
) -> None:
    ClaimController(api, for_groups=for_groups)
    entry = {"name": "r", "resourceClaimTemplateName": "one"}
    api.create(decode.convert(ResourceClaimTemplate, {"metadata": {"name": "one"}}))
    api.create(decode.convert(PodGroup, {"metadata": {"name": "g"}, "spec": {"resourceClaims": [entry]}}))
    spec = {"resourceClaims": [entry], "schedulingGroup": {"podGroupName": "g"}}
    pods = [api.create(decode.convert(Pod, {"metadata": {"name": name}, "spec": spec})) for name in ("a", "b")]
    made = api.all(ResourceClaim)
    assert len(made) == claims
    told_of = {api.pods[pod.key].status.resource_claim_statuses[0].resource_claim_name for pod in pods}
    assert told_of == {claim.name for claim in made}
    owners = {claim.controller.kind for claim in made if claim.controller is not None}
    assert owners == {"PodGroup" if for_groups else "Pod"}


def test_a_shared_claim_is_given_back_by_the_last_pod(api: VirtualApi) -> None:
    ClaimController(api, for_groups=False)
    pods = [
        api.create(decode.convert(Pod, {"metadata": {"name": name}, "spec": {"resourceClaims": [
            {"name": "r", "resourceClaimName": "shared"}]}}))
        for name in ("a", "b")
    ]  # fmt: skip
    reserved = [{"resource": "pods", "name": pod.name, "uid": pod.uid} for pod in pods]
    status = {"allocation": {"devices": {"results": [{"request": "r", "driver": "d"}]}}, "reservedFor": reserved}
    api.create(decode.convert(ResourceClaim, {"metadata": {"name": "shared", "finalizers": ["f"]}, "status": status}))
    api.delete(pods[0])
    (claim,) = api.all(ResourceClaim)
    assert [one.name for one in claim.status.reserved_for] == ["b"]
    assert claim.status.allocation is not None
    api.delete(pods[1])
    (claim,) = api.all(ResourceClaim)
    assert claim.status == type(claim.status)()
