"""Claims on their way to the cluster: whose they are meanwhile, and when they have arrived."""

from __future__ import annotations

from stowplan.cache.groups import Groups
from stowplan.cache.objects import Objects
from stowplan.config.feature_gates import default_gates
from stowplan.config.releases import DEFAULT
from stowplan.model.dra import ResourceClaim
from stowplan.plugins.dynamicresources.claim_tracker import ClaimTracker
from stowplan.table.journal import Reads
from tests.unit.plugins.dynamicresources.claim_objects import claim, given

D1 = given("n", "d1")
MADE = {
    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "pod", "controller": True}],
}


class World:
    """A cluster of claims, and those on their way to it."""

    def __init__(self, *claims: ResourceClaim, release: str = DEFAULT, are_written: bool = True) -> None:
        self.reads = Reads()
        self.objects = Objects(self.reads)
        self.groups = Groups()
        self.claims = ClaimTracker(self.objects, self.reads, default_gates(release), self.groups, lambda: are_written)
        self.show(*claims)

    def show(self, *claims: ResourceClaim) -> None:
        for one in claims:
            self.objects.put(one)

    @property
    def taken(self) -> set[str]:
        self.claims.refresh()
        return {device.device for device in self.claims.allocated.state.devices}


def test_what_the_cluster_shows_is_taken() -> None:
    world = World(claim("a", allocation=D1), claim("b"))
    assert world.taken == {"d1"}
    world.show(claim("a"))
    assert world.taken == set()
    world.show(claim("b", allocation=given("n", "d2")))
    assert world.taken == {"d2"}
    world.objects.remove("ResourceClaim", "default", "b")
    assert world.taken == set()


def test_a_held_claim_takes_its_devices_at_once_and_until_it_is_given_up() -> None:
    world = World(claim("a"))
    world.claims.hold(claim("a", allocation=D1))
    assert world.taken == {"d1"}
    assert world.claims.is_held(claim("a"))
    world.claims.release("a")
    assert world.taken == set()
    assert not world.claims.is_held(claim("a"))


def test_a_held_claim_is_shared_within_one_attempt_of_a_group() -> None:
    world = World(claim("a"))
    with world.groups.trying():
        world.claims.hold(claim("a", allocation=D1), "p0")
        assert world.claims.shared(claim("a")) == claim("a", allocation=D1).status.allocation
    assert world.claims.shared(claim("a")) is None
    with world.groups.trying():
        assert world.claims.shared(claim("a")) is None


def test_what_is_held_for_a_single_pod_is_not_shared() -> None:
    world = World(claim("a"))
    world.claims.hold(claim("a", allocation=D1), "p0")
    with world.groups.trying():
        assert world.claims.shared(claim("a")) is None


def test_a_shared_claim_is_held_until_the_last_pod_leaves_it() -> None:
    world = World(claim("a"))
    world.claims.hold(claim("a", allocation=D1), "p0")
    world.claims.hold(claim("a", allocation=D1), "p1")
    world.claims.leave("a", "p0")
    assert world.taken == {"d1"}
    world.claims.leave("a", "p1")
    assert world.taken == set()


def test_a_held_claim_keeps_its_devices_whatever_the_cluster_still_shows() -> None:
    world = World(claim("a", resourceVersion="1"))
    world.claims.hold(claim("a", allocation=D1, resourceVersion="1"))
    world.show(claim("a", resourceVersion="2", finalizers=["resource.kubernetes.io/delete-protection"]))
    assert world.taken == {"d1"}


def test_a_written_claim_is_shown_as_written_until_the_cluster_has_caught_up() -> None:
    world = World(claim("a", resourceVersion="1"))
    world.claims.hold(claim("a", allocation=D1, resourceVersion="1"))
    written = claim("a", allocation=D1, reserved=["pod"], resourceVersion="3")
    world.claims.settle("a", written)
    world.claims.release("a")
    assert world.claims.find("default", "a") == written
    world.show(claim("a", resourceVersion="2"))
    assert world.claims.find("default", "a") == written
    assert world.taken == {"d1"}
    later = claim("a", resourceVersion="4")
    world.show(later)
    assert world.claims.find("default", "a") == later
    assert world.taken == set()


