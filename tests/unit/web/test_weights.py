"""Other weights: who would go elsewhere, by how much, and why."""

import asyncio

import pytest

from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod
from stowplan.web import weights
from stowplan.web.weights import WeightsQuestion
from tests.unit.web.sources import world

PROFILE = "default-scheduler"
MIB = 2**20
NODES = [
    make_node("image").capacity(cpu="4", memory="8Gi", pods=9).image("web:1", 900 * MIB).build(),
    make_node("empty").capacity(cpu="4", memory="8Gi", pods=9).build(),
]
BUSY = make_pod("busy").requests(cpu="3", memory="6Gi").on("image").build()
POD = make_pod("a").container("web:1", cpu="500m", memory="1Gi").build()


def test_a_pod_that_would_go_elsewhere_is_told_with_what_makes_the_difference() -> None:
    async def story() -> None:
        async with world(*NODES, BUSY, POD) as found:
            answer = weights._answer(found.source, WeightsQuestion(PROFILE, {"ImageLocality": 50}))
            assert (answer.asked, answer.not_asked) == (1, 0)
            (moved,) = answer.changed
            assert (moved.pod, moved.node, moved.from_, moved.to) == ("default/a", "empty", "empty", "image")
            assert moved.by["ImageLocality"] > 0
            assert moved.by["NodeResourcesFit"] < 0
            assert sum(moved.by.values()) == moved.total_to - moved.total_from > 0

    asyncio.run(story())


def test_with_the_weights_in_force_nobody_would_go_elsewhere_and_everything_stays() -> None:
    async def story() -> None:
        async with world(*NODES, BUSY, POD) as found:
            before = found.source.columns.answer().resources
            answer = weights._answer(found.source, WeightsQuestion(PROFILE, {}))
            assert (answer.asked, answer.changed) == (1, [])
            assert found.source.columns.answer().resources == before

    asyncio.run(story())


def test_a_pod_that_is_gone_is_not_asked_about() -> None:
    async def story() -> None:
        async with world(*NODES, BUSY, POD) as found:
            (bound,) = (pod for pod in found.api.all(Pod) if pod.name == "a")
            found.api.delete(bound, grace_seconds=0)
            await found.rest()
            answer = weights._answer(found.source, WeightsQuestion(PROFILE, {}))
            assert (answer.asked, answer.not_asked) == (0, 1)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("question", "said"),
    [
        pytest.param(WeightsQuestion("other", {}), "profile: Invalid value: 'other': write one of", id="no profile"),
        pytest.param(WeightsQuestion(PROFILE, {"Nobody": 1}), "'Nobody' does not score", id="no plugin that scores"),
    ],
)
def test_what_there_is_not_is_named(question: WeightsQuestion, said: str) -> None:
    async def story() -> None:
        async with world(*NODES) as found:
            with pytest.raises(ValueError, match=said):
                weights._check(found.source, question)

    asyncio.run(story())
