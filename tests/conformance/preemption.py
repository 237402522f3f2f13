"""Cases of kind `preemption`: a pod that fits nowhere, every node on which room could be made, and the one chosen.

A case is decided without kept answers, and that is compared with the corpus; then with kept answers, again, and around
a change of the cluster, and that is compared with what is decided without them. What `Cluster.choose` says of it,
what `Cluster.schedule` does, and what `whatif preempt` answers, is compared with the corpus as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stowplan.app import what_if
from stowplan.app.cluster import Cluster
from stowplan.engine import scheduling_cycle
from stowplan.engine.failure import Chosen, Refused
from stowplan.engine.scheduling_cycle import ChoiceInputs
from stowplan.framework.attempt import Attempt
from stowplan.framework.contract import Preemption
from stowplan.framework.post_filter import PostFiltered, attempt_of, run_post_filter
from stowplan.framework.verdict import Verdict
from stowplan.model import decode
from stowplan.model.pod import started
from stowplan.plugins.defaultpreemption.plugin import DefaultPreemption
from stowplan.whatif.requests import AskedQuestion, PreemptQuestion, WhatIf
from tests.conformance import cycle
from tests.conformance.answers import Answer, Question, said

Difference = tuple[str, Any, Any]
Case = dict[str, Any]

# A pod that fits after all leaves nothing else to say.
SCHEDULABLE: Answer = {"outcome": "schedulable"}
#: Several nodes are equally good, and which is taken is left to chance.
TIE = "tie"
_CHOSEN = re.compile(r"on node \S+, preempting \d+ victims")


def check(case: Case) -> list[Difference]:
    """Give (field, theirs, ours) for everything that differs in one case."""
    cluster, question = cycle.build(case)
    ours = answer(cycle.without_memo(cluster), question)
    memo = cycle.check_memo(cluster, question, ours, answer)
    return [*compare(case["expect"], ours), *memo, *check_library(case), *check_whatif(case)]


def check_fresh(case: Case) -> list[Difference]:
    """Check a case without kept answers only."""
    cluster, question = cycle.build(case)
    return list(compare(case["expect"], answer(cycle.without_memo(cluster), question)))


def check_library(case: Case) -> Iterator[Difference]:
    """Compare what a library says and does with every candidate of the corpus, or with the message of the refusal."""
    cluster, question = cycle.build(case)
    expect, pod = case["expect"], question.pod
    if expect["outcome"] == SCHEDULABLE["outcome"]:
        result = cluster.schedule(pod)
        if not isinstance(result, Chosen) or result.victims:
            yield "schedule", "a node without victims", result
        return
    said = cluster.choose(pod)
    result = cluster.schedule(pod)
    by_node = expect["candidates"] or {}
    evicted = {node: _evictions(by_node[node]) for node in expect["nominatedNodes"] or () if node in by_node}
    if not evicted:
        for field, one in (("choose", said), ("schedule", result)):
            if not isinstance(one, Refused) or one.message != expect["message"] or one.preemption or one.victims:
                yield field, expect["message"], one
        return
    would = said.preemption if isinstance(said, Refused) else None
    if would is None or evicted.get(would.node_name) != _evictions(_told(would)):
        yield "choose", evicted, said
    elif not isinstance(result, Chosen) or _carried_out(result, case["features"], would) != would:
        yield "schedule", would, result
    yield from _still_there(cluster, result)


def check_whatif(case: Case) -> Iterator[Difference]:
    """Compare what is answered to the question whom the pod would push out: every candidate, the best first."""
    cluster, question = cycle.build(case)
    asked = WhatIf(question=AskedQuestion(preempt=PreemptQuestion(pod=decode.to_builtins(question.pod))))
    found, expect = what_if.ask(cluster, asked)["preempt"], case["expect"]
    needs = expect["outcome"] != SCHEDULABLE["outcome"]
    if found["needsPreemption"] is not needs:
        yield "whatif", f"needs preemption: {needs}", found
    if not needs:
        return
    theirs = {node: _evictions(one) for node, one in (expect["candidates"] or {}).items()}
    ours = {
        one["node"]: ([victim["pod"].rpartition("/")[2] for victim in one["victims"]], one["pdbViolations"])
        for one in found["candidates"]
    }
    best = expect["nominatedNodes"] or [None]
    if ours != theirs or next(iter(ours), None) not in best:
        yield "whatif", (best, theirs), ours
    if _CHOSEN.sub("", found["message"]) != _CHOSEN.sub("", expect["message"]):
        yield "whatif", expect["message"], found["message"]


def _carried_out(result: Chosen, features: list[str], would: Preemption) -> Preemption:
    """Return what was done for a pod.

    Where several pods of a node hold the same host port, upstream forgets the port with the first that goes; here it is
    taken as long as one is there, so that more have to go. The scheduler would bring about no such node.
    """
    if "ports" in features and result.victims[: len(would.victims)] == would.victims:
        return would
    return Preemption(result.node_name, result.victims, result.pdb_violations)


def _evictions(candidate: Answer) -> tuple[list[str], int]:
    return candidate["victimsInOrder"], candidate["pdbViolations"]


def _still_there(cluster: Cluster, result: object) -> Iterator[Difference]:
    """Tell of victims that still count on their node."""
    there = [victim.key for victim in getattr(result, "victims", ()) if cluster.placed(victim) is not None]
    if there:
        yield "schedule", "victims that are gone", there


def compare(theirs: Answer, ours: Answer) -> Iterator[Difference]:
    """Compare every field of the expectation with our answer."""
    fields = SCHEDULABLE if theirs["outcome"] == SCHEDULABLE["outcome"] else theirs
    if theirs["outcome"] == TIE:
        theirs, ours = _untied(theirs), _untied({**ours, "outcome": TIE, "nominatedNodes": ours["equals"]})
    for field in fields:
        if theirs[field] != ours.get(field):
            yield field, theirs[field], ours.get(field)


def answer(field: ChoiceInputs, question: Question) -> Answer:
    """Decide about a pod and write down everything that the corpus writes down."""
    profile, pod = question.profile, question.pod
    shape = field.table.shape_of(pod)
    found = scheduling_cycle.find_feasible(field, profile, pod, shape)
    if found.count:
        return SCHEDULABLE
    verdict = found.verdict
    attempt = attempt_of(found.kept, verdict, pod, field.nominations)
    result = run_post_filter(profile, pod, attempt)
    candidates = _candidates(question, attempt)
    told = {candidate.node_name: _told(candidate) for candidate in candidates}
    equals = {"equals": _equals(candidates)}
    return {**_refused(verdict), **_post_filtered(verdict, result), **equals, "candidates": told}


def _refused(verdict: Verdict) -> Answer:
    refused = {} if verdict.pre_filter is not None else verdict.rejected
    return {
        "fitError": verdict.fit_error(),
        "prefilter": None if verdict.pre_filter is None else said(verdict.pre_filter),
        "filter": {
            name: {**said(word), "reasons": sorted(word.reasons)}
            for name, word in refused.items()
            if verdict.narrowed_to is None or name in verdict.narrowed_to
        },
    }


def _post_filtered(verdict: Verdict, result: PostFiltered) -> Answer:
    chosen = result.nominated.preemption if result.nominated is not None else None
    rejection = result.rejection
    status = {"code": "Success", "message": result.message, "plugin": ""}
    if rejection is not None:
        status = {"code": rejection.code.value, "message": result.message, "plugin": rejection.plugin}
    return {
        "outcome": "nominated" if chosen else "no-candidate",
        "nominatedNode": chosen.node_name if chosen else None,
        "nominatedNodes": [chosen.node_name] if chosen else [],
        "victims": _names(chosen) if chosen else None,
        "status": status,
        "message": f"{verdict.fit_error()} {result.message}".rstrip(),
    }


def _candidates(question: Question, attempt: Attempt) -> list[Preemption]:
    plugin = next(one for one in question.profile.post_filter if isinstance(one, DefaultPreemption))
    return [] if plugin.why_ineligible(question.pod, attempt) else plugin.search(question.pod, attempt).candidates


def _told(candidate: Preemption) -> Answer:
    return {
        "victims": _names(candidate),
        "victimsInOrder": [victim.name for victim in candidate.victims],
        "pdbViolations": candidate.pdb_violations,
    }


def _equals(candidates: list[Preemption]) -> list[str]:
    """Return the nodes where evictions do the least harm, by every criterion."""
    harm = {candidate.node_name: _harm(candidate) for candidate in candidates}
    return sorted(node for node, costs in harm.items() if costs == min(harm.values()))


def _harm(candidate: Preemption) -> tuple[float, ...]:
    highest = max(victim.priority for victim in candidate.victims)
    first = min(started(victim) for victim in candidate.victims if victim.priority == highest)
    shifted = sum(victim.priority + 2**31 for victim in candidate.victims)
    return candidate.pdb_violations, highest, shifted, len(candidate.victims), -first.timestamp()


def _untied(answer: Answer) -> Answer:
    """Leave out which of several nodes was taken."""
    status = {**answer["status"], "message": _CHOSEN.sub("", answer["status"]["message"])}
    message = _CHOSEN.sub("", answer["message"])
    return {**answer, "nominatedNode": None, "victims": None, "status": status, "message": message}


def _names(preemption: Preemption) -> list[str]:
    return sorted(victim.name for victim in preemption.victims)
