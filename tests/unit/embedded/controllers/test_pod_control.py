"""Who goes first when a set has too many pods."""

from typing import Any

import msgspec
import pytest

from stowplan.embedded.controllers import pod_control
from tests.unit.embedded.controllers.known_pods import PLAIN


@pytest.mark.parametrize(
    "differs",
    [
        pytest.param({"node": ""}, id="without a node"),
        pytest.param({"phase": "Pending", "is_ready": False}, id="pending"),
        pytest.param({"is_ready": False}, id="not ready"),
        pytest.param({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}, id="cheaper"),
        pytest.param({"node": "crowded"}, id="on a crowded node"),
        pytest.param({"ready_since": 200.0}, id="ready for a shorter time"),
        pytest.param({"restarts": 2}, id="restarted more often"),
        pytest.param({"created": 200.0}, id="younger"),
    ],
)
def test_the_first_to_go_is_the_one_that_is(differs: dict[str, Any]) -> None:
    first = msgspec.structs.replace(PLAIN, name="first", **differs)
    neighbours = [msgspec.structs.replace(PLAIN, name=f"neighbour-{n}", node="crowded") for n in range(2)]
    assert [pod.name for pod in pod_control.pods_to_delete([PLAIN, first], 1, [PLAIN, first, *neighbours])] == ["first"]
