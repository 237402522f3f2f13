"""A cluster read from a snapshot: files as `stowplan snapshot` writes them, or any that `stowplan schedule` takes.

They are read as an API server would read them, so that priorities come from classes, workloads make their pods, and
what is misspelt is refused.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.app.configuration import SourceError


class SnapshotCluster(Cluster):
    """A `Cluster` that knows, too, how its API would make the pods of a file."""

    #: What decides how a pod comes out: limit ranges, service accounts, classes.
    admitting: Sequence[Mapping[str, Any]] = ()
    #: What was left out, or is good to know.
    notes: Sequence[str] = ()

    @classmethod
    def read(cls, *paths: str | Path, **options: Any) -> SnapshotCluster:
        """Read files and folders; `options` are those of `Cluster`. Raise SourceError if a server would refuse them."""
        if importlib.util.find_spec("stowplan.local") is None:
            problem = "reading a snapshot needs the embedded API server, which is left out of this installation"
            raise SourceError(f"{problem}; install all of it: pip install stowplan")
        if not paths:
            raise SourceError("no snapshot is named; give the path of one")
        from stowplan.local import file_cluster

        cluster = cls(**options)
        found = file_cluster.read([str(path) for path in paths], cluster.feature_gates)
        cluster.add_all(found.others)
        cluster.add_all(found.nodes.values())
        cluster.add_all(found.pods.values())
        cluster.admitting, cluster.notes = file_cluster.admitting_objects(found), tuple(found.notes)
        return cluster
