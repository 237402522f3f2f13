"""The arithmetic of a Deployment: how large its new and old ReplicaSets may be at each step of a rollout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowplan.embedded.controllers.amounts import scaled
from stowplan.embedded.objects.resource import Object

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"


def replicas(obj: Object) -> int:
    """How many replicas an object asks for."""
    count: int = obj["spec"].get("replicas", 1)
    return count


def available(replica_set: Object) -> int:
    count: int = (replica_set.get("status") or {}).get("availableReplicas", 0)
    return count


def total(replica_sets: Iterable[Object]) -> int:
    """How many replicas some ReplicaSets ask for together."""
    return sum(map(replicas, replica_sets))


def is_rolling(deployment: Object) -> bool:
    kind: str = (deployment["spec"].get("strategy") or {}).get("type") or "RollingUpdate"
    return kind == "RollingUpdate"


def limits(deployment: Object) -> tuple[int, int]:
    """How many pods may be there too much, and how many may be missing, during a rollout."""
    if not is_rolling(deployment) or replicas(deployment) == 0:
        return 0, 0
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), replicas(deployment), rounds_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), replicas(deployment), rounds_up=False)
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
    if room <= 0:
        return replicas(new)
    return replicas(new) + min(room, wanted - replicas(new))


def sizes_of_old(deployment: Object, new: Object, old: Sequence[Object]) -> dict[str, int]:
    """How large the old ReplicaSets may be now, by name, oldest first; those that stay are left out."""
    floor = replicas(deployment) - limits(deployment)[1]
    spare = total([*old, new]) - floor - (replicas(new) - available(new))
    if spare <= 0:
        return {}
    sizes = {each["metadata"]["name"]: replicas(each) for each in old}
    by_age = sorted(old, key=creation)
    _drop_unhealthy(by_age, sizes, spare)
    _drop_healthy(by_age, sizes, available(new) + sum(map(available, old)) - floor)
    return {each["metadata"]["name"]: s for each in old if (s := sizes[each["metadata"]["name"]]) != replicas(each)}


def _drop_unhealthy(old: Sequence[Object], sizes: dict[str, int], spare: int) -> None:
    """Pods that are not available go first: nobody misses them."""
    for each in old:
        dropped = max(0, min(spare, replicas(each) - available(each)))
        sizes[each["metadata"]["name"]] -= dropped
        spare -= dropped


def _drop_healthy(old: Sequence[Object], sizes: dict[str, int], spare: int) -> None:
    for each in old:
        name = each["metadata"]["name"]
        dropped = max(0, min(spare, sizes[name]))
        sizes[name] -= dropped
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
        maximum = annotated_maximum(replica_set) or replicas(deployment)
        now = replicas(deployment) + limits(deployment)[0]
        # Half away from zero, as the sizes are counted upstream.
        share = int(replicas(replica_set) * now / maximum + 0.5) - replicas(replica_set)
    left = change - added
    return min(share, left) if change > 0 else max(share, left)


def annotated_maximum(replica_set: Object) -> int:
    """How large the Deployment was at most, surge included, when this ReplicaSet was last scaled."""
    text = (replica_set["metadata"].get("annotations") or {}).get(MAXIMUM, "")
    return int(text) if text.isdigit() else 0


def creation(obj: Object) -> tuple[str, str]:
    """Order objects by age; those of one second by name."""
    meta = obj["metadata"]
    return meta.get("creationTimestamp") or "", meta["name"]
