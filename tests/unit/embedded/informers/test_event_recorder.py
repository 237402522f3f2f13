"""Events: repeats are counted, and one object gets only so many."""

import random
from datetime import UTC, datetime, timedelta

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.informers.event_recorder import EventRecorder
from stowplan.embedded.registry.api import Api
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from tests.unit.embedded.given import CORE_EVENTS, PODS, made

POD = made(PODS, "web")


class Clock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


def recorder() -> tuple[Api, EventRecorder, Clock]:
    clock = Clock()
    api = Api(Store(), Catalogue(), clock, random.Random(1).getrandbits)
    bootstrap.ensure(api)
    return api, EventRecorder(api, "tester", clock), clock


def test_an_event_says_who_saw_what_happen_to_whom() -> None:
    api, events, _ = recorder()
    events.warning(PODS, POD, "Odd", "something is odd")
    (event,) = api.list(CORE_EVENTS)
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Odd", "something is odd")
    assert event["source"] == {"component": "tester"}
    about = event["involvedObject"]
    assert (about["kind"], about["namespace"], about["name"]) == ("Pod", "default", "web")
    assert event["metadata"]["name"].startswith("web.")


def test_the_same_event_is_counted() -> None:
    api, events, clock = recorder()
    events.normal(PODS, POD, "Same", "again")
    clock.moment += timedelta(seconds=30)
    events.normal(PODS, POD, "Same", "again")
    events.normal(PODS, POD, "Other", "again")
    counted = {event["reason"]: (event["count"], event["lastTimestamp"]) for event in api.list(CORE_EVENTS)}
    assert counted == {"Same": (2, "2026-01-01T00:00:30Z"), "Other": (1, "2026-01-01T00:00:30Z")}


def test_one_object_gets_twenty_five_and_then_one_each_five_minutes() -> None:
    api, events, clock = recorder()
    for number in range(100):
        events.normal(PODS, POD, "Many", f"number {number}")
    assert len(api.list(CORE_EVENTS)) == 25
    events.normal(PODS, made(PODS, "other"), "Many", "another object has its own")
    assert len(api.list(CORE_EVENTS)) == 26
    clock.moment += timedelta(seconds=301)
    for number in range(3):
        events.normal(PODS, POD, "Later", f"number {number}")
    assert len(api.list(CORE_EVENTS)) == 27
