"""Cases of the kinds `cycle`, `gates` and `stretch`: one pending pod, one cluster, every field of the decision.

A case is decided without kept answers, and that is compared with the corpus; then with kept answers, again, and around
a change of the cluster, and that is compared with what is decided without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from stowplan.app.cluster import Cluster
from stowplan.config import feature_gates
from stowplan.config.construct import resolve
from stowplan.config.feature_gates import FeatureGates
from stowplan.config.types import Configuration
from stowplan.engine.scheduling_cycle import ChoiceInputs
from stowplan.framework.kept.memo import Memo
from stowplan.framework.verdict import Code
from stowplan.model import decode
from stowplan.model.pod import Pod
from tests.conformance import allocations, either
from tests.conformance.answers import Answer, Question, answer
from tests.known_plugins import from_mapping, known_in

Difference = tuple[str, Any, Any]
Case = dict[str, Any]
Decide = Callable[[ChoiceInputs, Question], Answer]

MEMO = "memo"
# Some day after everything in the corpus: devices that were to be ready by then are late.
_NOW_NS = 1_800_000_000 * 10**9
_ANY_TIME = (1e6, 1e6)
# Compared as a whole; `filter`, `scores` and `best` have their own ways below.
_PLAIN_FIELDS = (
    "enqueue",
    "prefilter",
    "prefilterNodes",
    "filterSkipped",
    "feasible",
    "scoreSkipped",
    "totals",
    "fitError",
    "unschedulablePlugins",
)


def check(case: Case) -> list[Difference]:
    """Give (field, theirs, ours) for everything that differs in one case."""
    cluster, question = build(case)
    ours = answer(without_memo(cluster), question)
    return [*compare(either.settled(case, ours), ours), *check_memo(cluster, question, ours)]


def check_fresh(case: Case) -> list[Difference]:
    """Check a case without kept answers only."""
    cluster, question = build(case)
    ours = answer(without_memo(cluster), question)
    return list(compare(either.settled(case, ours), ours))


def check_with_allocations(case: Case) -> list[Difference]:
    """Check a case, and what devices each feasible node would give the pod."""
    return [*_check_allocations(case), *check(case)]


def check_fresh_with_allocations(case: Case) -> list[Difference]:
    """Check a case without kept answers only, and what devices each feasible node would give the pod."""
    return [*_check_allocations(case), *check_fresh(case)]


def without_memo(cluster: Cluster) -> ChoiceInputs:
    """Return what the cluster's choices are made from, with nothing kept."""
    return replace(cluster.field, memo=Memo(cluster.cache.table, is_on=False))


def build(case: Case) -> tuple[Cluster, Question]:
    """Build the cluster of a case, and the question about its pod."""
    gates = gates_of(case)
    cluster = Cluster(_configuration(msgspec.json.encode(case["config"]), gates), feature_gates=gates)
    cluster.handle.stopwatch.wind(lambda: _NOW_NS, _ANY_TIME, print)
    for content in case["objects"]:
        cluster.add(decode.decode_object(content))
    pod = decode.convert(Pod, case["pod"])
    listed = next(profile for profile in cluster.config.profiles if profile.scheduler_name == pod.spec.scheduler_name)
    resolved = resolve(listed, known_in(cluster.feature_gates))
    return cluster, Question(cluster.profile_of(pod), pod, is_scored=bool(resolved["score"]))


def gates_of(case: Case) -> FeatureGates:
    """Return the gates of a case; those that are not the scheduler's are left out."""
    known = feature_gates.stages_of(case["release"])
    asked = {name: is_on for name, is_on in (case.get("gates") or {}).items() if name in known}
    return feature_gates.with_settings(asked, case["release"])


@cache
def _configuration(text: bytes, gates: FeatureGates) -> Configuration:
    return from_mapping(msgspec.json.decode(text), gates=gates)


