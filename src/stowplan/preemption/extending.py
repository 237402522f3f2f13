"""The extenders' say in preemption: each is asked about the candidates that those before it left."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan.framework.contract import Preemption
from stowplan.framework.handle import ExtenderError, PreemptionExtender
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.pod import Pod

Candidates = Sequence[Preemption]


def agreed(extenders: Sequence[PreemptionExtender], pod: Pod, candidates: Candidates) -> Candidates | Rejection:
    """Return the candidates that all interested extenders agree to, or the error of one that may not be ignored."""
    for extender in extenders:
        if candidates and extender.is_interested(pod):
            try:
                candidates = _answer(extender, pod, candidates)
            except ExtenderError as error:
                if not extender.is_ignorable:
                    return Rejection((str(error),), Code.ERROR)
    return candidates


def _answer(extender: PreemptionExtender, pod: Pod, candidates: Candidates) -> Candidates:
    answer = extender.process_preemption(pod, candidates)
    without = [candidate.node_name for candidate in answer if not candidate.victims]
    if without and not extender.is_ignorable:
        raise ExtenderError(f'expected at least one victim pod on node "{without[0]}"')
    return [candidate for candidate in answer if candidate.victims]
