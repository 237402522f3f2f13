"""Values that make no sense are refused with the field, the type and the words of a real API server."""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.releases import RELEASE, VERSIONS
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import MERGE_PATCH, Patch
from stowplan.embedded.registry.api import Api
from stowplan.embedded.requests.request import Options, Target
from tests import nonsense
from tests.nonsense import Case
from tests.unit.embedded.admission.doorstep import create, new_api, refusal_of_new

APIS = {release: new_api(release=release) for release in VERSIONS}
API = APIS[RELEASE]


def resource_of(obj: Object, api: Api = API) -> Resource:
    found = api.catalogue.of_kind(obj["apiVersion"], obj["kind"])
    assert found is not None
    return found


@pytest.mark.parametrize("kind", sorted(nonsense.sound()))
def test_a_sound_object_is_taken(kind: str) -> None:
    obj = nonsense.sound()[kind]
    create(API, resource_of(obj), obj, is_dry_run=True, field_validation="Strict")


@pytest.mark.parametrize(("release", "case"), nonsense.of_each_release(nonsense.objects, VERSIONS))
def test_nonsense_is_refused(release: str, case: Case) -> None:
    api = APIS[release]
    error = refusal_of_new(api, resource_of(case.content, api), case.content, is_dry_run=True)
    assert (error.code, nonsense.told(error.status())) == (422, case.refused)


@pytest.mark.parametrize(("release", "case"), nonsense.of_each_release(nonsense.updates, VERSIONS))
def test_a_change_that_may_not_be_is_refused(release: str, case: Case) -> None:
    api, obj = new_api(release=release), nonsense.sound()[case.kind]
    resource = resource_of(obj, api)
    create(api, resource, obj)
    target = Target(resource, "default" if resource.is_namespaced else "", obj["metadata"]["name"])
    with pytest.raises(StatusError) as refused:
        api.amend(target, Patch(MERGE_PATCH, msgspec.json.encode(case.content)), Options())
    assert (refused.value.code, nonsense.told(refused.value.status())) == (422, case.refused)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place within an object."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


@pytest.mark.parametrize("kind", sorted(nonsense.sound()))
@pytest.mark.parametrize("junk", [[{}], "", "%*/"], ids=repr)
def test_whatever_stands_in_a_field_the_object_is_taken_or_refused(kind: str, junk: Any) -> None:
    obj = nonsense.sound()[kind]
    for *path, last in (place for place in places(obj) if len(place) > 1):
        spoilt = copy.deepcopy(obj)
        place = functools.reduce(operator.getitem, path, spoilt)
        place[last] = copy.deepcopy(junk)
        # Anything but a refusal ends the test.
        with contextlib.suppress(StatusError):
            create(API, resource_of(obj), spoilt, is_dry_run=True)
