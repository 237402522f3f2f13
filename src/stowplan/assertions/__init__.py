"""Assertions about a cluster before it is changed, for tests: what is lost or added, and what has to hold then.

    expect(cluster).after(lose_zone("eu-1a")).all_placed("shop/*")

`expectation.py` has the words, `steps.py` what can be supposed, `settling.py` what the scheduler makes of that. The
same words in a file are read by `assertion_file.py` for `stowplan test`; `pytest_plugin.py` has the fixtures. Importing
this package costs next to nothing, for pytest does so in every project: the names below are loaded on first use.
"""

__all__ = [
    "AssertionFileError",
    "Expectation",
    "QuestionError",
    "SnapshotCluster",
    "add_nodes",
    "add_pods",
    "cordon",
    "expect",
    "label",
    "lose_nodes",
    "lose_zone",
    "remove_pods",
]

# Type checkers take this name for true; importing it from `typing` would cost more than all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from stowplan.assertions.assertion_file import AssertionFileError
    from stowplan.assertions.expectation import Expectation, expect
    from stowplan.assertions.snapshot_cluster import SnapshotCluster
    from stowplan.assertions.steps import add_nodes, add_pods, cordon, label, lose_nodes, lose_zone, remove_pods
    from stowplan.whatif.world import QuestionError
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it exports {', '.join(__all__)}")
        from stowplan.assertions import assertion_file, expectation, snapshot_cluster, steps

        for module in (steps, expectation, snapshot_cluster, assertion_file):
            if hasattr(module, name):
                return getattr(module, name)

    def __dir__():
        return sorted({*globals(), *__all__})
