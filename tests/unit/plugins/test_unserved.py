"""Plugins that are not built: pods that need them are refused with a remedy, all others hear upstream's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stowplan.app.cluster import Chosen, Cluster, Refused
from stowplan.config.load import from_mapping
from stowplan.framework.contract import Attempt
from stowplan.framework.verdict import Code, Rejection, Verdict, Vocabulary
from stowplan.model import decode
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.model.storage import PersistentVolumeClaim
from stowplan.plugins.unserved import STAND_INS, DynamicResources
from stowplan.table.nodes import Nodes
from stowplan.table.table import Table
from stowplan.testing import check_plugin

VOLUME_PLUGINS = ("NodeVolumeLimits", "VolumeBinding", "VolumeZone")
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
EPHEMERAL: dict[str, Any] = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
DISK = {"name": "v", "gcePersistentDisk": {"pdName": "disk"}}
DEVICE = {"name": "gpu", "resourceClaimName": "one-gpu"}
ELSEWHERE = "which this scheduler has not got: have another scheduler place the pod (schedulerName), or disable"
WHATEVER = (
    f"{ELSEWHERE} NodeVolumeLimits, VolumeBinding and VolumeZone in the profile to place it whatever its volumes."
)


def cluster_without(*plugins: str) -> Cluster:
    disabled = {"multiPoint": {"disabled": [{"name": name} for name in plugins]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": disabled}],
    }
    cluster = Cluster(from_mapping(config))
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "9"}}}
    cluster.add(decode.convert(Node, node))
    claim = {"metadata": {"name": "data", "namespace": "default"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    cluster.add(decode.convert(PersistentVolumeClaim, claim))
    return cluster


def pod_with(**spec: Any) -> Pod:
    metadata = {"name": "p", "namespace": "default", "uid": "p"}
    return decode.convert(Pod, {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}})


@pytest.mark.parametrize(
    ("spec", "disabled", "message"),
    [
        pytest.param(
            {"volumes": [CLAIM]},
            (),
            f'persistentvolumeclaim "data" (volume "v") needs NodeVolumeLimits, {WHATEVER}',
            id="a claim is named with its volume",
        ),
        pytest.param(
            {"volumes": [CLAIM]},
            ("NodeVolumeLimits",),
            f'persistentvolumeclaim "data" (volume "v") needs VolumeBinding, {WHATEVER}',
            id="a claim needs somebody to bind it",
        ),
        pytest.param(
            {"volumes": [CLAIM]},
            ("NodeVolumeLimits", "VolumeBinding"),
            f'persistentvolumeclaim "data" (volume "v") needs VolumeZone, {WHATEVER}',
            id="a claim needs somebody to look at zones",
        ),
        pytest.param(
            {"volumes": [EPHEMERAL]},
            ("NodeVolumeLimits",),
            f'persistentvolumeclaim "p-v" (ephemeral volume "v") needs VolumeBinding, {WHATEVER}',
            id="an ephemeral volume is named with the claim that is made for it",
        ),
        pytest.param(
            {"volumes": [DISK]},
            (),
            f'volume "v" needs NodeVolumeLimits, {WHATEVER}',
            id="a disk that a CSI driver has taken over counts against the limit of a node",
        ),
        pytest.param(
            {"resourceClaims": [DEVICE]},
            (),
            f'resource claim "gpu" needs DynamicResources, {ELSEWHERE} DynamicResources in the profile '
            "to place it without its devices.",
            id="a resource claim needs somebody to allocate devices",
        ),
    ],
)
def test_a_pod_that_needs_a_missing_plugin_is_refused_with_a_remedy(
    spec: dict[str, Any], disabled: tuple[str, ...], message: str
) -> None:
    result = cluster_without(*disabled).schedule(pod_with(**spec))
    assert isinstance(result, Refused)
    assert result.message == f"0/1 nodes are available: {message}"
    assert result.verdict.pre_filter is not None
    assert result.verdict.pre_filter.code is Code.UNRESOLVABLE


@pytest.mark.parametrize(
    ("spec", "disabled"),
    [
        pytest.param({}, (), id="a pod without volumes and claims"),
        pytest.param(
            {"volumes": [{"name": "e", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}]},
            (),
            id="a pod with volumes that no plugin looks at",
        ),
        pytest.param({"volumes": [CLAIM]}, VOLUME_PLUGINS, id="a claim where the volume plugins are disabled"),
        pytest.param({"volumes": [EPHEMERAL]}, VOLUME_PLUGINS[:2], id="an ephemeral volume, whose zone nobody reads"),
        pytest.param({"volumes": [DISK]}, VOLUME_PLUGINS[:1], id="a disk where nobody counts"),
        pytest.param({"resourceClaims": [DEVICE]}, ("DynamicResources",), id="a resource claim where it is disabled"),
    ],
)
def test_other_pods_are_placed(spec: dict[str, Any], disabled: tuple[str, ...]) -> None:
    assert isinstance(cluster_without(*disabled).schedule(pod_with(**spec)), Chosen)


@pytest.mark.parametrize(
    ("refused", "answer"),
    [
        pytest.param(None, Rejection(("no new claims to deallocate",)), id="refused by the filters"),
        pytest.param(
            Rejection(("no",), Code.UNRESOLVABLE, "NodeAffinity"),
            Rejection(("not found",), Code.ERROR),
            id="refused by a plugin before it, it was never prepared",
        ),
        pytest.param(
            Rejection(("no",), Code.UNRESOLVABLE),
            Rejection(("not found",), Code.ERROR),
            id="so it is when plugins contradict each other",
        ),
        pytest.param(
            Rejection(("no",), Code.UNRESOLVABLE, "NodeDeclaredFeatures"),
            Rejection(("no new claims to deallocate",)),
            id="refused by a plugin after it",
        ),
        pytest.param(
            Rejection(("no",), Code.UNRESOLVABLE, "VolumeBinding"),
            Rejection((), Code.UNRESOLVABLE),
            id="refused by a stand-in, nothing is added",
        ),
    ],
)
def test_what_is_said_of_claims_that_a_pod_has_not_got(refused: Rejection | None, answer: Rejection) -> None:
    table = Table()
    verdict = Verdict(np.zeros(0, dtype=np.int32), Vocabulary(), (), pre_filter=refused)
    attempt = Attempt(verdict, Nodes(table), lambda nodes: np.zeros(0, dtype=np.int32))
    assert DynamicResources().post_filter(pod_with(), attempt) == answer


@pytest.mark.parametrize("cls", STAND_INS, ids=lambda cls: cls.__name__)
def test_every_stand_in_keeps_the_contract(cls: Any) -> None:
    check_plugin(cls())


def test_it_can_be_listed_wherever_the_whole_plugin_could() -> None:
    enabled = [{"name": "DynamicResources", "weight": 5}]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"enabled": enabled}, "reserve": {"enabled": enabled[:1]}}}],
    }
    profile = Cluster(from_mapping(config)).profiles["default-scheduler"]
    assert [plugin.name for plugin in profile.post_filter] == ["DynamicResources", "DefaultPreemption"]
    assert "DynamicResources" not in [plugin.name for plugin, _ in profile.score]
    assert profile.reserve == ()
