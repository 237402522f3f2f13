"""How large the ReplicaSets of a Deployment may be at each step."""

from typing import Any

import pytest

from stowplan.embedded.controllers import deployment_replicasets


def deployment(replicas: int, surge: Any = "25%", missing: Any = "25%") -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": missing}
    return {"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


def replica_set(name: str, size: int, available: int | None = None, maximum: int = 0) -> dict[str, Any]:
    annotations = {"deployment.kubernetes.io/max-replicas": str(maximum)} if maximum else {}
    metadata = {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{len(name)}Z", "annotations": annotations}
    count = size if available is None else available
    return {"metadata": metadata, "spec": {"replicas": size}, "status": {"availableReplicas": count}}


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(deployment(10), (3, 2), id="percentages round up for surge and down for missing"),
        pytest.param(deployment(1), (1, 0), id="one replica is never missing if one more may be there"),
        pytest.param(deployment(10, 0, 3), (0, 3), id="numbers are taken as they are"),
        pytest.param(deployment(3, "0%", "10%"), (0, 1), id="if both come to nothing one may be missing"),
        pytest.param(deployment(2, 1, 5), (1, 2), id="no more can be missing than there are"),
        pytest.param(deployment(0, 1, 1), (0, 0), id="nothing to roll without replicas"),
        pytest.param({"spec": {"replicas": 4, "strategy": {"type": "Recreate"}}}, (0, 0), id="Recreate has no limits"),
    ],
)
def test_surge_and_missing(of: dict[str, Any], expected: tuple[int, int]) -> None:
    assert deployment_replicasets.limits(of) == expected


@pytest.mark.parametrize(
    ("of", "new", "old", "expected"),
    [
        pytest.param(deployment(10), 0, 10, 3, id="starts with the surge"),
        pytest.param(deployment(10), 3, 10, 3, id="stays while there is no room"),
        pytest.param(deployment(10), 3, 6, 7, id="grows into the room that old ones leave"),
        pytest.param(deployment(10), 9, 1, 10, id="never beyond what is asked for"),
        pytest.param(
            {"spec": {"replicas": 4, "strategy": {"type": "Recreate"}}}, 0, 0, 4, id="Recreate goes all the way"
        ),
    ],
)
def test_the_new_set_grows(of: dict[str, Any], new: int, old: int, expected: int) -> None:
    fresh = replica_set("new", new)
    assert deployment_replicasets.size_of_new(of, fresh, [fresh, replica_set("o", old)]) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param((3, 0), [("a", 10, 10)], {"a": 8}, id="shrinks by what may be missing"),
        pytest.param((5, 0), [("a", 8, 8)], {}, id="waits for new pods to serve"),
        pytest.param((5, 5), [("a", 8, 8)], {"a": 3}, id="shrinks as new pods serve"),
        pytest.param((3, 0), [("a", 10, 7)], {"a": 8}, id="pods that do not serve go first"),
        pytest.param((3, 3), [("a", 2, 2), ("bb", 8, 8)], {"a": 0, "bb": 5}, id="the oldest set shrinks first"),
        pytest.param((10, 10), [("a", 3, 3)], {"a": 0}, id="nothing is left at the end"),
    ],
)
def test_old_sets_shrink(new: tuple[int, int], old: list[tuple[str, int, int]], expected: dict[str, int]) -> None:
    sets = [replica_set(*each) for each in old]
    assert deployment_replicasets.sizes_of_old(deployment(10, 3, 2), replica_set("new", *new), sets) == expected


@pytest.mark.parametrize(
    ("to", "sizes", "expected"),
    [
        # 10 replicas with a surge of 3 became 20 with a surge of 3: ten more to share.
        pytest.param(deployment(20, 3, 2), {"new": 5, "o": 8}, {"new": 9, "o": 14}, id="growth is shared by size"),
        pytest.param(deployment(5, 3, 2), {"new": 5, "o": 8}, {"new": 3, "o": 5}, id="so is shrinking"),
        pytest.param(deployment(0, 3, 2), {"new": 5, "o": 8}, {"new": 0, "o": 0}, id="nothing is left of nothing"),
    ],
)
def test_a_change_of_scale_in_mid_rollout_is_shared(
    to: dict[str, Any], sizes: dict[str, int], expected: dict[str, int]
) -> None:
    active = [replica_set(name, size, maximum=13) for name, size in sizes.items()]
    assert deployment_replicasets.proportional(to, active) == expected