def compare(theirs: Answer, ours: Answer) -> Iterator[Difference]:
    """Compare every field of the expectation with our answer."""
    if theirs["error"] is not None or ours["error"] is not None:
        # An attempt that failed says nothing else.
        if ours["error"] not in _errors(theirs):
            yield "error", theirs["error"], ours["error"]
        return
    for field in _PLAIN_FIELDS:
        if theirs[field] != ours[field]:
            yield field, theirs[field], ours[field]
    yield from _compare_by_node("filter", theirs["filter"], ours["filter"])
    if (theirs["scores"] is None) != (ours["scores"] is None):
        yield "scores", theirs["scores"], ours["scores"]
    else:
        yield from _compare_scores(theirs["scores"] or {}, ours["scores"] or {})
    yield from _compare_best(theirs["best"], ours)


def _errors(theirs: Answer) -> list[str | None]:
    """Return the errors that may end an attempt: which node is asked first makes no difference."""
    of_nodes = [", ".join(said["reasons"]) for said in theirs["filter"].values() if said["code"] == Code.ERROR.value]
    return [theirs["error"], *of_nodes]


def _compare_best(theirs: list[str], ours: Answer) -> Iterator[Difference]:
    if theirs != ours["best"]:
        yield "best", theirs, ours["best"]
    if ours["chosen"] is not None and ours["chosen"] not in theirs:
        yield "chosen", theirs, ours["chosen"]


def _compare_by_node(field: str, theirs: Answer, ours: Answer) -> Iterator[Difference]:
    apart = [node for node in sorted({*theirs, *ours}) if theirs.get(node) != ours.get(node)]
    if apart:
        yield field, {node: theirs.get(node) for node in apart}, {node: ours.get(node) for node in apart}


def _compare_scores(theirs: Answer, ours: Answer) -> Iterator[Difference]:
    plugins = {plugin for scores in (*theirs.values(), *ours.values()) for plugin in scores}
    for plugin in sorted(plugins):
        yield from _compare_by_node(f"scores {plugin}", _part(theirs, plugin), _part(ours, plugin))


def _part(scores: Answer, plugin: str) -> Answer:
    return {node: by_plugin[plugin] for node, by_plugin in scores.items() if plugin in by_plugin}


def check_memo(cluster: Cluster, question: Question, fresh: Answer, decide: Decide = answer) -> Iterator[Difference]:
    """Ask with kept answers: anew, again, with a pod more, and without it again."""
    yield from _compare_kept("anew", fresh, decide(cluster.field, question))
    yield from _compare_kept("again", fresh, decide(cluster.field, question))
    if not len(cluster.cache.table):
        return
    twin = _twin(question.pod, fresh.get("chosen") or cluster.cache.table.names()[0])
    cluster.add(twin)
    crowded = decide(without_memo(cluster), question)
    yield from _compare_kept("with a pod more", crowded, decide(cluster.field, question))
    cluster.remove(twin)
    yield from _compare_kept("without it again", fresh, decide(cluster.field, question))


def _check_allocations(case: Case) -> Iterator[Difference]:
    expect = case["expect"]
    if expect["error"] is not None or "allocations" not in expect:
        return
    cluster, question = build(case)
    theirs = allocations.expected(expect["allocations"]) or {}
    ours = allocations.found(cluster, question, expect["feasible"]) or {}
    yield from _compare_by_node("allocations", theirs, ours)


def _compare_kept(when: str, fresh: Answer, kept: Answer) -> Iterator[Difference]:
    # The draw between equals is not part of what is kept.
    apart = [field for field in fresh if field != "chosen" and kept[field] != fresh[field]]
    if apart:
        shown = [field for field in apart if field == "error"] or apart
        yield MEMO, {when: {field: fresh[field] for field in shown}}, {when: {field: kept[field] for field in shown}}


def _twin(pod: Pod, node_name: str) -> Pod:
    """Return a bound pod that looks like `pod`, so that its arrival matters to every plugin to which `pod` matters."""
    metadata = msgspec.structs.replace(pod.metadata, name=f"{pod.metadata.name}-twin", uid="twin")
    return msgspec.structs.replace(pod, metadata=metadata, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
