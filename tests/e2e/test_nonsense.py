"""Nonsense is refused alike by the real API server and by the embedded one, cause by cause."""

from __future__ import annotations

import json

import pytest

from tests import nonsense
from tests.e2e.api import Api, ApiError, Object
from tests.nonsense import Case

# What is refused is the same in 1.37, some of it in other words, which the embedded server does not have yet.
pytestmark = [pytest.mark.each_release, pytest.mark.only_on("real-1.36", "embedded")]


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


@pytest.mark.parametrize("case", nonsense.objects())
def test_nonsense_is_refused(api: Api, case: Case) -> None:
    # A name may be the nonsense, so the path is made from the one of a sound object.
    collection = api.path_of(nonsense.sound()[case.kind]).rpartition("/")[0]
    assert refusal(api, "POST", collection, case.content) == (422, case.refused)


@pytest.mark.parametrize("case", nonsense.updates())
def test_a_change_that_may_not_be_is_refused(api: Api, case: Case) -> None:
    obj = nonsense.sound()[case.kind]
    path = api.path_of(obj)
    api.create(obj)
    try:
        assert refusal(api, "PATCH", path, case.content) == (422, case.refused)
    finally:
        api.delete(path)
