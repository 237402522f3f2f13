"""An API in memory with what every cluster has, and short ways to try and to be refused."""

from __future__ import annotations

import copy
import random
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stowplan.embedded.controllers import bootstrap
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.releases import RELEASE
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import MERGE_PATCH, Patch
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.deletion import DeleteOptions
from stowplan.embedded.requests.request import Options, Target
from stowplan.embedded.storage.catalogue import Catalogue
from stowplan.embedded.storage.store import Store
from tests.unit.embedded.given import PODS

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def new_api(gates: frozenset[str] = frozenset(), release: str = RELEASE) -> Api:
    """An API with the namespaces, service accounts and priority classes of a new cluster."""
    api = Api(Store(), Catalogue(release, gates), lambda: NOW, random.Random(1).getrandbits)
    bootstrap.ensure(api)
    return api


def create(api: Api, of: Resource, obj: Object, **options: Any) -> Object:
    """Create an object as a client does; its namespace is `default` unless it says another."""
    namespace = obj.get("metadata", {}).get("namespace", "default") if of.is_namespaced else ""
    return api.insert(Target(of, namespace), copy.deepcopy(obj), Options(**options))


def change(api: Api, of: Resource, name: str, patch: Object, subresource: str = "") -> Object:
    """Merge-patch an object as a client does."""
    target = Target(of, "default" if of.is_namespaced else "", name, subresource)
    return api.amend(target, Patch(MERGE_PATCH, msgspec.json.encode(patch)), Options())


def delete(api: Api, of: Resource, name: str) -> None:
    """Delete an object as a client does."""
    api.remove(Target(of, "default" if of.is_namespaced else "", name), DeleteOptions(), Options())


def refusal_of_new(api: Api, of: Resource, obj: Object, **options: Any) -> StatusError:
    """Try to create an object that must be refused."""
    with pytest.raises(StatusError) as refused:
        create(api, of, obj, **options)
    return refused.value


def refusal_of_change(api: Api, of: Resource, name: str, patch: Object, subresource: str = "") -> StatusError:
    """Try to change an object in a way that must be refused."""
    with pytest.raises(StatusError) as refused:
        change(api, of, name, patch, subresource)
    return refused.value


def pod(name: str = "p", container: Object | None = None, metadata: Object | None = None, **spec: Any) -> Object:
    """A pod with one container; keywords add to its spec."""
    return {
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec},
    }


def asking(requests: Object | None = None, limits: Object | None = None, name: str = "p") -> Object:
    """A pod whose container asks for these amounts."""
    amounts = {"requests": requests, "limits": limits}
    return pod(name, {"resources": {field: amount for field, amount in amounts.items() if amount is not None}})


def pod_problem(obj: Object) -> str:
    """What a new cluster says against a pod, without the words that are always the same."""
    error = refusal_of_new(new_api(), PODS, obj)
    return error.message.removeprefix('Pod "p" is invalid: ')
