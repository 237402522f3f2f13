"""Every flag of `stowplan run` changes what the program does, is refused, or says that it changes nothing.

The table has a row for every flag there is; a new flag without one fails. A row shows the effect itself, or names the
test that does.
"""

from __future__ import annotations

import importlib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stowplan.app.configuration import SourceError
from stowplan.app.options import FLAGS
from stowplan.cli.flag_parser import parse
from stowplan.cli.run import flag_warnings
from stowplan.config.errors import ConfigError
from stowplan.serving.certificates import self_signed
from tests.unit.app.made import HEAD, Made, look_at
from tests.unit.serving.certificate_authority import Authority


@dataclass
class Acts:
    """With the flags, something is as expected; without them it is not."""

    flags: tuple[str, ...]
    look: Callable[[Made], Any]
    expected: Any
    #: What both sides are given.
    beside: tuple[str, ...] = ()


@dataclass
class Said:
    """The flags change nothing, and that is told."""

    flags: tuple[str, ...]
    why: str


@dataclass
class Shown:
    """Another test shows the effect."""

    test: str


AUTHORITY = Authority("somebody")
MANIFEST = "scheduler_schedule_attempts_total,result: scheduled\n"


def allowed(made: Made) -> Any:
    return made.metrics.series._shown.allowed


def headers(made: Made) -> Any:
    return made.authenticator.proxies.settings


def of_proxies(flag: str, field: str, expected: Any) -> Acts:
    beside = ("--requestheader-client-ca-file=CA",)
    return Acts((flag,), lambda made: getattr(headers(made), field), expected, beside)


def server_of(made: Made) -> str:
    return str(made.client._pool._credentials.server)  # type: ignore[attr-defined]


def percentage(made: Made) -> int:
    return int(made.replica.cluster.field.percentage_of_nodes_to_score)


SELF = "tests.unit.cli.test_every_flag_acts"
PAGE = "tests.integration.web.test_page_of_run"
RUN_FLAGS = "tests.unit.cli.test_run_flags"
TIMING: Callable[[Made], Any] = lambda made: made.live._elector._timing  # noqa: E731
LOCK: Callable[[Made], Any] = lambda made: made.live._elector._lock  # noqa: E731


def budget_ns(made: Made) -> Any:
    budgeted: Any = made.replica._budget
    return None if budgeted is None else budgeted._budget._limit_ns


