"""DynamicResources: which pods are held back, which nodes do, what is taken, written and given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from stowplan.config import feature_gates
from stowplan.config.releases import DEFAULT
from stowplan.framework import changes
from stowplan.framework.attempt import Attempt
from stowplan.framework.changes import Action
from stowplan.framework.contract import SKIP, Arranged, refuse
from stowplan.framework.plugin_faults import SECOND_NS
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary
from stowplan.model import decode
from stowplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.model.device_pool import DeviceTaintRule, ResourceSlice
from stowplan.model.dra import ResourceClaim
from stowplan.model.duration import Duration, of_seconds
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.dynamicresources.arguments import DynamicResourcesArgs
from stowplan.plugins.dynamicresources.claim_requests import AllocationError
from stowplan.plugins.dynamicresources.plugin import DynamicResources
from stowplan.plugins.dynamicresources.pre_bind import BindingError
from stowplan.table.nodes import Nodes
from stowplan.testing import LocalHandle, check_plugin
from tests.unit.plugins.dynamicresources.claim_objects import (
    DRIVER,
    claim,
    device_class,
    exactly,
    first_of,
    given,
    slice_of,
    user_of,
)

GPU = "example.com/gpu"
CANNOT = "cannot allocate all claims"
ELSEWHERE = "resourceclaim not available on the node"
NEEDED = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}


def node(name: str, **allocatable: str) -> Node:
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "110", **allocatable}
    return decode.convert(Node, {"metadata": {"name": name}, "status": {"allocatable": amounts}})


class Stage:
    """Nodes `one` (two devices), `two` (one device) and `bare`, a class, and a plugin."""

    def __init__(
        self,
        *objects: Any,
        serves: str | None = None,
        gates: str = "",
        has: dict[str, dict[str, str]] | None = None,
        release: str = DEFAULT,
    ) -> None:
        """`has` is what nodes have beside the usual, by their name."""
        nodes = [node(name, **(has or {}).get(name, {})) for name in ("one", "two", "bare")]
        self.handle = LocalHandle(*nodes, slice_of("one", "d1", "d2"), slice_of("two", "d1"))
        self.handle.put(device_class("gpu", serves=serves), *objects)
        self.handle.feature_gates = feature_gates.parse(gates, release=release)
        self.plugin = DynamicResources(self.handle)

    @property
    def nodes(self) -> Nodes:
        return Nodes(self.handle.table)

    def refusals(self, pod: Pod) -> dict[str, str]:
        """Return the reason by node; all of them are unresolvable."""
        state = self.plugin.pre_filter(pod, self.nodes)
        assert not isinstance(state, Rejection), state
        told: dict[str, str] = {}
        for said in self.plugin.filter(pod, self.nodes, state):  # type: ignore[arg-type]
            assert said.unresolvable is True
            for row in np.flatnonzero(said.mask).tolist():
                name = self.handle.table.nodes[row].name
                assert name not in told, "upstream gives one reason only"
                told[name] = said.reason
        return told

    def attempt(self, pod: Pod) -> Attempt:
        """Return what PostFilter is told of a pod that fits nowhere."""
        state = self.plugin.pre_filter(pod, self.nodes)
        vocabulary, words = Vocabulary(), np.zeros(len(self.nodes), dtype=np.int32)
        refused = None
        if isinstance(state, Rejection):
            refused = Rejection(state.reasons, state.code, self.plugin.name)
        elif state is not SKIP:
            for said in self.plugin.filter(pod, self.nodes, state):  # type: ignore[arg-type]
                word = Rejection((said.reason,), Code.UNRESOLVABLE, self.plugin.name)
                words[said.mask] = vocabulary.number(word)
        verdict = Verdict(words, vocabulary, self.handle.table.names(), pre_filter=refused)
        return Attempt(verdict, self.nodes, lambda _: words)

    def claim(self, name: str = "claim") -> ResourceClaim:
        found = self.handle.listers.get(ResourceClaim, "default", name)
        assert found is not None
        return found

    @property
    def taken(self) -> set[str]:
        self.handle.claims.refresh()
        return {f"{device.pool}/{device.device}" for device in self.handle.claims.allocated.state.devices}

    def bind(self, pod: Pod, node_name: str) -> None:
        """Take a pod that a node was looked for from Reserve through PreBind."""
        self.plugin.pre_filter(pod, self.nodes)
        assert self.plugin.reserve(pod, node_name) is None
        assert self.plugin.pre_bind_pre_flight(pod, node_name) is None
        assert asyncio.run(self.plugin.pre_bind(pod, node_name)) is None


# Gates


def generated(**status: Any) -> Pod:
    content = {
        "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
        "spec": {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]},
        "status": status,
    }
    return decode.convert(Pod, content)


MADE_KNOWN = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "claim"}]}


@pytest.mark.parametrize(
    ("pod", "claims", "reason"),
    [
        pytest.param(user_of("claim"), [claim()], "", id="a claim that is there"),
        pytest.param(user_of(), [], "", id="no claims"),
        pytest.param(user_of("claim"), [], 'could not find ResourceClaim "default/claim"', id="a claim that is not"),
        pytest.param(
            user_of("claim"),
            [claim(deletionTimestamp="2026-01-01T00:00:00Z")],
            'resourceclaim "claim" is being deleted',
            id="a claim that goes",
        ),
        pytest.param(generated(), [], 'pod "default/pod": ResourceClaim not created yet', id="a claim to be made"),
        pytest.param(
            generated(**MADE_KNOWN),
            [claim()],
            "ResourceClaim default/claim was not created for Pod default/pod (Pod is not owner)",
            id="a claim made for another",
        ),
    ],
)
def test_pods_are_held_back_until_their_claims_are_there(pod: Pod, claims: list[ResourceClaim], reason: str) -> None:
    stage = Stage(*claims)
    assert stage.plugin.pre_enqueue(pod) == (refuse(reason) if reason else None)
    if reason:
        assert stage.plugin.pre_filter(pod, stage.nodes) == refuse(reason)


# PreFilter


def test_pods_without_claims_are_none_of_its_business() -> None:
    stage = Stage()
    assert stage.plugin.pre_filter(user_of(), stage.nodes) is SKIP
    assert stage.plugin.score(user_of(), stage.nodes, None).tolist() == [0, 0, 0]
    assert stage.plugin.reserve(user_of(), "one") is None
    assert stage.plugin.pre_bind_pre_flight(user_of(), "one") is SKIP
    assert stage.plugin.unreserve(user_of(), "one") is None


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param(
            claim(allocation=given("one", "d1"), reserved=[str(number) for number in range(256)]),
            "resourceclaim in use",
            id="as many as may share the claim have it",
        ),
        pytest.param(
            claim("claim", exactly(class_name="nope")),
            "request r: device class nope does not exist",
            id="no such class",
        ),
    ],
)
def test_a_pod_is_refused_as_a_whole(found: ResourceClaim, reason: str) -> None:
    stage = Stage(found)
    assert stage.plugin.pre_filter(user_of("claim"), stage.nodes) == refuse(reason)


def test_a_claim_that_is_on_its_way_to_another_pod_has_to_be_waited_for() -> None:
    stage = Stage(claim())
    assert stage.plugin.reserve(user_of("claim", name="first"), "one") is None
    reason = "resource claim default/claim is in the process of being allocated"
    assert stage.plugin.pre_filter(user_of("claim"), stage.nodes) == refuse(reason)


def test_a_full_claim_serves_those_that_have_it() -> None:
    stage = Stage(claim(allocation=given("one", "d1"), reserved=["pod", *map(str, range(255))]))
    assert stage.refusals(user_of("claim")) == {"two": ELSEWHERE, "bare": ELSEWHERE}


# Filter


@pytest.mark.parametrize(
    ("claims", "pod", "expected"),
    [
        pytest.param([claim()], user_of("claim"), {"bare": CANNOT}, id="one device"),
        pytest.param(
            [claim("claim", exactly(2))],
            user_of("claim"),
            {"two": CANNOT, "bare": CANNOT},
            id="two devices of one node",
        ),
        pytest.param(
            [claim("a"), claim("b")], user_of("a", "b"), {"two": CANNOT, "bare": CANNOT}, id="one device for each claim"
        ),
        pytest.param(
            [claim("claim", exactly(2)), claim("other", allocation=given("one", "d1"))],
            user_of("claim"),
            {"one": CANNOT, "two": CANNOT, "bare": CANNOT},
            id="a device that another claim has",
        ),
        pytest.param(
            [claim(allocation=given("two", "d1"))],
            user_of("claim"),
            {"one": ELSEWHERE, "bare": ELSEWHERE},
            id="devices that were given for one node",
        ),
        pytest.param(
            [claim("a", allocation=given("two", "d1")), claim("b")],
            user_of("a", "b"),
            {"one": ELSEWHERE, "two": CANNOT, "bare": CANNOT},
            id="what cannot be allocated is told before what cannot be reached",
        ),
        pytest.param(
            [claim(allocation={"devices": {"results": [{"device": "d"}]}})], user_of("claim"), {}, id="devices for any"
        ),
        pytest.param(
            [claim(allocation=given("one", "d1", **NEEDED), devices=[])],
            user_of("claim"),
            {"two": ELSEWHERE, "bare": ELSEWHERE},
            id="devices that are not ready yet",
        ),
        pytest.param(
            [
                claim(
                    allocation=given("one", "d1", **NEEDED),
                    devices=[
                        {
                            "driver": DRIVER,
                            "pool": "one",
                            "device": "d1",
                            "conditions": [{"type": "broken", "status": "True"}],
                        }
                    ],
                )
            ],
            user_of("claim"),
            {"one": ELSEWHERE, "two": ELSEWHERE, "bare": ELSEWHERE},
            id="devices that do not get ready",
        ),
    ],
)
def test_which_nodes_can_give_the_devices(claims: list[ResourceClaim], pod: Pod, expected: dict[str, str]) -> None:
    assert Stage(*claims).refusals(pod) == expected


def test_devices_that_were_not_ready_in_time_are_of_no_use() -> None:
    allocation = given("one", "d1", **NEEDED) | {"allocationTimestamp": "1970-01-01T00:00:00Z"}
    stage = Stage(claim(allocation=allocation))
    assert stage.refusals(user_of("claim")) == {"two": ELSEWHERE, "bare": ELSEWHERE}
    stage.handle.time_ns = 601 * 1_000_000_000
    assert stage.refusals(user_of("claim")) == {"one": ELSEWHERE, "two": ELSEWHERE, "bare": ELSEWHERE}


def test_answers_follow_what_happens_to_devices() -> None:
    stage = Stage(claim("claim", exactly(2)))
    pod = user_of("claim")
    assert stage.refusals(pod) == {"two": CANNOT, "bare": CANNOT}
    stage.handle.put(slice_of("two", "d1", "d2"))
    assert stage.refusals(pod) == {"bare": CANNOT}
    stage.handle.put(claim("other", allocation=given("one", "d2")))
    assert stage.refusals(pod) == {"one": CANNOT, "bare": CANNOT}
    stage.handle.put(claim("other"))
    assert stage.refusals(pod) == {"bare": CANNOT}
    stage.handle.put(replace(device_class("gpu"), spec=decode.convert(type(device_class("gpu").spec), NOTHING)))
    assert stage.refusals(pod) == {"one": CANNOT, "two": CANNOT, "bare": CANNOT}


NOTHING = {"selectors": [{"cel": {"expression": "false"}}]}


def test_a_slice_that_becomes_senseless_ends_the_attempt_in_words() -> None:
    stage = Stage(claim("claim", exactly(2)))
    pod = user_of("claim")
    assert stage.refusals(pod) == {"two": CANNOT, "bare": CANNOT}
    requirement = NodeSelectorRequirement(key="zone", operator="Near", values=("a",))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))
    sound = slice_of("two", "d1", "d2")
    spec = replace(sound.spec, node_name="", node_selector=selector)
    stage.handle.put(replace(sound, spec=spec))
    with pytest.raises(AllocationError, match=r"^gather pool information: failed to perform node selection for slice"):
        stage.refusals(pod)


def test_a_broken_expression_ends_the_attempt() -> None:
    broken = {"name": "r", "exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": "device.?"}}]}}
    stage = Stage(claim("claim", broken))
    with pytest.raises(Exception, match="claim default/claim"):
        stage.refusals(user_of("claim"))


@pytest.mark.parametrize(
    ("timeout", "gates", "is_given_up"),
    [
        pytest.param(of_seconds(3), "", True, id="the time is over before all devices were tried"),
        pytest.param(of_seconds(10), "", False, id="time enough"),
        pytest.param(Duration(0), "", False, id="no limit"),
        pytest.param(of_seconds(3), "DRASchedulerFilterTimeout=false", False, id="no limit without the feature"),
    ],
)
def test_a_search_that_takes_too_long_ends_the_attempt(timeout: Duration, gates: str, is_given_up: bool) -> None:
    stage = Stage(claim("claim", exactly(3)), gates=gates)
    seconds = count()
    stage.handle.monotonic_ns = lambda: next(seconds) * SECOND_NS
    stage.plugin = DynamicResources(stage.handle, DynamicResourcesArgs(filter_timeout=timeout))
    if is_given_up:
        with pytest.raises(AllocationError, match="node one: timed out trying to allocate devices"):
            stage.refusals(user_of("claim"))
    else:
        assert stage.refusals(user_of("claim")) == {"one": CANNOT, "two": CANNOT, "bare": CANNOT}


def taint_rule(name: str, pool: str) -> DeviceTaintRule:
    spec = {"deviceSelector": {"pool": pool}, "taint": {"key": "broken", "effect": "NoSchedule"}}
    return decode.convert(DeviceTaintRule, {"metadata": {"name": name}, "spec": spec})


def test_a_rule_taints_devices_only_where_its_gate_is_on() -> None:
    pod = user_of("claim")
    objects = (claim(), taint_rule("rule", "one"))
    assert Stage(*objects, gates="DRADeviceTaintRules=false").refusals(pod) == {"bare": CANNOT}
    assert Stage(*objects, release="1.36").refusals(pod) == {"bare": CANNOT}
    stage = Stage(*objects)
    assert stage.refusals(pod) == {"one": CANNOT, "bare": CANNOT}
    stage.handle.put(taint_rule("rule", "two"))
    assert stage.refusals(pod) == {"two": CANNOT, "bare": CANNOT}
    stage.handle.listers.remove("DeviceTaintRule", "", "rule")
    assert stage.refusals(pod) == {"bare": CANNOT}


# Extended resources


@pytest.mark.parametrize(
    ("resources", "pod", "expected"),
    [
        pytest.param({"bare": {GPU: "4"}}, user_of(requests={GPU: "1"}), {}, id="nodes with devices or the resource"),
        pytest.param(
            {}, user_of(requests={GPU: "2"}), {"two": CANNOT, "bare": CANNOT}, id="as many devices as were requested"
        ),
        pytest.param(
            {},
            user_of(requests={"deviceclass.resource.kubernetes.io/gpu": "2"}),
            {"two": CANNOT, "bare": CANNOT},
            id="devices by the name of their class",
        ),
        pytest.param(
            {"two": {GPU: "4"}, "bare": {GPU: "4"}},
            user_of("claim", requests={GPU: "1"}),
            {"bare": CANNOT},
            id="devices beside those of a claim",
        ),
        pytest.param(
            {"one": {"example.com/fpga": "1"}, "two": {"example.com/fpga": "0"}},
            user_of(requests={GPU: "1", "example.com/fpga": "1"}),
            {"bare": "cannot fit resource"},
            id="a resource that the node does not list and no class serves",
        ),
    ],
)
def test_which_nodes_have_an_extended_resource(
    resources: dict[str, dict[str, str]], pod: Pod, expected: dict[str, str]
) -> None:
    assert Stage(claim(), serves=GPU, has=resources).refusals(pod) == expected


def test_without_the_feature_devices_serve_no_resources() -> None:
    stage = Stage(serves=GPU, gates="DRAExtendedResource=false", release="1.36")
    assert stage.plugin.pre_filter(user_of(requests={GPU: "1"}), stage.nodes) is SKIP


LEFT_OVER = {
    "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
    "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": "pod", "controller": True}],
}


def test_a_claim_left_from_an_earlier_attempt_has_to_go_first() -> None:
    stage = Stage(claim("left-over", exactly(), **LEFT_OVER), serves=GPU)
    pod = user_of(requests={GPU: "1"})
    reason = "cannot schedule extended resource claim"
    assert stage.refusals(pod) == {"one": reason, "two": reason, "bare": reason}
    answer = stage.plugin.post_filter(pod, stage.attempt(pod))
    assert isinstance(answer, Arranged)
    assert answer.rejection == Rejection(("deletion of ResourceClaim completed",))
    asyncio.run(answer.errand())
    assert list(stage.handle.listers.list(ResourceClaim)) == []
    assert stage.refusals(pod) == {"bare": CANNOT}


# Score


@pytest.mark.parametrize(
    ("claims", "pod", "expected"),
    [
        pytest.param([claim()], user_of("claim"), [0, 0, 0], id="without alternatives all are the same"),
        pytest.param(
            [claim("claim", first_of(2, 1))], user_of("claim"), [8, 7, 0], id="the better alternative scores more"
        ),
        pytest.param(
            [claim("claim", first_of(3, 2, 1))],
            user_of("claim"),
            [7, 6, 0],
            id="8 for the first, one less for each next",
        ),
        pytest.param(
            [claim("a", first_of(2, 1), allocation=given("one", "d1") | {}), claim("b", first_of(2, 1))],
            user_of("a", "b"),
            [7, 7, 0],
            id="what was given without a choice adds nothing",
        ),
    ],
)
def test_how_good_a_node_is(claims: list[ResourceClaim], pod: Pod, expected: list[int]) -> None:
    stage = Stage(*claims)
    assert stage.plugin.score(pod, stage.nodes, None).tolist() == expected


def test_without_the_feature_alternatives_do_not_count() -> None:
    stage = Stage(claim(), gates="DRAPrioritizedList=false", release="1.36")
    assert stage.plugin.score(user_of("claim"), stage.nodes, None).tolist() == [0, 0, 0]


def test_scores_are_brought_to_100() -> None:
    plugin = Stage().plugin
    assert plugin.normalize(np.array([8, 7, 0]), 0, 8, None).tolist() == [100, 87, 0]
    assert plugin.normalize(np.array([0, 0, 0]), 0, 0, None).tolist() == [0, 0, 0]


# PostFilter


@pytest.mark.parametrize(
    ("found", "said", "is_deallocated"),
    [
        pytest.param(claim("claim", exactly(3)), (), False, id="not allocated"),
        pytest.param(
            claim(allocation=given("gone", "d1")),
            ("deallocation of ResourceClaim completed",),
            True,
            id="devices of no use, and nobody's",
        ),
        pytest.param(
            claim(allocation=given("gone", "d1"), reserved=["pod"]),
            ("deallocation of ResourceClaim completed",),
            True,
            id="devices of no use, and only the pod's",
        ),
        pytest.param(
            claim(allocation=given("gone", "d1"), reserved=["other"]), (), False, id="devices that another uses"
        ),
        pytest.param(claim("claim", exactly(class_name="nope")), (), False, id="refused as a whole"),
    ],
)
def test_idle_claims_are_deallocated(found: ResourceClaim, said: tuple[str, ...], is_deallocated: bool) -> None:
    stage = Stage(found)
    pod = user_of("claim")
    answer = stage.plugin.post_filter(pod, stage.attempt(pod))
    rejection = answer.rejection if isinstance(answer, Arranged) else answer
    assert rejection == Rejection(said)
    assert isinstance(answer, Arranged) is is_deallocated
    assert stage.claim() == found, "it is done beside the cycle"
    if isinstance(answer, Arranged):
        asyncio.run(answer.errand())
        assert stage.claim().status == claim().status


def test_a_pod_without_claims_has_none_to_give_up() -> None:
    stage = Stage()
    assert stage.plugin.post_filter(user_of(), stage.attempt(user_of())) == Rejection(())


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (claim("claim", exactly(3)), "still not schedulable"),
        (claim("claim", exactly(class_name="nope")), "no new claims to deallocate"),
    ],
)
def test_in_1_36_it_is_said_when_nothing_is_given_back(found: ResourceClaim, said: str) -> None:
    stage = Stage(found, release="1.36")
    pod = user_of("claim")
    assert stage.plugin.post_filter(pod, stage.attempt(pod)) == Rejection((said,))


@pytest.mark.parametrize(("release", "expected"), [("1.37", True), ("1.36", False)])
def test_claims_that_are_deleted_are_heard_of_since_1_37(release: str, expected: bool) -> None:
    awaited = {one.resource: one.actions for one in Stage(release=release).plugin.events()}
    assert (Action.DELETE in awaited[changes.RESOURCE_CLAIM]) is expected


def test_devices_for_which_operations_are_left_out_need_a_node_that_does_so() -> None:
    stage = Stage(claim(allocation=given("one", "d1", skipNodeOperations=["NodePrepareResources"])))
    pod = user_of("claim")
    assert stage.refusals(pod)["one"] == ELSEWHERE
    stage.handle.table.update_node(node_with_features("one", "DRAOptionalNodeOperations"))
    assert stage.refusals(pod) == {"two": ELSEWHERE, "bare": ELSEWHERE}


def test_a_node_that_begins_to_leave_out_operations_is_asked_again() -> None:
    stage = Stage(claim(), gates="DRAOptionalNodeOperations=true")
    stage.handle.put(skipping(slice_of("one", "d1", "d2")), skipping(slice_of("two", "d1")))
    pod = user_of("claim")
    assert stage.refusals(pod) == {"one": CANNOT, "two": CANNOT, "bare": CANNOT}
    stage.handle.table.update_node(node_with_features("two", "DRAOptionalNodeOperations"))
    assert stage.refusals(pod) == {"one": CANNOT, "bare": CANNOT}


def skipping(found: ResourceSlice) -> ResourceSlice:
    return replace(found, spec=replace(found.spec, skip_node_operations=("NodePrepareResources",)))


def node_with_features(name: str, *features: str) -> Node:
    plain = node(name)
    return replace(plain, status=replace(plain.status, declared_features=features))


def test_who_was_not_prepared_fails() -> None:
    stage = Stage(claim())
    early = stage.attempt(user_of("claim"))
    attempt = Attempt(early.verdict, early.nodes, early.suppose, prepared=frozenset(("NodeAffinity",)))
    assert stage.plugin.post_filter(user_of("claim"), attempt) == Rejection(("not found",), Code.ERROR)


# Reserve to PreBind, and back


def test_devices_are_taken_at_once_and_written_before_the_pod_is_bound() -> None:
    stage = Stage(claim())
    pod = user_of("claim")
    assert stage.plugin.reserve(pod, "one") is None
    assert stage.taken == {"one/d1"}
    assert stage.claim() == claim()
    assert asyncio.run(stage.plugin.pre_bind(pod, "one")) is None
    status = stage.claim().status
    assert status.allocation is not None
    assert [(one.request, one.device) for one in status.allocation.devices.results] == [("r", "d1")]
    assert [one.uid for one in status.reserved_for] == ["pod"]
    assert stage.claim().metadata.finalizers == ("resource.kubernetes.io/delete-protection",)
    assert stage.taken == {"one/d1"}
    assert stage.plugin.pre_bind_pre_flight(pod, "one") is SKIP


def test_what_was_not_written_is_given_back_without_a_word_to_the_cluster() -> None:
    stage = Stage(claim())
    pod = user_of("claim")
    assert stage.plugin.reserve(pod, "one") is None
    assert stage.plugin.unreserve(pod, "one") is None
    assert stage.taken == set()
    assert stage.handle.written == []


def test_a_reservation_that_was_written_is_taken_back_and_the_devices_stay() -> None:
    stage = Stage(claim())
    pod = user_of("claim")
    stage.bind(pod, "one")
    errand = stage.plugin.unreserve(pod, "one")
    assert errand is not None
    asyncio.run(errand())
    assert stage.claim().status.reserved_for == ()
    assert stage.claim().status.allocation is not None
    assert stage.taken == {"one/d1"}


def test_a_claim_with_devices_is_shared() -> None:
    stage = Stage(claim(allocation=given("one", "d1"), reserved=["other"]))
    stage.bind(user_of("claim"), "one")
    assert [one.uid for one in stage.claim().status.reserved_for] == ["other", "pod"]
    assert stage.taken == {"one/d1"}


def test_nothing_is_written_for_a_claim_that_is_the_pods_already() -> None:
    stage = Stage(claim(allocation=given("one", "d1"), reserved=["pod"]))
    stage.bind(user_of("claim"), "one")
    assert stage.handle.written == []


def test_a_node_that_cannot_give_the_devices_after_all_is_a_fault() -> None:
    stage = Stage(claim())
    expected = Rejection(("claim allocation not found for node",), Code.ERROR)
    assert stage.plugin.reserve(user_of("claim"), "bare") == expected
    assert stage.plugin.reserve(user_of("claim"), "no such node") == expected


def test_a_claim_is_made_for_extended_resources_and_deleted_if_the_pod_fails() -> None:
    stage = Stage(serves=GPU)
    pod = user_of(requests={GPU: "2"})
    stage.bind(pod, "one")
    assert stage.taken == {"one/d1", "one/d2"}
    (made,) = stage.handle.listers.list(ResourceClaim)
    assert made.status.allocation is not None
    assert [one.request for one in made.status.allocation.devices.results] == ["container-0-request-0"] * 2
    found: Any = stage.handle.listers.get(Pod, "default", "pod")
    status = found.status.extended_resource_claim_status
    assert status.resource_claim_name == made.name == "pod-extended-resources-1"
    errand = stage.plugin.unreserve(pod, "one")
    assert errand is not None
    asyncio.run(errand())
    assert list(stage.handle.listers.list(ResourceClaim)) == []
    assert stage.taken == set()


def test_no_claim_is_made_where_the_node_has_the_resource() -> None:
    stage = Stage(serves=GPU, has={"bare": {GPU: "4"}})
    stage.bind(user_of(requests={GPU: "2"}), "bare")
    assert (stage.handle.written, stage.taken) == ([], set())


# Devices that have to be made ready


def reports(condition: str, message: str = "") -> Callable[[Stage], None]:
    def act(stage: Stage) -> None:
        conditions = [{"type": condition, "status": "True", "reason": "Said", "message": message}]
        report = {"driver": DRIVER, "pool": "one", "device": "d1", "conditions": conditions}
        current = decode.to_builtins(stage.claim())
        current["status"]["devices"] = [report]
        stage.handle.put(decode.convert(ResourceClaim, current))

    return act


def removed(stage: Stage) -> None:
    stage.handle.listers.remove("ResourceClaim", "default", "claim")


@pytest.mark.parametrize(
    ("act", "text", "end"),
    [
        pytest.param(reports("ready"), "", "success", id="until it is ready"),
        pytest.param(
            reports("broken", "smoke"),
            'device binding failed: claim=claim, reason=Said, message="smoke"',
            "failure",
            id="until it is known to be broken",
        ),
        pytest.param(
            lambda _: None,
            "device binding timeout: context deadline exceeded",
            "timeout",
            id="until it took too long",
        ),
        pytest.param(removed, 'could not find ResourceClaim "default/claim"', "error", id="until the claim is gone"),
    ],
)
def test_binding_waits_for_devices(act: Callable[[Stage], None], text: str, end: str) -> None:
    stage = Stage(claim(), slice_of("one", "d1", **NEEDED))
    pod = user_of("claim")

    async def until(holds: Callable[[], bool], timeout_seconds: float) -> bool:
        assert (holds(), timeout_seconds) == (False, 600.0)
        assert stage.handle.announced == [
            ("BindingConditionsPending", "waiting for binding conditions for device on node one")
        ]
        act(stage)
        stage.handle.time_ns += 7 * 10**9
        return holds()

    stage.handle.until = until  # type: ignore[method-assign]
    assert stage.plugin.reserve(pod, "one") is None
    said = ""
    try:
        assert asyncio.run(stage.plugin.pre_bind(pod, "one")) is None
    except BindingError as error:
        said = str(error)
    assert said == text
    labels = ("default-scheduler", DRIVER, end)
    assert stage.handle.counted == [("scheduler_dra_bindingconditions_allocations_total", *labels)]
    assert stage.handle.timed == [("scheduler_dra_bindingconditions_wait_duration_seconds", 7.0, labels)]


def test_devices_that_are_ready_at_once_are_timed_beside_one_that_is_waited_for_and_not_counted() -> None:
    ready = claim("ready", allocation=given("one", "d2"))
    stage = Stage(claim(), ready, slice_of("one", "d1", "d2", **NEEDED))
    stage.handle.until = _at_once  # type: ignore[method-assign]
    stage.bind(user_of("claim", "ready"), "one")
    assert len(stage.handle.counted) == 1
    assert len(stage.handle.timed) == 2


async def _at_once(holds: Callable[[], bool], timeout_seconds: float) -> bool:
    return True


def test_devices_that_need_not_be_made_ready_are_not_waited_for_nor_counted() -> None:
    stage = Stage(claim())
    stage.bind(user_of("claim"), "one")
    assert (stage.handle.counted, stage.handle.timed) == ([], [])


# What tells pods apart


def test_pods_are_told_apart_by_what_their_claims_ask_for() -> None:
    stage = Stage(claim("a"), claim("b"), claim("c", exactly(2)), claim("d", allocation=given("one", "d1")))
    signed = {name: stage.plugin.sign(user_of(name, name=f"pod-{name}")) for name in ("a", "b", "c", "d")}
    assert signed["a"] == signed["b"]
    assert len(set(signed.values())) == 3
    assert stage.plugin.sign(user_of()) is None
    stage.plugin.reserve(user_of("a"), "one")
    assert stage.plugin.sign(user_of("a", name="pod-a")) != signed["a"]


def test_it_keeps_the_contract() -> None:
    pods = [
        user_of("a", name="one-device"),
        user_of("b", name="alternatives"),
        user_of("c", name="given"),
        user_of("missing", name="nothing"),
        user_of(name="plain"),
        user_of(name="served", requests={GPU: "1"}),
    ]
    nodes = [node("one"), node("two"), node("bare"), node("plugged", **{GPU: "2"})]
    stage = Stage(claim("a"), claim("b", first_of(2, 1)), claim("c", allocation=given("two", "d1")), serves=GPU)
    check_plugin(stage.plugin, pods=pods, nodes=nodes)
