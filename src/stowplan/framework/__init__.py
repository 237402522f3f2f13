"""The plugin contract and the runner that asks plugins and keeps their answers.

What plugin authors need is here under one name, loaded on first use, and listed in docs/api.md; `framework/contract.py`
is the one file to read.
"""

__all__ = [
    "INDIFFERENT",
    "MAX_SCORE",
    "SKIP",
    "Action",
    "Arranged",
    "Attempt",
    "Awaited",
    "Bind",
    "Code",
    "Filter",
    "FilterNode",
    "Handle",
    "Indifferent",
    "Mask",
    "Narrowed",
    "Nodes",
    "Nominated",
    "Normalize",
    "Permit",
    "PlacementFeasible",
    "PlacementGenerate",
    "PlacementScore",
    "Plugin",
    "PodGroupPostFilter",
    "PostBind",
    "PostFilter",
    "PreBind",
    "PreEnqueue",
    "PreFilter",
    "PreScore",
    "Preemption",
    "Proposed",
    "QueueSort",
    "Reject",
    "Rejection",
    "Requeue",
    "Reserve",
    "Score",
    "ScoreNode",
    "Scores",
    "Skip",
    "Undoable",
    "Wait",
    "Withdrawn",
    "refuse",
    "reject",
]

# Type checkers take this name for true.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from stowplan.framework.attempt import Attempt
    from stowplan.framework.changes import Action
    from stowplan.framework.contract import (
        INDIFFERENT,
        MAX_SCORE,
        SKIP,
        Arranged,
        Awaited,
        Bind,
        Filter,
        FilterNode,
        Indifferent,
        Narrowed,
        Nominated,
        Normalize,
        Permit,
        PlacementFeasible,
        PlacementGenerate,
        PlacementScore,
        Plugin,
        PodGroupPostFilter,
        PostBind,
        PostFilter,
        PreBind,
        Preemption,
        PreEnqueue,
        PreFilter,
        PreScore,
        Proposed,
        QueueSort,
        Reject,
        Requeue,
        Reserve,
        Score,
        ScoreNode,
        Skip,
        Undoable,
        Wait,
        Withdrawn,
        refuse,
        reject,
    )
    from stowplan.framework.handle import Handle
    from stowplan.framework.verdict import Code, Rejection
    from stowplan.table.columns import Mask, Scores
    from stowplan.table.nodes import Nodes
else:

    def __getattr__(name):
        if name in __all__:
            # All names but one are there: what the contract is written in, it imports.
            from stowplan.framework import contract, handle

            return getattr(handle if name == "Handle" else contract, name)
        raise AttributeError(f"module 'stowplan.framework' has no attribute {name!r}; it exports {', '.join(__all__)}")

    def __dir__():
        return sorted({*globals(), *__all__})
