"""Reloading: what is refused, what changes at once, what needs a restart, and when it takes effect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stowplan.app.cluster import Chosen, Cluster
from stowplan.app.configuration import FileSource, InlineSource, installed_plugins, queue_limits, read_configuration
from stowplan.app.profiles import Built
from stowplan.app.reload import AcceptedConfiguration, RejectedConfiguration, Reloader, reloaded
from stowplan.config.feature_gates import parse
from stowplan.config.types import Configuration
from stowplan.model.pod import Pod
from stowplan.queue.places import QueueLimits
from stowplan.testing import make_node, make_pod
from tests.known_plugins import default_configuration
from tests.limits import LIMIT_SECONDS

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKED = HEAD + (
    "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}],"
    " plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}}]"
)
DEFAULT = default_configuration()

SORTER = """
from stowplan.framework.contract import QueueSort

class Alphabet(QueueSort):
    def sort_key(self, pod, since):
        return pod.name
"""
PICKY = """
from stowplan.framework.contract import Score

class Picky(Score):
    def __init__(self, share: int) -> None:
        if share > 100:
            raise OverflowError(f"share: {share} is more than there is")

    def score(self, pod, nodes, state):
        return nodes.zeros()
"""


@pytest.mark.parametrize(
    ("text", "changes", "needs_restart"),
    [
        pytest.param(HEAD, (), (), id="the same again"),
        pytest.param(HEAD + "percentageOfNodesToScore: 50", ("percentageOfNodesToScore",), (), id="a field"),
        pytest.param(
            HEAD + "profiles: [{schedulerName: default-scheduler}, {schedulerName: batch}]",
            ("profile 'batch' added",),
            (),
            id="one more profile",
        ),
        pytest.param(
            HEAD + "profiles: [{schedulerName: batch}]",
            ("profile 'batch' added", "profile 'default-scheduler' removed"),
            (),
            id="another profile",
        ),
        pytest.param(PACKED, ("profile 'default-scheduler' changed",), (), id="other arguments"),
        pytest.param(
            HEAD + "leaderElection: {leaderElect: false}\nclientConnection: {qps: 7}\npodMaxBackoffSeconds: 60",
            (),
            ("leaderElection", "clientConnection", "podMaxBackoffSeconds"),
            id="what only a restart changes",
        ),
        pytest.param(
            HEAD + "extenders: [{urlPrefix: 'http://x', filterVerb: filter}]\ndelayCacheUntilActive: true",
            ("extenders",),
            ("delayCacheUntilActive",),
            id="some of both",
        ),
    ],
)
def test_a_good_text_is_accepted_with_what_it_changes(
    text: str, changes: tuple[str, ...], needs_restart: tuple[str, ...]
) -> None:
    answer = reloaded(DEFAULT, text, installed_plugins())
    assert isinstance(answer, AcceptedConfiguration)
    assert (answer.changes, answer.needs_restart) == (changes, needs_restart)


def test_what_needs_a_restart_stays_in_force() -> None:
    answer = reloaded(DEFAULT, HEAD + "podMaxBackoffSeconds: 60\npercentageOfNodesToScore: 3", installed_plugins())
    assert isinstance(answer, AcceptedConfiguration)
    assert (answer.configuration.pod_max_backoff_seconds, answer.configuration.percentage_of_nodes_to_score) == (10, 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("a: [", "decode: yaml: ", id="no document"),
        pytest.param(
            HEAD + "parallelism: 0", "validate: parallelism: Invalid value: 0: should be an integer", id="a wrong value"
        ),
        pytest.param(
            HEAD + "profiles: [{plugins: {filter: {enabled: [{name: Nope}]}}}]",
            "construct: initializing profiles: creating profile for scheduler name default-scheduler: "
            'FilterPlugin "Nope" does not exist',
            id="a plugin that does not exist",
        ),
        pytest.param(
            HEAD + "profiles: [{plugins: {filter: {enabled: [{name: 'no.such:Thing'}]}}}]",
            "construct: plugin 'no.such:Thing': cannot load 'no.such'",
            id="a plugin that cannot be loaded",
        ),
    ],
)
def test_a_bad_text_is_refused_with_its_reason(text: str, reason: str) -> None:
    answer = reloaded(DEFAULT, text, installed_plugins())
    assert isinstance(answer, RejectedConfiguration)
    assert answer.reason.startswith(reason)


def test_the_order_of_the_queue_cannot_change(tmp_path: Path) -> None:
    path = tmp_path / "sorter.py"
    path.write_text(SORTER)
    enabled = f"{{enabled: [{{name: '{path}:Alphabet'}}], disabled: [{{name: PrioritySort}}]}}"
    reloader = recording_reloader([])
    assert reloader.offer(HEAD + f"profiles: [{{plugins: {{queueSort: {enabled}}}}}]") == RejectedConfiguration(
        "profiles: the queue is sorted by 'PrioritySort', and pods wait in that order; "
        "restart the scheduler to sort it otherwise"
    )
    assert not reloader.apply()


def test_gates_decide_about_a_new_text_as_they_did_about_the_first() -> None:
    gates = parse("StorageCapacityScoring=true", release="1.36")
    current = read_configuration(HEAD, gates)
    answer = reloaded(current, HEAD, installed_plugins(), gates)
    assert isinstance(answer, AcceptedConfiguration)
    assert answer.changes == ()


# Applying it


def test_new_profiles_take_effect_only_between_two_cycles() -> None:
    cluster = small_cluster()
    reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
    pod = make_pod("p").requests(cpu="1").build()
    assert goes_to(cluster, pod) == "empty"
    assert isinstance(reloader.offer(PACKED), AcceptedConfiguration)
    assert goes_to(cluster, pod) == "empty"
    assert reloader.apply()
    assert goes_to(cluster, pod) == "half full"
    assert reloader.configuration == cluster.config == read_configuration(PACKED)
    assert not reloader.apply()


def test_the_old_configuration_outlives_a_bad_one() -> None:
    cluster = small_cluster()
    reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
    before = cluster.profiles
    assert isinstance(reloader.offer(HEAD + "parallelism: 0"), RejectedConfiguration)
    assert not reloader.apply()
    assert cluster.profiles is before
    assert reloader.configuration == DEFAULT


def test_a_plugin_that_refuses_its_arguments_refuses_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "picky.py"
    path.write_text(PICKY)
    text = HEAD + (
        f"profiles: [{{plugins: {{score: {{enabled: [{{name: '{path}:Picky'}}]}}}},"
        f" pluginConfig: [{{name: '{path}:Picky', args: {{share: 101}}}}]}}]"
    )
    cluster = small_cluster()
    reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
    reason = f"construct: plugin 'Picky': cannot be made: share: 101 is more than there is (at {path}:7)"
    assert reloader.offer(text) == RejectedConfiguration(reason)
    assert not reloader.apply()


def test_the_last_offer_counts_and_a_return_to_the_old_one_withdraws() -> None:
    swapped: list[int] = []
    reloader = recording_reloader(swapped)
    reloader.offer(HEAD + "percentageOfNodesToScore: 2")
    reloader.offer(HEAD + "percentageOfNodesToScore: 3")
    assert reloader.apply()
    reloader.offer(HEAD + "percentageOfNodesToScore: 4")
    reloader.offer(HEAD + "percentageOfNodesToScore: 3")
    assert not reloader.apply()
    assert swapped == [3]


def test_a_bad_offer_does_not_withdraw_a_good_one() -> None:
    swapped: list[int] = []
    reloader = recording_reloader(swapped)
    reloader.offer(HEAD + "percentageOfNodesToScore: 2")
    reloader.offer(HEAD + "parallelism: 0")
    assert reloader.apply()
    assert swapped == [2]


def test_rereading_is_one_call(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "percentageOfNodesToScore: 2")
    swapped: list[int] = []
    reloader = recording_reloader(swapped)
    assert isinstance(asyncio.run(reloader.reread(FileSource(path))), AcceptedConfiguration)
    assert reloader.apply()
    path.unlink()
    expected = f"{path}: cannot be read: No such file or directory; check the path"
    assert asyncio.run(reloader.reread(FileSource(path))) == RejectedConfiguration(expected)
    assert swapped == [2]


def test_a_source_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD)
    told = asyncio.run(follow_two_changes(path))
    assert [type(answer) for answer in told] == [AcceptedConfiguration, RejectedConfiguration]


async def follow_two_changes(path: Path) -> list[AcceptedConfiguration | RejectedConfiguration]:
    source, told = FileSource(path, poll_seconds=0), asyncio.Queue[AcceptedConfiguration | RejectedConfiguration]()
    await source.read()
    task = asyncio.create_task(recording_reloader([]).follow(source, told.put_nowait))
    answers = []
    for text in ("percentageOfNodesToScore: 2", "parallelism: 0"):
        await asyncio.to_thread(replace_text, path, HEAD + text)
        answers.append(await asyncio.wait_for(told.get(), LIMIT_SECONDS))
    task.cancel()
    return answers


def replace_text(path: Path, text: str) -> None:
    """Write a file as a mounted ConfigMap changes: in one move, so that nobody reads half of it."""
    written = path.with_suffix(".new")
    written.write_text(text)
    written.replace(path)


def test_a_text_from_the_command_line_is_what_it_was() -> None:
    assert asyncio.run(recording_reloader([]).reread(InlineSource(HEAD))) == AcceptedConfiguration(DEFAULT)


@pytest.mark.parametrize(
    ("text", "gates", "limits"),
    [
        pytest.param("", "", QueueLimits(1, 10), id="the defaults"),
        pytest.param(
            "podInitialBackoffSeconds: 3\npodMaxBackoffSeconds: 60", "", QueueLimits(3, 60), id="from the file"
        ),
        pytest.param("", "SchedulerPopFromBackoffQ=false", QueueLimits(1, 10, pops_early=False), id="by a gate"),
    ],
)
def test_how_long_pods_wait(text: str, gates: str, limits: QueueLimits) -> None:
    assert queue_limits(read_configuration(HEAD + text), parse(gates)) == limits


def small_cluster() -> Cluster:
    cluster = Cluster(seed=1)
    for name in ("empty", "half full"):
        cluster.add(make_node(name).capacity(cpu="10", memory="10Gi", pods=9).build())
    cluster.add(make_pod("there").requests(cpu="5", memory="5Gi").on("half full").build())
    return cluster


def goes_to(cluster: Cluster, pod: Pod) -> str:
    result = cluster.choose(pod)
    assert isinstance(result, Chosen)
    return result.node_name


def recording_reloader(swapped: list[int]) -> Reloader:
    def swap(config: Configuration, built: Built) -> None:
        swapped.append(config.percentage_of_nodes_to_score)

    return Reloader(DEFAULT, installed_plugins(), build=lambda config, registry: Built({}, (), registry, {}), swap=swap)


# Extenders


def test_new_extenders_are_in_force_together_with_the_profiles() -> None:
    cluster = small_cluster()
    reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
    assert isinstance(reloader.offer(HEAD + "extenders: [{urlPrefix: 'http://one'}]"), AcceptedConfiguration)
    assert extenders_of(cluster) == []
    assert reloader.apply()
    assert extenders_of(cluster) == ["http://one"]


def test_a_certificate_that_is_none_refuses_the_configuration() -> None:
    cluster = small_cluster()
    reloader = Reloader(cluster.config, cluster.registry, cluster.build, cluster.use)
    assert isinstance(reloader.offer(HEAD + "extenders: [{urlPrefix: 'http://one'}]"), AcceptedConfiguration)
    reloader.apply()
    bad = "extenders: [{urlPrefix: 'https://two', enableHTTPS: true, tlsConfig: {caFile: gone.pem}}]"
    answer = reloader.offer(HEAD + bad)
    assert isinstance(answer, RejectedConfiguration)
    assert answer.reason.startswith(
        'construct: couldn\'t build extenders: extender "https://two": tlsConfig.caData or caFile:'
    )
    assert not reloader.apply()
    assert extenders_of(cluster) == ["http://one"]


def extenders_of(cluster: Cluster) -> list[str]:
    return [extender.name for extender in cluster.extenders]


def test_how_ties_are_broken_is_decided_at_the_start() -> None:
    answer = reloaded(DEFAULT, HEAD + "parallelism: 1", installed_plugins())
    assert isinstance(answer, AcceptedConfiguration)
    assert (answer.changes, answer.needs_restart, answer.configuration.parallelism) == ((), ("parallelism",), 16)
