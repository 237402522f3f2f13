"""The conformance check of the plugin contract, for authors of plugins and for our own.

    def test_my_plugin_keeps_the_contract():
        check_plugin(MyPlugin(threshold=3))

The rules are those of `framework.contract`; each has a function here, in the order in which a pod meets them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from types import NoneType
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from stowplan.framework import placing, plugin_class, plugin_faults
from stowplan.framework.contract import (
    MAX_SCORE,
    Bind,
    Filter,
    Normalize,
    Permit,
    Plugin,
    PostBind,
    PreBind,
    PreEnqueue,
    QueueSort,
    Reserve,
    Score,
    Skip,
    Undoable,
    Wait,
)
from stowplan.framework.kept.asking import NO_NUMBER
from stowplan.framework.kept.filtering import Filtering
from stowplan.framework.kept.ranking import Ranking
from stowplan.framework.kept.score_step import extent_of
from stowplan.framework.profile import problem_with_events
from stowplan.framework.verdict import Rejection
from stowplan.model.node import Node
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask, Rows
from stowplan.table.nodes import Nodes
from stowplan.testing.bench import Bench, changes, specimen_nodes, specimen_pods

OTHER_NAME = "another-name"
READ_THROUGH = "read the cluster only through nodes and the handle, and normalize each row for itself"


def check_plugin(plugin: Plugin, *, pods: Iterable[Pod] | None = None, nodes: Iterable[Node] | None = None) -> None:
    """Raise AssertionError if the plugin breaks the contract on these nodes and pods, or on some of many kinds.

    Pods that are bound to one of the nodes run there; the plugin is asked about the others.
    """
    nodes = specimen_nodes() if nodes is None else list(nodes)
    pods = specimen_pods() if pods is None else list(pods)
    _check_class(plugin)
    bench = Bench(plugin, nodes, pods)
    for pod in bench.pending:
        _check_pre_enqueue(bench, pod)
        for plugin_filter in bench.filters:
            _check_filter(bench, plugin_filter, pod)
        _check_twins(bench, pod)
        for scorer in bench.scorers:
            _check_score(bench, scorer, pod)
        _check_look_alike(bench, pod)
        _check_undone(bench, pod)
        _check_placing(bench, pod)
    _check_queue_sort(bench)
    _check_memory(bench)
    for pod in bench.pending:
        _check_kept_answers(Bench(plugin, nodes, pods), pod)


# Rules


def _check_class(plugin: Any) -> None:
    if isinstance(plugin, type):
        raise AssertionError(f"plugin {plugin.__name__!r}: this is the class; give a plugin that is made of it")
    if not isinstance(plugin, Plugin):
        name, remedy = type(plugin).__name__, "inherit the extension points of stowplan.framework.contract"
        raise AssertionError(f"plugin {name!r} breaks the contract: not a plugin class; {remedy} (Filter, Score, ...)")
    faults = plugin_class.faults(type(plugin))
    if faults:
        raise AssertionError(f"plugin {plugin.name!r} breaks the contract: {'; '.join(faults)}")
    try:
        problem = problem_with_events(plugin)
    except plugin_faults.FAULTS as error:
        problem = f"events raised {plugin_faults.spelled(error)}"
    if problem:
        raise AssertionError(f"plugin {plugin.name!r} breaks the contract: {problem}")


def _check_pre_enqueue(bench: Bench, pod: Pod) -> None:
    plugin = bench.plugin
    if not isinstance(plugin, PreEnqueue):
        return
    answer = bench.ask(pod, lambda: plugin.pre_enqueue(pod))
    if answer is not None and not isinstance(answer, Rejection):
        bench.fail(pod, f"pre_enqueue returned {answer!r}; return None or refuse(reason)")
    if answer != bench.ask(pod, lambda: plugin.pre_enqueue(pod)):
        bench.fail(pod, "pre_enqueue gave two answers to one question; let only the pod decide")


def _check_queue_sort(bench: Bench) -> None:
    plugin = bench.plugin
    if isinstance(plugin, QueueSort) and bench.pending:
        pods = bench.pending
        bench.ask(pods[0], lambda: sorted(plugin.sort_key(pod, float(place)) for place, pod in enumerate(pods)))


def _check_filter(bench: Bench, plugin: Filter, pod: Pod) -> None:
    state = bench.pre_filter(pod)
    if isinstance(state, Skip | Rejection):
        return
    rejections = bench.rejections(plugin, pod, bench.all_nodes(), state)
    reasons: list[Any] = [reason for rejection in rejections if rejection is not None for reason in rejection.reasons]
    for reason in reasons:
        if not isinstance(reason, str) or not reason:
            bench.fail(pod, f"filter rejects with the reason {reason!r}; give a text that a user can act on")
    _check_rows(bench, pod, "filter", rejections, lambda nodes: bench.rejections(plugin, pod, nodes, state))
    _check_supposed(bench, plugin, pod, (rejections, state))


def _check_supposed(bench: Bench, plugin: Filter, pod: Pod, answer: tuple[list[Rejection | None], Any]) -> None:
    """Ask about rows as they would be: first with nothing supposed, then with the pod itself there already."""
    rejections, state = answer
    nodes = bench.all_nodes()
    nothing: list[list[Any]] = [[] for _ in rejections]
    same = bench.rejections(plugin, pod, nodes.suppose(nodes.all_rows, nothing, nothing), state)
    _compare(bench, pod, rejections, same, "filter answers differently on hypothetical rows where nothing is supposed")
    shape = nodes.shape_of(pod)
    bench.rejections(plugin, pod, nodes.suppose(nodes.all_rows, [[shape] for _ in rejections], nothing), state)


def _check_twins(bench: Bench, pod: Pod) -> None:
    """See that the array form and the per-node form of one plugin agree."""
    state = bench.pre_filter(pod)
    if len(bench.filters) > 1 and not isinstance(state, Skip | Rejection):
        many, one = (bench.rejections(plugin, pod, bench.all_nodes(), state) for plugin in bench.filters)
        _compare(bench, pod, many, one, "filter and filter_node disagree")
    if len(bench.scorers) > 1:
        feasible = np.ones(len(bench.names), dtype=bool)
        scored = bench.pre_score(pod, feasible)
        if not isinstance(scored, Skip):
            first, second = (bench.scores(plugin, pod, bench.all_nodes(), state=scored) for plugin in bench.scorers)
            _compare(bench, pod, first, second, "score and score_node disagree")


def _check_score(bench: Bench, plugin: Score, pod: Pod) -> None:
    rows = len(bench.names)
    for feasible in (np.ones(rows, dtype=bool), np.arange(rows) % 2 == 0):
        state = bench.pre_score(pod, feasible)
        if isinstance(state, Skip):
            continue
        scores = bench.scores(plugin, pod, bench.all_nodes(), state=state)
        _check_rows(bench, pod, "score", scores, partial(bench.scores, plugin, pod, state=state))
        final = np.array(scores, dtype=np.int64)
        if isinstance(plugin, Normalize):
            final = _check_normalize(bench, plugin, pod, (final, feasible, state))
        _check_range(bench, pod, final, feasible)


def _check_normalize(bench: Bench, plugin: Normalize, pod: Pod, scored: tuple[Any, Mask, Any]) -> Any:
    """See that normalisation gives a score for each row; that it looks at each for itself shows in kept answers."""
    scores, feasible, state = scored
    low, high = extent_of(scores, feasible)
    final: Any = bench.ask(pod, lambda: plugin.normalize(scores.copy(), low, high, state))
    if not isinstance(final, np.ndarray) or final.shape != scores.shape:
        bench.fail(pod, f"normalize returned {final!r:.80}; return one score for each of the {len(scores)} given")
    return final


def _check_range(bench: Bench, pod: Pod, final: Any, feasible: Mask) -> None:
    # What is no number is neither below nor above.
    for row in np.flatnonzero(feasible & ~((final >= 0) & (final <= MAX_SCORE))).tolist():
        score = "NaN, or an infinite one" if final[row] == NO_NUMBER else final[row]
        problem = f"node {bench.names[row]!r} ends up with the score {score}, which is not in 0..{MAX_SCORE}"
        bench.fail(pod, f"{problem}; return such scores, or inherit Normalize and bring them there")


def _check_look_alike(bench: Bench, pod: Pod) -> None:
    """Ask about a pod that differs only in what decides no answer unless `sign` says so."""
    twin = _look_alike(pod)
    if bench.ask(pod, lambda: bench.plugin.sign(pod) != bench.plugin.sign(twin)):
        return
    problem = "a pod that differs only in name, uid and status gets another answer; return what you read in sign()"
    for one, other in zip(_answers(bench, pod), _answers(bench, twin), strict=True):
        _compare(bench, pod, one, other, problem)


def _check_memory(bench: Bench) -> None:
    """See that the answer about one pod does not depend on who was asked about before."""
    first = {pod.key: _answers(bench, pod) for pod in bench.pending}
    for pod in reversed(bench.pending):
        for one, other in zip(first[pod.key], _answers(bench, pod), strict=True):
            _compare(bench, pod, one, other, "the answer depends on what was asked before; keep no state between pods")


def _check_kept_answers(bench: Bench, pod: Pod) -> None:
    """See that answers kept by the scheduler follow the cluster: all that was read was read through `nodes`."""
    table = bench.cache.table
    filtering = Filtering(bench.profile, table)
    ranking = Ranking(bench.profile, table, filtering.feasible_journal)
    for change in changes(bench.cache, pod):
        with bench.watching(pod):
            kept = _decision(filtering, ranking, pod)
            fresh = Filtering(bench.profile, table)
            anew = _decision(fresh, Ranking(bench.profile, table, fresh.feasible_journal), pod)
        problem = f"an answer kept from before {change} is not true after it; {READ_THROUGH}"
        for one, other in zip(kept, anew, strict=True):
            _compare(bench, pod, one, other, problem)


# What may be answered on the way from a node to the bound pod, in that order
_ANSWERS: Final[tuple[tuple[type, str, tuple[type, ...]], ...]] = (
    (Reserve, "reserve", (NoneType, Rejection)),
    (Permit, "permit", (NoneType, Rejection, Wait)),
    (PreBind, "pre_bind_pre_flight", (NoneType, Rejection, Skip)),
    (PreBind, "pre_bind", (NoneType, Rejection)),
    (Bind, "bind", (NoneType, Rejection, Skip)),
    (PostBind, "post_bind", (object,)),
)


def _check_placing(bench: Bench, pod: Pod) -> None:
    """See that the points between the choice of a node and the bound pod answer with answers.

    The plugin is asked on the first node that would take the pod. What is awaited is followed until it waits for
    somebody: there is no cluster here that would answer.
    """
    node_name = _node_for(bench, pod)
    if node_name is None:
        return
    skipped = ""
    for point, method, answers in _ANSWERS:
        if not isinstance(bench.plugin, point) or method == skipped:
            continue
        answer = bench.ask(pod, partial(_outcome, getattr(bench.plugin, method), pod, node_name))
        if not isinstance(answer, (*answers, _Unfinished)):
            bench.fail(pod, f"{method} returned {answer!r:.80}; return {plugin_class.ANSWERS[method]}")
        if isinstance(answer, Wait):
            bench.ask(pod, partial(placing.seconds_of, answer))
        if isinstance(answer, Rejection):
            break
        skipped = "pre_bind" if isinstance(answer, Skip) else ""
    if isinstance(bench.plugin, Reserve):
        _check_unreserve(bench, bench.plugin, pod, node_name)


def _node_for(bench: Bench, pod: Pod) -> str | None:
    """Ask the plugin as far as the choice of a node, which is what the points after it build on."""
    state = bench.pre_filter(pod)
    if isinstance(state, Rejection):
        return None
    rejected = [False] * len(bench.names)
    for plugin in () if isinstance(state, Skip) else bench.filters:
        rejections = bench.rejections(plugin, pod, bench.all_nodes(), state)
        rejected = [before or rejection is not None for before, rejection in zip(rejected, rejections, strict=True)]
    return next((name for name, is_rejected in zip(bench.names, rejected, strict=True) if not is_rejected), None)


def _check_unreserve(bench: Bench, plugin: Reserve, pod: Pod, node_name: str) -> None:
    for _ in range(2):
        # The second time it has nothing to give back, which must do no harm.
        answer: Any = bench.ask(pod, partial(plugin.unreserve, pod, node_name))
        if answer is not None and not callable(answer):
            problem = f"unreserve returned {answer!r:.80}"
            bench.fail(pod, f"{problem}; return None, or an async function with what is left to be done")


def _check_undone(bench: Bench, pod: Pod) -> None:
    """See that what was only supposed leaves no trace: a pod that was placed and taken back changes no answer."""
    plugin, node_name = bench.plugin, _node_for(bench, pod)
    if not isinstance(plugin, Reserve | Undoable) or node_name is None:
        return
    before = _answers(bench, pod)
    saved = bench.ask(pod, plugin.save_state) if isinstance(plugin, Undoable) else None
    if isinstance(plugin, Reserve):
        bench.ask(pod, partial(plugin.reserve, pod, node_name))
        bench.ask(pod, partial(plugin.unreserve, pod, node_name))
    if isinstance(plugin, Undoable):
        bench.ask(pod, partial(plugin.restore_state, saved))
    problem = "after reserve and unreserve it answers otherwise; give everything back, or be Undoable"
    for one, other in zip(before, _answers(bench, pod), strict=False):
        _compare(bench, pod, one, other, problem)


class _Unfinished:
    """What awaits something has no answer yet."""


def _outcome(ask: Callable[[Pod, str], Any], pod: Pod, node_name: str) -> Any:
    """Return an answer, or what comes of one that is awaited if it comes at once."""
    answer = ask(pod, node_name)
    if not isinstance(answer, Coroutine):
        return answer
    try:
        answer.send(None)
    except StopIteration as ended:
        return ended.value
    except RuntimeError as error:
        # It wants the event loop: from here on it waits.
        if "no running event loop" not in str(error):
            raise
        return _Unfinished()
    answer.close()
    return _Unfinished()


# Questions and comparisons


def _answers(bench: Bench, pod: Pod) -> list[Sequence[Any]]:
    """Return all that the plugin says about a pod on all rows."""
    found: list[Sequence[Any]] = []
    state = bench.pre_filter(pod)
    if isinstance(state, Skip | Rejection):
        found.append([state] * len(bench.names))
    else:
        found += [bench.rejections(plugin, pod, bench.all_nodes(), state) for plugin in bench.filters]
    scored = bench.pre_score(pod, np.ones(len(bench.names), dtype=bool))
    if not isinstance(scored, Skip):
        found += [bench.scores(plugin, pod, bench.all_nodes(), state=scored) for plugin in bench.scorers]
    return found


def _decision(filtering: Filtering, ranking: Ranking, pod: Pod) -> tuple[Sequence[Any], Sequence[Any]]:
    filtering.refresh(pod)
    verdict = filtering.verdict()
    rejections = [verdict.rejection(row) for row in range(len(verdict.names))]
    if verdict.pre_filter is not None or not filtering.feasible.any():
        return rejections, [verdict.pre_filter] * len(rejections)
    ranking.refresh(pod, filtering.feasible)
    return rejections, ranking.total.tolist()


def _check_rows(
    bench: Bench, pod: Pod, point: str, whole: Sequence[Any], ask: Callable[[Nodes], Sequence[Any]]
) -> None:
    """Ask again about all rows, about all in another order, and about each alone."""
    nodes = bench.all_nodes()
    _compare(bench, pod, whole, ask(nodes), f"{point} gave two answers to one question; let only pod and nodes decide")
    backwards: Rows = nodes.all_rows[::-1]
    problem = f"{point} answers differently when rows come in another order; look at each row for itself"
    _compare(bench, pod, whole, ask(nodes.take(backwards))[::-1], problem)
    alone = [ask(nodes.take(np.array([row])))[0] for row in nodes.all_rows.tolist()]
    problem = f"{point} answers differently about a row alone; look only at the rows you are given, each for itself"
    _compare(bench, pod, whole, alone, problem)


def _compare(bench: Bench, pod: Pod, one: Sequence[Any], other: Sequence[Any], problem: str) -> None:
    for name, first, second in zip(bench.names, one, other, strict=True):
        if first != second:
            bench.fail(pod, f"{problem} (node {name!r}: {_show(first)}, then {_show(second)})")


def _show(answer: Any) -> str:
    if isinstance(answer, Rejection):
        return f"{answer.code.value} {list(answer.reasons)}"
    return "no objection" if answer is None else str(answer)


def _look_alike(pod: Pod) -> Pod:
    meta = replace(pod.metadata, name=OTHER_NAME, uid=f"uid-{OTHER_NAME}", generate_name=f"{OTHER_NAME}-")
    status = replace(pod.status, phase="Pending", nominated_node_name=OTHER_NAME)
    return replace(pod, metadata=meta, status=status)
