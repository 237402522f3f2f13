"""Which changes may bring a pod the neighbours it wants, or rid it of those it cannot stand.

They look at one object each, and only at required terms; the namespaces that a term selects by
label are not looked up, unless it selects them all.
"""

from __future__ import annotations

from stowplan.framework import changes
from stowplan.framework.changes import Action
from stowplan.framework.contract import Awaited
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.terms import Term, TermKind, terms_of


def awaited() -> tuple[Awaited, ...]:
    """Return the changes that a pod with the wrong neighbours waits for."""
    return (
        Awaited(changes.POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, is_company_better),
        Awaited(changes.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, is_place_better),
    )


def is_company_better(pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Say whether a pod that came, changed or went has become a companion or is no longer a nuisance.

    New labels of `pod` itself always may: others may want it now, or stand it. Of another's own terms only those of a
    pod that went count: it may be the one that could not stand `pod`.
    """
    if old is not None and new is not None and changes.is_same(pod, new):
        return True
    if not all(changes.counts_on_a_node(version) for version in (old, new) if version is not None):
        return False
    wanted, unwanted = _terms(pod, "affinity"), _terms(pod, "anti-affinity")
    if old is None:
        return new is not None and _is_about(wanted, new)
    if new is None:
        return _is_about(unwanted, old) or _is_about(_terms(old, "anti-affinity"), pod)
    is_companion_now = not _is_about(wanted, old) and _is_about(wanted, new)
    return is_companion_now or (_is_about(unwanted, old) and not _is_about(unwanted, new))


def is_place_better(pod: Pod, old: Node | None, new: Node) -> bool:
    """Say whether a node that came or was relabelled may now be near those wanted, or away from those unwanted."""
    for term in _terms(pod, "affinity"):
        value = new.labels.get(term.topology_key)
        if value is not None and (old is None or old.labels.get(term.topology_key) != value):
            return True
    for term in _terms(pod, "anti-affinity"):
        # Even a node without the key will do: nobody is near there.
        if old is None:
            return True
        value = old.labels.get(term.topology_key)
        if value is not None and new.labels.get(term.topology_key) != value:
            return True
    return False


def _terms(pod: Pod, kind: TermKind) -> list[Term]:
    terms, problem = terms_of(pod)
    if problem:
        raise ValueError(f"pod {pod.key!r}: {problem}")
    return [term for of_kind, _, term in terms if of_kind == kind]


def _is_about(terms: list[Term], pod: Pod) -> bool:
    """Say whether a pod is one that all terms are about; no terms are about nobody."""
    return bool(terms) and all(term.matches(pod, {}) for term in terms)
