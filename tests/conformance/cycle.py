"""Cases of kind `cycle`: one pending pod, one cluster, every field of the decision.

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
from stowplan.config.load import from_mapping
from stowplan.config.points import IN_TREE
from stowplan.config.resolve import resolve
from stowplan.config.types import Configuration
from stowplan.engine.choose import Field
from stowplan.framework.memo import Memo
from stowplan.model import decode
from stowplan.model.pod import Pod
from tests.conformance import recorded
from tests.conformance.answers import Answer, Question, answer

Difference = tuple[str, Any, Any]
Case = dict[str, Any]
Decide = Callable[[Field, Question], Answer]

MEMO = "memo"
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
    return [*compare(case["expect"], ours), *check_memo(cluster, question, ours)]


def check_fresh(case: Case) -> list[Difference]:
    """Check a case without kept answers only."""
    cluster, question = build(case)
    return list(compare(case["expect"], answer(without_memo(cluster), question)))


def without_memo(cluster: Cluster) -> Field:
    """Return what the cluster's choices are made from, with nothing kept."""
    return replace(cluster.field, memo=Memo(cluster.cache.table, is_on=False))


def build(case: Case) -> tuple[Cluster, Question]:
    """Build the cluster of a case, and the question about its pod."""
    cluster = Cluster(_configuration(msgspec.json.encode(case["config"])))
    recorded.leave_out_missing(cluster)
    for content in case["objects"]:
        cluster.add(decode.decode_object(content))
    pod = decode.convert(Pod, case["pod"])
    listed = next(profile for profile in cluster.config.profiles if profile.scheduler_name == pod.spec.scheduler_name)
    resolved = resolve(listed, IN_TREE)
    order = [name for name, _ in resolved["filter"]]
    profile = recorded.with_recorded(cluster.profile_of(pod), order, case["expect"])
    return cluster, Question(profile, pod, is_scored=bool(resolved["score"]))


@cache
def _configuration(text: bytes) -> Configuration:
    return from_mapping(msgspec.json.decode(text))


def compare(expect: Answer, ours: Answer) -> Iterator[Difference]:
    """Compare every field of the expectation with our answer."""
    theirs = recorded.without_missing(expect)
    if theirs["error"] != ours["error"]:
        # An attempt that failed says nothing else.
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
    if not recorded.decides_best(expect):
        yield from _compare_best(theirs["best"], ours)


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
