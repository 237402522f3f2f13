"""Clusters in which nothing is kept: every plugin is asked about every node for every pod."""

from dataclasses import replace
from typing import Any

from stowplan.app.cluster import Cluster
from stowplan.framework.kept.memo import Memo


def make_cluster(config: Any = None, **options: Any) -> Cluster:
    cluster = Cluster(config, **options)
    cluster.field = replace(cluster.field, memo=Memo(cluster.cache.table, is_on=False))
    return cluster
