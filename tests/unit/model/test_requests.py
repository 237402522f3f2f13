"""What a pod weighs, before and after it is placed; its quality of service; the families of resource names."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.model import requests
from stowplan.model.decode import convert
from stowplan.model.pod import NodeAllocatableResourceClaimStatus, Pod
from stowplan.model.requests import RequestRules, Requests, is_extended, is_pod_level, is_scalar, qos_class

MI = 1024 * 1024


def container(name: str = "c", restart: str = "", **amounts: str) -> dict[str, Any]:
    content: dict[str, Any] = {"name": name, "resources": {"requests": amounts}}
    return content | ({"restartPolicy": restart} if restart else {})


def pod(*containers: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    return convert(Pod, {"spec": {"containers": list(containers), **spec}, "status": status or {}})


@pytest.mark.parametrize(
    ("given", "milli_cpu", "memory"),
    [
        pytest.param(pod(container(cpu="1"), container(cpu="500m")), 1500, 0, id="containers add up"),
        pytest.param(
            pod(container(cpu="1"), initContainers=[container("i", cpu="3"), container("j", cpu="2")]),
            3000,
            0,
            id="init containers run one after the other, before the rest",
        ),
        pytest.param(
            pod(container(cpu="1"), initContainers=[container("s", "Always", cpu="2")]),
            3000,
            0,
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                initContainers=[container("i", cpu="4"), container("s", "Always", cpu="2"), container("j", cpu="3")],
            ),
            5000,
            0,
            id="an init container runs beside the sidecars before it only",
        ),
        pytest.param(
            pod(container(cpu="1", memory="1Mi"), overhead={"cpu": "100m", "memory": "2Mi"}),
            1100,
            3 * MI,
            id="overhead",
        ),
        pytest.param(
            pod(container(cpu="1", memory="1Mi"), resources={"requests": {"cpu": "5"}}, overhead={"cpu": "1"}),
            6000,
            MI,
            id="a pod-level request replaces the sum, overhead comes on top",
        ),
        pytest.param(
            pod(container(cpu="1"), resources={"limits": {"cpu": "5"}}), 1000, 0, id="pod-level limits are no requests"
        ),
    ],
)
def test_a_pod_being_scheduled(given: Pod, milli_cpu: int, memory: int) -> None:
    weight = requests.incoming(given)
    assert (weight.milli_cpu, weight.memory) == (milli_cpu, memory)
    assert requests.accounted(given) == weight


@pytest.mark.parametrize(
    ("given", "non_zero"),
    [
        pytest.param(pod(container(), container()), (200, 400 * MI), id="each silent container counts"),
        pytest.param(pod(container(cpu="0", memory="0")), (0, 0), id="an explicit zero is not silence"),
        pytest.param(pod(container(cpu="1"), container(memory="1Mi")), (1100, 201 * MI), id="resource by resource"),
        pytest.param(pod(container(), overhead={"cpu": "1"}), (1100, 200 * MI), id="overhead does not break silence"),
        pytest.param(
            pod(container(), container(), resources={"requests": {"cpu": "1"}}),
            (1000, 400 * MI),
            id="a pod-level request speaks for its resource only",
        ),
    ],
)
def test_scoring_assumes_something_of_silent_containers(given: Pod, non_zero: tuple[int, int]) -> None:
    weight = requests.incoming(given)
    assert (weight.non_zero_milli_cpu, weight.non_zero_memory) == non_zero


def test_other_resources_are_counted_in_whole_units() -> None:
    amounts = {
        "example.com/gpu": "1500m",
        "hugepages-2Mi": "4Mi",
        "attachable-volumes-x": "3",
        "ephemeral-storage": "1k",
        "pods": "7",
    }
    weight = requests.incoming(pod(container(**amounts)))
    assert weight == Requests(
        ephemeral_storage=1000,
        scalar={"example.com/gpu": 2, "hugepages-2Mi": 4 * MI, "attachable-volumes-x": 3},
        non_zero_milli_cpu=100,
        non_zero_memory=200 * MI,
    )


INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]


def resizing(**extra: Any) -> dict[str, Any]:
    held = {"name": "c", "allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "2"}}}
    return {"containerStatuses": [held], **extra}


@pytest.mark.parametrize(
    ("given", "milli_cpu"),
    [
        pytest.param(pod(container(cpu="1"), status=resizing()), 3000, id="what was promised counts while shrinking"),
        pytest.param(pod(container(cpu="4"), status=resizing()), 4000, id="what is asked counts while growing"),
        pytest.param(
            pod(container(cpu="4"), status=resizing(conditions=INFEASIBLE)), 3000, id="not what can never be granted"
        ),
        pytest.param(
            pod(container(cpu="1"), status={"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "9"}}]}),
            9000,
            id="a promise without anything in force counts",
        ),
        pytest.param(
            pod(
                initContainers=[container("i", cpu="1")],
                status={"initContainerStatuses": [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]},
            ),
            9000,
            id="init containers that end are resized, too",
        ),
        pytest.param(
            pod(
                initContainers=[container("s", "Always", cpu="1")],
                status={"initContainerStatuses": [{"name": "s", "resources": {"requests": {"cpu": "9"}}}]},
            ),
            9000,
            id="and sidecars",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                resources={"requests": {"cpu": "4"}},
                status={"resources": {"requests": {"cpu": "12"}}, "allocatedResources": {"cpu": "2"}},
            ),
            12000,
            id="pod-level requests are resized too",
        ),
        pytest.param(
            pod(
                container(cpu="1"),
                resources={"requests": {"cpu": "4"}},
                status={"resources": {"requests": {"cpu": "2"}}, "conditions": INFEASIBLE},
            ),
            2000,
            id="and may be infeasible",
        ),
    ],
)
def test_a_placed_pod_in_resize(given: Pod, milli_cpu: int) -> None:
    weight = requests.accounted(given)
    assert (weight.milli_cpu, weight.memory) == (milli_cpu, 0)


def apart(**extra: Any) -> Pod:
    """Make a pod of two containers: one grows from 1 to 4, the other shrinks from 4 to 1 and is still promised 2."""
    held = [
        {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}},
        {"name": "d", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "4"}}},
    ]
    return pod(container(cpu="4"), container("d", cpu="1"), status={"containerStatuses": held, **extra})


OLD = RequestRules(most_of_sums=False)


@pytest.mark.parametrize(
    ("given", "now", "before"),
    [
        pytest.param(apart(), 5000, 8000, id="asked 4 + 1, promised 1 + 2, in force 1 + 4: the most of each is 4 + 4"),
        pytest.param(apart(conditions=INFEASIBLE), 5000, 5000, id="never granted: promised 3, in force 5"),
        pytest.param(
            apart(allocatedResources={"cpu": "9"}, resources={"requests": {"cpu": "7"}}),
            9000,
            8000,
            id="what the node reports of the pod as a whole counts instead of what it says of containers",
        ),
        pytest.param(
            apart(allocatedResources={"cpu": "9"}), 5000, 8000, id="if it reports both what is promised and in force"
        ),
        pytest.param(
            pod(container(cpu="4"), status={"conditions": INFEASIBLE}),
            0,
            4000,
            id="what is never granted counts for nothing even if the node tells of nothing",
        ),
        pytest.param(
            pod(container(cpu="1"), status={"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "9"}}]}),
            9000,
            1000,
            id="a promise without anything in force",
        ),
        pytest.param(
            pod(
                initContainers=[container("i", cpu="1")],
                status={"initContainerStatuses": [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]},
            ),
            9000,
            1000,
            id="an init container that ends",
        ),
    ],
)
def test_a_resize_is_the_most_of_sums_since_1_37_and_was_the_sum_of_the_most(given: Pod, now: int, before: int) -> None:
    assert requests.accounted(given).milli_cpu == now
    assert requests.accounted(given, OLD).milli_cpu == before


def test_silent_containers_count_for_something_in_each_of_the_sums() -> None:
    held = [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]
    weight = requests.accounted(pod(container(), container("d", cpu="1"), status={"containerStatuses": held}))
    # In force 300m + 1, asked 100m + 1; of memory nobody says anything.
    assert (weight.milli_cpu, weight.non_zero_milli_cpu, weight.non_zero_memory) == (1300, 1300, 400 * MI)


@pytest.mark.parametrize(
    ("rules", "memory"),
    [pytest.param(RequestRules(), 2 * MI, id="counts"), pytest.param(OLD, 0, id="did not count before 1.37")],
)
def test_what_a_node_holds_for_a_pod_beyond_its_pod_level_requests(rules: RequestRules, memory: int) -> None:
    given = pod(
        container(),
        resources={"requests": {"cpu": "4"}},
        status={"resources": {"requests": {"cpu": "4", "memory": "2Mi"}}},
    )
    assert requests.accounted(given, rules).memory == memory


RESIZED = pod(
    container(cpu="1"),
    resources={"requests": {"cpu": "4"}},
    overhead={"cpu": "100m"},
    status={"resources": {"requests": {"cpu": "12"}}},
)


@pytest.mark.parametrize(
    ("rules", "milli_cpu", "non_zero"),
    [
        pytest.param(RequestRules(), 12100, (12100, 200 * MI), id="as usual"),
        pytest.param(
            RequestRules(pod_level_resize=False), 4100, (4100, 200 * MI), id="pod-level requests are not resized"
        ),
        pytest.param(RequestRules(pod_level=False), 1100, (1100, 200 * MI), id="pod-level requests do not count"),
    ],
)
def test_rules_say_what_counts(rules: RequestRules, milli_cpu: int, non_zero: tuple[int, int]) -> None:
    weight = requests.accounted(RESIZED, rules)
    assert weight.milli_cpu == milli_cpu
    assert (weight.non_zero_milli_cpu, weight.non_zero_memory) == non_zero


def test_silent_containers_are_scored_as_usual_where_pod_level_requests_do_not_count() -> None:
    given = pod(container(), container("d"), resources={"requests": {"cpu": "4", "memory": "1Gi"}})
    assert requests.incoming(given, RequestRules(pod_level=False)) == Requests(
        non_zero_milli_cpu=200, non_zero_memory=400 * MI
    )


def test_what_a_pod_holds_is_listed_by_resource() -> None:
    listed = requests.accounted_list(RESIZED)
    assert {name: quantity.milli_value for name, quantity in listed.items()} == {"cpu": 12100}


CLAIMED = {
    "resourceClaimName": "claim",
    "containers": ["a", "b"],
    "mapping": [{"name": "memory", "quantity": "1Gi"}],
    "overhead": [{"name": "memory", "perPod": "1Mi", "perContainer": "1Ki"}, {"name": "cpu", "perContainer": "1"}],
}


def test_what_devices_take_of_a_node_is_counted_for_each_container_that_uses_them() -> None:
    status = convert(NodeAllocatableResourceClaimStatus, CLAIMED)
    together, alone = requests.taken_by_devices(status), requests.taken_by_container("a", [status])
    assert {name: str(amount) for name, amount in together.items()} == {"memory": "1049602Ki", "cpu": "2"}
    assert {name: str(amount) for name, amount in alone.items()} == {"memory": "1049601Ki", "cpu": "1"}
    assert requests.taken_by_container("c", [status]) == {}


def test_what_devices_take_counts_on_the_node_if_that_is_on() -> None:
    placed = pod(container(), status={"nodeAllocatableResourceClaimStatuses": [CLAIMED]})
    assert requests.accounted(placed).milli_cpu == 0
    assert requests.accounted(placed, RequestRules(device_claims=True)).milli_cpu == 2000


def test_limits_take_overhead_only_where_there_is_a_limit() -> None:
    limited = {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "0"}}}
    limits = requests.limit_list(pod(limited, overhead={"cpu": "500m", "memory": "1Mi", "ephemeral-storage": "1Gi"}))
    assert {name: str(limit) for name, limit in limits.items()} == {"cpu": "1500m", "memory": "0"}


def test_pod_level_limits_replace_those_of_containers() -> None:
    limited = {"name": "c", "resources": {"limits": {"cpu": "1", "example.com/gpu": "1"}}}
    limits = requests.limit_list(pod(limited, resources={"limits": {"cpu": "3", "example.com/gpu": "9"}}))
    assert {name: str(limit) for name, limit in limits.items()} == {"cpu": "3", "example.com/gpu": "1"}


FULL = {"cpu": "1", "memory": "1Gi"}
GUARANTEED = {"requests": FULL, "limits": FULL}


@pytest.mark.parametrize(
    ("containers", "pod_level", "expected"),
    [
        pytest.param([{}], None, "BestEffort", id="nothing said"),
        pytest.param([{"requests": {"example.com/gpu": "1"}}], None, "BestEffort", id="other resources do not count"),
        pytest.param([{"requests": {"cpu": "0"}}], None, "BestEffort", id="zero is nothing"),
        pytest.param([GUARANTEED, GUARANTEED], None, "Guaranteed", id="everything said and equal"),
        pytest.param([GUARANTEED, {}], None, "Burstable", id="one silent container"),
        pytest.param([{"limits": FULL}], None, "Burstable", id="limits without requests"),
        pytest.param([{"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}], None, "Burstable", id="memory missing"),
        pytest.param([{"requests": {"cpu": "1"}}], GUARANTEED, "Guaranteed", id="the pod speaks for its containers"),
        pytest.param([GUARANTEED], {"requests": {"cpu": "1"}}, "Burstable", id="even when it says less"),
    ],
)
def test_class(containers: list[dict[str, Any]], pod_level: dict[str, Any] | None, expected: str) -> None:
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": resources} for resources in containers]}
    if pod_level is not None:
        spec["resources"] = pod_level
    assert qos_class(convert(Pod, {"spec": spec})) == expected


def test_init_containers_count() -> None:
    spec = {"containers": [{"resources": GUARANTEED}], "initContainers": [{"resources": {}}]}
    assert qos_class(convert(Pod, {"spec": spec})) == "Burstable"


@pytest.mark.parametrize(
    ("name", "extended", "scalar", "pod_level"),
    [
        pytest.param("cpu", False, False, True, id="cpu"),
        pytest.param("ephemeral-storage", False, False, False, id="ephemeral storage is no scalar"),
        pytest.param("example.com/gpu", True, True, False, id="a vendor's device"),
        pytest.param("kubernetes.io/thing", False, True, False, id="Kubernetes' own domain"),
        pytest.param("requests.example.com/gpu", False, False, False, id="what looks like a quota"),
        pytest.param("example.com/" + "g" * 64, False, False, False, id="a name too long for quotas"),
        pytest.param("hugepages-2Mi", False, True, True, id="huge pages"),
        pytest.param("attachable-volumes-aws-ebs", False, True, False, id="attachable volumes"),
        pytest.param("pods", False, False, False, id="pods"),
    ],
)
def test_families(name: str, extended: bool, scalar: bool, pod_level: bool) -> None:
    assert (is_extended(name), is_scalar(name), is_pod_level(name)) == (extended, scalar, pod_level)
