"""The metrics that kube-scheduler has not got: whether what the scheduler believes is what the cluster is.

They begin with `stowplan_`, so that they are never mistaken for upstream's. `kube/informer.py` knows how the watches
are, `app/cache_comparison.py` counts the differences.
"""

from __future__ import annotations

from typing import Final

import msgspec

from stowplan.observe.series import SeriesSet, metric

#: Kinds that are compared, and what is different: upstream's words are missed and redundant.
SIDES: Final = tuple((kind, side) for kind in ("node", "pod") for side in ("missed", "redundant"))

OWN: Final = (
    metric(
        "stowplan_watch_silence_seconds{resource}",
        "[ALPHA] Seconds since the API server last said anything about a resource that is watched, be it a bookmark,"
        " which it sends about once a minute.",
    ),
    metric(
        "stowplan_watch_lists_total{resource}",
        "[ALPHA] Number of times that a resource was listed as a whole: once at the start, and whenever the place in"
        " the watch was lost.",
    ),
    metric(
        "stowplan_cache_mismatches{kind,side}",
        "[ALPHA] Number of nodes and placed pods that only the cluster has ('missed') or only the cache ('redundant'),"
        " as the last two comparisons found.",
    ),
)


class WatchState(msgspec.Struct, frozen=True):
    """How the watch of a resource is that was in step at least once."""

    resource: str
    silence_seconds: float
    lists: int


def show(series: SeriesSet, watch: WatchState) -> None:
    """Bring what is told of a watch up to date."""
    series.gauge("stowplan_watch_silence_seconds").set(watch.silence_seconds, watch.resource)
    series.counter("stowplan_watch_lists_total").values[watch.resource,] = watch.lists
