"""ControllerRevisions: the pod templates that a StatefulSet or DaemonSet has had, for rollouts and their undoing."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy

from stowplan.embedded.controllers.claims import Claimant
from stowplan.embedded.controllers.template_hash import hash_of
from stowplan.embedded.following import resources
from stowplan.embedded.following.owners import controller_of
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

REVISION_LABEL = "controller-revision-hash"
#: As `kubectl rollout undo` sends it back: a patch that replaces the template.
_REPLACE = {"$patch": "replace"}


class History:
    """The revisions of the sets of one kind; `hash_label` is where they keep the name of their template."""

    def __init__(self, api: Api, hash_label: str) -> None:
        self._api = api
        self._hash_label = hash_label
        self._resource = resources.apps(api, "ControllerRevision")

    def of(self, claimant: Claimant) -> list[Object]:
        """List the revisions of a set, oldest first."""
        mark = claimant.uid.encode()
        listed = self._api.store.list(self._resource, claimant.namespace)
        # Only those that mention the set at all are worth decoding.
        candidates = [stored.object for stored in listed if mark in stored.body]
        own = [each for each in candidates if (controller_of(each) or {}).get("uid") == claimant.uid]
        return sorted(own, key=lambda each: (each["revision"], each["metadata"]["name"]))

    def current(self, claimant: Claimant) -> Object:
        """Find the revision of the template as it is now; make it, or make it the latest again."""
        known = self.of(claimant)
        template = claimant.obj["spec"]["template"]
        same = [each for each in known if template_of(each) == template]
        if not same:
            return self._create(claimant, known)
        latest, found = known[-1], same[-1]
        if found is latest:
            return found
        found["revision"] = latest["revision"] + 1
        return self._api.update(self._resource, claimant.namespace, found["metadata"]["name"], found)

    def clean_up(self, claimant: Claimant, live: Collection[str]) -> None:
        """Delete the oldest revisions beyond the limit, those in use aside."""
        limit = claimant.obj["spec"].get("revisionHistoryLimit", 10)
        unused = [each for each in self.of(claimant) if self.name_of(each) not in live]
        for each in unused[: max(0, len(unused) - limit)]:
            self._api.delete(self._resource, claimant.namespace, each["metadata"]["name"])

    def name_of(self, revision: Object) -> str:
        """What the pods of a revision bear as their label: its name, or just its hash."""
        name: str = revision["metadata"]["name"]
        if self._hash_label == REVISION_LABEL:
            name = revision["metadata"]["labels"][REVISION_LABEL]
        return name

    def _create(self, claimant: Claimant, known: list[Object]) -> Object:
        collisions: int = (claimant.obj.get("status") or {}).get("collisionCount", 0)
        while True:
            made = self._revision(claimant, known, collisions)
            try:
                return self._api.create(self._resource, claimant.namespace, made)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
            collisions += 1
            claimant.obj.setdefault("status", {})["collisionCount"] = collisions

    def _revision(self, claimant: Claimant, known: list[Object], collisions: int) -> Object:
        template = deepcopy(claimant.obj["spec"]["template"])
        name = hash_of(template, collisions)
        labels = (template.get("metadata") or {}).get("labels") or {}
        return {
            "apiVersion": self._resource.api_version,
            "kind": self._resource.kind,
            "metadata": {
                "name": f"{claimant.obj['metadata']['name']}-{name}",
                "namespace": claimant.namespace,
                "labels": {**labels, self._hash_label: name},
                "annotations": dict(claimant.obj["metadata"].get("annotations") or {}),
                "ownerReferences": [claimant.reference],
            },
            "data": {"spec": {"template": {**template, **_REPLACE}}},
            "revision": known[-1]["revision"] + 1 if known else 1,
        }


def template_of(revision: Object) -> Object:
    """The pod template that a revision keeps."""
    template = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key not in _REPLACE}
