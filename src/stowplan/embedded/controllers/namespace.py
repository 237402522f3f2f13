"""The end of a namespace: everything in it is deleted, and when nothing is left the namespace goes too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stowplan.embedded.informers import conditions
from stowplan.embedded.informers.controller import Controller, ControllerContext
from stowplan.embedded.informers.informer import Extract
from stowplan.embedded.informers.metadata import ObjectKey, find_resource
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.stored import Stored

_FINALIZER = "kubernetes"
#: Objects deleted in one go before everybody else has a turn.
_BURST = 200
#: How long to wait for objects that others have to finish first.
_AGAIN_SECONDS = 0.2


class NamespaceController(Controller):
    """Empties namespaces that are being deleted."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "namespace-controller", find_resource(context.api, "v1", "Namespace"))
        self._inform(self._resource, _read_terminating, self._enqueue)

    def reconcile(self, key: ObjectKey) -> float | None:
        """Delete what is left; return when to look again, None when the namespace is gone."""
        stored = self._api.store.get(self._resource, *key)
        if stored is None or _read_terminating(stored) is None:
            return None
        remaining, is_paused = self._delete_content(key[1])
        if remaining:
            self._report(stored.object, remaining)
            return 0.0 if is_paused else _AGAIN_SECONDS
        obj = stored.object
        finalizers = obj.get("spec", {}).get("finalizers") or []
        obj["spec"] = {**obj.get("spec", {}), "finalizers": [each for each in finalizers if each != _FINALIZER]}
        self._update(self._resource, obj, "finalize")
        return None

    def _delete_content(self, namespace: str) -> tuple[dict[str, list[Stored]], bool]:
        """Delete up to a number of objects; return what is still there by resource, and whether more could be done."""
        remaining: dict[str, list[Stored]] = {}
        left = _BURST
        for resource in self._namespaced():
            for stored in self._api.store.list(resource, namespace):
                if left and b'"deletionTimestamp"' not in stored.body:
                    try:
                        self._api.delete(resource, *stored.key, {"propagationPolicy": "Background"})
                    except StatusError as error:
                        if error.code != 404:
                            raise
                    left -= 1
            listed = self._api.store.list(resource, namespace)
            if listed:
                remaining[resource.qualified] = listed
        return remaining, left == 0

    def _namespaced(self) -> Iterable[Resource]:
        """Every resource that a namespace can hold, each storage once."""
        found: dict[str, Resource] = {}
        for resource in self._api.catalogue.all():
            if resource.is_namespaced and "delete" in resource.verbs:
                found.setdefault(resource.storage, resource)
        return found.values()

    def _report(self, obj: Object, remaining: dict[str, list[Stored]]) -> None:
        """Say what the namespace waits for."""
        counts = [f"{name}. has {len(listed)} resource instances" for name, listed in sorted(remaining.items())]
        finalizers = Counter(
            finalizer
            for listed in remaining.values()
            for stored in listed
            if b'"finalizers"' in stored.body
            for finalizer in stored.object["metadata"].get("finalizers") or []
        )
        waits = [f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())]
        finalizers_remain = "Some content in the namespace has finalizers remaining: "
        found = (
            ("NamespaceContentRemaining", "SomeResourcesRemain", "Some resources are remaining: ", counts),
            ("NamespaceFinalizersRemaining", "SomeFinalizersRemain", finalizers_remain, waits),
        )
        status = obj.setdefault("status", {})
        is_changed = False
        for kind, reason, text, parts in found:
            if parts:
                what = (kind, "True", reason, text + ", ".join(parts))
            elif conditions.find(status, kind) is not None:
                what = (kind, "False", reason.replace("Some", "No", 1), "All content has been removed")
            else:
                continue
            is_changed |= conditions.put(status, conditions.make(what, self._moment()))
        if is_changed:
            self._update(self._resource, obj, "status")


def _read_terminating(stored: Stored) -> Extract | None:
    return Extract(*stored.key) if b'"deletionTimestamp"' in stored.body else None
