"""Which changes may even out the spread of a pod's siblings. The hints of `plugins.podtopologyspread.plugin`.

Each function is given the pod's hard constraints and looks at one object.
"""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.framework import changes
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.plugins.podtopologyspread.constraints import Constraint


def is_sibling(constraints: Sequence[Constraint], pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Say whether a pod that came, changed or went, maybe `pod` itself, now counts otherwise for a constraint."""
    for version in (old, new):
        if version is not None and not changes.is_same(pod, version) and not _is_counted(version, pod):
            return False
    if old is None or new is None:
        version = old or new
        return version is not None and any(one.selector.matches(version.labels) for one in constraints)
    # A pod that tolerates more may now go where it could not, and those places count.
    tolerates_more = changes.is_same(pod, new) and old.spec.tolerations != new.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    return any(one.selector.matches(old.labels) != one.selector.matches(new.labels) for one in constraints)


def is_domain(constraints: Sequence[Constraint], old: Node | None, new: Node | None) -> bool:
    """Say whether a node that came, changed or went makes the domains, or who counts in them, different."""
    was_counted, is_counted = _has_keys(constraints, old), _has_keys(constraints, new)
    if old is None or new is None or was_counted != is_counted:
        return was_counted or is_counted
    if not is_counted:
        return False
    has_moved = any(old.labels[one.key] != new.labels[one.key] for one in constraints)
    return has_moved or old.spec.taints != new.spec.taints


def _is_counted(other: Pod, pod: Pod) -> bool:
    return changes.counts_on_a_node(other) and other.namespace == pod.namespace


def _has_keys(constraints: Sequence[Constraint], node: Node | None) -> bool:
    return node is not None and all(constraint.key in node.labels for constraint in constraints)
