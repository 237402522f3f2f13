"""Every flag of `stowplan up` changes what it does, or is refused where it could not.

The table has a row for every flag there is; a new flag without one fails.
"""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import click.testing
import pytest

from stowplan.cli import main, up
from stowplan.embedded.requests import discovery
from stowplan.local import initial_objects
from stowplan.local.api_endpoint import tls_of
from stowplan.local.cluster import EmbeddedCluster
from stowplan.local.initial_objects import LoadedObjects
from stowplan.observe.logs import Logging, LogSettings

ONCE = "tests.integration.up.test_once"
UP = "tests.integration.up.test_up"
FOREIGN = "tests.integration.up.test_foreign_pages"
SAVES = "tests.integration.up.test_saves"
SELF = "tests.integration.up.test_every_flag_acts"

#: By the name of the parameter: the test that shows what it does.
ROWS = {
    "manifests": f"{ONCE}:test_everything_placed_ends_with_0_and_a_table",
    "once": f"{ONCE}:test_everything_placed_ends_with_0_and_a_table",
    "nodes": f"{SELF}:test_so_many_nodes_are_made",
    "shapes": f"{SELF}:test_nodes_look_as_their_shapes_say",
    "copied_from": f"{UP}:test_a_cluster_begins_as_a_copy_of_a_live_one",
    "data": f"{UP}:test_what_is_kept_on_disk_is_there_again_after_a_kill",
    "bind_address": f"{ONCE}:test_what_cannot_be_done_is_said_in_one_sentence",
    "port": f"{UP}:test_a_port_that_is_taken_is_refused_by_name",
    "token": f"{UP}:test_with_token_and_tls_only_those_who_show_the_token_come_in",
    "cert": f"{UP}:test_with_token_and_tls_only_those_who_show_the_token_come_in",
    "key": f"{UP}:test_with_token_and_tls_only_those_who_show_the_token_come_in",
    "client_ca": f"{SELF}:test_certificates_of_clients_are_asked_for",
    "allow_host": f"{FOREIGN}:test_both_ports_answer_everybody_else",
    "authorization": f"{SELF}:test_roles_decide_only_where_asked_for",
    "audit_log": f"{UP}:test_requests_are_written_down_where_asked_for",
    "kubeconfig": f"{UP}:test_it_writes_a_kubeconfig_that_only_its_owner_reads",
    "config_path": f"{SELF}:test_the_scheduler_goes_by_its_configuration",
    "reload": f"{SAVES}:test_what_is_saved_is_in_force_and_the_cluster_stays",
    "plugin_budget": f"{SAVES}:test_a_plugin_over_its_budget_is_left_out_of_the_scores",
    "legacy_config": f"{SELF}:test_an_older_configuration_is_taken_with_the_flag_only",
    "emulated_version": f"{SELF}:test_the_server_is_of_the_release_asked_for",
    "gates": f"{SELF}:test_gates_reach_the_server_and_the_scheduler",
    "without": f"{UP}:test_what_is_left_out_is_for_others_to_play",
    "seed": f"{ONCE}:test_the_same_seed_gives_the_same_names_and_nodes",
    "timeout": f"{SELF}:test_it_waits_only_so_long",
    "explains": f"{SELF}:test_refusals_are_explained_where_asked_for",
    "allow_refused": f"{ONCE}:test_a_refusal_ends_with_1_unless_it_is_allowed",
    "form": f"{SELF}:test_what_became_of_pods_is_written_in_the_form_asked_for",
}
POD = """apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
"""
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
OTHER_NAME = "profiles: [{schedulerName: other}]\n"
SMALL = "shapes: [{name: small, capacity: {cpu: 1, memory: 1Gi, pods: 9}}]\n"


def test_every_flag_has_a_row() -> None:
    parameters = up.command.get_params(click.Context(up.command))
    assert {parameter.name for parameter in parameters if "--help" not in parameter.opts} == ROWS.keys()


@pytest.mark.parametrize("test", sorted(set(ROWS.values())))
def test_the_test_that_shows_it_is_there(test: str) -> None:
    module, _, name = test.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def run(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, ["up", *arguments])


