"""`/metrics/slis`: how every health check went, each time it was made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from stowplan.observe.series import Definition, Family, SeriesSet

CHECKS: Final = (
    Definition(
        "kubernetes_healthcheck",
        "gauge",
        "STABLE",
        "This metric records the result of a single healthcheck.",
        ("name", "type"),
        here="1 if the check passed when it was last made",
    ),
    Definition(
        "kubernetes_healthchecks_total",
        "counter",
        "STABLE",
        "This metric records the results of all healthcheck.",
        ("name", "type", "status"),
        here="checks made",
    ),
    Definition(
        "process_start_time_seconds",
        "gauge",
        "ALPHA",
        "Start time of the process since unix epoch in seconds.",
        here="constant",
    ),
)


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
