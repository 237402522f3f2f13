"""Steps and questions as JSON: whatever cannot be read or answered names the place, the object and the remedy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stowplan.app.cluster import Cluster
from stowplan.framework import PostBind
from stowplan.model.pod import Pod
from stowplan.testing import make_pod
from stowplan.whatif import requests
from stowplan.whatif.world import QuestionError
from tests.unit.whatif.questions import answer, cluster_of, data, node, pod

SEE = "; see `stowplan manual whatif` for what can be asked"
POD = data(pod("new"))
FITS = {"fits": {"pods": [POD]}}
STEPS = "addNodes, removeNodes, cordon, drain, removePods, add"
KINDS = "fits, headroom, drain, cheapest, preempt"


def cluster() -> Cluster:
    return cluster_of(node("a"), node("b"), pod("there-0", on="a"))


def refusal(question: dict[str, Any], *steps: dict[str, Any]) -> str:
    with pytest.raises(QuestionError) as refused:
        answer(cluster(), question, *steps)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{", f"it is no JSON: Input data was truncated{SEE}", id="half of it"),
        pytest.param("", f"it is no JSON: Input data was truncated{SEE}", id="nothing"),
        pytest.param("[]", f"Expected `object`, got `array`{SEE}", id="a list"),
        pytest.param("{}", f"Object missing required field `question`{SEE}", id="no question"),
        pytest.param(
            '{"question": {"fit": {}}}', f"Object contains unknown field `fit` - at `$.question`{SEE}", id="a slip"
        ),
        pytest.param(
            '{"question": {"fits": {"pods": {}}}}',
            f"Expected `array`, got `object` - at `$.question.fits.pods`{SEE}",
            id="another type",
        ),
        pytest.param('{"question": {}}', f"question: 0 things are written; write exactly one of: {KINDS}", id="empty"),
        pytest.param(
            '{"question": {"fits": {}, "drain": {}}}',
            f"question: 2 things are written; write exactly one of: {KINDS}",
            id="two questions",
        ),
        pytest.param(
            '{"question": {"fits": {}}, "steps": [{"cordon": {}}, {}]}',
            f"steps[1]: 0 things are written; write exactly one of: {STEPS}",
            id="a step that is none",
        ),
        pytest.param(
            '{"question": {"fits": {}}, "steps": [{"cordon": {}, "drain": {}}]}',
            f"steps[0]: 2 things are written; write exactly one of: {STEPS}",
            id="two steps in one",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, problem: str) -> None:
    with pytest.raises(QuestionError) as refused:
        requests.read(text)
    assert str(refused.value) == problem


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(QuestionError, match=r"it is nested too deeply; see `stowplan manual whatif`"):
        requests.read('{"question": {"preempt": {"pod": {"a":' + "[" * 100_000)


def test_too_many_steps_are_refused() -> None:
    problem = "steps: Too many: 10001: write at most 10000"
    with pytest.raises(QuestionError, match=problem):
        requests.read(msgspec.json.encode({"question": FITS, "steps": [{"cordon": {}}] * 10_001}))


def test_too_many_nodes_in_all_are_refused() -> None:
    steps = [{"addNodes": {"like": "a", "count": 60_000}}] * 2
    problem = "steps: addNodes.count: Invalid value: 120000 in all: write at most 100000"
    with pytest.raises(QuestionError, match=problem):
        requests.read(msgspec.json.encode({"question": FITS, "steps": steps}))


EITHER = "write either like, the name of a node, or shape, a node"


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        pytest.param({"addNodes": {}}, f"steps[0].addNodes: {EITHER}", id="nodes like nothing"),
        pytest.param(
            {"addNodes": {"like": "a", "shape": data(node("c"))}}, f"steps[0].addNodes: {EITHER}", id="like two things"
        ),
        pytest.param(
            {"addNodes": {"like": "c"}}, "node 'c' is not in the cluster; name one of the 2 that are", id="like no node"
        ),
        pytest.param(
            {"addNodes": {"like": "a", "count": 0}}, "node 'a': count: Invalid value: 0: write 1 to 100000", id="none"
        ),
        pytest.param({"addNodes": {"shape": POD}}, "steps[0].addNodes.shape: it is a Pod; write a Node", id="a pod"),
        pytest.param(
            {"addNodes": {"shape": {"apiVersion": "v1", "kind": "Node"}}},
            "steps[0].addNodes.shape.metadata.name: Required value: give the node a name",
            id="a nameless node",
        ),
        pytest.param(
            {"addNodes": {"shape": {"apiVersion": "example.com/v1", "kind": "Boat"}}},
            "steps[0].addNodes.shape: scheduling reads no Boat of example.com/v1; leave it out",
            id="a boat",
        ),
        pytest.param(
            {"removeNodes": {}}, "no node is named; give names, a label selector or a zone", id="no node to go"
        ),
        pytest.param(
            {"cordon": {"names": ["c"]}}, "node 'c' is not in the cluster; name one of the 2 that are", id="cordon"
        ),
        pytest.param({"drain": {}}, "no node is named; give names, a label selector or a zone", id="no node to drain"),
        pytest.param(
            {"removePods": {"names": ["there-0"]}},
            "pod 'there-0' has no node in the cluster; write NAMESPACE/NAME of one that has",
            id="a pod without its namespace",
        ),
        pytest.param(
            {"add": {"objects": [{"apiVersion": "v1", "kind": "Node"}]}},
            "steps[0].add.objects[0].metadata.name: Required value: give the object a name",
            id="a nameless object",
        ),
        pytest.param(
            {"add": {"objects": [data(node("c")), POD]}},
            "steps[0].add.objects[1]: pod 'default/new': spec.nodeName: Required value: one that waits takes no room",
            id="a pod that waits",
        ),
    ],
)
def test_a_step_that_cannot_be_taken_is_refused(step: dict[str, Any], problem: str) -> None:
    assert refusal(FITS, step) == problem


def changed(**parts: Any) -> dict[str, Any]:
    return {**POD, **{name: {**POD.get(name, {}), **value} for name, value in parts.items()}}


OTHER = data(make_pod("other").scheduler_name("batch").build())
NOT_OURS = "pod 'default/other': spec.schedulerName: no profile 'batch'; the profiles are: default-scheduler"


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        pytest.param(
            {"fits": {}}, "there is no pod to ask about; give pods, or a workload that makes some", id="no pods"
        ),
        pytest.param(
            {"fits": {"pods": [POD], "top": 0}}, "question.fits.top: Invalid value: 0: write 1 or more", id="top"
        ),
        pytest.param(
            {"fits": {"pods": [POD, POD]}},
            "question.fits.pods: two pods have one name; give each a name of its own",
            id="two of one name",
        ),
        pytest.param(
            {"fits": {"pods": [POD, changed(metadata={"name": "too"})]}},
            "question.fits.pods: two pods have one metadata.uid; leave it out, or give each its own",
            id="two of one uid",
        ),
        pytest.param(
            {"fits": {"pods": [{"spec": {}}]}},
            "question.fits.pods[0].metadata.name: Required value: give the pod a name",
            id="a nameless pod",
        ),
        pytest.param(
            {"fits": {"pods": [changed(spec={"containers": [{"resources": {"requests": {"cpu": "-1"}}}]})]}},
            'question.fits.pods[0].spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater '
            "than or equal to 0",
            id="a pod that takes less than nothing",
        ),
        pytest.param(
            {"fits": {"pods": [data(node("c"))]}}, "question.fits.pods[0]: it is a Node; write a Pod", id="a node"
        ),
        pytest.param(
            {"fits": {"everyNode": [data(node("c"))]}},
            "question.fits.everyNode[0]: it is a Node; write a Pod",
            id="a node on every node",
        ),
        pytest.param(
            {"fits": {"pods": [changed(spec={"nodeName": "a"})]}},
            "question.fits.pods[0]: pod 'default/new': spec.nodeName: it has had its turn; leave the field out",
            id="a pod with a node",
        ),
        pytest.param(
            {"fits": {"pods": [changed(status={"phase": "Succeeded"})]}},
            "question.fits.pods[0]: pod 'default/new': status.phase: it has had its turn; leave the field out",
            id="a pod that has ended",
        ),
        pytest.param(
            {"fits": {"pods": [data(pod("there-0"))]}},
            "pod 'default/there-0' has a node already, 'a'; give it another name, or suppose that it goes first",
            id="a pod that is there",
        ),
        pytest.param({"fits": {"pods": [OTHER]}}, NOT_OURS, id="a pod of another scheduler"),
        pytest.param({"fits": {"everyNode": [OTHER]}}, NOT_OURS, id="pods of another scheduler on every node"),
        pytest.param({"headroom": {"mix": [{"pod": OTHER}]}}, NOT_OURS, id="a template of another scheduler"),
        pytest.param({"preempt": {"pod": OTHER}}, NOT_OURS, id="an urgent pod of another scheduler"),
        pytest.param(
            {"headroom": {"mix": []}}, "there is no pod to ask about; give a template, or several", id="no mix"
        ),
        pytest.param(
            {"headroom": {"mix": [{"pod": POD}], "limit": 0}},
            "limit: Invalid value: 0: write a number of pods, 1 or more",
            id="no limit",
        ),
        pytest.param(
            {"headroom": {"mix": [{"pod": POD, "count": 0}]}},
            "pod 'default/new': count: Invalid value: 0: write 1 or more",
            id="none of it",
        ),
        pytest.param(
            {"headroom": {"mix": [{"pod": POD}, {"pod": POD}]}},
            "two templates of the mix have one name; give each a name of its own",
            id="a mix of one name",
        ),
        pytest.param(
            {"headroom": {"mix": [{"pod": {}}]}},
            "question.headroom.mix[0].pod.metadata.name: Required value: give the pod a name",
            id="a nameless template",
        ),
        pytest.param(
            {"drain": {"names": ["a"], "batches": 2}},
            "batches: Invalid value: 2: write 1 to 1, as many as there are nodes",
            id="more batches than nodes",
        ),
        pytest.param(
            {"drain": {"names": ["a"], "batches": 0}},
            "batches: Invalid value: 0: write 1 to 1, as many as there are nodes",
            id="no batch",
        ),
        pytest.param({"drain": {}}, "no node is named; give names, a label selector or a zone", id="no node"),
        pytest.param({"cheapest": {"pods": [POD]}}, f"question.cheapest: {EITHER}", id="no shape"),
        pytest.param(
            {"cheapest": {"pods": [POD], "like": "a", "most": 0}},
            "most: Invalid value: 0: write a number of nodes, 1 to 100000",
            id="at most none",
        ),
        pytest.param(
            {"cheapest": {"pods": [POD, POD], "like": "a"}},
            "question.cheapest.pods: two pods have one name; give each a name of its own",
            id="the same pod twice",
        ),
        pytest.param(
            {"preempt": {"pod": {}}},
            "question.preempt.pod.metadata.name: Required value: give the pod a name",
            id="a nameless pod that is urgent",
        ),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(question: dict[str, Any], problem: str) -> None:
    assert refusal(question) == problem


def test_a_field_of_the_wrong_type_is_named_with_its_object() -> None:
    wrong = changed(spec={"priority": "high"})
    assert refusal({"fits": {"pods": [wrong]}}).startswith("question.fits.pods[0]: ")
    assert "spec.priority" in refusal({"fits": {"pods": [wrong]}})


def test_what_is_refused_leaves_nothing_either() -> None:
    asked = cluster()
    with pytest.raises(QuestionError):
        answer(asked, {"fits": {}}, {"addNodes": {"like": "a", "count": 3}})
    assert len(asked.cache.table) == 2


@pytest.mark.parametrize(
    ("body", "has_extenders", "is_short"),
    [
        pytest.param({"question": FITS}, False, True, id="one pod, as it is"),
        pytest.param({"question": FITS}, True, False, id="one pod, and extenders to be asked"),
        pytest.param({"question": FITS, "steps": [{"cordon": {"names": ["a"]}}]}, False, False, id="after a step"),
        pytest.param({"question": {"fits": {"pods": [POD, POD]}}}, False, False, id="two pods"),
        pytest.param({"question": {"fits": {"pods": [POD], "everyNode": [POD]}}}, False, False, id="every node"),
        pytest.param({"question": {"headroom": {"mix": [{"pod": POD}]}}}, False, False, id="headroom"),
        pytest.param({"question": {"drain": {"names": ["a"]}}}, False, False, id="a drain"),
        pytest.param({"question": {"preempt": {"pod": POD}}}, False, False, id="preemption"),
    ],
)
def test_a_question_is_short_if_it_is_about(body: dict[str, Any], has_extenders: bool, is_short: bool) -> None:
    assert requests.is_short(requests.read(msgspec.json.encode(body)), has_extenders) is is_short


class Telling(PostBind):
    """Acts only when a pod is bound."""

    async def post_bind(self, pod: Pod, node_name: str) -> None: ...


def test_who_takes_no_part_is_named_in_the_answer() -> None:
    enabled = {"multiPoint": {"enabled": [{"name": f"{__name__}:Telling"}]}}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    asked = cluster_of(node("a"), config={**head, "profiles": [{"plugins": enabled}]})
    assert list(answer(asked, FITS)["notTakingPart"]) == ["plugin Telling"]
    assert list(answer(cluster(), FITS)["notTakingPart"]) == []
