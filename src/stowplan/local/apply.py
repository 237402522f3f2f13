"""Puts objects into an embedded cluster, in process: new ones are created, known ones changed as `kubectl apply` would.

Objects that come from a real cluster are taken over as they are, uid and status included, so that owners keep what is
theirs and nothing has to happen again that has happened there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from stowplan.config import feature_gates
from stowplan.config.errors import suggestion
from stowplan.embedded.admission import chain
from stowplan.embedded.informers.metadata import find_resource
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.patching.patch import APPLY_PATCH, Patch
from stowplan.embedded.registry.api import Api
from stowplan.embedded.registry.parts import STATUS
from stowplan.embedded.requests.request import Options, Target
from stowplan.embedded.storage.catalogue import all_of
from stowplan.local.manifests import Manifest, ManifestError
from stowplan.model import json_values

FIELD_MANAGER: Final = "stowplan"
#: What a server writes for itself and its clients, and what means nothing to another one.
_LEFT_BEHIND: Final = ("resourceVersion", "selfLink", "managedFields")


class Applier:
    """Applies manifests to one cluster. What they say of the status counts only if asked for: it is the server's."""

    def __init__(self, api: Api, *, keeps_status: bool = False) -> None:
        self._api = api
        self._keeps_status = keeps_status

    def is_from_a_server(self, manifest: Manifest) -> bool:
        """Say whether an object is one that some server has completed, so that it can be taken over."""
        metadata = manifest.content.get("metadata") or {}
        is_complete = metadata.get("uid") and metadata.get("creationTimestamp")
        # A definition has to be applied to be served.
        return bool(is_complete) and not manifest.is_definition

    def is_served(self, manifest: Manifest) -> bool:
        """Say whether the cluster knows the kind of an object."""
        return self._api.catalogue.of_kind(manifest.content["apiVersion"], manifest.kind) is not None

    def apply(self, manifest: Manifest) -> list[str]:
        """Create an object, or change it to what the manifest says, and return what the cluster warns of.

        Raise ManifestError if the cluster refuses it.
        """
        resource, namespace = self._place(manifest)
        metadata = manifest.content.get("metadata") or {}
        with _told_of(manifest):
            return self._apply(resource, namespace, {**manifest.content, "metadata": _moved(metadata)})

    def unknown_fields(self, manifest: Manifest) -> list[str]:
        """Say which fields of an object this cluster does not know. Raise ManifestError for a value of a wrong type."""
        resource, _ = self._place(manifest)
        with _told_of(manifest):
            return chain.check_fields(resource, _copy(manifest.content), "Warn")

    def take_over(self, manifest: Manifest) -> None:
        """Put in an object of another cluster as it was there, in place of one of ours.

        Raise ManifestError for a value of a wrong type; what that cluster knows beyond ours is kept.
        """
        self.unknown_fields(manifest)
        resource, _ = self._place(manifest)
        copied = _copy(manifest.content)
        copied["metadata"] = _moved(copied["metadata"])
        with _told_of(manifest):
            chain.check_status(resource, copied)
        self._api.take_over(resource, copied)

    def ensure_namespace(self, manifest: Manifest) -> None:
        """Make the namespace that an object is in, if that was not given itself."""
        _, name = self._place(manifest)
        resource = find_resource(self._api, "v1", "Namespace")
        if name and self._api.store.get(resource, "", name) is None:
            self._api.create(resource, "", {"metadata": {"name": name}})

    def _apply(self, resource: Resource, namespace: str, content: Object) -> list[str]:
        # As strict as kubectl: a field that is not there is most likely misspelt.
        copied = _copy(content)
        options = Options(field_manager=FIELD_MANAGER, field_validation="Strict")
        name, status = copied["metadata"].get("name", ""), copied.get(STATUS)
        if not name or self._api.store.get(resource, namespace, name) is None:
            created = self._api.insert(Target(resource, namespace), copied, options)
            if status and self._keeps_status:
                self._write_status(resource, created, status)
            return options.warnings
        patch = Patch(APPLY_PATCH, msgspec.json.encode(copied), FIELD_MANAGER, force=True, time=self._api.now())
        self._api.amend(Target(resource, namespace, name), patch, options)
        return options.warnings

    def _write_status(self, resource: Resource, created: Object, status: Object) -> None:
        told = {**created, STATUS: {**(created.get(STATUS) or {}), **status}}
        chain.check_status(resource, told)
        meta = created["metadata"]
        self._api.update(resource, meta.get("namespace", ""), meta["name"], told, subresource=STATUS)

    def _place(self, manifest: Manifest) -> tuple[Resource, str]:
        """Return what the object is and the namespace it goes to."""
        content = manifest.content
        resource = self._api.catalogue.of_kind(content["apiVersion"], content["kind"])
        if resource is None:
            what = f"{content['kind']} of {content['apiVersion']}"
            remedy = self._what_was_meant(content["apiVersion"], content["kind"])
            raise ManifestError(f"{manifest.title}: this cluster does not serve {what}; {remedy}")
        namespace = (content.get("metadata") or {}).get("namespace") or "default"
        return resource, namespace if resource.is_namespaced else ""

    def _what_was_meant(self, api_version: str, kind: str) -> str:
        """Name the gate or the version that has the kind, or the kind of that version; else somebody defines it."""
        if gate := self._api.catalogue.gate_of(api_version, kind):
            return self._switching_on(gate)
        served = self._api.catalogue.all()
        group, slash, _ = api_version.rpartition("/")
        versions = " or ".join(sorted({one.api_version for one in served if one.kind == kind}))
        if versions and any(one.group == (group if slash else "") for one in served):
            return f"it is of {versions}"
        if versions:
            # Others have kinds of the same name.
            return f"give its CustomResourceDefinition first, or write {versions} if that is meant"
        for other in all_of(self._api.catalogue.release):
            if (other.group, other.kind) == (group if slash else "", kind):
                # Of another release, and not served in the version of this one either.
                gate = self._api.catalogue.gate_of(other.api_version, kind)
                return f"it is of {other.api_version}; {self._switching_on(gate)}"
        near = suggestion(kind, {one.kind for one in served if one.api_version == api_version})
        return near if near.startswith("did you mean") else "give its CustomResourceDefinition first"

    def _switching_on(self, gate: str) -> str:
        """Say which gates to switch, with those that a release has beside it to make something of the kind."""
        gates = (gate, *feature_gates.parts_of(gate, self._api.catalogue.release))
        return f"switch it on with --feature-gates={','.join(f'{one}=true' for one in gates)}"


@contextmanager
def _told_of(manifest: Manifest) -> Iterator[None]:
    try:
        yield
    except StatusError as error:
        raise ManifestError(f"{manifest.title}: {error.message}") from None


def _copy(content: Mapping[str, Any]) -> Object:
    copied: Object = json_values.read_object(msgspec.json.encode(content))
    return copied


def _moved(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in _LEFT_BEHIND}
