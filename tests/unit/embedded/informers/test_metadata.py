"""What controllers read and write of any object."""

import pytest

from stowplan.embedded.informers import metadata
from tests.unit.embedded.given import PODS


def test_a_finalizer_is_taken_off_once() -> None:
    obj = {"metadata": {"finalizers": ["a", "b"]}}
    assert metadata.remove_finalizer(obj, "a")
    assert obj == {"metadata": {"finalizers": ["b"]}}
    assert not metadata.remove_finalizer(obj, "a")
    assert not metadata.remove_finalizer({"metadata": {}}, "a")


def test_an_owner_is_let_go_by_its_uid() -> None:
    obj = {"metadata": {"ownerReferences": [{"uid": "1", "controller": True}, {"uid": "2"}]}}
    assert metadata.controller_of(obj) == {"uid": "1", "controller": True}
    metadata.remove_owner(obj, "1")
    assert obj == {"metadata": {"ownerReferences": [{"uid": "2"}]}}
    assert metadata.controller_of(obj) is None


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        pytest.param(
            {"name": "a", "namespace": "shop", "uid": "1", "resourceVersion": "7"},
            ("shop", "a", "1", "7"),
            id="a stored object",
        ),
        pytest.param({"name": "a"}, ("", "a", "", ""), id="one that is not stored yet"),
    ],
)
def test_a_reference_says_which_object_and_as_of_when(meta: dict[str, str], expected: tuple[str, ...]) -> None:
    found = metadata.object_reference(PODS.api_version, PODS.kind, {"metadata": meta})
    assert (found["kind"], found["apiVersion"]) == ("Pod", "v1")
    assert tuple(found[key] for key in ("namespace", "name", "uid", "resourceVersion")) == expected
