"""Our answer about one pod, in the form in which the corpus writes it down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stowplan.engine import scheduling_cycle
from stowplan.engine.failure import Chosen, Failed
from stowplan.engine.scheduling_cycle import ChoiceInputs, Found
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.model.pod import Pod

Answer = dict[str, Any]

# What an attempt that ends at the very beginning leaves unsaid.
_NOTHING: Answer = {
    "enqueue": None,
    "prefilter": None,
    "prefilterNodes": None,
    "filterSkipped": None,
    "filter": {},
    "feasible": [],
    "scoreSkipped": None,
    "scores": None,
    "totals": None,
    "best": [],
    "fitError": None,
    "unschedulablePlugins": None,
    "error": None,
    "chosen": None,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A pod, the profile that decides about it, and whether any plugin of that profile scores, built or not."""

    profile: Profile
    pod: Pod
    is_scored: bool


def answer(field: ChoiceInputs, question: Question) -> Answer:
    """Decide about a pod and write down everything that the corpus writes down, and the node chosen."""
    profile, pod = question.profile, question.pod
    gate = profile.run_pre_enqueue(pod)
    if gate is not None:
        return {**_NOTHING, "enqueue": said(gate)}
    shape = field.table.shape_of(pod)
    result = scheduling_cycle.choose_at_once(field, profile, pod, shape)
    if isinstance(result, Failed):
        return {**_NOTHING, "error": result.message}
    found = scheduling_cycle.find_feasible(field, profile, pod, shape)
    verdict = found.verdict
    filtered = _filtered(verdict, found)
    if not isinstance(result, Chosen):
        plugins = sorted(verdict.unschedulable_plugins())
        return {**_NOTHING, **filtered, "fitError": result.message, "unschedulablePlugins": plugins}
    ranked = _ranked(field, question, found, filtered["feasible"])
    return {**_NOTHING, **filtered, **ranked, "chosen": result.node_name}


def said(rejection: Rejection) -> dict[str, Any]:
    """Write down a plugin's no."""
    return {"plugin": rejection.plugin, "code": rejection.code.value, "reasons": list(rejection.reasons)}


def _filtered(verdict: Verdict, found: Found) -> Answer:
    refused = {} if verdict.pre_filter is not None else verdict.rejected
    words = {
        name: {**said(rejection), "reasons": sorted(rejection.reasons)}
        for name, rejection in refused.items()
        if verdict.narrowed_to is None or name in verdict.narrowed_to
    }
    narrowed = None if verdict.narrowed_to is None or verdict.pre_filter is not None else sorted(verdict.narrowed_to)
    return {
        "prefilter": None if verdict.pre_filter is None else said(verdict.pre_filter),
        "prefilterNodes": narrowed,
        "filterSkipped": sorted(verdict.skipped),
        "filter": words,
        "feasible": sorted(verdict.names[row] for row in np.flatnonzero(found.feasible).tolist()),
    }


def _ranked(field: ChoiceInputs, question: Question, found: Found, feasible: list[str]) -> Answer:
    if question.pod.status.nominated_node_name in feasible:
        return {"best": [question.pod.status.nominated_node_name]}
    if len(feasible) == 1:
        return {"best": feasible}
    if not question.is_scored:
        return {"best": feasible, "scoreSkipped": []}
    ranking = scheduling_cycle.rank(field, question.profile, question.pod, found)
    names = field.table.names()
    rows = [(names[row], row) for row in np.flatnonzero(found.feasible).tolist()]
    totals = {name: int(ranking.total[row]) for name, row in rows}
    return {
        "scoreSkipped": sorted(ranking.skipped),
        "scores": _scores(ranking, rows),
        "totals": totals,
        "best": sorted(name for name, total in totals.items() if total == max(totals.values())),
    }


def _scores(ranking: Ranking, rows: list[tuple[str, int]]) -> dict[str, dict[str, dict[str, int]]]:
    by_plugin = ranking.by_plugin()
    return {
        name: {
            plugin: {
                "raw": int(raw[row]),
                "normalized": int(normalized[row]),
                "weighted": int(normalized[row]) * weight,
            }
            for plugin, (raw, normalized, weight) in by_plugin.items()
        }
        for name, row in rows
    }