def test_a_written_claim_is_held_until_it_is_let_go() -> None:
    world = World(claim("a", resourceVersion="1"))
    world.claims.hold(claim("a", allocation=D1, resourceVersion="1"))
    world.claims.settle("a", claim("a", allocation=D1, resourceVersion="3"))
    world.show(claim("a", resourceVersion="4"))
    assert (world.claims.is_held(claim("a")), world.taken) == (True, {"d1"}), "whoever took it away from the claim"
    world.claims.release("a")
    assert (world.claims.is_held(claim("a")), world.taken) == (False, set())


def test_in_1_36_a_claim_is_held_until_it_is_written() -> None:
    world = World(claim("a", resourceVersion="1"), release="1.36")
    world.claims.hold(claim("a", allocation=D1, resourceVersion="1"))
    world.claims.settle("a", claim("a", allocation=D1, resourceVersion="3"))
    assert not world.claims.is_held(claim("a"))
    world.show(claim("a", resourceVersion="4"))
    assert world.taken == set()


def test_a_written_claim_that_is_deleted_is_gone() -> None:
    world = World(claim("a", resourceVersion="1"))
    world.claims.settle("a", claim("a", allocation=D1, resourceVersion="3"))
    world.objects.remove("ResourceClaim", "default", "a")
    assert world.claims.find("default", "a") is None
    assert world.taken == set()


def test_giving_up_a_written_claim_changes_nothing() -> None:
    world = World(claim("a", resourceVersion="1"))
    world.claims.settle("a", claim("a", allocation=D1, resourceVersion="3"))
    world.claims.release("a")
    assert world.taken == {"d1"}


def test_a_claim_made_for_a_pod_is_found_before_the_cluster_shows_it_and_after() -> None:
    world = World()
    world.claims.hold(claim("<in-memory>", allocation=D1))
    world.claims.settle("<in-memory>", claim("made", allocation=D1, resourceVersion="1", **MADE))
    world.claims.release("<in-memory>")
    made = world.claims.made_for("pod")
    assert made is not None
    assert (made.name, world.taken) == ("made", {"d1"})
    world.show(claim("made", allocation=D1, resourceVersion="2", **MADE))
    made = world.claims.made_for("pod")
    assert made is not None
    assert (made.metadata.resource_version, world.taken) == ("2", {"d1"})
    world.objects.remove("ResourceClaim", "default", "made")
    assert world.claims.made_for("pod") is None
    assert world.taken == set()


def test_everything_is_looked_at_again_after_too_many_changes() -> None:
    world = World(claim("a", allocation=D1))
    assert world.taken == {"d1"}
    world.objects.remove("ResourceClaim", "default", "a")
    for number in range(10_000):
        world.show(claim("b", resourceVersion=str(number)))
    world.show(claim("c", allocation=given("n", "d3")))
    assert world.taken == {"d3"}


def test_who_reads_claims_is_told_when_one_is_held() -> None:
    world = World(claim("a"))
    noted = world.reads.start()
    world.claims.find("default", "a")
    world.reads.stop()
    world.claims.hold(claim("a", allocation=D1))
    assert any(journal.position != position for journal, position in noted.items())


def test_what_is_held_is_shared_where_nobody_writes_it() -> None:
    for are_written in (True, False):
        world = World(claim("a"), are_written=are_written)
        world.claims.hold(claim("a", allocation=D1), "first")
        assert world.claims.is_shared is (not are_written)
        assert (world.claims.shared(claim("a")) is None) is are_written


def test_a_claim_is_held_until_the_last_who_shares_it_is_gone() -> None:
    world = World(claim("a"), are_written=False)
    world.claims.hold(claim("a", allocation=D1), "first")
    world.claims.hold(claim("a", allocation=D1), "second")
    world.claims.give_up("first")
    assert world.taken == {"d1"}
    world.claims.give_up("second")
    assert world.taken == set()
