"""What VolumeBinding says of all rows at once, and takes on one, is what the rules say node by node.

The rules are written out below as plainly as can be: a loop over nodes, claims and volumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.framework.kept.asking import ask_filter
from stowplan.framework.verdict import Vocabulary
from stowplan.model.node import Node
from stowplan.model.quantity import Quantity
from stowplan.model.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.plugins.volumebinding.binder import VolumeNeeds
from stowplan.plugins.volumebinding.plugin import VolumeBinding
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle
from tests.examples import examples
from tests.unit.plugins.small_cluster import make_node
from tests.unit.plugins.volumes.stored import (
    DRIVER,
    SELECTED,
    affinity,
    bound,
    capacity,
    claim,
    driver,
    meant_for,
    storage_class,
    user_of,
    volume,
    where,
)

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

NAMES = ["a", "b", "c", "d"]
CLAIMS = ["one", "two", "six"]
VOLUMES = [f"pv{number}" for number in range(7)]
CLASSES = ["static", "made"]
SIZES = ["1Gi", "2Gi", "3Gi"]


@dataclass(frozen=True)
class Storage:
    """All that is stored in a cluster, and the claims that the pod names."""

    nodes: list[Node]
    classes: list[StorageClass]
    volumes: list[PersistentVolume]
    claims: list[PersistentVolumeClaim]
    reports: list[CSIStorageCapacity]
    named: list[str]

    @property
    def objects(self) -> list[Any]:
        return [*self.nodes, *self.classes, *self.volumes, *self.claims, *self.reports, driver()]


# Clusters


conditions = st.one_of(
    st.builds(where, st.just("host"), st.sampled_from(NAMES)),
    st.builds(where, st.just("host"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.builds(where, st.just("zone"), st.sampled_from(["east", "west"])),
    st.builds(where, st.just("zone"), st.sampled_from(["east", "west"]), operator=st.just("NotIn")),
    st.builds(where, st.just("zone"), operator=st.just("Exists")),
)
affinities = st.one_of(
    st.none(),
    st.lists(st.lists(conditions, min_size=1, max_size=2), min_size=1, max_size=2).map(lambda terms: affinity(*terms)),
)
topologies = st.lists(
    st.fixed_dictionaries({"key": st.just("zone"), "values": st.lists(st.sampled_from(["east", "west"]), max_size=2)}),
    max_size=2,
).map(lambda expressions: {"matchLabelExpressions": expressions})


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    zone = draw(st.sampled_from([{}, {"zone": "east"}, {"zone": "west"}]))
    return make_node(name, labels={"host": name, **zone})


@st.composite
def volumes(draw: st.DrawFn, name: str) -> PersistentVolume:
    meant = draw(st.sampled_from([{}, {}, {}, meant_for("one"), meant_for("two", uid="uid-of-two"), meant_for("x")]))
    required = draw(affinities)
    return volume(
        name,
        draw(st.sampled_from(SIZES)),
        storageClassName=draw(st.sampled_from(CLASSES)),
        volumeMode=draw(st.sampled_from(["Filesystem", "Filesystem", "Block"])),
        accessModes=draw(st.sampled_from([["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"]])),
        metadata={"labels": draw(st.sampled_from([{}, {"tier": "hot"}]))},
        status={"phase": draw(st.sampled_from(["Available", "Available", "Available", "Released"]))},
        **meant,
        **({} if required is None else {"nodeAffinity": required}),
    )


@st.composite
def claims(draw: st.DrawFn, name: str) -> PersistentVolumeClaim:
    if draw(st.integers(0, 3)) == 0:
        return bound(name, draw(st.sampled_from([*VOLUMES, "gone"])))
    chosen = draw(st.sampled_from(["", "", "", "a", "b"]))
    selector = draw(st.sampled_from([None, None, {"matchLabels": {"tier": "hot"}}]))
    return claim(
        name,
        draw(st.sampled_from(SIZES)),
        storageClassName=draw(st.sampled_from(CLASSES)),
        volumeMode=draw(st.sampled_from(["Filesystem", "Filesystem", "Filesystem", "Block"])),
        accessModes=draw(st.sampled_from([["ReadWriteOnce"], ["ReadWriteMany"]])),
        metadata={"annotations": {SELECTED: chosen} if chosen else {}},
        **({} if selector is None else {"selector": selector}),
    )


@st.composite
def reports(draw: st.DrawFn, name: str) -> CSIStorageCapacity:
    topology = draw(
        st.sampled_from(
            [
                None,
                {},
                {"matchLabels": {"zone": "east"}},
                {"matchLabels": {"host": "b"}},
                {"matchLabels": {"host": "c"}},
            ]
        )
    )
    largest = draw(st.sampled_from([None, "1Gi"]))
    fields = {} if largest is None else {"maximumVolumeSize": largest}
    return capacity(name, draw(st.sampled_from([None, *SIZES])), topology, storageClassName="made", **fields)


@st.composite
def stored(draw: st.DrawFn) -> Storage:
    allowed = draw(st.lists(topologies, max_size=2))
    return Storage(
        nodes=[draw(nodes(name)) for name in NAMES],
        classes=[
            storage_class("static"),
            storage_class("made", draw(st.sampled_from([DRIVER, "silent"])), allowedTopologies=allowed),
        ],
        volumes=[draw(volumes(name)) for name in VOLUMES[: draw(st.integers(0, len(VOLUMES)))]],
        claims=[draw(claims(name)) for name in CLAIMS],
        reports=[draw(reports(name)) for name in "xyz"[: draw(st.integers(0, 3))]],
        named=draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=4)),
    )


# The rules, node by node


@dataclass
class Judge:
    """Says what stands in the way on one node, and what the claims of the pod would get there."""

    storage: Storage
    node: Node

    def __post_init__(self) -> None:
        self.reasons: list[str] = []
        self.taken: list[tuple[str, str]] = []
        self.made: list[str] = []
        named = [next(each for each in self.storage.claims if each.name == name) for name in self.storage.named]
        self.judge_bound([each for each in named if each.spec.volume_name])
        self.judge_delayed([each for each in named if not each.spec.volume_name])
        order = [OUT_OF_REACH, NO_VOLUME, NO_SPACE, MISSING]
        self.reasons.sort(key=order.index)

    def judge_bound(self, claims: list[PersistentVolumeClaim]) -> None:
        by_name = {each.name: each for each in self.storage.volumes}
        for each in claims:
            found = by_name.get(each.spec.volume_name)
            if found is None:
                self.reasons.append(MISSING)
                return
            if not self.reaches(found):
                self.reasons.append(OUT_OF_REACH)
                return

    def judge_delayed(self, claims: list[PersistentVolumeClaim]) -> None:
        chosen = [each for each in claims if SELECTED in each.metadata.annotations]
        if any(each.metadata.annotations[SELECTED] != self.node.name for each in chosen):
            self.reasons.append(NO_VOLUME)
            return
        others = [each for each in claims if SELECTED not in each.metadata.annotations]
        left = []
        for each in sorted(others, key=lambda other: asked(other).value):
            found = self.find(each)
            if found is None:
                left.append(each)
            else:
                self.taken.append((found.name, each.name))
        for each in [*chosen, *left]:
            problem = self.make(each)
            if problem:
                self.reasons.append(problem)
                return
            self.made.append(each.name)

    def find(self, wanted: PersistentVolumeClaim) -> PersistentVolume | None:
        taken = {name for name, _ in self.taken}
        left = [each for each in self.storage.volumes if each.name not in taken and fits(each, wanted)]
        for each in sorted(left, key=lambda other: other.name):
            if each.spec.claim_ref is not None:
                return each if self.reaches(each) else None
        free = [each for each in left if is_free_for(each, wanted) and self.reaches(each)]
        return min(free, key=lambda other: (other.spec.capacity["storage"].value, other.name), default=None)

    def make(self, wanted: PersistentVolumeClaim) -> str:
        made = next(each for each in self.storage.classes if each.name == wanted.spec.storage_class_name)
        if made.provisioner == "kubernetes.io/no-provisioner":
            return NO_VOLUME
        terms = [term.match_label_expressions for term in made.allowed_topologies]
        if terms and not any(
            term and all(self.node.metadata.labels.get(each.key) in each.values for each in term) for term in terms
        ):
            return NO_VOLUME
        if made.provisioner != DRIVER or any(self.has_room(each, wanted) for each in self.storage.reports):
            return ""
        return NO_SPACE

    def has_room(self, report: CSIStorageCapacity, wanted: PersistentVolumeClaim) -> bool:
        limit = report.maximum_volume_size or report.capacity
        if report.storage_class_name != wanted.spec.storage_class_name or limit is None or report.node_topology is None:
            return False
        labels = report.node_topology.match_labels.items()
        return limit.value >= asked(wanted).value and labels <= self.node.metadata.labels.items()

    def reaches(self, found: PersistentVolume) -> bool:
        required = found.spec.node_affinity
        if required is None or required.required is None:
            return True
        return any(
            all(self.meets(each.key, each.operator, each.values or ()) for each in term.match_expressions)
            for term in required.required.node_selector_terms
        )

    def meets(self, key: str, operator: str, values: tuple[str, ...]) -> bool:
        value = self.node.metadata.labels.get(key)
        if operator == "Exists":
            return value is not None
        return (value in values) == (operator == "In")


def asked(wanted: PersistentVolumeClaim) -> Quantity:
    return wanted.spec.resources.requests["storage"]


def fits(found: PersistentVolume, wanted: PersistentVolumeClaim) -> bool:
    """Say whether a volume could be for the claim, whether it is meant for it or not."""
    ref = found.spec.claim_ref
    is_mine = ref is None or (ref.name == wanted.name and ref.uid in ("", wanted.uid))
    is_large = found.spec.capacity["storage"].value >= asked(wanted).value
    is_class = found.spec.storage_class_name == wanted.spec.storage_class_name
    return is_mine and is_large and is_class and found.spec.volume_mode == wanted.spec.volume_mode


def is_free_for(found: PersistentVolume, wanted: PersistentVolumeClaim) -> bool:
    labels = {} if wanted.spec.selector is None else wanted.spec.selector.match_labels
    is_free = found.spec.claim_ref is None and found.status.phase == "Available"
    has_modes = set(wanted.spec.access_modes) <= set(found.spec.access_modes)
    return is_free and has_modes and labels.items() <= found.metadata.labels.items()


# Comparisons


def told(plugin: VolumeBinding, storage: Storage, rows: Nodes) -> list[list[str]]:
    pod = user_of(*storage.named)
    state = plugin.pre_filter(pod, rows)
    assert isinstance(state, VolumeNeeds)
    vocabulary = Vocabulary()
    words = ask_filter(plugin, pod, rows, state, vocabulary)
    if words is None:
        return [[] for _ in storage.nodes]
    said = [vocabulary.rejections[number] for number in words.tolist()]
    return [[] if each is None else list(each.reasons) for each in said]


@settings(max_examples=examples(200))
@given(stored())
def test_all_rows_are_told_what_each_node_is(storage: Storage) -> None:
    handle = LocalHandle(*storage.objects)
    expected = [Judge(storage, node).reasons for node in storage.nodes]
    assert told(VolumeBinding(handle), storage, Nodes(handle.table)) == expected


@settings(max_examples=examples(120))
@given(stored())
def test_what_is_taken_on_a_node_is_what_its_claims_are_told(storage: Storage) -> None:
    for node in storage.nodes:
        judge = Judge(storage, node)
        if not judge.reasons:
            handle = LocalHandle(*storage.objects)
            assert VolumeBinding(handle).reserve(user_of(*storage.named), node.name) is None
            assert_taken(handle, storage, judge)


def assert_taken(handle: LocalHandle, storage: Storage, judge: Judge) -> None:
    for each in storage.volumes:
        now = handle.listers.get(PersistentVolume, "", each.name)
        assert now is not None
        ref = now.spec.claim_ref
        claimed = [claim_name for name, claim_name in judge.taken if name == each.name]
        if claimed:
            assert ref is not None
            assert (ref.name, ref.uid) == (claimed[0], f"uid-of-{claimed[0]}")
        else:
            assert now == each
    for wanted in storage.claims:
        found = handle.listers.get(PersistentVolumeClaim, "default", wanted.name)
        assert found is not None
        before = wanted.metadata.annotations.get(SELECTED)
        expected = judge.node.name if wanted.name in judge.made else before
        assert found.metadata.annotations.get(SELECTED) == expected


steps = st.lists(
    st.one_of(
        st.sampled_from(VOLUMES).flatmap(volumes),
        st.sampled_from("xyz").flatmap(reports),
        st.sampled_from([("PersistentVolume", "", name) for name in VOLUMES]),
        st.sampled_from([("CSIStorageCapacity", "default", name) for name in "xyz"]),
        st.sampled_from([("reserve", name) for name in NAMES]),
        st.just("give back"),
    ),
    max_size=12,
)


@settings(max_examples=examples(80))
@given(stored(), steps)
def test_what_is_kept_follows_the_cluster(storage: Storage, happening: list[Any]) -> None:
    handle = LocalHandle(*storage.objects)
    plugin, pod = VolumeBinding(handle), user_of(*storage.named)
    for step in happening:
        match step:
            case ("reserve", name):
                plugin.unreserve(pod, name)
                plugin.reserve(pod, name)
            case (kind, namespace, name):
                handle.listers.remove(kind, namespace, name)
            case "give back":
                plugin.unreserve(pod, "")
            case _:
                handle.put(step)
        rows = Nodes(handle.table)
        assert told(plugin, storage, rows) == told(VolumeBinding(handle), storage, rows)
