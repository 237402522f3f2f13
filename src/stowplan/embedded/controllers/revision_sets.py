"""The ReplicaSets of a Deployment: found by owner, one per pod template, numbered by revision, limited in number."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from stowplan.embedded.controllers import rollouts
from stowplan.embedded.controllers.claims import Claimant, save
from stowplan.embedded.controllers.rollouts import replicas
from stowplan.embedded.controllers.sets import KnownSet
from stowplan.embedded.controllers.template_hash import hash_of
from stowplan.embedded.following import resources
from stowplan.embedded.following.follower import Follower, Key
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
#: Annotations of a Deployment that its ReplicaSets do not copy.
_OWN_ANNOTATIONS = frozenset(
    ("kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, rollouts.DESIRED, rollouts.MAXIMUM)
)


class Revisions:
    """Reads and writes the ReplicaSets of Deployments."""

    def __init__(self, api: Api, replica_sets: Follower[KnownSet]) -> None:
        self._api = api
        self._resource = resources.apps(api, "ReplicaSet")
        self._known = replica_sets
        self._by_owner: dict[str, set[Key]] = {}
        self._orphans: dict[str, set[Key]] = {}
        replica_sets.tell(self._index)

    def of(self, claimant: Claimant) -> list[Object]:
        """Read the ReplicaSets of a Deployment as they are now, after adopting those that nobody has."""
        self._known.catch_up()
        if "deletionTimestamp" not in claimant.obj["metadata"]:
            self._adopt(claimant)
        found = [self._api.store.get(self._resource, *key) for key in sorted(self._by_owner.get(claimant.uid, ()))]
        return [stored.object for stored in found if stored is not None]

    def create(self, claimant: Claimant, old: Sequence[Object]) -> Object:
        """Make the ReplicaSet of the current template; one of that name with another template is stepped around."""
        collisions: int = (claimant.obj.get("status") or {}).get("collisionCount", 0)
        while True:
            new = _new_replica_set(claimant, old, collisions)
            try:
                created = self._api.create(self._resource, claimant.namespace, new)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
                collisions += 1
                claimant.obj.setdefault("status", {})["collisionCount"] = collisions
            else:
                self._note_revision(claimant, created)
                return created

    def keep_up(self, claimant: Claimant, new: Object, old: Sequence[Object]) -> Object:
        """Give the current ReplicaSet the highest revision, and what annotations the Deployment has."""
        annotations = dict(new["metadata"].get("annotations") or {})
        wanted = {**annotations, **_copied(claimant.obj)}
        number = max(map(revision, old), default=0) + 1
        if revision(new) < number:
            wanted[REVISION] = str(number)
            if REVISION in annotations:
                wanted[HISTORY] = ",".join(filter(None, (annotations.get(HISTORY), annotations[REVISION])))
        ready_seconds = claimant.obj["spec"].get("minReadySeconds", 0)
        if wanted != annotations or new["spec"].get("minReadySeconds", 0) != ready_seconds:
            new["metadata"]["annotations"] = wanted
            new["spec"]["minReadySeconds"] = ready_seconds
            new = self._api.update(self._resource, claimant.namespace, new["metadata"]["name"], new)
        self._note_revision(claimant, new)
        return new

    def resize(self, deployment: Object, replica_set: Object, size: int) -> bool:
        """Change the size of a ReplicaSet and what it notes of its Deployment; return whether anything changed."""
        meta = replica_set["metadata"]
        noted = {**(meta.get("annotations") or {}), **_sizes(deployment)}
        if replicas(replica_set) == size and (noted == meta.get("annotations") or size == 0):
            return False
        replica_set["spec"]["replicas"] = size
        meta["annotations"] = noted
        replica_set.update(self._api.update(self._resource, meta["namespace"], meta["name"], replica_set))
        return True

    def clean_up(self, deployment: Object, old: Sequence[Object]) -> None:
        """Delete the oldest ReplicaSets beyond the limit, those that still have pods aside."""
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        live = [each for each in old if "deletionTimestamp" not in each["metadata"]]
        for each in sorted(live, key=revision)[: max(0, len(live) - limit)]:
            status = each.get("status") or {}
            is_observed = status.get("observedGeneration", 0) >= each["metadata"].get("generation", 1)
            if replicas(each) == 0 and status.get("replicas", 0) == 0 and is_observed:
                self._api.delete(self._resource, each["metadata"]["namespace"], each["metadata"]["name"])

    def _note_revision(self, claimant: Claimant, new: Object) -> None:
        """Copy the revision of the current ReplicaSet to the Deployment."""
        number = str(revision(new))
        annotations = claimant.obj["metadata"].get("annotations") or {}
        if annotations.get(REVISION) == number:
            return
        claimant.obj["metadata"]["annotations"] = {**annotations, REVISION: number}
        # By way of the status, so that the new number alone does not count as a new wish.
        save(self._api, claimant, "status")

    def _adopt(self, claimant: Claimant) -> None:
        for key in sorted(self._orphans.get(claimant.namespace, ())):
            stored = self._api.store.get(self._resource, *key)
            if stored is None or not claimant.selector.matches(stored.labels):
                continue
            obj = stored.object
            if "deletionTimestamp" not in obj["metadata"]:
                obj["metadata"].setdefault("ownerReferences", []).append(claimant.reference)
                self._api.update(self._resource, *key, obj)
        self._known.catch_up()

    def _index(self, before: KnownSet | None, after: KnownSet | None) -> None:
        if before is not None:
            self._place(before).discard(before.key)
        if after is not None:
            self._place(after).add(after.key)

    def _place(self, known: KnownSet) -> set[Key]:
        if known.owner_uid:
            return self._by_owner.setdefault(known.owner_uid, set())
        return self._orphans.setdefault(known.namespace, set())


def split(deployment: Object, everyone: Sequence[Object]) -> tuple[Object | None, list[Object]]:
    """Tell the ReplicaSet of the current template, the oldest if there are several, from all others."""
    template = _without_hash(deployment["spec"]["template"])
    same = [each for each in everyone if _without_hash(each["spec"]["template"]) == template]
    new = min(same, key=rollouts.creation, default=None)
    return new, [each for each in everyone if each is not new]


def revision(replica_set: Object) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def _new_replica_set(claimant: Claimant, old: Sequence[Object], collisions: int) -> Object:
    spec = claimant.obj["spec"]
    template = deepcopy(spec["template"])
    name = hash_of(template, collisions)
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH: name}
    template.setdefault("metadata", {})["labels"] = labels
    selector = deepcopy(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH: name}
    number = max(map(revision, old), default=0) + 1
    new: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{claimant.obj['metadata']['name']}-{name}",
            "namespace": claimant.namespace,
            "labels": labels,
            "annotations": {**_copied(claimant.obj), REVISION: str(number), **_sizes(claimant.obj)},
            "ownerReferences": [claimant.reference],
        },
        "spec": {
            "replicas": 0,
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": selector,
            "template": template,
        },
    }
    new["spec"]["replicas"] = rollouts.size_of_new(claimant.obj, new, [*old, new])
    return new


def _sizes(deployment: Object) -> dict[str, str]:
    wanted = replicas(deployment)
    return {rollouts.DESIRED: str(wanted), rollouts.MAXIMUM: str(wanted + rollouts.limits(deployment)[0])}


def _copied(deployment: Object) -> dict[str, str]:
    annotations = deployment["metadata"].get("annotations") or {}
    return {key: value for key, value in annotations.items() if key not in _OWN_ANNOTATIONS}


def _without_hash(template: Object) -> Object:
    labels = (template.get("metadata") or {}).get("labels") or {}
    kept = {key: value for key, value in labels.items() if key != HASH}
    meta = {key: value for key, value in (template.get("metadata") or {}).items() if value is not None}
    return {**template, "metadata": {**meta, "labels": kept}}
