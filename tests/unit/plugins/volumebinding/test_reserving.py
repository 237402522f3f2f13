"""What VolumeBinding does once a node is chosen: take volumes, write that, wait for it, or give them back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from stowplan.framework.contract import SKIP, refuse
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.plugins.volumebinding.plugin import VolumeBinding, VolumeBindingArgs
from stowplan.testing import LocalHandle
from tests.unit.plugins.volumes.asking import NO_VOLUME, NODES, OUT_OF_REACH
from tests.unit.plugins.volumes.stored import (
    BY_CONTROLLER,
    COMPLETED,
    DRIVER,
    FAST,
    SELECTED,
    affinity,
    bound,
    claim,
    meant_for,
    on,
    selected,
    storage_class,
    user_of,
    volume,
    where,
)

Step = Callable[["Told"], None]
POD = user_of("data")


class Told(LocalHandle):
    """A handle whose cluster tells something new each time that somebody waits for it, as long as it has anything."""

    def __init__(self, *objects: Any, steps: tuple[Step, ...] = ()) -> None:
        super().__init__(*NODES, storage_class(), storage_class(FAST, DRIVER), *objects)
        self.steps = list(steps)
        self.patches: list[tuple[str, Mapping[str, Any]]] = []
        self.gone: set[str] = set()
        self.timeouts: list[float] = []

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        self.patches.append((found.metadata.name, patch))
        return await super().patch(found, patch, subresource)

    async def until(self, holds: Callable[[], bool], timeout_seconds: float) -> bool:
        self.timeouts.append(timeout_seconds)
        while not holds():
            if not self.steps:
                return False
            self.steps.pop(0)(self)
        return True

    def is_placed(self, pod: Pod) -> bool:
        return pod.name not in self.gone


def listed_volume(handle: LocalHandle, name: str = "disk") -> PersistentVolume:
    found = handle.listers.get(PersistentVolume, "", name)
    assert found is not None
    return found


def listed_claim(handle: LocalHandle, name: str = "data") -> PersistentVolumeClaim:
    found = handle.listers.get(PersistentVolumeClaim, "default", name)
    assert found is not None
    return found


def reserved(handle: LocalHandle, pod: Pod = POD, node_name: str = "a", **arguments: Any) -> VolumeBinding:
    plugin = VolumeBinding(handle, VolumeBindingArgs(**arguments))
    assert plugin.reserve(pod, node_name) is None
    return plugin


def bind(plugin: VolumeBinding, pod: Pod = POD, node_name: str = "a") -> Rejection | None:
    return asyncio.run(plugin.pre_bind(pod, node_name))


def failure(words: str) -> Rejection:
    return Rejection((f"binding volumes: {words}",), Code.ERROR)


# Reserve


def test_a_volume_is_taken_for_the_claim_at_once() -> None:
    handle = Told(claim(metadata={"resourceVersion": "7"}), volume("disk", nodeAffinity=on("a")))
    reserved(handle)
    taken = listed_volume(handle)
    ref = taken.spec.claim_ref
    assert ref is not None
    assert (ref.api_version, ref.kind, ref.namespace, ref.name) == ("v1", "PersistentVolumeClaim", "default", "data")
    assert (ref.uid, ref.resource_version) == ("uid-of-data", "7")
    assert taken.metadata.annotations == {BY_CONTROLLER: "yes"}
    assert handle.written == []


def test_what_is_taken_for_one_pod_is_not_there_for_the_next() -> None:
    handle = Told(claim(), claim("more"), volume("disk"))
    plugin = reserved(handle)
    assert plugin.reserve(user_of("more", name="next"), "a") == refuse(NO_VOLUME)


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param(["l 30Gi", "m 20Gi", "s 5Gi"], "m", id="the smallest that is large enough"),
        pytest.param(["y 10Gi", "x 10Gi"], "x", id="of two alike the first by name"),
        pytest.param(["z 10240Mi", "y 10Gi", "x 11Gi"], "y", id="sizes are compared, however they are written"),
    ],
)
def test_the_best_volume_is_taken(there: list[str], expected: str) -> None:
    handle = Told(claim(), *(volume(*line.split()) for line in there))
    reserved(handle)
    names = [line.split()[0] for line in there]
    assert [name for name in names if listed_volume(handle, name).spec.claim_ref is not None] == [expected]


def test_several_claims_take_the_smallest_first() -> None:
    handle = Told(claim("large", "20Gi"), claim("small", "1Gi"), volume("x", "20Gi"), volume("y", "30Gi"))
    reserved(handle, user_of("large", "small"))
    refs = {name: listed_volume(handle, name).spec.claim_ref for name in "xy"}
    assert {name: ref.name for name, ref in refs.items() if ref is not None} == {"x": "small", "y": "large"}


def test_a_volume_meant_for_the_claim_is_completed_but_not_claimed_as_ours() -> None:
    handle = Told(claim(), volume("disk", **meant_for("data")), volume("better"))
    reserved(handle)
    ref = listed_volume(handle).spec.claim_ref
    assert ref is not None
    assert ref.uid == "uid-of-data"
    assert listed_volume(handle).metadata.annotations == {}
    assert listed_volume(handle, "better").spec.claim_ref is None


def test_a_claim_without_a_volume_is_given_the_node_where_one_is_to_be_made() -> None:
    handle = Told(claim(storageClassName=FAST))
    reserved(handle)
    assert listed_claim(handle).metadata.annotations == {SELECTED: "a"}


def test_bound_claims_need_nothing() -> None:
    handle = Told(bound(), volume("disk"))
    plugin = reserved(handle)
    assert plugin.pre_bind_pre_flight(POD, "a") is SKIP
    assert plugin.reserve(user_of(), "a") is None


@pytest.mark.parametrize(
    ("objects", "reasons"),
    [
        pytest.param([claim()], [NO_VOLUME], id="what it was to get is gone"),
        pytest.param(
            [bound("ready"), volume("disk", nodeAffinity=on("b")), claim(), volume("free")],
            [OUT_OF_REACH],
            id="its volume is elsewhere",
        ),
        pytest.param([], ['persistentvolumeclaim "data" not found'], id="its claim is gone"),
    ],
)
def test_a_node_that_will_not_do_after_all_is_refused(objects: list[Any], reasons: list[str]) -> None:
    claims = [each.name for each in objects if isinstance(each, PersistentVolumeClaim)]
    assert VolumeBinding(Told(*objects)).reserve(user_of(*claims or ["data"]), "a") == refuse(*reasons)


def test_a_node_that_is_gone_is_refused() -> None:
    assert VolumeBinding(Told(claim(), volume("disk"))).reserve(POD, "z") == refuse('node "z" not found')


# Unreserve


def test_what_was_taken_is_given_back() -> None:
    before = volume("disk"), claim("made", storageClassName=FAST)
    handle = Told(claim(), *before)
    pod = user_of("data", "made")
    plugin = reserved(handle, pod)
    assert plugin.pre_bind_pre_flight(pod, "a") is None
    plugin.unreserve(pod, "a")
    assert (listed_volume(handle), listed_claim(handle, "made")) == before
    assert plugin.pre_bind_pre_flight(pod, "a") is SKIP
    plugin.unreserve(pod, "a")
    assert plugin.reserve(pod, "b") is None


def test_a_pod_gives_back_only_what_it_took_itself() -> None:
    handle = Told(claim(storageClassName=FAST))
    plugin = reserved(handle)
    other = user_of("data", name="other")
    assert plugin.reserve(other, "a") is None
    plugin.unreserve(other, "a")
    assert listed_claim(handle).metadata.annotations == {SELECTED: "a"}


# PreBind


def ready(handle: Told, name: str = "data", to: str = "disk", **annotations: str) -> None:
    """Have the cluster bind a claim."""
    handle.put(bound(name, to, metadata={"annotations": {COMPLETED: "yes", **annotations}}))


def test_what_was_taken_is_written_and_waited_for() -> None:
    handle = Told(claim(), volume("disk"), steps=(lambda told: told.put(volume("other")), ready))
    plugin = reserved(handle, bind_timeout_seconds=30)
    assert bind(plugin) is None
    ref = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": "uid-of-data",
    }
    patch = {"spec": {"claimRef": ref}, "metadata": {"annotations": {BY_CONTROLLER: "yes"}}}
    assert handle.patches == [("disk", patch)]
    assert handle.timeouts == [30]
    assert plugin.pre_bind_pre_flight(POD, "a") is SKIP


def test_a_volume_is_asked_for_and_waited_for() -> None:
    def make(told: Told) -> None:
        ready(told, to="new", **{SELECTED: "a"})

    handle = Told(
        claim(storageClassName=FAST), steps=(make, lambda told: told.put(volume("new", nodeAffinity=on("a"))))
    )
    plugin = reserved(handle)
    assert bind(plugin) is None
    assert handle.patches == [("data", {"metadata": {"annotations": {SELECTED: "a"}}})]
    assert handle.timeouts == [600]


def test_what_is_written_already_is_not_written_again() -> None:
    handle = Told(
        selected("made", "a", storageClassName=FAST),
        claim(),
        volume("disk", **meant_for("data", uid="uid-of-data")),
        steps=(lambda told: ready(told, "made", "disk", **{SELECTED: "a"}), ready),
    )
    pod = user_of("data", "made")
    assert bind(reserved(handle, pod), pod) is None
    assert handle.patches == []


def test_older_news_of_what_was_written_says_nothing() -> None:
    """The cluster answers with version 9 and then still tells of version 8, where the node is not selected yet."""

    class Late(Told):
        async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
            return claim(storageClassName=FAST, metadata={"resourceVersion": "9"})

    def old_news(told: Told) -> None:
        told.put(claim(storageClassName=FAST, metadata={"resourceVersion": "8", "annotations": {"x": "y"}}))

    def news(told: Told) -> None:
        annotations = {COMPLETED: "yes", SELECTED: "a"}
        told.put(bound(to="disk", metadata={"resourceVersion": "10", "annotations": annotations}), volume("disk"))

    handle = Late(claim(storageClassName=FAST, metadata={"resourceVersion": "7"}), steps=(old_news, news))
    assert bind(reserved(handle)) is None


def test_claims_that_are_not_bound_in_time_are_an_error() -> None:
    handle = Told(claim(), volume("disk"))
    assert bind(reserved(handle)) == failure("context deadline exceeded")


def remove_volume(told: Told) -> None:
    told.listers.remove("PersistentVolume", "", "disk")


def remove_claim(told: Told) -> None:
    told.listers.remove("PersistentVolumeClaim", "default", "data")


def remove_node(told: Told) -> None:
    told.table.remove_node("a")


def remove_pod(told: Told) -> None:
    told.gone.add("pod")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        pytest.param(remove_node, 'failed to get node "a": node "a" not found', id="the node is gone"),
        pytest.param(remove_pod, 'pod does not exist any more: pod "pod" not found', id="the pod is gone"),
        pytest.param(
            remove_volume, 'failed to check binding: persistentvolumes "disk" not found', id="the volume is gone"
        ),
        pytest.param(
            remove_claim,
            'failed to check binding: persistentvolumeclaims "default/data" not found',
            id="the claim is gone",
        ),
        pytest.param(
            lambda told: told.put(volume("disk", **meant_for("data", uid="uid-of-data"), nodeAffinity=on("b"))),
            'pv "disk" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
            id="the volume is out of reach now",
        ),
        pytest.param(
            lambda told: told.put(volume("disk")), 'ClaimRef got reset for pv "disk"', id="the volume was set free"
        ),
        pytest.param(
            lambda told: told.put(volume("disk", **meant_for("data"))),
            'ClaimRef got reset for pv "disk"',
            id="the volume forgot for which claim of that name it is",
        ),
    ],
)
def test_a_volume_that_cannot_be_tied_to_the_claim_is_an_error(step: Step, words: str) -> None:
    handle = Told(claim(), volume("disk"), steps=(step,))
    assert bind(reserved(handle)) == failure(words)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        pytest.param(
            remove_claim,
            'failed to check provisioning pvc: persistentvolumeclaims "default/data" not found',
            id="the claim is gone",
        ),
        pytest.param(
            lambda told: told.put(claim(storageClassName=FAST)),
            'selectedNode annotation reset for PVC "data"',
            id="nothing is noted on the claim any more",
        ),
        pytest.param(
            lambda told: told.put(claim(storageClassName=FAST, metadata={"annotations": {"x": "y"}})),
            'provisioning failed for PVC "data"',
            id="the node is no longer noted on the claim",
        ),
        pytest.param(
            lambda told: told.put(selected("data", "b", storageClassName=FAST)),
            'provisioning failed for PVC "data"',
            id="another node is noted on the claim",
        ),
        pytest.param(
            lambda told: told.put(
                volume("new", nodeAffinity=affinity([where("kubernetes.io/hostname", "b")])),
                claim(storageClassName=FAST, volumeName="new", metadata={"annotations": {SELECTED: "a"}}),
            ),
            'pv "new" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
            id="the volume was made out of reach",
        ),
    ],
)
def test_a_volume_that_cannot_be_made_is_an_error(step: Step, words: str) -> None:
    handle = Told(claim(storageClassName=FAST), steps=(step,))
    assert bind(reserved(handle)) == failure(words)


def test_a_write_that_fails_is_an_error_and_all_is_given_back() -> None:
    class Refusing(Told):
        async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
            raise RuntimeError("the object has been modified")

    handle = Refusing(claim(), volume("disk"))
    plugin = reserved(handle)
    with pytest.raises(RuntimeError, match="the object has been modified"):
        bind(plugin)
    plugin.unreserve(POD, "a")
    assert listed_volume(handle) == volume("disk")


# What goes wrong is counted

ERRORS = "scheduler_volume_scheduling_stage_error_total"


class Unreadable(Told):
    """A cluster whose rows cannot be had."""

    def row_of(self, node_name: str) -> Any:
        raise LookupError(node_name)


def test_a_reservation_that_does_not_come_about_is_counted_once() -> None:
    handle = Told(claim())
    assert VolumeBinding(handle).reserve(POD, "a") == refuse(NO_VOLUME)
    assert handle.counted == [(ERRORS, "assume")]
    broken = Unreadable(claim(), volume("disk"))
    with pytest.raises(LookupError):
        VolumeBinding(broken).reserve(POD, "a")
    assert broken.counted == [(ERRORS, "assume")]


class Deaf(Told):
    """A cluster that takes no writes."""

    async def patch(self, found: Any, patch: Mapping[str, Any], subresource: str = "") -> Any:
        raise ConnectionError("refused")


def test_a_binding_that_does_not_come_about_is_counted_once() -> None:
    late = Told(claim(), volume("disk"))
    assert bind(reserved(late)) == failure("context deadline exceeded")
    assert late.counted == [(ERRORS, "bind")]
    deaf = Deaf(claim(), volume("disk"))
    plugin = reserved(deaf)
    with pytest.raises(ConnectionError):
        bind(plugin)
    assert deaf.counted == [(ERRORS, "bind")]


def test_a_look_at_nodes_that_fails_is_counted() -> None:
    handle = Told(claim(), volume("disk"))
    plugin = VolumeBinding(handle)
    with pytest.raises(AttributeError):
        list(plugin.filter(POD, handle.row_of("a"), object()))  # type: ignore[arg-type]
    assert handle.counted == [(ERRORS, "predicate")]


def test_what_goes_well_is_not_counted() -> None:
    handle = Told(claim(), volume("disk"), steps=(ready,))
    assert bind(reserved(handle)) is None
    assert handle.counted == []
