"""The ReplicaSets of a Deployment: one per pod template, numbered by revision, limited in number.

How large the new and the old ones may be at each step of a rollout is decided here too; `deployment` takes the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from stowplan.embedded.controllers.pod_control import WorkloadObject, compute_hash, create_hashed
from stowplan.embedded.controllers.workload import WorkloadInformer, scaled_value
from stowplan.embedded.informers.metadata import is_terminating
from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.registry.api import Api

TEMPLATE_HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
#: Annotations of a Deployment that its ReplicaSets do not copy.
_OWN_ANNOTATIONS = frozenset(("kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAXIMUM))


class DeploymentReplicaSets:
    """Reads and writes the ReplicaSets of Deployments."""

    def __init__(self, api: Api, replica_sets: WorkloadInformer) -> None:
        self._api = api
        self._informer, self._resource = replica_sets, replica_sets.resource

    def of(self, workload: WorkloadObject) -> list[Object]:
        """Read the ReplicaSets of a Deployment as they are now, after adopting those that nobody has."""
        self._informer.catch_up()
        if not workload.is_terminating:
            for key in sorted(known.key for known in self._informer.orphans.find(workload.namespace)):
                stored = self._api.store.get(self._resource, *key)
                if stored is None or not workload.selector.matches(stored.labels):
                    continue
                obj = stored.object
                if not is_terminating(obj):
                    obj["metadata"].setdefault("ownerReferences", []).append(workload.reference)
                    self._api.update(self._resource, *key, obj)
            self._informer.catch_up()
        return self._informer.objects_owned_by(workload.uid)

    def create(self, workload: WorkloadObject, old: Sequence[Object]) -> Object:
        """Make the ReplicaSet of the current template; one of that name with another template is stepped around."""
        created = create_hashed(
            self._api, self._resource, workload, lambda collisions: _new_replica_set(workload, old, collisions)
        )
        self._note_revision(workload, created)
        return created

    def keep_up(self, workload: WorkloadObject, new: Object, old: Sequence[Object]) -> Object:
        """Give the current ReplicaSet the highest revision, and what annotations the Deployment has."""
        annotations = dict(new["metadata"].get("annotations") or {})
        wanted = {**annotations, **_copied(workload.obj)}
        number = max(map(revision, old), default=0) + 1
        if revision(new) < number:
            wanted[REVISION] = str(number)
            if REVISION in annotations:
                wanted[HISTORY] = ",".join(filter(None, (annotations.get(HISTORY), annotations[REVISION])))
        ready_seconds = workload.spec.get("minReadySeconds", 0)
        if wanted != annotations or new["spec"].get("minReadySeconds", 0) != ready_seconds:
            new["metadata"]["annotations"] = wanted
            new["spec"]["minReadySeconds"] = ready_seconds
            new = self._api.update(self._resource, workload.namespace, new["metadata"]["name"], new)
        self._note_revision(workload, new)
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
        live = [each for each in old if not is_terminating(each)]
        for each in sorted(live, key=revision)[: max(0, len(live) - limit)]:
            status = each.get("status") or {}
            is_observed = status.get("observedGeneration", 0) >= each["metadata"].get("generation", 1)
            if replicas(each) == 0 and status.get("replicas", 0) == 0 and is_observed:
                self._api.delete(self._resource, each["metadata"]["namespace"], each["metadata"]["name"])

    def _note_revision(self, workload: WorkloadObject, new: Object) -> None:
        """Copy the revision of the current ReplicaSet to the Deployment."""
        number = str(revision(new))
        annotations = workload.obj["metadata"].get("annotations") or {}
        if annotations.get(REVISION) == number:
            return
        workload.obj["metadata"]["annotations"] = {**annotations, REVISION: number}
        # By way of the status, so that the new number alone does not count as a new wish.
        workload.save_status(self._api)


def split(deployment: Object, everyone: Sequence[Object]) -> tuple[Object | None, list[Object]]:
    """Tell the ReplicaSet of the current template, the oldest if there are several, from all others."""
    template = _without_hash(deployment["spec"]["template"])
    same = [each for each in everyone if _without_hash(each["spec"]["template"]) == template]
    new = min(same, key=creation, default=None)
    return new, [each for each in everyone if each is not new]


def revision(replica_set: Object) -> int:
    return _annotated_number(replica_set, REVISION)


def _new_replica_set(workload: WorkloadObject, old: Sequence[Object], collisions: int) -> Object:
    spec = workload.spec
    template, selector = spec["template"], spec["selector"]
    name = compute_hash(template, collisions)
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), TEMPLATE_HASH_LABEL: name}
    number = max(map(revision, old), default=0) + 1
    new: Object = {
        "metadata": {
            "name": f"{workload.name}-{name}",
            "namespace": workload.namespace,
            "labels": labels,
            "annotations": {**_copied(workload.obj), REVISION: str(number), **_sizes(workload.obj)},
            "ownerReferences": [workload.reference],
        },
        "spec": {
            "replicas": 0,
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), TEMPLATE_HASH_LABEL: name},
            },
            "template": {**template, "metadata": {**meta, "labels": labels}},
        },
    }
    new["spec"]["replicas"] = size_of_new(workload.obj, new, [*old, new])
    return new


def _sizes(deployment: Object) -> dict[str, str]:
    wanted = replicas(deployment)
    return {DESIRED: str(wanted), MAXIMUM: str(wanted + limits(deployment)[0])}


def _copied(deployment: Object) -> dict[str, str]:
    annotations = deployment["metadata"].get("annotations") or {}
    return {key: value for key, value in annotations.items() if key not in _OWN_ANNOTATIONS}


def _without_hash(template: Object) -> Object:
    labels = (template.get("metadata") or {}).get("labels") or {}
    kept = {key: value for key, value in labels.items() if key != TEMPLATE_HASH_LABEL}
    meta = {key: value for key, value in (template.get("metadata") or {}).items() if value is not None}
    return {**template, "metadata": {**meta, "labels": kept}}


def replicas(obj: Object) -> int:
    """How many replicas an object asks for."""
    count: int = obj["spec"].get("replicas", 1)
    return count


def available(replica_set: Object) -> int:
    return reading.count(replica_set, "status", "availableReplicas")


def total(replica_sets: Iterable[Object]) -> int:
    """How many replicas some ReplicaSets ask for together."""
    return sum(map(replicas, replica_sets))


def is_rolling(deployment: Object) -> bool:
    return (reading.text(deployment, "spec", "strategy", "type") or "RollingUpdate") == "RollingUpdate"


def limits(deployment: Object) -> tuple[int, int]:
    """How many pods may be there too much, and how many may be missing, during a rollout."""
    if not is_rolling(deployment) or replicas(deployment) == 0:
        return 0, 0
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = scaled_value(rolling.get("maxSurge", "25%"), replicas(deployment), rounds_up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", "25%"), replicas(deployment), rounds_up=False)
    if surge == 0 and unavailable == 0:
        # Validation refuses two zeros; percentages of few replicas can still come to that.
        unavailable = 1
    return surge, min(unavailable, replicas(deployment))


def size_of_new(deployment: Object, new: Object, everyone: Sequence[Object]) -> int:
    """How large the new ReplicaSet may be now; `everyone` includes it."""
    wanted = replicas(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + limits(deployment)[0] - total(everyone)
    return replicas(new) + (min(room, wanted - replicas(new)) if room > 0 else 0)


def sizes_of_old(deployment: Object, new: Object, old: Sequence[Object]) -> dict[str, int]:
    """How large the old ReplicaSets may be now, by name, oldest first; those that stay are left out."""
    floor = replicas(deployment) - limits(deployment)[1]
    spare = total([*old, new]) - floor - (replicas(new) - available(new))
    if spare <= 0:
        return {}
    sizes = {each["metadata"]["name"]: replicas(each) for each in old}
    by_age = sorted(old, key=creation)
    # Pods that are not available go first: nobody misses them.
    _drop(by_age, sizes, spare, lambda each: replicas(each) - available(each))
    spare = available(new) + sum(map(available, old)) - floor
    _drop(by_age, sizes, spare, lambda each: sizes[each["metadata"]["name"]])
    return {name: sizes[name] for each in old if sizes[name := each["metadata"]["name"]] != replicas(each)}


def _drop(old: Sequence[Object], sizes: dict[str, int], spare: int, most: Callable[[Object], int]) -> None:
    """Make ReplicaSets smaller one after the other, each by what it can do without, until nothing is to spare."""
    for each in old:
        dropped = max(0, min(spare, most(each)))
        sizes[each["metadata"]["name"]] -= dropped
        spare -= dropped


def proportional(deployment: Object, active: Sequence[Object]) -> dict[str, int]:
    """Share a change of scale in the middle of a rollout among the active ReplicaSets, by their sizes."""
    allowed = replicas(deployment) + limits(deployment)[0] if replicas(deployment) > 0 else 0
    change = allowed - total(active)
    by_size = sorted(active, key=creation, reverse=change > 0)
    by_size.sort(key=replicas, reverse=True)
    sizes, added = {}, 0
    for each in by_size:
        share = _share(deployment, each, change, added)
        sizes[each["metadata"]["name"]] = replicas(each) + share
        added += share
    if by_size:
        largest = by_size[0]["metadata"]["name"]
        sizes[largest] = max(0, sizes[largest] + change - added)
    return sizes


def _share(deployment: Object, replica_set: Object, change: int, added: int) -> int:
    """What of a change of scale falls to one ReplicaSet, never more than is left."""
    if change == 0 or replicas(replica_set) == 0:
        return 0
    if replicas(deployment) == 0:
        share = -replicas(replica_set)
    else:
        # How large the Deployment was at most, surge included, when this ReplicaSet was last scaled.
        maximum = _annotated_number(replica_set, MAXIMUM) or replicas(deployment)
        now = replicas(deployment) + limits(deployment)[0]
        # Half away from zero, as the sizes are counted upstream.
        share = int(replicas(replica_set) * now / maximum + 0.5) - replicas(replica_set)
    left = change - added
    return min(share, left) if change > 0 else max(share, left)


def _annotated_number(obj: Object, annotation: str) -> int:
    text = reading.text(obj, "metadata", "annotations", annotation)
    return int(text) if text.isdigit() else 0


def creation(obj: Object) -> tuple[str, str]:
    """Order objects by age; those of one second by name."""
    meta = obj["metadata"]
    return meta.get("creationTimestamp") or "", meta["name"]
