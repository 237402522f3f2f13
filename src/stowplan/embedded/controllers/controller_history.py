"""ControllerRevisions: the pod templates that a StatefulSet or DaemonSet has had, for rollouts and their undoing."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy

from stowplan.embedded.controllers.pod_control import WorkloadObject, compute_hash, create_hashed
from stowplan.embedded.informers.metadata import controller_of, find_resource
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

REVISION_LABEL = "controller-revision-hash"
#: As `kubectl rollout undo` sends it back: a patch that replaces the template.
_REPLACE = {"$patch": "replace"}


class ControllerHistory:
    """The revisions of the sets of one kind; `hash_label` is where they keep the name of their template."""

    def __init__(self, api: Api, hash_label: str) -> None:
        self._api = api
        self._hash_label = hash_label
        self._resource = find_resource(api, "apps/v1", "ControllerRevision")

    def of(self, workload: WorkloadObject) -> list[Object]:
        """List the revisions of a set, oldest first."""
        mark = workload.uid.encode()
        listed = self._api.store.list(self._resource, workload.namespace)
        # Only those that mention the set at all are worth decoding.
        candidates = [stored.object for stored in listed if mark in stored.body]
        own = [each for each in candidates if (controller_of(each) or {}).get("uid") == workload.uid]
        return sorted(own, key=lambda each: (each["revision"], each["metadata"]["name"]))

    def current(self, workload: WorkloadObject) -> Object:
        """Find the revision of the template as it is now; make it, or make it the latest again."""
        known = self.of(workload)
        template = workload.spec["template"]
        same = [each for each in known if template_of(each) == template]
        if not same:
            return create_hashed(
                self._api, self._resource, workload, lambda collisions: self._revision(workload, known, collisions)
            )
        latest, found = known[-1], same[-1]
        if found is latest:
            return found
        found["revision"] = latest["revision"] + 1
        return self._api.update(self._resource, workload.namespace, found["metadata"]["name"], found)

    def clean_up(self, workload: WorkloadObject, live: Collection[str]) -> None:
        """Delete the oldest revisions beyond the limit, those in use aside."""
        limit = workload.spec.get("revisionHistoryLimit", 10)
        unused = [each for each in self.of(workload) if self.name_of(each) not in live]
        for each in unused[: max(0, len(unused) - limit)]:
            self._api.delete(self._resource, workload.namespace, each["metadata"]["name"])

    def name_of(self, revision: Object) -> str:
        """What the pods of a revision bear as their label: its name, or just its hash."""
        meta = revision["metadata"]
        return str(meta["labels"][REVISION_LABEL] if self._hash_label == REVISION_LABEL else meta["name"])

    def _revision(self, workload: WorkloadObject, known: list[Object], collisions: int) -> Object:
        template = deepcopy(workload.spec["template"])
        name = compute_hash(template, collisions)
        labels = (template.get("metadata") or {}).get("labels") or {}
        return {
            "metadata": {
                "name": f"{workload.name}-{name}",
                "namespace": workload.namespace,
                "labels": {**labels, self._hash_label: name},
                "annotations": dict(workload.obj["metadata"].get("annotations") or {}),
                "ownerReferences": [workload.reference],
            },
            "data": {"spec": {"template": {**template, **_REPLACE}}},
            "revision": known[-1]["revision"] + 1 if known else 1,
        }


def template_of(revision: Object) -> Object:
    """The pod template that a revision keeps."""
    template = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key not in _REPLACE}
