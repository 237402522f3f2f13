"""Whether a change may bring a pod the neighbours that it wants, or rid it of those that it cannot stand.

Thousands of pods may wait, and each is asked about every pod that gets a node, so their terms are compiled only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from stowplan.framework import changes
from stowplan.model.affinity import Affinity
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.terms import AffinityTerm, terms_of

#: So many are remembered; then all are forgotten, and found out again.
_MOST_REMEMBERED: Final = 1 << 14


class RequiredTerms(NamedTuple):
    """The terms that a pod must have satisfied."""

    affinity: Sequence[AffinityTerm] = ()
    anti_affinity: Sequence[AffinityTerm] = ()


class AffinityHints:
    """Answers for pods that wait; with `any_will_do`, who is free of one unwanted pod is helped, not only of all."""

    def __init__(self, *, any_will_do: bool) -> None:
        self._is_unwanted = is_about_any if any_will_do else is_about_all
        # By identity, which pods of one template have in common, and namespace; with that which it is the identity of.
        self._known: dict[tuple[int, str], tuple[Affinity, RequiredTerms]] = {}

    def after_assigned_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        """Say whether another pod that came, changed or went has become a companion or is no longer a nuisance.

        Of the other's own terms only those of a pod that went count: it may be the one that could not stand `pod`.
        """
        for version in (old, new):
            if version is not None and not changes.counts_on_a_node(version):
                return False
        wanted, unwanted = self._terms(pod)
        if old is None:
            return new is not None and is_about_all(wanted, new)
        if new is None:
            return self._is_unwanted(unwanted, old) or self._is_unwanted(self._terms(old).anti_affinity, pod)
        is_companion_now = not is_about_all(wanted, old) and is_about_all(wanted, new)
        return is_companion_now or (self._is_unwanted(unwanted, old) and not self._is_unwanted(unwanted, new))

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Say whether a node that came or was relabelled may now be near those wanted, or away from those unwanted."""
        wanted, unwanted = self._terms(pod)
        for term in wanted:
            value = new.labels.get(term.topology_key)
            if value is not None and (old is None or old.labels.get(term.topology_key) != value):
                return True
        for term in unwanted:
            # Even a node without the key will do: nobody is near there.
            if old is None:
                return True
            value = old.labels.get(term.topology_key)
            if value is not None and new.labels.get(term.topology_key) != value:
                return True
        return False

    def _terms(self, pod: Pod) -> RequiredTerms:
        affinity = pod.spec.affinity
        if affinity is None:
            return RequiredTerms()
        key = (id(affinity), pod.metadata.namespace)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            known = self._known[key] = (affinity, _required_terms(pod))
        return known[1]


def _required_terms(pod: Pod) -> RequiredTerms:
    terms, problem = terms_of(pod)
    if problem:
        raise ValueError(f"pod {pod.key!r}: {problem}")
    affinity = [term for kind, _, term in terms if kind == "affinity"]
    return RequiredTerms(affinity, [term for kind, _, term in terms if kind == "anti-affinity"])


def is_about_all(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """Say whether a pod is one that all terms are about; no terms are about nobody."""
    return bool(terms) and all(term.matches(pod, {}) for term in terms)


def is_about_any(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """Say whether a pod is one that any of the terms is about."""
    return any(term.matches(pod, {}) for term in terms)