ROWS: dict[str, Acts | Said | Shown] = {
    # Misc
    "config": Acts(("--config=CONFIG",), percentage, 40),
    "config-map": Shown(f"{SELF}:test_a_config_map_is_asked_for"),
    "config-text": Acts((f"--config-text={HEAD}percentageOfNodesToScore: 40",), percentage, 40),
    "legacy-config": Shown(f"{SELF}:test_an_older_configuration_is_taken_with_the_flag_only"),
    "plugin-budget": Acts(("--plugin-budget=5ms",), budget_ns, 5_000_000),
    "page": Shown(f"{PAGE}:test_with_the_flag_the_files_are_for_everybody_and_the_api_for_those_who_may"),
    "master": Acts(("--master=http://10.0.0.1:80",), server_of, "http://10.0.0.1:80"),
    "write-config-to": Shown(f"{RUN_FLAGS}:test_the_configuration_in_force_is_written_and_that_is_all"),
    # Secure serving
    "bind-address": Acts(("--bind-address=127.0.0.1",), lambda made: made.address.host, "127.0.0.1"),
    "cert-dir": Acts(("--cert-dir=CERTS",), lambda made: made.certificate.is_self_signed, False),
    "disable-http2-serving": Said(("--disable-http2-serving",), "only HTTP/1.1 is served"),
    "http2-max-streams-per-connection": Said(("--http2-max-streams-per-connection=9",), "only HTTP/1.1 is served"),
    "permit-address-sharing": Said(("--permit-address-sharing",), "SO_REUSEADDR is always used"),
    "permit-port-sharing": Acts(
        ("--permit-port-sharing",), lambda made: made.socket_option(socket.SOL_SOCKET, socket.SO_REUSEPORT), True
    ),
    "secure-port": Acts(("--secure-port=0",), lambda made: made.address.port, 0),
    "tls-cert-file": Acts(
        ("--tls-cert-file=CERT", "--tls-private-key-file=KEY"), lambda made: made.certificate.is_self_signed, False
    ),
    "tls-cipher-suites": Acts(
        ("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",),
        lambda made: [one["name"] for one in made.tls.get_ciphers() if one["protocol"] == "TLSv1.2"],
        ["ECDHE-RSA-AES128-GCM-SHA256"],
    ),
    "tls-curve-preferences": Said(("--tls-curve-preferences=23",), "TLS is OpenSSL's here"),
    "tls-min-version": Acts(
        ("--tls-min-version=VersionTLS13",), lambda made: made.tls.minimum_version, ssl.TLSVersion.TLSv1_3
    ),
    "tls-private-key-file": Acts(
        ("--tls-cert-file=CERT", "--tls-private-key-file=KEY"), lambda made: made.certificate._key is not None, True
    ),
    "tls-sni-cert-key": Said(("--tls-sni-cert-key=a,b",), "one certificate is served under all names"),
    # Authentication
    "authentication-kubeconfig": Shown(f"{SELF}:test_kubeconfigs_of_reviews_are_read"),
    "authentication-skip-lookup": Acts(
        ("--authentication-skip-lookup",), lambda made: made.reviewer.asked, 0, ("--secure-port=1",)
    ),
    "authentication-token-webhook-cache-ttl": Acts(
        ("--authentication-token-webhook-cache-ttl=3s",), lambda made: made.authenticator.token_seconds, 3
    ),
    "authentication-tolerate-lookup-failure": Shown(
        "tests.unit.app.test_endpoints:test_a_lookup_that_fails_is_tolerated_unless_it_must_not_be"
    ),
    "client-ca-file": Acts(("--client-ca-file=CA",), lambda made: made.authenticator.clients is not None, True),
    "requestheader-allowed-names": of_proxies(
        "--requestheader-allowed-names=front", "requestheader_allowed_names", ("front",)
    ),
    "requestheader-client-ca-file": Acts(
        ("--requestheader-client-ca-file=CA",), lambda made: made.authenticator.proxies is not None, True
    ),
    "requestheader-extra-headers-prefix": of_proxies(
        "--requestheader-extra-headers-prefix=x-more-", "requestheader_extra_headers_prefix", ("x-more-",)
    ),
    "requestheader-group-headers": of_proxies(
        "--requestheader-group-headers=x-g", "requestheader_group_headers", ("x-g",)
    ),
    "requestheader-uid-headers": of_proxies("--requestheader-uid-headers=x-id", "requestheader_uid_headers", ("x-id",)),
    "requestheader-username-headers": of_proxies(
        "--requestheader-username-headers=x-u", "requestheader_username_headers", ("x-u",)
    ),
    # Authorization
    "authorization-always-allow-paths": Acts(
        ("--authorization-always-allow-paths=/metrics",),
        lambda made: made.authorizer.settings.always_allowed_paths,
        ("/metrics",),
    ),
    "authorization-kubeconfig": Shown(f"{SELF}:test_kubeconfigs_of_reviews_are_read"),
    "authorization-webhook-cache-authorized-ttl": Acts(
        ("--authorization-webhook-cache-authorized-ttl=3s",),
        lambda made: made.authorizer.settings.allowed_seconds,
        3,
    ),
    "authorization-webhook-cache-unauthorized-ttl": Acts(
        ("--authorization-webhook-cache-unauthorized-ttl=3s",),
        lambda made: made.authorizer.settings.refused_seconds,
        3,
    ),
    # Deprecated
    "contention-profiling": Said(("--contention-profiling",), "Python has no such profile"),
    "kube-api-burst": Acts(("--kube-api-burst=7",), lambda made: made.bucket._burst, 7),
    "kube-api-content-type": Acts(
        ("--kube-api-content-type=application/json",), lambda made: made.client.writes_binary, False
    ),
    "kube-api-qps": Acts(("--kube-api-qps=7",), lambda made: made.bucket._qps, 7),
    "kubeconfig": Acts(("--kubeconfig=KUBECONFIG", "--master="), server_of, "http://10.0.0.2:80"),
    "pod-max-in-unschedulable-pods-duration": Acts(
        ("--pod-max-in-unschedulable-pods-duration=90s",),
        lambda made: made.replica.limits.max_unschedulable_seconds,
        90,
    ),
    "profiling": Acts(("--profiling=false",), lambda made: made.live._pages().set_verbosity, None),
    # Leader election
    "leader-elect": Acts(("--leader-elect=false",), lambda made: made.live._elector, None),
    "leader-elect-lease-duration": Acts(
        ("--leader-elect-lease-duration=40s",), lambda made: TIMING(made).lease_duration, 40
    ),
    "leader-elect-renew-deadline": Acts(
        ("--leader-elect-renew-deadline=9s",), lambda made: TIMING(made).renew_deadline, 9
    ),
    "leader-elect-resource-lock": Shown(f"{SELF}:test_only_leases_are_locks"),
    "leader-elect-resource-name": Acts(("--leader-elect-resource-name=mine",), lambda made: LOCK(made)._name, "mine"),
    "leader-elect-resource-namespace": Acts(
        ("--leader-elect-resource-namespace=mine",), lambda made: LOCK(made)._namespace, "mine"
    ),
    "leader-elect-retry-period": Acts(("--leader-elect-retry-period=3s",), lambda made: TIMING(made).retry_period, 3),
    # Feature gate
    "emulated-version": Acts(
        ("--emulated-version=kube=1.36",), lambda made: made.replica.cluster.feature_gates.release, "1.36"
    ),
    "feature-gates": Acts(
        ("--feature-gates=SchedulerPopFromBackoffQ=false",), lambda made: made.replica.limits.pops_early, False
    ),
    "min-compatibility-version": Acts(
        ("--min-compatibility-version=1.37",),
        lambda made: made.replica.cluster.feature_gates.enabled("DRAFractionalCapacityRange"),
        True,
    ),
    # Metrics
    "allow-metric-labels": Acts(
        ("--allow-metric-labels=scheduler_schedule_attempts_total,result='scheduled'",),
        allowed,
        {("scheduler_schedule_attempts_total", "result"): frozenset({"scheduled"})},
    ),
    "allow-metric-labels-manifest": Acts(
        ("--allow-metric-labels-manifest=MANIFEST",),
        allowed,
        {("scheduler_schedule_attempts_total", "result"): frozenset({"scheduled"})},
    ),
    "disabled-metrics": Acts(
        ("--disabled-metrics=scheduler_pending_pods",),
        lambda made: b"scheduler_pending_pods{" in made.metrics.text(),
        False,
    ),
    "show-hidden-metrics-for-version": Said(("--show-hidden-metrics-for-version=1.35",), "none is hidden"),
    # Logs
    "log-flush-frequency": Said(("--log-flush-frequency=3s",), "log lines are written at once"),
    "log-json-info-buffer-size": Said(("--log-json-info-buffer-size=1Mi",), "log lines are written at once"),
    "log-json-split-stream": Acts(
        ("--log-json-split-stream",), lambda made: len(made.logging._handlers), 2, ("--logging-format=json",)
    ),
    "log-text-info-buffer-size": Said(("--log-text-info-buffer-size=1Mi",), "log lines are written at once"),
    "log-text-split-stream": Acts(("--log-text-split-stream",), lambda made: len(made.logging._handlers), 2),
    "logging-format": Acts(
        ("--logging-format=json",),
        lambda made: type(made.logging._handlers[0].formatter).__name__,
        "JsonFormatter",
    ),
    "v": Acts(("-v=3",), lambda made: made.logging.verbosity, 3),
    "vmodule": Acts(("--vmodule=queue=5",), lambda made: made.logging._filter.vmodule, (("queue", 5),)),
    # Global
    "help": Shown(f"{RUN_FLAGS}:test_help_has_every_section_and_flag"),
    "version": Shown(f"{RUN_FLAGS}:test_the_version_is_printed"),
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write the files that rows name."""
    cert, key = self_signed()
    certs = tmp_path / "certs"
    certs.mkdir()
    written: dict[str, bytes] = {
        "certs/kube-scheduler.crt": cert,
        "certs/kube-scheduler.key": key,
        "ca.crt": AUTHORITY.pem.encode(),
        "config.yaml": f"{HEAD}percentageOfNodesToScore: 40".encode(),
        "labels.yaml": MANIFEST.encode(),
        "kubeconfig": KUBECONFIG.encode(),
    }
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    names = {
        "CERTS": "certs",
        "CERT": "certs/kube-scheduler.crt",
        "KEY": "certs/kube-scheduler.key",
        "CA": "ca.crt",
        "CONFIG": "config.yaml",
        "MANIFEST": "labels.yaml",
        "KUBECONFIG": "kubeconfig",
    }
    return {word: str(tmp_path / name) for word, name in names.items()}


KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://10.0.0.2:80"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def spelled(flags: tuple[str, ...], files: dict[str, str]) -> tuple[str, ...]:
    """Put the files in the place of their words."""
    pairs = (flag.partition("=") for flag in flags)
    return tuple(f"{name}{equals}{files.get(value, value)}" for name, equals, value in pairs)


def of_kind(kind: type) -> list[Any]:
    return [pytest.param(row, id=name) for name, row in ROWS.items() if isinstance(row, kind)]


def test_every_flag_has_a_row() -> None:
    assert ROWS.keys() == FLAGS.keys()


@pytest.mark.parametrize("row", of_kind(Acts))
def test_a_flag_acts(row: Acts, files: dict[str, str]) -> None:
    beside = spelled(row.beside, files)
    assert look_at((*beside, *spelled(row.flags, files)), row.look) == row.expected
    assert look_at(beside, row.look) != row.expected


@pytest.mark.parametrize("row", of_kind(Acts))
def test_of_a_flag_that_acts_nothing_is_said(row: Acts, files: dict[str, str]) -> None:
    assert flag_warnings(parse(spelled((*row.beside, *row.flags), files))) == []


@pytest.mark.parametrize("row", of_kind(Said))
def test_a_flag_that_does_nothing_says_so(row: Said) -> None:
    [said] = flag_warnings(parse(row.flags))
    name = row.flags[0].partition("=")[0]
    assert said.startswith(f"{name} has no effect: {row.why}")


@pytest.mark.parametrize("row", of_kind(Shown))
def test_the_test_that_shows_a_flag_is_there(row: Shown) -> None:
    module, _, name = row.test.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


# Effects that need more than a look


def test_a_config_map_is_asked_for() -> None:
    with pytest.raises(SourceError, match="--config-map ns/name: cannot be read: "):
        look_at(("--config-map=ns/name",), percentage)


def test_an_older_configuration_is_taken_with_the_flag_only() -> None:
    text = f"--config-text={HEAD.replace('/v1', '/v1beta3')}percentageOfNodesToScore: 40"
    assert look_at(("--legacy-config", text), percentage) == 40
    with pytest.raises(ConfigError, match="v1beta3 is gone"):
        look_at((text,), percentage)


def test_only_leases_are_locks() -> None:
    with pytest.raises(ConfigError, match='resourceLock value must be "leases"'):
        look_at(("--leader-elect-resource-lock=endpoints",), percentage)


@pytest.mark.parametrize("flag", ["authentication-kubeconfig", "authorization-kubeconfig"])
def test_kubeconfigs_of_reviews_are_read(flag: str) -> None:
    import asyncio

    from stowplan.app.endpoints import open_endpoints
    from stowplan.kube.credentials import CredentialsError
    from stowplan.observe.metrics import Metrics

    async def start() -> None:
        options = parse((f"--{flag}=missing.conf", "--secure-port=1"))
        await open_endpoints(options, None, Metrics(lambda: 0).requests)  # type: ignore[arg-type]

    with pytest.raises(CredentialsError, match=r"missing\.conf"):
        asyncio.run(start())


# Flags that need another one


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param(
            ("--requestheader-group-headers=x",),
            "--requestheader-group-headers has no effect without --requestheader-client-ca-file:"
            " the cluster says whom to believe",
            id="headers without the authority of those who may send them",
        ),
        pytest.param(
            ("--log-json-split-stream",),
            "--log-json-split-stream has no effect with --logging-format=text",
            id="streams of another format",
        ),
        pytest.param(
            ("--legacy-config",), "--legacy-config has no effect without a configuration", id="nothing to convert"
        ),
        pytest.param(
            ("--config=c.yaml", "--kube-api-qps=3"),
            "--kube-api-qps is ignored: the configuration file decides",
            id="a deprecated flag beside a configuration",
        ),
        pytest.param(
            ("--kube-api-content-type=application/cbor",),
            "--kube-api-content-type has no effect: write application/json or application/vnd.kubernetes.protobuf;"
            " application/json is used",
            id="a content type that is not written",
        ),
        pytest.param(
            ("--disabled-metrics=scheduler_pending_pod",),
            "--disabled-metrics: there is no metric 'scheduler_pending_pod', which has no effect",
            id="a metric that there is not",
        ),
        pytest.param(
            ("--allow-metric-labels=scheduler_pending_pods,color='red'",),
            "--allow-metric-labels: there is no metric 'scheduler_pending_pods' with a label 'color',"
            " which has no effect",
            id="a label that there is not",
        ),
    ],
)
def test_a_flag_that_would_need_another_says_so(flags: tuple[str, ...], expected: str) -> None:
    assert flag_warnings(parse(flags)) == [expected]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            (
                "--leader-elect-renew-deadline=20s",
                "--leader-elect-lease-duration=30s",
                "--leader-elect-retry-period=19s",
            ),
            r"renewDeadline must be greater than retryPeriod\*1.2",
            id="no time to try again",
        ),
        pytest.param(("--kube-api-burst=0",), "burst is 0 while qps is 50", id="no burst at all"),
        pytest.param(
            ("--allow-metric-labels-manifest=missing.yaml",), "missing.yaml: .*give a YAML file of lines", id="no file"
        ),
    ],
)
def test_values_that_do_not_go_together_are_refused(flags: tuple[str, ...], message: str) -> None:
    from stowplan.app.options import OptionError

    with pytest.raises(OptionError, match=message):
        look_at(flags, percentage)