@pytest.fixture
def once(tmp_path: Path) -> Callable[..., click.testing.Result]:
    (tmp_path / "pod.yaml").write_text(POD)
    return lambda *flags: run("--once", "--port=0", *flags, str(tmp_path / "pod.yaml"))


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


Once = Callable[..., click.testing.Result]


class Progress:
    """Listens while a cluster is loaded."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def stage(self, title: str, total: int) -> Any:
        raise AssertionError("nothing is put in")


def contents(progress: Progress, *flags: str) -> LoadedObjects:
    return asyncio.run(initial_objects.read_contents(made(*flags).initial_objects, progress, has_data=False))


def test_so_many_nodes_are_made() -> None:
    assert len(contents(Progress(), "--nodes=3").nodes) == 3
    assert len(contents(Progress()).nodes) == 100


def test_nodes_look_as_their_shapes_say(once: Once, tmp_path: Path) -> None:
    result = once("--nodes=1", f"--shapes={written(tmp_path, 'shapes.yaml', SMALL)}")
    assert "0/1 nodes are available: 1 Insufficient cpu" in result.output


def test_shapes_without_nodes_to_shape_are_told(tmp_path: Path) -> None:
    progress = Progress()
    contents(progress, "--nodes=0", f"--shapes={written(tmp_path, 'shapes.yaml', SMALL)}")
    remedy = "no nodes are made beside those that are given; ask for some with --nodes"
    assert progress.notes == [f"--shapes has no effect: {remedy}"]


def test_the_scheduler_goes_by_its_configuration(once: Once, tmp_path: Path) -> None:
    result = once("--nodes=1", f"--config={written(tmp_path, 'config.yaml', HEAD + OTHER_NAME)}")
    assert "left to another scheduler default/web" in result.output


def test_an_older_configuration_is_taken_with_the_flag_only(once: Once, tmp_path: Path) -> None:
    flag = f"--config={written(tmp_path, 'config.yaml', HEAD.replace('/v1', '/v1beta3') + OTHER_NAME)}"
    assert "v1beta3 is gone" in once("--nodes=1", flag).output
    assert "left to another scheduler default/web" in once("--nodes=1", flag, "--legacy-config").output


def test_it_waits_only_so_long(once: Once) -> None:
    assert "undecided default/web" in once("--nodes=1", "--timeout=0.001").output


def test_refusals_are_explained_where_asked_for(once: Once, tmp_path: Path) -> None:
    shapes = f"--shapes={written(tmp_path, 'shapes.yaml', SMALL)}"
    plain, explained = once("--nodes=1", shapes).output, once("--nodes=1", shapes, "--explain").output
    assert len(explained) > len(plain)
    assert explained.startswith(plain)


def test_what_became_of_pods_is_written_in_the_form_asked_for(once: Once) -> None:
    assert once("--nodes=1", "--output=json").output.startswith("{")


# What a cluster is made of


def made(*flags: str) -> Any:
    """Return what the flags come to."""
    context = up.command.make_context("up", list(flags))
    return up._options(context.params, Logging(LogSettings()))


def server_options(*flags: str) -> Any:
    async def look() -> Any:
        cluster = EmbeddedCluster(made(*flags).cluster)
        try:
            return cluster._server_options()
        finally:
            await cluster.close()

    return asyncio.run(look())


def test_certificates_of_clients_are_asked_for(tmp_path: Path) -> None:
    from stowplan.serving.certificates import self_signed

    cert, key = (written(tmp_path, name, pem.decode()) for name, pem in zip("ck", self_signed(), strict=True))
    pair = (f"--cert={cert}", f"--key={key}")
    context = tls_of(made(*pair, f"--client-ca={cert}").cluster.endpoint)
    plain = tls_of(made(*pair).cluster.endpoint)
    assert context is not None
    assert plain is not None
    assert (context.verify_mode, plain.verify_mode) == (ssl.CERT_OPTIONAL, ssl.CERT_NONE)


def test_roles_decide_only_where_asked_for() -> None:
    async def authorizer(*flags: str) -> Any:
        cluster = EmbeddedCluster(made("--port=0", *flags).cluster)
        try:
            await cluster.start()
            return cluster._server_options().authorizer
        finally:
            await cluster.close()

    assert asyncio.run(authorizer("--authorization=rbac")) is not None
    assert asyncio.run(authorizer()) is None


def test_gates_reach_the_server_and_the_scheduler() -> None:
    assert server_options().has_watch_list
    assert not server_options("--feature-gates=WatchList=false").has_watch_list
    assert "GenericWorkload" in made("--feature-gates=GenericWorkload=true").cluster.flags.feature_gates.on


@pytest.mark.parametrize(
    ("flags", "version", "served"),
    [
        pytest.param((), "v1.37.1+stowplan", {"v1"}, id="the newest"),
        pytest.param(("--emulated-version=kube=1.36",), "v1.36.4+stowplan", {"v1"}, id="the older one"),
        pytest.param(
            ("--feature-gates=GenericWorkload=true",),
            "v1.37.1+stowplan",
            {"v1", "v1beta1", "v1alpha3"},
            id="groups of the newest",
        ),
        pytest.param(
            ("--emulated-version=kube=1.36", "--feature-gates=GenericWorkload=true"),
            "v1.36.4+stowplan",
            {"v1", "v1alpha2"},
            id="groups of the older one",
        ),
    ],
)
def test_the_server_is_of_the_release_asked_for(flags: tuple[str, ...], version: str, served: set[str]) -> None:
    async def look() -> None:
        cluster = EmbeddedCluster(made(*flags).cluster)
        try:
            catalogue = cluster.api.catalogue
            assert discovery.version(catalogue)["gitVersion"] == version
            assert {each.version for each in catalogue.all() if each.group == "scheduling.k8s.io"} == served
        finally:
            await cluster.close()

    asyncio.run(look())


@pytest.mark.parametrize("name", ["http://x", "x:6443", "*", "*.example.com", "", "a b", "a,b"])
def test_another_name_has_to_be_a_name(name: str) -> None:
    result = run("--once", "--nodes=1", f"--allow-host={name}")
    assert result.exit_code == 2
    remedy = "give a name or an address alone, without scheme, port and wildcard, such as host.docker.internal"
    assert f"Error: --allow-host {name!r} is not a host: {remedy}" in result.output


# What does not go together


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        pytest.param(("--timeout=3",), "--timeout is for --once", id="a time for nothing"),
        pytest.param(("--explain",), "--explain is for --once", id="explanations of nothing"),
        pytest.param(("--allow-refused",), "--allow-refused is for --once", id="an exit code of nothing"),
        pytest.param(("--output=json",), "--output is for --once", id="a form for nothing"),
        pytest.param(
            ("--config=c.yaml", "--without=scheduler"),
            "--config is for the scheduler, which --without leaves out",
            id="a configuration for nobody",
        ),
        pytest.param(("--legacy-config",), "--legacy-config is for a configuration", id="nothing to convert"),
    ],
)
def test_flags_that_would_change_nothing_are_refused(flags: tuple[str, ...], problem: str) -> None:
    result = run(*flags)
    assert result.exit_code == 2
    assert f"Error: {problem}" in result.output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "leaderElection: {leaderElect: false}",
            "leaderElection has no effect in `stowplan up`: there is one scheduler, in the process of its cluster",
            id="a lease for one",
        ),
        pytest.param(
            "clientConnection: {qps: 3}",
            "clientConnection has no effect in `stowplan up`: the cluster is in the same process",
            id="a connection to itself",
        ),
        pytest.param(
            "delayCacheUntilActive: true",
            "delayCacheUntilActive has no effect in `stowplan up`: the scheduler is always active",
            id="a delay",
        ),
    ],
)
def test_fields_without_use_here_are_told(once: Once, tmp_path: Path, text: str, expected: str) -> None:
    assert expected in once("--nodes=1", f"--config={written(tmp_path, 'config.yaml', HEAD + text)}").output
