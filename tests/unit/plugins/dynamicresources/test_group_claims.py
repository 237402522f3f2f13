"""Claims of pod groups: whose a claim is, who shares it, whom it is reserved for, and when it is given back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stowplan.framework.contract import refuse
from stowplan.framework.pod_groups import GroupArranged, GroupAttempt
from stowplan.framework.verdict import Code, Rejection, Verdict
from stowplan.model import decode
from stowplan.model.dra import ResourceClaim
from stowplan.model.pod import Pod, pod_id
from stowplan.model.pod_group import CompositePodGroup, PodGroup
from tests.unit.plugins.dynamicresources.claim_objects import claim, exactly, first_of, given, slice_of
from tests.unit.plugins.dynamicresources.test_plugin import ELSEWHERE, Stage, node_with_features, skipping

GROUPS = "GenericWorkload=true"
CLAIMS = f"{GROUPS},DRAWorkloadResourceClaims=true"
COMPLETED = "deallocation and deletion of ResourceClaims completed"
ON_ITS_WAY = "resource claim default/claim is in the process of being allocated"
NAMED = {"name": "c", "resourceClaimName": "claim"}
MADE = {"name": "c", "resourceClaimTemplateName": "t"}
MADE_KNOWN = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "claim"}]}
OWNER = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "train", "uid": "g", "controller": True}
OF_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train", "uid": "g"}


def member(name: str = "p0", *entries: dict[str, Any], group: str = "train", **content: Any) -> Pod:
    """Make a pod of a group, with entries of claims."""
    spec: dict[str, Any] = {"resourceClaims": list(entries or (NAMED,)), "containers": [{"name": "c"}]}
    spec |= {"schedulingGroup": {"podGroupName": group}} if group else {}
    metadata = {"name": name, "namespace": "default", "uid": name}
    return decode.convert(Pod, {"metadata": metadata, "spec": spec | content.pop("spec", {}), **content})


def pod_group(*entries: dict[str, Any], **content: Any) -> PodGroup:
    metadata = {"name": "train", "namespace": "default", "uid": "g"}
    spec = {"resourceClaims": list(entries), **content.pop("spec", {})}
    return decode.convert(PodGroup, {"metadata": metadata, "spec": spec, **content})


def reserved(*consumers: dict[str, str], node: str = "one", name: str = "claim", **metadata: Any) -> ResourceClaim:
    """Make a claim with a device of a node, and whom it is reserved for."""
    metadata = {"name": name, "namespace": "default", "uid": name, **metadata}
    status = {"allocation": given(node, "d1"), "reservedFor": list(consumers)}
    content = {"metadata": metadata, "spec": {"devices": {"requests": [exactly()]}}, "status": status}
    return decode.convert(ResourceClaim, content)


# Whose a claim is

BOTH = "was not created for Pod default/p0 (neither Pod nor PodGroup train is the owner)"
POD_ONLY = "was not created for Pod default/p0 (Pod is not owner)"


@pytest.mark.parametrize(
    ("owner", "gates", "group", "problem"),
    [
        pytest.param(OWNER, CLAIMS, "train", "", id="made for the group"),
        pytest.param(OWNER | {"apiVersion": "scheduling.k8s.io/v1"}, CLAIMS, "train", "", id="in another version"),
        pytest.param(OWNER | {"uid": "another"}, CLAIMS, "train", "", id="pods do not know the uid of their group"),
        pytest.param({"kind": "Pod", "uid": "p0", "controller": True}, CLAIMS, "train", "", id="made for the pod"),
        pytest.param(OWNER, GROUPS, "train", POD_ONLY, id="without the feature"),
        pytest.param(OWNER, CLAIMS, "", POD_ONLY, id="a pod without a group"),
        pytest.param(OWNER | {"name": "other"}, CLAIMS, "train", BOTH, id="another group"),
        pytest.param(OWNER | {"kind": "Pod"}, CLAIMS, "train", BOTH, id="another kind"),
        pytest.param(OWNER | {"apiVersion": "x.example.com/v1"}, CLAIMS, "train", BOTH, id="another API group"),
        pytest.param(OWNER | {"controller": False}, CLAIMS, "train", BOTH, id="an owner that does not manage it"),
    ],
)
def test_a_claim_made_from_a_template_is_the_pods_or_its_groups(
    owner: dict[str, Any], gates: str, group: str, problem: str
) -> None:
    stage = Stage(claim(ownerReferences=[owner]), pod_group(MADE), gates=gates)
    pod = member("p0", MADE, group=group, status=MADE_KNOWN)
    expected = refuse(f"ResourceClaim default/claim {problem}") if problem else None
    assert stage.plugin.pre_enqueue(pod) == expected


def test_a_pod_whose_group_is_not_known_is_refused() -> None:
    stage = Stage(claim(), gates=CLAIMS)
    text = "pod group state not found for pod group podgroup/default/train"
    assert stage.plugin.pre_filter(member(), stage.nodes) == refuse(text)


def test_a_group_with_an_entry_of_nothing_is_refused() -> None:
    stage = Stage(claim(), pod_group({"name": "x"}, NAMED), gates=CLAIMS)
    text = "PodGroup default/train claim x: none of the supported fields are set"
    assert stage.plugin.pre_filter(member(), stage.nodes) == refuse(text)


# Whom a claim is reserved for


def consumers(stage: Stage) -> list[tuple[str, str, str, str]]:
    return [(one.api_group, one.resource, one.name, one.uid) for one in stage.claim().status.reserved_for]


def devices(stage: Stage, name: str) -> list[str]:
    allocation = stage.claim(name).status.allocation
    return [result.device for result in allocation.devices.results] if allocation is not None else []


POD = [("", "pods", "p0", "p0")]
GROUP = [("scheduling.k8s.io", "podgroups", "train", "g")]


@pytest.mark.parametrize(
    ("entries", "gates", "expected"),
    [
        pytest.param([NAMED], CLAIMS, GROUP, id="the same claim under the same name"),
        pytest.param([{"name": "x", "resourceClaimName": "x"}, NAMED], CLAIMS, GROUP, id="among others"),
        pytest.param([NAMED], GROUPS, POD, id="without the feature"),
        pytest.param([], CLAIMS, POD, id="not a claim of the group"),
        pytest.param([NAMED | {"name": "other"}], CLAIMS, POD, id="under another name"),
        pytest.param([NAMED | {"resourceClaimName": "other"}], CLAIMS, POD, id="another claim"),
        pytest.param([MADE], CLAIMS, POD, id="a template of that name"),
    ],
)
def test_a_claim_is_reserved_for_the_group_that_names_it_as_the_pod_does(
    entries: list[dict[str, Any]], gates: str, expected: list[tuple[str, str, str, str]]
) -> None:
    stage = Stage(claim(), pod_group(*entries), gates=gates)
    stage.bind(member(), "one")
    assert consumers(stage) == expected
    assert stage.claim().status.allocation is not None


def test_a_claim_made_from_a_template_is_reserved_for_its_group() -> None:
    stage = Stage(claim(ownerReferences=[OWNER]), pod_group(MADE), gates=CLAIMS)
    stage.bind(member("p0", MADE, status=MADE_KNOWN), "one")
    assert consumers(stage) == GROUP


def test_a_claim_with_devices_is_reserved_for_the_group() -> None:
    stage = Stage(reserved(), pod_group(NAMED), gates=CLAIMS)
    stage.bind(member(), "one")
    assert consumers(stage) == GROUP


def test_nothing_is_written_for_a_claim_that_the_group_has() -> None:
    stage = Stage(reserved(OF_GROUP), pod_group(NAMED), gates=CLAIMS)
    stage.bind(member("p1"), "one")
    assert consumers(stage) == GROUP
    assert stage.handle.written == []


def test_what_a_group_has_reserved_is_not_taken_back_with_a_pod() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=CLAIMS)
    stage.bind(member(), "one")
    assert stage.plugin.unreserve(member(), "one") is None
    assert consumers(stage) == GROUP


# Who shares what is on its way


def test_pods_that_are_tried_together_share_what_one_of_them_was_given() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=CLAIMS)
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        assert stage.plugin.reserve(member("p0"), "two") is None
        assert stage.refusals(member("p1")) == {"one": ELSEWHERE, "bare": ELSEWHERE}
        assert stage.plugin.reserve(member("p1"), "two") is None
        assert stage.taken == {"two/d1"}


def test_it_is_shared_without_the_feature_too_if_groups_are_tried_as_one() -> None:
    stage = Stage(claim(), pod_group(), gates=GROUPS)
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        assert stage.plugin.reserve(member("p0"), "two") is None
        assert stage.refusals(member("p1")) == {"one": ELSEWHERE, "bare": ELSEWHERE}


def test_what_is_on_its_way_from_an_earlier_attempt_is_not_shared() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=CLAIMS)
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        stage.plugin.reserve(member("p0"), "two")
    assert stage.plugin.pre_filter(member("p1"), stage.nodes) == refuse(ON_ITS_WAY)
    with stage.handle.groups.trying():
        assert stage.plugin.pre_filter(member("p1"), stage.nodes) == refuse(ON_ITS_WAY)


def test_shared_devices_are_free_when_the_last_pod_has_given_them_back() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=CLAIMS)
    with stage.handle.groups.trying():
        for name in ("p0", "p1"):
            stage.plugin.pre_filter(member(name), stage.nodes)
            stage.plugin.reserve(member(name), "two")
        stage.plugin.unreserve(member("p1"), "two")
        assert stage.taken == {"two/d1"}
        stage.plugin.unreserve(member("p0"), "two")
        assert stage.taken == set()


def test_beside_a_shared_claim_a_pod_is_given_its_own_devices() -> None:
    own = {"name": "own", "resourceClaimName": "own"}
    stage = Stage(claim(), claim("own"), pod_group(NAMED), gates=CLAIMS)
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        stage.plugin.reserve(member("p0"), "one")
        stage.bind(member("p1", NAMED, own), "one")
    assert stage.taken == {"one/d1", "one/d2"}
    assert devices(stage, "claim") == ["d1"]
    assert devices(stage, "own") == ["d2"]


def test_shared_devices_for_which_operations_are_left_out_need_a_node_that_does_so() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=f"{CLAIMS},DRAOptionalNodeOperations=true")
    stage.handle.table.update_node(node_with_features("two", "DRAOptionalNodeOperations"))
    stage.handle.put(skipping(slice_of("two", "d1")))
    text = "resource claim default/claim allocation requires DRAOptionalNodeOperations feature on the node"
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        assert stage.plugin.reserve(member("p0"), "two") is None
        assert stage.refusals(member("p1")) == {"one": text, "bare": text}


def test_a_part_of_a_node_is_not_shared_by_pods_that_are_tried_together() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=f"{CLAIMS},DRANodeAllocatableResources=true")
    takes = {"memory": {"mapping": {"deviceMultiplier": "1Gi"}}}
    stage.handle.put(slice_of("two", "d1", nodeAllocatableResources=takes))
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        assert stage.plugin.reserve(member("p0"), "two") is None
        text = "node allocatable resource claim claim has a mapped device and cannot be shared across pods"
        assert stage.refusals(member("p1")) == {"one": ELSEWHERE, "two": text, "bare": ELSEWHERE}


def test_a_part_of_a_node_that_the_group_has_is_shared() -> None:
    stage = Stage(reserved(OF_GROUP, node="two"), pod_group(NAMED), gates=f"{CLAIMS},DRANodeAllocatableResources=true")
    takes = {"memory": {"mapping": {"deviceMultiplier": "1Gi"}}}
    stage.handle.put(slice_of("two", "d1", nodeAllocatableResources=takes))
    assert stage.refusals(member("p1")) == {"one": ELSEWHERE, "bare": ELSEWHERE}


def test_alternatives_that_are_shared_count_as_if_they_were_given() -> None:
    stage = Stage(claim("claim", first_of(2, 1)), pod_group(NAMED), gates=CLAIMS)
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        stage.plugin.reserve(member("p0"), "one")
        assert stage.plugin.score(member("p1"), stage.nodes, None).tolist() == [8, 8, 8]


def test_pods_are_told_apart_by_what_they_share() -> None:
    stage = Stage(claim(), pod_group(NAMED), gates=CLAIMS)
    with stage.handle.groups.trying():
        before = stage.plugin.sign(member("p1"))
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        stage.plugin.reserve(member("p0"), "two")
        sharing = stage.plugin.sign(member("p1"))
    assert len({before, sharing, stage.plugin.sign(member("p1"))}) == 3


# What is given back if a group finds no place


def attempt(stage: Stage, *failed: Pod, placed: tuple[Pod, ...] = (), group: Any = None) -> GroupAttempt:
    """Return what is told of a group of which some pods found no node."""
    verdicts = {}
    for pod in failed:
        told = stage.attempt(pod).verdict
        verdicts[pod_id(pod)] = Verdict(
            told.words, told.vocabulary, told.names, pre_filter=told.pre_filter, prepared=frozenset({stage.plugin.name})
        )
    found = group or stage.handle.groups.get(pod_group().group_key)
    pods = (*placed, *failed)
    prepared = frozenset({stage.plugin.name})
    ids = frozenset(map(pod_id, placed))
    return GroupAttempt(found, pods, prepared, None, verdicts, stage.nodes, ids)  # type: ignore[arg-type]


def given_back(stage: Stage, tried: GroupAttempt) -> Rejection:
    """Let the plugin help a group, and do what it arranges."""
    answer = asyncio.run(stage.plugin.pod_group_post_filter(tried))
    if not isinstance(answer, GroupArranged):
        return answer
    for errand in answer.errands:
        asyncio.run(errand())
    return answer.rejection


def two_claims(name: str) -> Pod:
    """Return a pod that no node takes: its claims are on two of them."""
    return member(name, NAMED, {"name": "o", "resourceClaimName": "other"})


OTHERS = {"resource": "pods", "name": "x", "uid": "x"}
DEALLOCATED = Rejection(("deallocation of PodGroup ResourceClaim completed",))
UNRESERVED = Rejection(("ResourceClaim unreserved for PodGroup",), Code.UNRESOLVABLE)


def test_devices_of_the_group_that_some_node_cannot_use_are_given_back() -> None:
    stage = Stage(reserved(OF_GROUP), reserved(OTHERS, node="two", name="other"), pod_group(NAMED), gates=CLAIMS)
    assert given_back(stage, attempt(stage, two_claims("p0"))) == DEALLOCATED
    assert stage.claim().status.allocation is None
    assert consumers(stage) == []
    assert stage.claim("other").status.allocation is not None


def test_without_the_feature_the_group_keeps_its_devices() -> None:
    stage = Stage(reserved(OF_GROUP), reserved(OTHERS, node="two", name="other"), pod_group(NAMED), gates=GROUPS)
    assert given_back(stage, attempt(stage, two_claims("p0"))) == Rejection((COMPLETED,))
    assert stage.claim().status.allocation is not None


def test_idle_devices_are_given_back_for_the_pod_and_the_group_keeps_its_own() -> None:
    stage = Stage(reserved(OF_GROUP), reserved(node="two", name="other"), pod_group(NAMED), gates=CLAIMS)
    assert given_back(stage, attempt(stage, two_claims("p0"))) == Rejection((COMPLETED,))
    assert stage.claim("other").status.allocation is None
    assert stage.claim().status.allocation is not None


def test_a_group_with_pods_on_nodes_keeps_its_devices() -> None:
    stage = Stage(reserved(OF_GROUP), reserved(OTHERS, node="two", name="other"), pod_group(NAMED), gates=CLAIMS)
    stage.handle.put(member("p9", spec={"nodeName": "one"}))
    assert given_back(stage, attempt(stage, two_claims("p0"))) == Rejection((COMPLETED,))
    assert stage.claim().status.allocation is not None


def test_devices_that_others_use_too_are_kept_and_the_group_gives_up_its_claim() -> None:
    other = reserved(OTHERS, node="two", name="other")
    stage = Stage(reserved(OF_GROUP, OTHERS), other, pod_group(NAMED), gates=CLAIMS)
    assert given_back(stage, attempt(stage, two_claims("p0"))) == UNRESERVED
    assert consumers(stage) == [("", "pods", "x", "x")]
    assert stage.claim().status.allocation is not None


def test_a_group_of_which_a_pod_had_a_node_gives_up_its_claim() -> None:
    stage = Stage(reserved(OF_GROUP), pod_group(NAMED), gates=CLAIMS)
    assert given_back(stage, attempt(stage, placed=(member("p0"),))) == UNRESERVED
    assert consumers(stage) == []


def test_devices_that_a_pod_was_given_in_the_attempt_are_idle_and_nothing_else_is_given_back() -> None:
    entry = {"name": "o", "resourceClaimName": "other"}
    stage = Stage(claim(), reserved(OF_GROUP, name="other"), pod_group(entry), gates=CLAIMS)
    with stage.handle.groups.trying():
        stage.plugin.pre_filter(member("p0"), stage.nodes)
        stage.plugin.reserve(member("p0"), "two")
        tried = attempt(stage, member("p1"))
        stage.plugin.unreserve(member("p0"), "two")
    assert given_back(stage, tried) == Rejection((COMPLETED,))
    assert stage.handle.written == []


@pytest.mark.parametrize(
    ("group", "claims", "expected"),
    [
        pytest.param(
            pod_group(MADE),
            [],
            Rejection(("PodGroup default/train: ResourceClaim not created yet",), Code.ERROR),
            id="not made yet",
        ),
        pytest.param(
            pod_group({"name": "c"}),
            [],
            Rejection(
                ("PodGroup default/train, spec.resourceClaim c: none of the supported fields are set",), Code.ERROR
            ),
            id="an entry of nothing",
        ),
        pytest.param(
            pod_group(NAMED), [], Rejection(('could not find ResourceClaim "default/claim"',), Code.ERROR), id="missing"
        ),
        pytest.param(
            pod_group(MADE, status={"resourceClaimStatuses": [{"name": "c"}]}),
            [],
            Rejection((COMPLETED,)),
            id="none was needed",
        ),
        pytest.param(
            pod_group(MADE, status=MADE_KNOWN),
            [reserved(OF_GROUP)],
            Rejection((COMPLETED,)),
            id="not made for the group",
        ),
        pytest.param(
            pod_group(MADE, status=MADE_KNOWN),
            [reserved(OF_GROUP, ownerReferences=[OWNER])],
            UNRESERVED,
            id="made for the group",
        ),
        pytest.param(pod_group(NAMED), [claim()], Rejection((COMPLETED,)), id="without devices"),
        pytest.param(pod_group(NAMED), [reserved(OTHERS)], Rejection((COMPLETED,)), id="reserved for others"),
    ],
)
def test_which_claim_a_group_gives_up(group: PodGroup, claims: list[ResourceClaim], expected: Rejection) -> None:
    stage = Stage(group, *claims, gates=CLAIMS)
    plain = member("p0", group="train", spec={"resourceClaims": []})
    assert given_back(stage, attempt(stage, placed=(plain,))) == expected


def test_groups_of_groups_and_groups_with_a_topology_give_nothing_back() -> None:
    constrained = pod_group(NAMED, spec={"schedulingConstraints": {"topology": [{"key": "rack"}]}})
    stage = Stage(reserved(OF_GROUP), constrained, gates=f"{CLAIMS},TopologyAwareWorkloadScheduling=true")
    assert given_back(stage, attempt(stage, placed=(member("p0"),))) == Rejection(())
    composite = decode.convert(CompositePodGroup, {"metadata": {"name": "all", "namespace": "default"}})
    assert given_back(stage, attempt(stage, placed=(member("p0"),), group=composite)) == Rejection(())


def test_a_group_of_which_no_pod_got_to_the_plugin_is_an_error() -> None:
    stage = Stage(pod_group(NAMED), gates=CLAIMS)
    told = GroupAttempt(pod_group(NAMED), (member(),), frozenset(), None, {}, stage.nodes)  # type: ignore[arg-type]
    assert given_back(stage, told) == Rejection(("not found",), Code.ERROR)
