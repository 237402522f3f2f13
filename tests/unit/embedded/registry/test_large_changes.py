"""Which changes are worked out beside the loop."""

from dataclasses import replace

import pytest

from stowplan.embedded.custom.resource import CustomResource
from stowplan.embedded.objects.resource import Resource
from stowplan.embedded.registry import large_changes
from stowplan.embedded.storage.catalogue import built_in

_PODS = built_in("", "pods")
_DEFINITIONS = built_in("apiextensions.k8s.io", "customresourcedefinitions")
_THINGS = CustomResource("example.com", "v1", "Thing", "things", "thing", is_custom=True)


@pytest.mark.parametrize(
    ("body", "is_large"),
    [
        pytest.param(b"{" + b" " * 20_000 + b"}", False, id="JSON"),
        pytest.param(b"k8s\0" + b"\x0a\x00" * 10_000, True, id="as many bytes that are not read as fast"),
        pytest.param(b"k8s\0" + b"\x0a\x00" * 1_000, False, id="few of them"),
    ],
)
def test_what_takes_long_to_read_is_large(body: bytes, is_large: bool) -> None:
    assert large_changes.is_large(_PODS, body, None, has_owners=False) is is_large


@pytest.mark.parametrize(
    ("resource", "body", "is_large"),
    [
        pytest.param(_THINGS, b" " * 2000, False, id="a plain definition"),
        pytest.param(replace(_THINGS, has_rules=True), b" " * 2000, True, id="rules"),
        pytest.param(replace(_THINGS, has_rules=True), b" " * 1000, False, id="rules about little"),
        pytest.param(replace(_THINGS, costly_bytes=100), b" " * 2000, False, id="a few choices"),
        pytest.param(replace(_THINGS, costly_bytes=7_000), b" " * 400, True, id="five hundred choices"),
        pytest.param(replace(_THINGS, costly_bytes=500_000), b"{}", True, id="very many defaults"),
        pytest.param(_DEFINITIONS, b'"x-kubernetes-validations"' + b" " * 2000, True, id="a definition with rules"),
        pytest.param(_DEFINITIONS, b" " * 2000, False, id="a definition without"),
    ],
)
def test_what_takes_longer_than_its_size_tells_is_large(resource: Resource, body: bytes, is_large: bool) -> None:
    assert large_changes.is_large(resource, body, None, has_owners=False) is is_large
