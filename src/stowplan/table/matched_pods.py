"""The count rule of affinity terms: which pods a term, or several terms together, select.

`domains.py` counts them by topology. The terms themselves are compiled in `terms.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stowplan.model.namespace import Namespace
from stowplan.model.pod import Pod
from stowplan.model.selectors import Selector
from stowplan.table.terms import Term

#: In which namespaces (None: in all) pods with which labels are selected.
Selection = tuple[frozenset[str] | None, Selector]


@dataclass(frozen=True, slots=True)
class MatchedPods:
    """Counts a pod that every one of the selections selects."""

    selections: tuple[Selection, ...]

    def amount(self, pod: Pod) -> int:
        return int(self.matches(pod))

    def matches(self, pod: Pod) -> bool:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        return all(
            (namespaces is None or namespace in namespaces) and selector.matches(labels)
            for namespaces, selector in self.selections
        )


def selection(term: Term, list_namespaces: Callable[[], Iterable[Namespace]]) -> Selection:
    """Resolve the namespaces of a term among those known; one that holds without labels takes them all.

    kube-scheduler 1.36 asks the selector about a pod's namespace as well, and as if that had no labels: one that only
    says what must not be there (NotIn, DoesNotExist) takes every namespace, whatever its labels, like an empty one.
    """
    wanted = term.namespace_selector
    if wanted.matches({}):
        return None, term.selector
    if wanted.is_nothing:
        return term.namespaces, term.selector
    selected = (namespace.name for namespace in list_namespaces() if wanted.matches(namespace.labels))
    return term.namespaces.union(selected), term.selector
