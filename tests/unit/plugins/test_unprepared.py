"""A profile may leave a plugin out of PreFilter or PreScore and keep it in Filter or Score; few can do without."""

from __future__ import annotations

import pytest

from stowplan.app.cluster import Cluster
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.testing import make_node, make_pod

_KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
POD = make_pod("p").requests(cpu="1").build()


def choose(pod: Pod, *, leave_out: str, at: str, nodes: tuple[str, ...] = ("a", "b")) -> tuple[str | None, str]:
    """Return the node chosen and what is said about it, with one plugin left out of one point."""
    profile = {"schedulerName": "default-scheduler", "plugins": {at: {"disabled": [{"name": leave_out}]}}}
    cluster = Cluster({**_KIND, "profiles": [profile]})
    for name in nodes:
        cluster.add(make_node(name).capacity(cpu="4", memory="8Gi", pods=10).build())
    result = cluster.schedule(pod)
    return result.node_name, getattr(result, "message", "")


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        ("NodeResourcesFit", 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        ("VolumeRestrictions", 'cannot read "PreFilterVolumeRestrictions" from cycleState'),
        ("VolumeBinding", "not found"),
        ("PodTopologySpread", 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        ("DynamicResources", "not found"),
        ("NodeDeclaredFeatures", 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'),
    ],
)
def test_a_filter_that_cannot_do_without_its_preparation_says_so(plugin: str, words: str) -> None:
    said = choose(POD, leave_out=plugin, at="preFilter")

    assert said == (None, f'running "{plugin}" filter plugin: {words}')


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeVolumeLimits", "VolumeZone"])
def test_a_filter_that_can_prepare_itself_does(plugin: str) -> None:
    assert choose(POD, leave_out=plugin, at="preFilter", nodes=("a",)) == ("a", "")


def test_volume_zone_looks_for_the_volumes_itself() -> None:
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]},
    }
    profile = {
        "plugins": {
            "multiPoint": {
                "disabled": [{"name": "*"}],
                "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}],
            },
            "filter": {"enabled": [{"name": "VolumeZone"}]},
        }
    }
    cluster = Cluster({**_KIND, "profiles": [profile]})
    cluster.add(make_node("a").zone("z").build())

    result = cluster.schedule(decode.convert(Pod, content))

    assert getattr(result, "message", "").startswith(
        '0/1 nodes are available: 1 persistentvolumeclaim "gone" not found.'
    )


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("TaintToleration", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
        # Of all, the first is told.
        ("*", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
    ],
)
def test_a_score_that_cannot_do_without_its_preparation_says_so(plugin: str, words: str) -> None:
    named = "TaintToleration" if plugin == "*" else plugin

    said = choose(POD, leave_out=plugin, at="preScore")

    assert said == (None, f'running Score plugins: plugin "{named}" failed with: {words}')


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"])
def test_a_score_that_can_prepare_itself_does(plugin: str) -> None:
    node_name, words = choose(POD, leave_out=plugin, at="preScore")

    assert (node_name in ("a", "b"), words) == (True, "")


def test_where_one_node_is_left_nobody_scores() -> None:
    assert choose(POD, leave_out="*", at="preScore", nodes=("a",)) == ("a", "")
