"""Nonsense is refused alike by the real API server and by the embedded one, cause by cause."""

from __future__ import annotations

import json

import pytest

from tests import nonsense
from tests.e2e.api import Api, ApiError, Object
from tests.e2e.plane import NEWEST
from tests.nonsense import Case

pytestmark = pytest.mark.each_release
TABLES = {"test_nonsense": nonsense.objects, "test_a_change": nonsense.updates}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the cases of the release that is looked at."""
    for name, table in TABLES.items():
        if metafunc.function.__name__.startswith(name):
            metafunc.parametrize("case", table(release_of(metafunc.config)))


def release_of(config: pytest.Config) -> str:
    """The release of the plane that tests run on."""
    return "1.36" if str(config.getoption("--plane", "")).endswith("1.36") else NEWEST


def refusal(api: Api, method: str, path: str, body: Object) -> tuple[int, list[str]]:
    """Send what must be refused; return the code and every complaint."""
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    with pytest.raises(ApiError) as refused:
        api.run(api.call(method, path, body, content_type, query={"dryRun": "All"}))
    return refused.value.status, nonsense.told(json.loads(refused.value.body))


@pytest.mark.parametrize("kind", sorted(nonsense.sound()))
def test_a_sound_object_is_taken(api: Api, kind: str) -> None:
    obj = nonsense.sound()[kind]
    collection = api.path_of(obj).rpartition("/")[0]
    made = api.run(api.call("POST", collection, obj, query={"dryRun": "All", "fieldValidation": "Strict"}))
    assert made["metadata"]["uid"]


def test_nonsense_is_refused(api: Api, case: Case) -> None:
    # A name may be the nonsense, so the path is made from the one of a sound object.
    collection = api.path_of(nonsense.sound()[case.kind]).rpartition("/")[0]
    assert refusal(api, "POST", collection, case.content) == (422, case.refused)


def test_a_change_that_may_not_be_is_refused(api: Api, case: Case) -> None:
    obj = nonsense.sound()[case.kind]
    path = api.path_of(obj)
    api.create(obj)
    try:
        assert refusal(api, "PATCH", path, case.content) == (422, case.refused)
    finally:
        api.delete(path)
