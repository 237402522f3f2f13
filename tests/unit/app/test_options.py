"""What flags make of a configuration."""

import pytest

from stowplan.app.configuration import queue_limits_of
from stowplan.app.endpoints import access_settings, address
from stowplan.app.options import OptionError, RunOptions, apply_flags, log_settings, shown_metrics
from stowplan.cli.flag_parser import parse
from stowplan.config.types import ClientConnection, Configuration, LeaderElection
from stowplan.model.duration import of_seconds

WRITTEN = Configuration(
    leader_election=LeaderElection(lease_duration=of_seconds(30), resource_name="mine"),
    client_connection=ClientConnection(kubeconfig="file.conf", qps=7),
    enable_profiling=False,
)


def test_with_a_file_only_leader_election_wins_over_it() -> None:
    flags = ["--config=c.yaml", "--kube-api-qps=99", "--kubeconfig=other", "--profiling", "--leader-elect=false"]
    found = apply_flags(parse(flags), WRITTEN)
    assert found.client_connection == WRITTEN.client_connection
    assert found.enable_profiling is False
    assert found.leader_election == LeaderElection(
        leader_elect=False, lease_duration=of_seconds(30), resource_name="mine"
    )


def test_without_a_file_deprecated_flags_count() -> None:
    flags = ["--kube-api-qps=99", "--kube-api-burst=3", "--kubeconfig=other", "--profiling=false"]
    found = apply_flags(parse(flags), Configuration())
    assert (found.client_connection.qps, found.client_connection.burst) == (99, 3)
    assert (found.client_connection.kubeconfig, found.enable_profiling) == ("other", False)


def test_flags_that_were_not_given_change_nothing() -> None:
    assert apply_flags(parse([]), WRITTEN) == WRITTEN


def test_how_long_refused_pods_wait_has_only_a_flag() -> None:
    options = parse(["--config=c.yaml", "--pod-max-in-unschedulable-pods-duration=90s"])
    limits = queue_limits_of(options, Configuration(pod_max_backoff_seconds=20))
    assert (limits.max_unschedulable_seconds, limits.max_backoff_seconds) == (90, 20)


def test_logging_flags_become_settings() -> None:
    found = log_settings(parse(["--logging-format=json", "-v=3", "--vmodule=queue=5,intake*=4"]))
    assert (found.format, found.verbosity, found.vmodule) == ("json", 3, (("queue", 5), ("intake*", 4)))


def test_metric_flags_say_what_is_shown() -> None:
    options = parse(["--disabled-metrics=a,b", "--allow-metric-labels=m,l='x,y'"])
    found = shown_metrics(options)
    assert found.disabled == {"a", "b"}
    assert found.allowed == {("m", "l"): frozenset({"x", "y"})}


@pytest.mark.parametrize(
    ("arguments", "read", "message"),
    [
        pytest.param(["--secure-port=70000"], address, "--secure-port 70000 must be between", id="port"),
        pytest.param(["--authorization-always-allow-paths=/a*b"], access_settings, "only trailing", id="path"),
        pytest.param(["--logging-format=xml"], log_settings, "Unsupported log format", id="format"),
        pytest.param(["--vmodule=queue"], log_settings, "does not have the pattern=N format", id="vmodule"),
        pytest.param(["--allow-metric-labels=m=1"], shown_metrics, "write metric,label=value", id="labels"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(arguments: list[str], read: object, message: str) -> None:
    assert callable(read)
    with pytest.raises(OptionError, match=message):
        read(parse(arguments))


def test_options_are_a_value() -> None:
    assert parse(["-v=1"]) == parse(["--v=1"])
    with pytest.raises(AttributeError):
        RunOptions().v = 3  # type: ignore[misc]
