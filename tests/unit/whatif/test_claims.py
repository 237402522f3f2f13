"""Claims that are made for one pod: what a copy of it, and the pod in its place, have instead."""

from __future__ import annotations

from msgspec.structs import replace

from stowplan.app.what_if import ClusterWorld
from stowplan.engine.event_handlers import placed_on
from stowplan.model.dra import AllocationResult, ClaimConsumer, ResourceClaim, ResourceClaimStatus
from stowplan.model.meta import NamespacedMeta, OwnerReference
from stowplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from stowplan.model.storage import PersistentVolumeClaim, PersistentVolumeClaimStatus
from stowplan.model.volumes import EphemeralSource, PersistentVolumeClaimSpec, Volume
from stowplan.testing import make_pod
from stowplan.whatif.claims import renew, with_own_claims
from stowplan.whatif.moving import take_off
from tests.unit.plugins.dynamicresources.claim_objects import claim as asking
from tests.unit.plugins.dynamicresources.claim_objects import device_class, given, slice_of, user_of
from tests.unit.whatif.questions import ask, cluster_of, data, node

BOUND = {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "a", "note": "kept"}
COPY = make_pod("copy").uid("copied").build()


def scratching() -> tuple[Pod, PersistentVolumeClaim]:
    """Make a pod with an ephemeral volume, and its claim."""
    made = make_pod("job").uid("job").on("a").build()
    volume = Volume(name="scratch", ephemeral=EphemeralSource())
    claim = PersistentVolumeClaim(
        metadata=NamespacedMeta(name="job-scratch", uid="c", annotations=BOUND, owner_references=(owner("job"),)),
        spec=PersistentVolumeClaimSpec(volume_name="pv"),
        status=PersistentVolumeClaimStatus(phase="Bound"),
    )
    return replace(made, spec=replace(made.spec, volumes=(volume,))), claim


def training(claim_name: str, template: str | None) -> tuple[Pod, ResourceClaim]:
    """Make a pod that has devices by a claim, of a template or of its own."""
    made = make_pod("train").uid("train").on("a").build()
    entry = PodResourceClaim(
        name="gpu", resource_claim_name=None if template else claim_name, resource_claim_template_name=template
    )
    status = (PodResourceClaimStatus(name="gpu", resource_claim_name=claim_name),) if template else ()
    owners = (owner("train"),) if template else ()
    claim = ResourceClaim(
        metadata=NamespacedMeta(name=claim_name, uid="r", owner_references=owners),
        status=ResourceClaimStatus(
            allocation=AllocationResult(), reserved_for=(ClaimConsumer(resource="pods", name="train", uid="train"),)
        ),
    )
    pod = replace(made, spec=replace(made.spec, resource_claims=(entry,)))
    return replace(pod, status=replace(pod.status, resource_claim_statuses=status)), claim


def owner(uid: str) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name=uid, uid=uid, controller=True)


def test_a_copy_has_an_ephemeral_claim_of_which_nothing_is_decided() -> None:
    pod, claim = scratching()
    world = ClusterWorld(cluster_of(node("a"), claim))
    with_own_claims(world, pod, replace(COPY, spec=pod.spec))
    found = world.cache.objects.get(PersistentVolumeClaim, "default", "copy-scratch")
    assert found is not None
    assert (found.spec.volume_name, found.status.phase, dict(found.metadata.annotations)) == (
        "",
        "Pending",
        {"note": "kept"},
    )
    assert found.metadata.owner_references[0].uid == "copied"
    assert world.cache.objects.get(PersistentVolumeClaim, "default", "job-scratch") == claim


def test_a_copy_has_a_claim_for_devices_of_its_own() -> None:
    pod, claim = training("train-gpu-x", "gpus")
    world = ClusterWorld(cluster_of(node("a"), claim))
    copied = with_own_claims(world, pod, replace(COPY, spec=pod.spec))
    (status,) = copied.status.resource_claim_statuses
    found = world.cache.objects.get(ResourceClaim, "default", status.resource_claim_name or "")
    assert status.resource_claim_name == "train-gpu-x-copy"
    assert found is not None
    assert (found.status.allocation, found.status.reserved_for) == (None, ())


def test_a_claim_that_is_not_made_for_the_pod_is_shared() -> None:
    pod, claim = training("shared", None)
    world = ClusterWorld(cluster_of(node("a"), claim))
    assert with_own_claims(world, pod, replace(COPY, spec=pod.spec)).spec == pod.spec
    assert [one.name for one in world.cache.objects.list(ResourceClaim)] == ["shared"]


def test_the_pod_in_the_place_of_another_has_its_claims_anew() -> None:
    pod, claim = scratching()
    world = ClusterWorld(cluster_of(node("a"), claim))
    renew(world, pod, replace(pod, metadata=replace(pod.metadata, uid="again")))
    found = world.cache.objects.get(PersistentVolumeClaim, "default", "job-scratch")
    assert found is not None
    assert (found.spec.volume_name, found.metadata.owner_references[0].uid) == ("", "again")


def test_devices_that_nobody_uses_any_more_are_given_back() -> None:
    pod, claim = training("shared", None)
    for others, is_kept in (((), False), ((ClaimConsumer(resource="pods", name="other", uid="o"),), True)):
        status = replace(claim.status, reserved_for=(*claim.status.reserved_for, *others))
        world = ClusterWorld(cluster_of(node("a"), pod, replace(claim, status=status)))
        take_off(world, pod)
        found = world.cache.objects.get(ResourceClaim, "default", "shared")
        assert found is not None
        assert (found.status.allocation is not None, found.status.reserved_for) == (is_kept, others)


def test_pods_that_name_one_claim_go_where_its_devices_are() -> None:
    cluster = cluster_of(
        node("a", cpu=3), node("b", cpu=3), device_class(), slice_of("a", "d1"), slice_of("b", "d1"), asking("one")
    )
    users = [data(user_of("one", name=f"user-{number}", requests={"cpu": "1"})) for number in range(4)]
    answer = ask(cluster, "fits", pods=users)
    assert answer["placed"] == 3
    assert len({one["node"] for one in answer["pods"] if one["node"]}) == 1
    assert ask(cluster, "headroom", mix=[{"pod": users[0]}])["rounds"] == 3


def test_a_pod_that_is_moved_twice_is_given_devices_each_time() -> None:
    claim, user = asking("one", allocation=given("a", "d1"), reserved=("user",)), user_of("one", name="user")
    cluster = cluster_of(
        node("a"), node("b"), device_class(), slice_of("a", "d1"), slice_of("b", "d1"), claim, placed_on(user, "a")
    )
    answer = ask(cluster, "drain", names=["a", "b"], batches=2)
    assert [(one["fromNode"], one["to"]) for batch in answer["batches"] for one in batch["moved"]] == [
        ("a", "b"),
        ("b", "a"),
    ]


def test_devices_of_a_pod_that_is_removed_are_free_again() -> None:
    cluster = cluster_of(node("a"), device_class(), slice_of("a", "d1"), asking("one"), asking("two"))
    first, second = user_of("one", name="first"), user_of("two", name="second")
    placed = cluster.schedule(first).node_name, cluster.schedule(second).node_name
    cluster.remove(first)
    assert (placed, cluster.schedule(second).node_name) == (("a", None), "a")
