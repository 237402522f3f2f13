"""`stowplan up`: API server, scheduler and the rest of a cluster in one process. Start at `local/up.py`.

For programs and tests, `LocalCluster` (`local/local_cluster.py`) is the same; it is loaded on first use.
"""

__all__ = ["LocalCluster", "LocalClusterError"]

# Type checkers take this name for true; importing it from `typing` would cost more than all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from stowplan.local.local_cluster import LocalCluster, LocalClusterError
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it exports {', '.join(__all__)}")
        from stowplan.local import local_cluster

        return getattr(local_cluster, name)

    def __dir__():
        return sorted({*globals(), *__all__})
