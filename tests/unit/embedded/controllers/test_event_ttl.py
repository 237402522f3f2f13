"""Events go an hour after they were last written."""

from stowplan.embedded.objects.resource import Object
from tests.unit.embedded.controllers.small_cluster import EVENTS, SmallCluster, tell
from tests.unit.embedded.given import CONFIG_MAPS

MINUTE = 60.0


def event(name: str) -> Object:
    about = {"kind": "Node", "name": "node-0", "namespace": "default"}
    metadata = {"name": name, "namespace": "default"}
    return {"metadata": metadata, "involvedObject": about, "reason": "Told", "message": "something happened"}


def names(cluster: SmallCluster) -> list[str]:
    told = [each for each in cluster.api.list(EVENTS) if each["reason"] == "Told"]
    return sorted(each["metadata"]["name"] for each in told)


def test_an_event_is_kept_for_an_hour_after_it_was_last_written() -> None:
    async def story(cluster: SmallCluster) -> None:
        for name in ("once", "again"):
            cluster.api.create(EVENTS, "default", event(name))
        await cluster.pass_time(30 * MINUTE)
        cluster.api.update(EVENTS, "default", "again", {**event("again"), "count": 2})
        await cluster.pass_time(28 * MINUTE)
        assert names(cluster) == ["again", "once"]
        await cluster.pass_time(4 * MINUTE)
        assert names(cluster) == ["again"]
        await cluster.pass_time(26 * MINUTE)
        assert names(cluster) == ["again"]
        await cluster.pass_time(4 * MINUTE)
        assert names(cluster) == []

    tell(story, nodes=0)


def test_more_events_than_go_at_once_all_go_and_nothing_else_does() -> None:
    async def story(cluster: SmallCluster) -> None:
        cluster.create(CONFIG_MAPS, "settings", {})
        for number in range(1_200):
            cluster.api.create(EVENTS, "default", event(f"old-{number}"))
        await cluster.pass_time(58 * MINUTE)
        cluster.api.create(EVENTS, "default", event("new"))
        await cluster.pass_time(4 * MINUTE)
        assert names(cluster) == ["new"]
        assert cluster.exists(CONFIG_MAPS, "settings")

    tell(story, nodes=0)
