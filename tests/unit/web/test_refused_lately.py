"""Who was refused lately, on a node: each template once, however many were placed or refused since."""

import asyncio

from stowplan.testing import make_node, make_pod
from stowplan.web.decision_log import MOST_DECISIONS
from tests.unit.web.asked import ask
from tests.unit.web.sources import world

NODES = [
    make_node("small").capacity(cpu="4", memory="8Gi", pods=9).build(),
    make_node("tainted").capacity(cpu="99", memory="8Gi", pods=9).taint("only", "gpu").build(),
]


def test_pods_that_are_alike_are_one_and_the_latest_of_them_is_named() -> None:
    async def story() -> None:
        async with world(*NODES, make_pod("odd").requests(memory="99Gi").build()) as found:
            for number in range(3):
                found.pass_seconds(1)
                found.api.create(make_pod(f"large-{number}").requests(cpu="9").build())
                await found.rest()
            answer = await ask(found.source, "nodes/{name}", name="small")
            assert [(one.pod, one.pods, one.plugin, one.reasons) for one in answer.refused_lately] == [
                ("default/large-2", 3, "NodeResourcesFit", ["Insufficient cpu"]),
                ("default/odd", 1, "NodeResourcesFit", ["Insufficient memory"]),
            ]
            assert answer.refused_lately[1].at == "2026-01-02T00:00:00.000000Z"
            tainted = await ask(found.source, "nodes/{name}", name="tainted")
            assert [one.plugin for one in tainted.refused_lately] == ["TaintToleration", "TaintToleration"]

    asyncio.run(story())


def test_who_waits_is_not_forgotten_for_those_who_were_decided_on_since() -> None:
    async def story() -> None:
        async with world(*NODES, make_pod("waits").requests(cpu="9").build()) as found:
            for number in range(MOST_DECISIONS + 1):
                pod = found.api.create(make_pod(f"p{number}").requests(cpu="1").build())
                await found.rest()
                found.api.delete(found.api.get(type(pod), pod.key), grace_seconds=0)
            await found.rest()
            answer = await ask(found.source, "nodes/{name}", name="small")
            assert [one.pod for one in answer.refused_lately] == ["default/waits"]

    asyncio.run(story())


def test_who_was_placed_is_refused_no_more() -> None:
    async def story() -> None:
        async with world(*NODES, make_pod("large").requests(cpu="9").build()) as found:
            found.api.create(make_node("large").capacity(cpu="16", memory="8Gi", pods=9).build())
            found.pass_seconds(60)
            await found.rest()
            answer = await ask(found.source, "nodes/{name}", name="small")
            assert answer.refused_lately == []

    asyncio.run(story())
