"""The cluster in one object: what comes in, what is chosen, and what is explained."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

import stowplan
from stowplan.app.cluster import Cluster, Gated
from stowplan.app.configuration import read_configuration
from stowplan.app.objects import read_yaml
from stowplan.cache.validate import validate_cache
from stowplan.config import feature_gates
from stowplan.config.errors import ConfigError
from stowplan.engine.failure import Chosen, Failed, Refused
from stowplan.model.dra import ResourceClaim
from stowplan.model.kinds import Binding
from stowplan.model.meta import NamespacedMeta, ObjectReference
from stowplan.model.pod import Pod, PodResourceClaim
from stowplan.table import columns as columns_module
from stowplan.testing import make_node, make_pod
from tests import no_kept_answers

TEXT = """
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "1", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: large}
  status: {allocatable: {cpu: "8", memory: 32Gi, pods: "10"}}
- apiVersion: v1
  kind: Pod
  metadata: {name: running, uid: u1}
  spec: {nodeName: large, containers: [{name: main, resources: {requests: {cpu: "7"}}}]}
"""
PROFILES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 50
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  percentageOfNodesToScore: 80
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def cluster_of(*names: str) -> Cluster:
    cluster = Cluster()
    cluster.add_all(make_node(name).capacity(cpu=4, memory="8Gi").build() for name in names)
    return cluster


def node_chosen(cluster: Cluster, pod: Pod) -> str:
    result = cluster.schedule(pod)
    assert isinstance(result, Chosen), result
    return result.node_name


def test_a_cluster_is_read_from_text() -> None:
    cluster = Cluster.from_yaml(TEXT)
    assert sorted(cluster.cache.table.names()) == ["large", "small"]
    assert [pod.name for pod in cluster.pods_on("large")] == ["running"]


def test_a_cluster_is_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(TEXT, encoding="utf-8")
    for source in (path, str(path)):
        assert len(Cluster.from_yaml(source).cache.table) == 2
    assert len(read_yaml(path)) == 3


def test_a_scheduled_pod_takes_room_from_the_next() -> None:
    cluster = Cluster.from_yaml(TEXT, ties="upstream")
    pod = make_pod("one").requests(cpu="1")
    placements = [node_chosen(cluster, pod.name(f"pod-{number}").build()) for number in range(2)]
    assert sorted(placements) == ["large", "small"]
    result = cluster.schedule(pod.name("pod-2").build())
    assert isinstance(result, Refused)
    assert result.message == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    assert cluster.placed(pod.name("pod-2").build()) is None


def test_choosing_places_nothing() -> None:
    cluster, pod = cluster_of("a"), make_pod("web").requests(cpu="3").build()
    for _ in range(2):
        assert isinstance(cluster.choose(pod), Chosen)
    assert cluster.placed(pod) is None


def test_a_pod_that_was_scheduled_is_bound_where_it_was_placed() -> None:
    cluster, pod = cluster_of("a"), make_pod("web").build()
    node_chosen(cluster, pod)
    meta = NamespacedMeta(name="web", namespace="default")
    asyncio.run(cluster.handle.binder.bind(Binding(metadata=meta, target=ObjectReference(kind="Node", name="a"))))
    placed = cluster.placed(pod)
    assert placed is not None
    assert (placed.pod.spec.node_name, placed.is_assumed) == ("a", False)


def test_a_pod_that_is_not_there_is_not_bound() -> None:
    meta = NamespacedMeta(name="web", namespace="default")
    binding = Binding(metadata=meta, target=ObjectReference(kind="Node", name="a"))
    with pytest.raises(LookupError, match="pod 'web' is not assumed on node 'a'"):
        asyncio.run(cluster_of("a").handle.binder.bind(binding))


def test_a_gated_pod_is_not_tried() -> None:
    result = cluster_of("a").schedule(make_pod("web").gate("example.com/wait").build())
    assert isinstance(result, Gated)
    assert result.rejection.plugin == "SchedulingGates"


def test_without_nodes_an_attempt_fails() -> None:
    result = Cluster().schedule(make_pod("web").build())
    assert isinstance(result, Failed)
    assert result.message == "no nodes available to schedule pods"


def test_a_pod_that_has_ended_takes_no_room() -> None:
    cluster, pod = cluster_of("a"), make_pod("web").requests(cpu="4").on("a")
    cluster.add(pod.build())
    assert isinstance(cluster.choose(make_pod("next").requests(cpu="1").build()), Refused)
    cluster.add(pod.phase("Succeeded").build())
    assert isinstance(cluster.choose(make_pod("next").requests(cpu="1").build()), Chosen)


def test_what_is_removed_is_gone() -> None:
    cluster = cluster_of("a", "b")
    pod = make_pod("web").requests(cpu="4").on("a").build()
    cluster.add(pod)
    cluster.remove(pod)
    cluster.remove(make_node("b").build())
    assert cluster.cache.table.names() == ["a"]
    assert node_chosen(cluster, make_pod("next").requests(cpu="4").build()) == "a"


def test_a_nominated_pod_keeps_its_room_until_it_is_bound() -> None:
    cluster = cluster_of("a")
    waiting = make_pod("waiting").requests(cpu="3")
    cluster.add(waiting.nominated_to("a").build())
    small = make_pod("small").requests(cpu="2").build()
    assert isinstance(cluster.choose(small), Refused)
    cluster.add(waiting.nominated_to("a").phase("Failed").build())
    assert isinstance(cluster.choose(small), Chosen)
    cluster.add(waiting.nominated_to("a").build())
    cluster.remove(waiting.build())
    assert isinstance(cluster.choose(small), Chosen)


def test_a_pod_that_another_scheduler_has_nominated_keeps_no_room() -> None:
    cluster = cluster_of("a")
    cluster.add(make_pod("waiting").requests(cpu="3").nominated_to("a").scheduler_name("another").build())
    assert isinstance(cluster.choose(make_pod("small").requests(cpu="2").build()), Chosen)


def test_a_nominated_pod_keeps_no_room_before_its_gates_are_open() -> None:
    cluster, small = cluster_of("a"), make_pod("small").requests(cpu="2").build()
    waiting = make_pod("waiting").requests(cpu="3").nominated_to("a")
    cluster.add(waiting.gate("g").build())
    assert isinstance(cluster.choose(small), Chosen)
    cluster.add(waiting.build())
    assert isinstance(cluster.choose(small), Refused)


def test_a_nominated_pod_keeps_no_room_before_its_claim_is_there() -> None:
    cluster, small = cluster_of("a"), make_pod("small").requests(cpu="2").build()
    waiting = make_pod("waiting").requests(cpu="3").nominated_to("a").build()
    claims = (PodResourceClaim(name="gpu", resource_claim_name="one"),)
    cluster.add(replace(waiting, spec=replace(waiting.spec, resource_claims=claims)))
    assert isinstance(cluster.choose(small), Chosen)
    cluster.add(ResourceClaim(metadata=NamespacedMeta(name="one", namespace="another")))
    assert isinstance(cluster.choose(small), Chosen)
    cluster.add(ResourceClaim(metadata=NamespacedMeta(name="one")))
    assert isinstance(cluster.choose(small), Refused)


def test_a_nominated_pod_that_was_scheduled_keeps_no_second_room() -> None:
    cluster = cluster_of("a")
    waiting = make_pod("waiting").requests(cpu="1").nominated_to("a").build()
    cluster.add(waiting)
    assert node_chosen(cluster, waiting) == "a"
    cluster.add(ResourceClaim(metadata=NamespacedMeta(name="one")))
    assert not cluster.handle.nominations
    assert isinstance(cluster.choose(make_pod("next").requests(cpu="3").build()), Chosen)


def test_a_pod_that_was_scheduled_goes_where_the_cluster_says_it_is() -> None:
    cluster, pod = cluster_of("a", "b"), make_pod("web").requests(cpu="1").build()
    chosen = node_chosen(cluster, pod)
    other = "b" if chosen == "a" else "a"
    cluster.add(replace(pod, spec=replace(pod.spec, node_name=other)))
    assert [pod.name for pod in cluster.pods_on(chosen)] == []
    assert [pod.name for pod in cluster.pods_on(other)] == ["web"]
    cluster.add(make_pod("web").requests(cpu="1").on(other).phase("Succeeded").build())
    assert cluster.pods_on(other) == []


def test_a_pod_chooses_its_profile() -> None:
    cluster = Cluster(read_configuration(PROFILES), ties="upstream")
    cluster.add_all(make_node(name).capacity(cpu=4, memory="8Gi").build() for name in ("a", "b"))
    cluster.add(make_pod("there").requests(cpu="1", memory="1Gi").on("b").build())
    pod = make_pod("web").requests(cpu="1", memory="1Gi")
    assert node_chosen(cluster, pod.build()) == "a"
    packed = cluster.profile_of(pod.scheduler_name("packed").build())
    assert packed.percentage_of_nodes_to_score == 80
    assert cluster.field.percentage_of_nodes_to_score == 50


def test_a_configuration_is_given_as_a_path_a_text_or_what_was_read_from_one(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(PROFILES)
    finished = read_configuration(PROFILES)
    for given in (path, str(path), PROFILES, yaml.safe_load(PROFILES), json.dumps(yaml.safe_load(PROFILES)), finished):
        assert Cluster(given).config == finished
    assert list(Cluster.from_yaml(TEXT, config=path).profiles) == ["default-scheduler", "packed"]


def test_feature_gates_are_given_as_a_mapping_a_text_or_what_was_read_from_one() -> None:
    read = feature_gates.parse("StorageCapacityScoring=true")
    for given in (read, "StorageCapacityScoring=true", {"StorageCapacityScoring": True}):
        assert Cluster(feature_gates=given).feature_gates == read


def test_feature_gates_that_are_none_are_refused() -> None:
    given: list[Any] = [["StorageCapacityScoring"], {"StorageCapacityScoring": "yes"}]
    for wrong in given:
        with pytest.raises(TypeError, match="feature_gates: expected a mapping such as"):
            Cluster(feature_gates=wrong)
    with pytest.raises(feature_gates.FeatureGateError, match="StorageCapacityScorin"):
        Cluster(feature_gates={"StorageCapacityScorin": True})


HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.mark.parametrize(
    ("given", "expected", "message"),
    [
        pytest.param(
            HEAD | {"paralelism": 3},
            ConfigError,
            'config: the mapping: decode: strict decoding error: unknown field "paralelism"; did you mean parallelism?',
            id="a mapping with an unknown key",
        ),
        pytest.param(
            HEAD | {"parallelism": -1},
            ConfigError,
            "config: the mapping: validate: "
            "parallelism: Invalid value: -1: should be an integer value greater than zero",
            id="a mapping with a wrong value",
        ),
        pytest.param(
            "profiles: [\n",
            ConfigError,
            "config: the text: decode: yaml: line 1: did not find expected node content",
            id="a text that is no YAML",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\n",
            ConfigError,
            'config: the text: decode: no kind "Pod" is registered for version "v1"; '
            "write apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration",
            id="a text of another kind",
        ),
        pytest.param(
            "gone.yaml",
            FileNotFoundError,
            "config: gone.yaml: cannot be read: No such file or directory; "
            "check the path, or give the text itself, which has a line break or begins with a brace",
            id="a path that leads nowhere",
        ),
        pytest.param(
            7,
            TypeError,
            "config: int is no configuration; give a path, a text, or a mapping",
            id="a number",
        ),
    ],
)
def test_a_configuration_that_is_wrong_is_named_with_the_field_and_what_to_do(
    given: Any, expected: type[Exception], message: str
) -> None:
    with pytest.raises(expected) as refused:
        Cluster(config=given)
    assert str(refused.value) == message


def test_a_configuration_in_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(PROFILES.replace("percentage", "percent", 1))
    with pytest.raises(ConfigError) as refused:
        Cluster(config=path)
    assert str(refused.value) == (
        f'config: {path}: decode: strict decoding error: unknown field "percentOfNodesToScore"; '
        "did you mean percentageOfNodesToScore?"
    )
    path.write_bytes(b"\xff")
    with pytest.raises(
        ValueError, match=r"config\.yaml: not a text file in UTF-8: invalid start byte at byte 0; give a "
    ):
        Cluster(config=path)


def test_a_pod_without_a_node_says_so_by_none() -> None:
    refused = cluster_of("n").schedule(make_pod("big").requests(cpu=9).build())
    failed = Cluster().schedule(make_pod("early").build())
    gated = cluster_of("n").schedule(make_pod("gated").gate("g").build())
    assert [type(one) for one in (refused, failed, gated)] == [Refused, Failed, Gated]
    assert (refused.node_name, failed.node_name, gated.node_name) == (None, None, None)


def test_the_package_offers_the_cluster_and_its_results_and_lists_them() -> None:
    names = ["Chosen", "Cluster", "Failed", "Gated", "Refused", "make_pod"]
    assert [getattr(stowplan, name) for name in names] == [Chosen, Cluster, Failed, Gated, Refused, make_pod]
    assert set(names) <= set(dir(stowplan))
    assert set(names) <= set(stowplan.__all__)
    with pytest.raises(
        AttributeError, match="module 'stowplan' has no attribute 'Clutser'; it exports Chosen, Cluster"
    ):
        getattr(stowplan, "Clutser")  # noqa: B009 (a type checker would know)


def test_a_profile_that_is_not_configured_is_named() -> None:
    message = "pod 'default/web': no profile for schedulerName 'mine'; known: default-scheduler"
    with pytest.raises(KeyError, match=message):
        cluster_of("a").schedule(make_pod("web").scheduler_name("mine").build())


def test_the_same_seed_makes_the_same_choices() -> None:
    def placements(seed: int) -> list[str]:
        cluster = Cluster(seed=seed)
        cluster.add_all(make_node(f"n{number}").capacity(cpu=4).build() for number in range(8))
        return [node_chosen(cluster, make_pod(f"pod-{number}").build()) for number in range(8)]

    assert placements(3) == placements(3)
    assert placements(3) != placements(4)


def test_an_explanation_names_every_node_and_reason() -> None:
    cluster = Cluster.from_yaml(TEXT)
    explanation = cluster.explain(make_pod("big").requests(cpu="2").build())
    assert explanation.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert set(explanation.nodes) == {"small", "large"}
    assert explanation.feasible == ()
    assert cluster.explain(make_pod("little").requests(cpu="500m").build()).message == ""


def test_choices_stay_right_when_columns_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "KEPT_COLUMNS", 32)
    clusters = [Cluster(), no_kept_answers.make_cluster()]
    for cluster in clusters:
        cluster.add_all(make_node(f"n{number}").capacity(cpu=64).zone(f"z{number % 3}").build() for number in range(6))
    for number in range(120):
        app = f"app-{number * 7 % 40}"
        pod = (
            make_pod(f"pod-{number}")
            .label("app", app)
            .spread(match={"app": app})
            .anti_affinity("app", app, f"key-{number % 50}")
        )
        pod = pod.prefer_node(1, f"label-{number % 45}", "Exists").requests(cpu="100m")
        kept, anew = (node_chosen(cluster, pod.build()) for cluster in clusters)
        assert kept == anew


def test_what_of_a_configuration_has_no_effect_is_a_warning_at_the_line_that_gives_it() -> None:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 3}
    with pytest.warns(UserWarning, match="parallelism: 3 has no effect") as warned:
        Cluster(config)
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    ("mistake", "expected", "message"),
    [
        pytest.param(
            lambda: Cluster(ties="x"),  # type: ignore[arg-type]
            ValueError,
            "ties: Invalid value: 'x': write one of: random, upstream",
            id="ties",
        ),
        pytest.param(
            lambda: Cluster(config=""),
            ValueError,
            "config: the text is empty; give a path, a text, a mapping, or None for the defaults",
            id="an empty configuration",
        ),
        pytest.param(
            lambda: Cluster().add(5),
            TypeError,
            "expected a Node, a Pod or another API object, got int; "
            "stowplan.testing makes some, stowplan.model.decode reads them",
            id="a number for an object",
        ),
        pytest.param(
            lambda: Cluster().schedule("x"),  # type: ignore[arg-type]
            TypeError,
            "expected a Pod, got str; stowplan.testing makes some, stowplan.model.decode reads them",
            id="a name to be scheduled",
        ),
        pytest.param(
            lambda: Cluster().explain("default/zz"),  # type: ignore[arg-type]
            TypeError,
            "expected a Pod, got str; stowplan.testing makes some, stowplan.model.decode reads them",
            id="a name to be explained",
        ),
        pytest.param(
            lambda: Cluster.from_yaml(""),
            ValueError,
            "the text: no object is written there; give the path or the text of some",
            id="no text",
        ),
        pytest.param(
            lambda: Cluster.from_yaml("# nothing\n"),
            ValueError,
            "the text: no object is written there; give the path or the text of some",
            id="a text without objects",
        ),
        pytest.param(
            lambda: Cluster.from_yaml("kind: Pod\nkind: Node\n"),
            ValueError,
            'the text: line 2: key "kind" already set in map; write it once',
            id="a key twice",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_is_expected(
    mistake: Callable[[], object], expected: type[Exception], message: str
) -> None:
    with pytest.raises(expected) as refused:
        mistake()
    assert str(refused.value) == message


def test_a_kind_that_scheduling_does_not_read_is_left_out_with_a_warning() -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w, namespace: shop}\n"
    told = "the text: Deployment shop/w: scheduling reads no Deployment of apps/v1, which is left out"
    with pytest.warns(UserWarning, match=told) as warned:
        Cluster.from_yaml(text)
    assert [one.filename for one in warned] == [__file__]


def test_a_pod_that_only_asks_for_resources_adds_nothing_to_the_table() -> None:
    cluster = Cluster()
    cluster.add(make_node("a").capacity({"example.com/gpu": 1}, cpu="4").build())
    known = dict(cluster.cache.table.resources.index_of)
    strange: dict[str, str | int] = {f"example.com/{number}": "1" for number in range(100)}
    assert isinstance(cluster.schedule(make_pod("strange").requests(strange, cpu="1").build()), Refused)
    assert cluster.cache.table.resources.index_of == known
    assert isinstance(cluster.schedule(make_pod("usual").requests({"example.com/gpu": 1}).build()), Chosen)
    validate_cache(cluster.cache)


def test_what_a_placed_pod_takes_counts_though_no_node_had_it_then() -> None:
    config = """
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/new]}}]}]
    """
    cluster = Cluster(textwrap.dedent(config))
    cluster.add(make_node("a").capacity(cpu="4").build())
    asking = make_pod("a").requests({"example.com/new": 2}, cpu="1").build()
    assert isinstance(cluster.schedule(asking), Chosen)
    row = cluster.cache.table.resources.find("example.com/new")
    assert cluster.cache.table.resources.requested[row].tolist() == [2]
    validate_cache(cluster.cache)


def test_requests_that_add_up_to_more_than_there_are_numbers_for_fail_no_other_pod() -> None:
    cluster = Cluster()
    for name in ("a", "b"):
        cluster.add(make_node(name).capacity(cpu="4", memory="1", pods=110).build())
    usual = [make_pod(f"usual-{number}").requests(cpu="10m") for number in range(9)]
    for builder in usual[:3]:
        assert isinstance(cluster.schedule(builder.build()), Chosen)
    cluster.add(make_pod("huge").requests(memory="1e30").on("a").build())
    cluster.add(make_pod("large").requests(memory="4Ei").on("a").build())
    for builder in usual[3:]:
        result = cluster.schedule(builder.build())
        assert isinstance(result, Chosen)
        assert result.total is not None
        assert result.total < 1000


def test_to_choose_foresees_what_is_scheduled_next_where_chance_decides_and_leaves_chance_as_it_is() -> None:
    asked, unasked = Cluster(seed=7), Cluster(seed=7)
    for cluster in (asked, unasked):
        cluster.add_all(make_node(f"node-{number}").capacity(cpu=4, pods=10).build() for number in range(20))
    for number in range(10):
        pod = make_pod(f"web-{number}").requests(cpu="1m").build()
        foreseen = [asked.choose(pod).node_name for _ in range(3)]
        assert foreseen == [asked.schedule(pod).node_name] * 3 == [unasked.schedule(pod).node_name] * 3


def test_a_cluster_says_how_large_it_is_and_a_held_pod_who_it_is() -> None:
    cluster = Cluster()
    assert repr(cluster) == "Cluster(nodes: 0, pods with a node: 0)"
    cluster.add(make_node("a").capacity(cpu=4).build())
    cluster.add(make_pod("web").on("a").build())
    assert repr(cluster) == "Cluster(nodes: 1, pods with a node: 1)"
    held = cluster.schedule(make_pod("late").gate("example.com/data").build())
    assert repr(held) == "Gated(pod='default/late', message='waiting for scheduling gates: [example.com/data]')"


def test_what_cannot_be_dropped_or_read_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"expected a Node, a Pod or another API object, got str; stowplan\.testing"):
        Cluster().remove("web")
    with pytest.raises(FileNotFoundError, match=r"none.yaml: cannot be read: No such file or directory; check the"):
        Cluster.from_yaml(tmp_path / "none.yaml")
    with pytest.raises(TypeError, match="expected the path or the text of manifests, got dict; add_all takes objects"):
        Cluster.from_yaml({"kind": "Node"})  # type: ignore[arg-type]
