"""Keeps the catalogue in step with the CustomResourceDefinitions in the store."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from stowplan.embedded.custom import registration
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.catalogue import BUILT_IN, Catalogue
from stowplan.embedded.storage.store import Store

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_RESOURCE: Final = next(resource for resource in BUILT_IN if resource.qualified == DEFINITIONS)


def register_all(store: Store, catalogue: Catalogue) -> None:
    """Serve what the definitions that are there already ask for."""
    for stored in store.list(_RESOURCE):
        register(stored.object, catalogue)


def complete(definition: Object, catalogue: Catalogue, now: datetime) -> None:
    """Say in a definition whether its names are accepted."""
    definition["status"] = registration.status(definition, catalogue, now)


def register(definition: Object, catalogue: Catalogue) -> None:
    """Serve what a definition asks for, if its names are accepted."""
    if not registration.name_conflicts(definition, catalogue):
        registration.register(catalogue, definition)


def unregister(definition: Object, store: Store, catalogue: Catalogue) -> None:
    """Serve a definition no longer; its objects go with it."""
    for resource in registration.served(catalogue, definition):
        for stored in store.list(resource):
            store.remove(resource, *stored.key)
    registration.unregister(catalogue, definition)
