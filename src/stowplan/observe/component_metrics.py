"""The metrics that every Kubernetes component publishes: who it is, how it talks to the API server, whether it leads,
how it fares.

`RequestMetrics` is what the client tells of its requests, `HealthMetrics` how every health check went, each time it was
made. The lists are published beside those of `metric_list`.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from stowplan.config import releases
from stowplan.config.feature_gates import FeatureGates, stages_of
from stowplan.observe.series import Family, SeriesSet, metric

#: The newest release that is known: what this program is a kube-scheduler of, whichever it decides like.
KUBERNETES: Final = tuple(releases.RELEASES[releases.DEFAULT].split("."))
FOLLOWED: Final = f"v{'.'.join(KUBERNETES)}"

_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES: Final = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)

IDENTITY: Final = (
    metric(
        "kubernetes_build_info{major,minor,git_version,git_commit,git_tree_state,build_date,go_version,compiler"
        ",platform}",
        "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state,"
        " build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    ),
    metric(
        "kubernetes_feature_enabled{name,stage}",
        "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
    ),
    metric(
        "version_info{component,binary,emulation,min_compat}",
        "[ALPHA] Provides the compatibility version info of the component. The component label is the name of the"
        " component, usually kube, but is relevant for aggregated-apiservers.",
    ),
    metric(
        "registered_metrics_total{stability_level,deprecated_version}",
        "[BETA] The count of registered metrics broken by stability level and deprecation version.",
    ),
    metric("hidden_metrics_total", "[BETA] The count of hidden metrics."),
    metric("disabled_metrics_total", "[BETA] The count of disabled metrics."),
)

ELECTION: Final = (
    metric(
        "leader_election_master_status{name}",
        "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates"
        " master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ),
    metric(
        "leader_election_slowpath_total{name}",
        "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify"
        " the lease. Please make sure to group by name.",
    ),
)

CLIENT: Final = (
    metric(
        "rest_client_requests_total{code,method,host}",
        "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
    ),
    metric(
        "rest_client_request_duration_seconds{verb,host}",
        "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
        _SECONDS,
    ),
    metric(
        "rest_client_rate_limiter_duration_seconds{verb,host}",
        "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.",
        _SECONDS,
    ),
    metric(
        "rest_client_request_retries_total{code,verb,host}",
        "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
    ),
    metric(
        "rest_client_request_size_bytes{verb,host}",
        "[ALPHA] Request size in bytes. Broken down by verb and host.",
        _BYTES,
    ),
    metric(
        "rest_client_response_size_bytes{verb,host}",
        "[ALPHA] Response size in bytes. Broken down by verb and host.",
        _BYTES,
    ),
)

#: On a page of their own, `/metrics/slis`.
CHECKS: Final = (
    metric("kubernetes_healthcheck{name,type}", "[STABLE] This metric records the result of a single healthcheck."),
    metric(
        "kubernetes_healthchecks_total{name,type,status}",
        "[STABLE] This metric records the results of all healthcheck.",
    ),
    metric("process_start_time_seconds", "[ALPHA] Start time of the process since unix epoch in seconds."),
)

COMPONENT: Final = IDENTITY + ELECTION + CLIENT


class RequestMetrics:
    """What the client tells of its requests to the API server."""

    def __init__(self, series: SeriesSet) -> None:
        self._series = series

    def answered(self, verb: str, host: str, code: str, seconds: float) -> None:
        """Count a request; the code of one without an answer is `<error>`."""
        self._series.count("rest_client_requests_total", code, verb, host)
        self._series.time("rest_client_request_duration_seconds", seconds, verb, host)

    def limited(self, verb: str, host: str, seconds: float) -> None:
        """Count the time that a request waited for its turn."""
        self._series.time("rest_client_rate_limiter_duration_seconds", seconds, verb, host)

    def retried(self, verb: str, host: str, code: str) -> None:
        """Count a request that is sent again, with the code that it had been answered with."""
        self._series.count("rest_client_request_retries_total", code, verb, host)

    def sized(self, verb: str, host: str, sent: int, received: int | None) -> None:
        """Count the bodies of a request and of its answer, if there was one and all of it came at once."""
        self._series.histogram("rest_client_request_size_bytes").observe(sent, verb, host)
        if received is not None:
            self._series.histogram("rest_client_response_size_bytes").observe(received, verb, host)


def introduce(series: SeriesSet, gates: FeatureGates, version: str, disabled: int) -> None:
    """Say who this is; said again after a reset."""
    major, minor, _ = KUBERNETES
    system = f"{sys.platform}/{platform.machine()}"
    compiler = f"{platform.python_implementation()} {platform.python_version()}"
    series.gauge("kubernetes_build_info").set(1, major, minor, version, "", "", "", "", compiler, system)
    compatible = releases.previous(gates.release)
    series.gauge("version_info").set(1, "kube", f"{major}.{minor}", gates.release, compatible)
    for name, at in stages_of(gates.release).items():
        stage = "" if at.maturity == "GA" else at.maturity.upper()
        series.gauge("kubernetes_feature_enabled").set(int(gates.enabled(name)), name, stage)
    for one in series.by_name.values():
        series.counter("registered_metrics_total").add(one.definition.stability, one.definition.deprecated_since)
    series.counter("disabled_metrics_total").add(by=disabled)


class HealthMetrics(Collector):
    """Counts health checks."""

    def __init__(self, started_at_seconds: float) -> None:
        self._started_at = started_at_seconds
        self.series = SeriesSet(CHECKS)
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def observe(self, check: str, endpoint: str, passed: bool) -> None:
        """Count a check of an endpoint such as `readyz`."""
        self.series.gauge("kubernetes_healthcheck").set(int(passed), check, endpoint)
        status = "success" if passed else "error"
        self.series.counter("kubernetes_healthchecks_total").add(check, endpoint, status)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Family]:
        self.series.gauge("process_start_time_seconds").set(self._started_at)
        yield from self.series.families()

    def reset(self) -> None:
        self.series.reset()
