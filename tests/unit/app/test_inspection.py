"""Questions about a running scheduler, asked over HTTPS: explanations, the queue, the nodes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from stowplan.serving.responses import Handler
from tests.limits import LIMIT_SECONDS
from tests.unit.app.fake_api import FakeApi, node, pod
from tests.unit.app.test_live import fetch, free_port, open_port, run_live, until

OPEN = ("--leader-elect=false", "--authorization-always-allow-paths=/debug/stowplan/*")
PAGES = "/debug/stowplan"


async def ask(port: int, path: str) -> Any:
    status, text = await fetch(port, f"{PAGES}/{path}")
    assert status == 200, text
    return json.loads(text)


async def waiting(port: int) -> list[Any]:
    found: list[Any] = (await ask(port, "queue"))["pods"]
    return found


async def nodes(port: int) -> list[Any]:
    found: list[Any] = (await ask(port, "nodes"))["nodes"]
    return found


async def eventually_refused(api: FakeApi, port: int, name: str) -> None:
    """Wait until a pod has been tried and waits."""
    await until(lambda: "FailedScheduling" in api.events)
    async with asyncio.timeout(LIMIT_SECONDS):
        while name not in [one["pod"] for one in await waiting(port) if one["message"]]:  # noqa: ASYNC110 (it tells nobody)
            await asyncio.sleep(0.01)


def test_a_refused_pod_is_explained_with_what_will_bring_it_back() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await eventually_refused(api, port, "default/huge")
        found = await ask(port, "explain?pod=default/huge&nodes=all")
        assert found["message"] == "0/1 nodes are available: 1 Insufficient cpu."
        assert found["nodes"]["n1"]["rejections"] == [
            {"plugin": "NodeResourcesFit", "code": "UnschedulableAndUnresolvable", "reasons": ["Insufficient cpu"]}
        ]
        story = found["story"]
        assert (story["node"], story["queue"]["place"], story["queue"]["attempts"]) == (None, "unschedulable", 1)
        assert story["queue"]["rejectedBy"] == ["NodeResourcesFit"]
        assert story["queue"]["wokenBy"]["NodeResourcesFit"][0] == "AssignedPod: deleted, requests less"
        assert [(one["outcome"], one["plugins"]) for one in story["attempts"]] == [("refused", ["NodeResourcesFit"])]

    assert run_live(work, *OPEN) == 1


def test_a_placed_pod_is_explained_as_if_it_were_to_go_and_stays_counted() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/nodes", node("n2"))
        api.put("/api/v1/pods", pod("a", cpu="3"))
        await until(lambda: bool(api.bindings))
        where = api.bindings[0][1]
        async with asyncio.timeout(LIMIT_SECONDS):
            while not (await ask(port, "explain?pod=a"))["story"]["attempts"]:  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.01)
        found = await ask(port, f"explain?pod=a&node={where}")
        assert found["story"]["node"] == where
        assert found["story"]["queue"] is None
        assert [(one["outcome"], one["node"]) for one in found["story"]["attempts"]] == [("bound", where)]
        assert found["feasibleNodes"] == 2
        assert found["nodes"][where]["feasible"] is True
        assert {one["name"]: one["requested"]["cpu"] for one in await nodes(port)}[where] == 3000

    assert run_live(work, *OPEN) == 1


def test_an_explanation_can_be_had_as_text() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await eventually_refused(api, port, "default/huge")
        status, text = await fetch(port, f"{PAGES}/explain?pod=default/huge&format=text&width=90&node=n1")
        assert status == 200
        assert text.startswith("Pod default/huge fits no node.\n  0/1 nodes are available: 1 Insufficient cpu.")
        assert "Node n1 is refused" in text
        assert "In the queue\n  place     unschedulable since " in text
        assert "What may bring it back\n  NodeResourcesFit  AssignedPod: deleted, requests less" in text
        assert "refused by NodeResourcesFit: 0/1 nodes are available" in text

    assert run_live(work, *OPEN) == 1


def test_the_queue_says_who_waits_where() -> None:
    async def work(api: FakeApi, port: int) -> None:
        gated = pod("gated")
        gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
        api.put("/api/v1/pods", gated)
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await eventually_refused(api, port, "default/huge")
        found = await ask(port, "queue")
        assert {place: count for place, count in found["counts"].items() if count} == {"unschedulable": 1, "gated": 1}
        assert [(one["pod"], one["rejectedBy"]) for one in found["pods"]] == [
            ("default/huge", ["NodeResourcesFit"]),
            ("default/gated", ["SchedulingGates"]),
        ]
        assert found["pods"][1]["nextTry"] == "when SchedulingGates lets it in"
        assert [one["pod"] for one in (await ask(port, "queue?place=gated"))["pods"]] == ["default/gated"]
        assert (await ask(port, "queue?namespace=other"))["pods"] == []
        limited = await ask(port, "queue?limit=1")
        assert (limited["total"], len(limited["pods"])) == (2, 1)

    assert run_live(work, *OPEN) == 1


def test_nodes_can_be_filtered_sorted_and_limited() -> None:
    async def work(api: FakeApi, port: int) -> None:
        labelled = node("n2")
        labelled["metadata"]["labels"] = {"disk": "ssd"}
        api.put("/api/v1/nodes", labelled)
        bound = pod("b", cpu="1")
        bound["spec"]["nodeName"] = "n2"
        api.put("/api/v1/pods", bound)
        await open_port(port)
        async with asyncio.timeout(LIMIT_SECONDS):
            while not any(one["requested"]["cpu"] for one in await nodes(port)):  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.01)
        assert [one["name"] for one in (await ask(port, "nodes?labels=disk=ssd"))["nodes"]] == ["n2"]
        assert [one["name"] for one in (await ask(port, "nodes?name=1"))["nodes"]] == ["n1"]
        fullest = await ask(port, "nodes?sort=cpu&limit=1")
        assert (fullest["total"], [one["name"] for one in fullest["nodes"]]) == (2, ["n2"])
        assert (fullest["nodes"][0]["requested"]["cpu"], fullest["nodes"][0]["requested"]["pods"]) == (1000, 1)

    assert run_live(work, *OPEN) == 1


#: What asking must not move: decisions, what plugins were asked for them, and what preemption came to.
COUNTED = ("scheduler_plugin_", "scheduler_framework_", "scheduler_preemption_", "scheduler_schedule_attempts_total")


async def counted(port: int) -> list[str]:
    status, text = await fetch(port, "/metrics")
    assert status == 200, text
    return [line for line in text.splitlines() if line.startswith(COUNTED)]


def crowd(api: FakeApi) -> None:
    """Have a node full of unimportant pods, and an important one that runs where no node is any more."""
    for name, cpu, where, priority in (("low", "3", "n1", 1), ("fair", "1", "n1", 5), ("high", "4", "gone", 100)):
        found = pod(name, cpu=cpu)
        found["spec"] |= {"nodeName": where, "priority": priority}
        api.put("/api/v1/pods", found)


SEEN = (*OPEN[:1], f"{OPEN[1]},/metrics")
VICTIMS = [{"pod": "default/fair", "priority": 5}, {"pod": "default/low", "priority": 1}]


def test_an_explanation_names_those_who_would_have_to_go_and_nothing_comes_of_it() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("huge", cpu="64"))
        await eventually_refused(api, port, "default/huge")
        before, events = await counted(port), list(api.events)
        for _ in range(2):
            found = await ask(port, "explain?pod=default/high")
            assert found["preemption"] == {"node": "n1", "victims": VICTIMS, "pdbViolations": 0}
        _, text = await fetch(port, f"{PAGES}/explain?pod=default/high&format=text")
        assert "Preemption would make room on n1, by evicting 2 pods\n  priority  victim\n" in text
        assert (await counted(port), api.events) == (before, events)
        assert any(line.startswith("scheduler_preemption_attempts_total 1") for line in before)
        (one,) = await nodes(port)
        assert one["requested"]["cpu"] == 4000
        assert [one["pod"] for one in await waiting(port)] == ["default/huge"]

    assert run_live(work, *SEEN, prepare=crowd) == 1


def test_extenders_that_preempt_are_asked_before_victims_are_named() -> None:
    address = f"127.0.0.1:{free_port()}"
    extender = {"urlPrefix": f"http://{address}", "preemptVerb": "preempt", "nodeCacheCapable": True}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    answers = [{"n1": {"Pods": [{"UID": "uid-low"}]}}, {}]

    async def work(api: FakeApi, port: int) -> None:
        async def answer(request: web.Request) -> web.Response:
            if not answers:
                raise web.HTTPServiceUnavailable
            return web.json_response({"NodeNameToMetaVictims": answers.pop(0)})

        async with serving(answer, address):
            api.put("/api/v1/pods", pod("huge", cpu="64"))
            await eventually_refused(api, port, "default/huge")
            found = [await ask(port, "explain?pod=default/high") for _ in range(3)]
        only_low = {"node": "n1", "victims": VICTIMS[1:], "pdbViolations": 0}
        assert [one["preemption"] for one in found] == [only_low, None, None]
        assert found[1]["makingRoom"] == "preemption: no candidate node for preemption"
        assert found[2]["makingRoom"].startswith("preemption: ")
        assert "503" in found[2]["makingRoom"]

    config = f"--config-text={json.dumps({**head, 'extenders': [extender]})}"
    assert run_live(work, *OPEN, config, prepare=crowd) == 1


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        pytest.param(
            "explain",
            400,
            "pod: Required value: write ?pod=NAMESPACE/NAME or ?podgroup=NAMESPACE/NAME",
            id="no pod is named",
        ),
        pytest.param(
            "explain?pod=default/none",
            404,
            'pod "default/none" not found among the pods that have not ended; write NAMESPACE/NAME',
            id="a pod that is not there",
        ),
        pytest.param(
            "explain?pod=default/a&node=none",
            404,
            'node "none" not found; name one of the 1 that are',
            id="a node that is not there",
        ),
        pytest.param(
            "explain?pod=default/other",
            404,
            "pod 'default/other': no profile for schedulerName 'elsewhere'; known: default-scheduler",
            id="a pod of another scheduler",
        ),
        pytest.param(
            "explain?podgroup=default/train",
            404,
            "this scheduler knows no pod groups: switch the feature gate GenericWorkload on",
            id="a group where there are none",
        ),
        pytest.param(
            "explain?pod=default/a&top=x", 400, "top: Invalid value: 'x': write a whole number of at least 1", id="top"
        ),
        pytest.param(
            "nodes?labels=disk", 400, "labels: Invalid value: 'disk': write key=value,key=value", id="half a label"
        ),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_with_a_reason(path: str, status: int, message: str) -> None:
    async def work(api: FakeApi, port: int) -> None:
        other = pod("other")
        other["spec"]["schedulerName"] = "elsewhere"
        api.put("/api/v1/pods", other)
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))
        found, text = await fetch(port, f"{PAGES}/{path}")
        assert (found, json.loads(text)["message"]) == (status, message)

    assert run_live(work, *OPEN) == 1


def test_who_may_not_see_it_is_refused() -> None:
    async def work(api: FakeApi, port: int) -> None:
        api.put("/api/v1/pods", pod("a"))
        await until(lambda: bool(api.bindings))
        for page in ("explain?pod=default/a", "explain?podgroup=default/train", "queue", "nodes"):
            assert (await fetch(port, f"{PAGES}/{page}"))[0] == 403

    assert run_live(work, "--leader-elect=false") == 1


def test_the_queue_answers_at_once_while_an_extender_is_awaited_and_names_it() -> None:
    address = f"127.0.0.1:{free_port()}"
    extender = {"urlPrefix": f"http://{address}", "filterVerb": "filter", "httpTimeout": "1h", "nodeCacheCapable": True}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }

    async def work(api: FakeApi, port: int) -> None:
        is_asked, may_answer = asyncio.Event(), asyncio.Event()

        async def answer(request: web.Request) -> web.Response:
            is_asked.set()
            await may_answer.wait()
            return web.json_response({"nodenames": ["n1"]})

        async with serving(answer, address):
            api.put("/api/v1/pods", pod("slow"))
            async with asyncio.timeout(LIMIT_SECONDS):
                await is_asked.wait()
                (found,) = await waiting(port)
                shown = await nodes(port)
            may_answer.set()
            await until(lambda: bool(api.bindings))
        assert (found["pod"], found["place"]) == ("default/slow", "in flight")
        assert found["nextTry"] == f"it is being tried, and waits for extender http://{address} to answer filter"
        assert [one["name"] for one in shown] == ["n1"]

    assert run_live(work, *OPEN, f"--config-text={json.dumps(config)}") == 1


@asynccontextmanager
async def serving(answer: Handler, address: str, path: str = "/{verb}") -> AsyncIterator[None]:
    """Have every request to an address answered."""
    application = web.Application()
    application.router.add_post(path, answer)
    runner = web.AppRunner(application)
    await runner.setup()
    host, _, port = address.partition(":")
    await web.TCPSite(runner, host, int(port)).start()
    try:
        yield
    finally:
        await runner.cleanup()
