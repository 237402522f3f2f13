"""Who is in a group, and what is said of it, whether it waits, runs, or cannot even be tried."""

import asyncio

from msgspec.structs import replace

from stowplan.config.feature_gates import parse
from stowplan.model.meta import NamespacedMeta
from stowplan.model.pod_group import COMMUNITY_LABEL, PodGroup
from stowplan.testing import make_node, make_pod
from stowplan.web.pod_answers import MemberAnswer
from tests.integration.gang_world import GANGS_ON, own_group, own_members
from tests.unit.web.asked import ask
from tests.unit.web.sources import world

TREES_ON = parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true")
NODE = make_node("n").capacity(cpu="4", memory="8Gi", pods=9).build()


def group(name: str, needed: int, parent: str = "") -> PodGroup:
    found = own_group(name, needed, parent=parent)
    return replace(found, metadata=NamespacedMeta(name=name, namespace="default", uid=f"group-{name}"))


def test_a_group_that_waits_is_explained_and_has_its_members() -> None:
    async def story() -> None:
        async with world(NODE, gates=GANGS_ON) as found:
            for each in (group("train", 3), *own_members("train", 3)):
                found.api.create(each)
            while len(list(found.source.decisions.heard())) < 3:  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0)
            answer = await ask(found.source, "groups/{namespace}/{name}", namespace="default", name="train")
            assert (answer.group, answer.needed, answer.pending, answer.attempts) == ("default/train", 3, 3, 1)
            assert answer.placements[0].missing == "default/train-2"
            waits = [MemberAnswer(f"default/train-{number}", None, "error backoff") for number in range(3)]
            assert answer.members == waits
            queue = await ask(found.source, "queue")
            assert {one.group for one in queue.pods} == {"default/train"}

    asyncio.run(story())


def test_a_group_that_runs_completely_has_its_members_on_their_nodes() -> None:
    async def story() -> None:
        async with world(NODE, group("train", 2), *own_members("train", 2), gates=GANGS_ON) as found:
            answer = await ask(found.source, "groups/{namespace}/{name}", namespace="default", name="train")
            assert (answer.needed, answer.pending, answer.scheduled, answer.problem) == (2, 0, 2, "")
            assert answer.members == [MemberAnswer(f"default/train-{number}", "n", None) for number in range(2)]

    asyncio.run(story())


def test_pods_whose_group_is_not_there_are_its_members_all_the_same() -> None:
    async def story() -> None:
        async with world(NODE, *own_members("train", 1), gates=GANGS_ON) as found:
            answer = await ask(found.source, "groups/{namespace}/{name}", namespace="default", name="train")
            assert (answer.needed, answer.problem) == (0, 'pod group "default/train" is not there')
            assert answer.members == [MemberAnswer("default/train-0", None, "incomplete")]

    asyncio.run(story())


def test_a_group_that_is_a_part_of_one_that_is_not_there_says_so() -> None:
    async def story() -> None:
        async with world(NODE, group("train", 1, "all"), *own_members("train", 1), gates=TREES_ON) as found:
            answer = await ask(found.source, "groups/{namespace}/{name}", namespace="default", name="train")
            assert answer.problem == 'a group above pod group "default/train" is not there'

    asyncio.run(story())


def test_a_group_of_the_community_has_members_too() -> None:
    async def story() -> None:
        async with world(NODE, make_pod("a").label(COMMUNITY_LABEL, "gang").build()) as found:
            answer = await ask(found.source, "groups/{namespace}/{name}", namespace="default", name="gang")
            assert answer.members == [MemberAnswer("default/a", "n", None)]

    asyncio.run(story())


def test_a_group_that_nobody_knows_is_not_found() -> None:
    async def story() -> None:
        async with world(NODE) as found:
            message = await ask(found.source, "groups/{namespace}/{name}", namespace="default", name="train")
            assert message.startswith('pod group "default/train" not found')

    asyncio.run(story())
