"""The rules of the points between the choice of a node and the bound pod: what they may answer.

`check_plugin` asks about every pod on the first node that would take it. What is awaited is followed until it waits for
somebody: there is no cluster here that would answer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from stowplan.framework.contract import Bind, Permit, PostBind, PreBind, Reserve, Skip, Wait
from stowplan.framework.plugin_class import answers_to
from stowplan.framework.verdict import Rejection
from stowplan.model.pod import Pod
from stowplan.testing.bench import Bench

Asked = tuple[str, Callable[[Pod, str], Any], tuple[type, ...]]


def check_placing(bench: Bench, pod: Pod) -> None:
    """See that the plugin answers with answers."""
    node_name = _node_for(bench, pod)
    if node_name is None:
        return
    skipped = ""
    for method, ask, answers in _asked(bench):
        if method == skipped:
            continue
        answer = bench.ask(pod, partial(_outcome, ask, pod, node_name))
        if not isinstance(answer, (*answers, _Unfinished)):
            bench.fail(pod, f"{method} returned {answer!r:.80}; return {answers_to(method)}")
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


def _asked(bench: Bench) -> Iterator[Asked]:
    """Yield the methods in the order of a pod's way, each with what it may return."""
    plugin = bench.plugin
    nothing = type(None)
    if isinstance(plugin, Reserve):
        yield "reserve", plugin.reserve, (nothing, Rejection)
    if isinstance(plugin, Permit):
        yield "permit", plugin.permit, (nothing, Rejection, Wait)
    if isinstance(plugin, PreBind):
        yield "pre_bind_pre_flight", plugin.pre_bind_pre_flight, (nothing, Rejection, Skip)
        yield "pre_bind", plugin.pre_bind, (nothing, Rejection)
    if isinstance(plugin, Bind):
        yield "bind", plugin.bind, (nothing, Rejection, Skip)
    if isinstance(plugin, PostBind):
        yield "post_bind", plugin.post_bind, (object,)


def _check_unreserve(bench: Bench, plugin: Reserve, pod: Pod, node_name: str) -> None:
    for _ in range(2):
        # The second time it has nothing to give back, which must do no harm.
        answer: Any = bench.ask(pod, partial(plugin.unreserve, pod, node_name))
        if answer is not None and not callable(answer):
            problem = f"unreserve returned {answer!r:.80}"
            bench.fail(pod, f"{problem}; return None, or an async function with what is left to be done")


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
