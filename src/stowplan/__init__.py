"""Stowplan: the Kubernetes scheduler in Python.

Importing the package costs next to nothing: the public names below, which docs/api.md lists, are loaded on first use.
The story starts in `stowplan.app`, which wires the parts; ARCHITECTURE.md walks a pod through them.
"""

__version__ = "0.1.0"

__all__ = [
    "Chosen",
    "Cluster",
    "Explanation",
    "Failed",
    "Frame",
    "Gated",
    "Placements",
    "Refused",
    "__version__",
    "make_node",
    "make_pod",
]

# Type checkers take this name for true; importing it from `typing` would cost more than all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from stowplan.app.cluster import Chosen, Cluster, Explanation, Failed, Frame, Gated, Placements, Refused
    from stowplan.testing import make_node, make_pod
else:

    def __getattr__(name):
        if name.startswith("make_") and name in __all__:
            from stowplan import testing

            return getattr(testing, name)
        if name in __all__:
            from stowplan.app import cluster

            return getattr(cluster, name)
        raise AttributeError(f"module 'stowplan' has no attribute {name!r}; it exports {', '.join(__all__)}")

    def __dir__():
        return sorted({*globals(), *__all__})
