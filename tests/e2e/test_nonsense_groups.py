"""Nonsense about groups of pods is refused alike by the real API server and by the embedded one, cause by cause."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import nonsense
from tests.e2e.api import Api
from tests.e2e.plane import ALL_GROUP_GATES, Plane
from tests.e2e.test_nonsense import refusal
from tests.nonsense import Case

pytestmark = pytest.mark.each_release
PARTS = {"test_a_group": "objects", "test_a_change": "updates", "test_a_status": "statuses"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the cases of the release that is looked at."""
    part = next((part for name, part in PARTS.items() if metafunc.function.__name__.startswith(name)), None)
    if part is not None:
        release = "1.36" if str(metafunc.config.getoption("--plane", "")).endswith("1.36") else "1.37"
        metafunc.parametrize("case", nonsense.groups(release, part))


@pytest.fixture(scope="module")
def serving(plane: Plane) -> Iterator[Api]:
    with plane.groups(ALL_GROUP_GATES[plane.release]):
        yield plane.api


@pytest.fixture(scope="module")
def sound(plane: Plane, serving: Api) -> Iterator[dict[str, str]]:
    """The paths of sound groups that are there for all changes, none of which is made; by their kind."""
    objects = nonsense.sound_groups(plane.release)
    for obj in objects.values():
        serving.create(obj)
    paths = {kind: serving.path_of(obj) for kind, obj in objects.items()}
    yield paths
    for path in paths.values():
        # What protects a group that has pods is for a controller to take off.
        serving.run(serving.call("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json"))
        serving.delete(path)


def test_a_group_that_makes_no_sense_is_refused(plane: Plane, serving: Api, case: Case) -> None:
    collection = serving.path_of(nonsense.sound_groups(plane.release)[case.kind]).rpartition("/")[0]
    assert refusal(serving, "POST", collection, case.content) == (422, case.refused)


def test_a_change_that_may_not_be_is_refused(serving: Api, sound: dict[str, str], case: Case) -> None:
    assert refusal(serving, "PATCH", sound[case.kind], case.content) == (422, case.refused)


def test_a_status_that_makes_no_sense_is_refused(serving: Api, sound: dict[str, str], case: Case) -> None:
    assert refusal(serving, "PATCH", f"{sound[case.kind]}/status", case.content) == (422, case.refused)
