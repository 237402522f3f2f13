"""A pod whose selectors cannot be read fails in upstream's words, whichever plugin stumbles over them."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.app.cluster import Cluster, Failed
from stowplan.app.configuration import read_configuration
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.testing import make_node

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
UNREADABLE = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["x"]}]}
SELECTOR_FAULT = '"Near" is not a valid label selector operator'
TERM_FAULT = (
    '[0].matchExpressions[0].operator: Unsupported value: "Near": supported values:'
    ' "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
)
PREFERRED_NODES = {
    "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": UNREADABLE}]}
}
PREFERRED_PODS = {
    "podAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": UNREADABLE}}
        ]
    }
}


def spread(action: str) -> list[dict[str, Any]]:
    return [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": action, "labelSelector": UNREADABLE}]


def without(*points: str, plugin: str) -> str:
    disabled = "".join(f"    {point}: {{disabled: [{{name: {plugin}}}]}}\n" for point in points)
    return f"{HEAD}profiles:\n- schedulerName: default-scheduler\n  plugins:\n{disabled}"


@pytest.mark.parametrize(
    ("spec", "config", "message"),
    [
        pytest.param(
            {"topologySpreadConstraints": spread("DoNotSchedule")},
            HEAD,
            'running PreFilter plugin "PodTopologySpread": get constraints from pod:'
            f" obtaining pod's hard topology spread constraints: {SELECTOR_FAULT}",
            id="a hard spread constraint",
        ),
        pytest.param(
            {"topologySpreadConstraints": spread("ScheduleAnyway")},
            HEAD,
            'running PreScore plugin "PodTopologySpread": calculating preScoreState:'
            f" obtaining pod's soft topology spread constraints: {SELECTOR_FAULT}",
            id="a soft spread constraint",
        ),
        pytest.param(
            {"affinity": PREFERRED_NODES},
            HEAD,
            f'running PreScore plugin "NodeAffinity": {TERM_FAULT}',
            id="preferred nodes",
        ),
        pytest.param(
            {"affinity": PREFERRED_NODES},
            without("preScore", plugin="NodeAffinity"),
            f'running Score plugins: plugin "NodeAffinity" failed with: {TERM_FAULT}',
            id="preferred nodes, read only when scored",
        ),
        pytest.param(
            {"affinity": PREFERRED_PODS},
            without("preFilter", "filter", plugin="InterPodAffinity"),
            'running PreScore plugin "InterPodAffinity": failed to parse pod:'
            f" preferredAffinityTerms: {SELECTOR_FAULT}",
            id="preferred neighbours",
        ),
    ],
)
def test_the_attempt_fails_and_says_why(spec: dict[str, Any], config: str, message: str) -> None:
    cluster = Cluster(read_configuration(config))
    cluster.add_all(make_node(name).label("zone", name).build() for name in ("a", "b"))
    pod = decode.convert(Pod, {"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": [{"name": "c"}], **spec}})
    result = cluster.choose(pod)
    assert isinstance(result, Failed)
    assert result.message == message


def test_preferred_neighbours_are_not_read_where_they_are_ignored_and_the_pod_has_none() -> None:
    ignoring = "  pluginConfig:\n  - {name: InterPodAffinity, args: {ignorePreferredTermsOfExistingPods: true}}\n"
    cluster = Cluster(read_configuration(without("preFilter", "filter", plugin="InterPodAffinity") + ignoring))
    cluster.add_all(make_node(name).label("zone", name).build() for name in ("a", "b"))
    required = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": UNREADABLE}]
        }
    }
    spec = {"containers": [{"name": "c"}], "affinity": required}
    result = cluster.choose(decode.convert(Pod, {"metadata": {"name": "p", "uid": "p"}, "spec": spec}))
    assert not isinstance(result, Failed)
