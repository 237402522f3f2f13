"""NodeDeclaredFeatures: which pods need a node that knows a feature."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.framework.contract import SKIP
from stowplan.plugins.nodedeclaredfeatures import NodeDeclaredFeatures
from tests.unit.plugins.small_cluster import SmallCluster, make_node, make_pod

RESTART, USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
MOUNTS = "VolumeBindMountOptions"
UNMET = ("node(s) didn't match Pod's required features", "unresolvable")
RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


def cluster() -> SmallCluster:
    declared = {"plain": [], "restarts": [RESTART], "users": ["Other", USERS], "both": [RESTART, USERS, MOUNTS]}
    return SmallCluster(*(make_node(name, status={"declaredFeatures": known}) for name, known in declared.items()))


def containers(*rules: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "c", "restartPolicyRules": list(rules)}]


def mounting(*options: str) -> list[dict[str, Any]]:
    mounts = [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w", "bindMountOptions": list(options)}]
    return [{"name": "c", "volumeMounts": mounts}]


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"containers": containers(RULE)}, ["plain", "users"], id="a container that restarts all others"),
        pytest.param({"initContainers": containers(RULE)}, ["plain", "users"], id="an init container that does"),
        pytest.param({"hostNetwork": True, "hostUsers": False}, ["plain", "restarts"], id="own users, host network"),
        pytest.param(
            {"hostNetwork": True, "hostUsers": False, "containers": containers(RULE)},
            ["plain", "restarts", "users"],
            id="all needed features must be declared",
        ),
        *(
            pytest.param({kind: mounting("noexec")}, ["plain", "restarts", "users"], id=f"mount options in {kind}")
            for kind in ("containers", "initContainers", "ephemeralContainers")
        ),
    ],
)
def test_nodes_must_declare_what_the_pod_needs(spec: dict[str, Any], refused: list[str]) -> None:
    assert cluster().refusals(NodeDeclaredFeatures(), make_pod(**spec)) == dict.fromkeys(refused, UNMET)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": containers()}, id="a plain pod"),
        pytest.param({"containers": mounting()}, id="a mount without options"),
        pytest.param({"containers": containers({**RULE, "action": "Restart"})}, id="a container that restarts itself"),
        pytest.param({"hostUsers": False}, id="own users off the host network"),
        pytest.param({"hostNetwork": True}, id="the host network with the host's users"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, id="the host network and users, both said"),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}}}, id="pod-level resources, which need no declared feature"
        ),
    ],
)
def test_pods_that_need_nothing_are_skipped(spec: dict[str, Any]) -> None:
    assert NodeDeclaredFeatures().pre_filter(make_pod(**spec), cluster().nodes) is SKIP
