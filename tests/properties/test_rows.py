"""A row gets the same answer alone, among a few others, in another order, and in the whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.framework.contract import Score, Skip
from stowplan.framework.kept.asking import ask_score
from stowplan.framework.profile import Profile
from stowplan.model.pod import Pod
from stowplan.table.columns import Mask
from stowplan.table.journal import Journal
from stowplan.table.nodes import Nodes
from tests.examples import examples
from tests.properties import strategies, world
from tests.properties.strategies import NODE_NAMES, named

Ask = Callable[[Nodes], list[Any]]
masks = st.lists(st.booleans(), min_size=len(NODE_NAMES), max_size=len(NODE_NAMES))


@settings(max_examples=examples(250))
@given(world.settings, strategies.pods, st.lists(st.integers(0, 10), max_size=12), masks)
def test_a_row_alone_is_told_what_it_is_told_in_the_table(
    setting: world.Setting, pod: Pod, drawn: list[int], mask: list[bool]
) -> None:
    cluster = setting.build()
    table = cluster.cache.table
    rows = [row % len(table) for row in drawn]
    feasible = np.array([True, *mask[1:]][: len(table)])
    for plugin, ask in questions(cluster.profile_of(pod), named(pod, "asked"), Nodes(table), feasible):
        whole = ask(Nodes(table))
        assert [ask(Nodes(table).take(np.array([row])))[0] for row in range(len(table))] == whole, plugin
        assert ask(Nodes(table).take(np.array(rows, dtype=np.intp))) == [whole[row] for row in rows], plugin


def questions(profile: Profile, pod: Pod, nodes: Nodes, feasible: Mask) -> Iterator[tuple[str, Ask]]:
    """Yield every filter and every score of a profile as a question about rows, with its state prepared."""
    states = world.filter_states(profile, pod, nodes)
    for plugin in profile.filter:
        if plugin.name in states:
            yield f"filter of {plugin.name}", partial(world.words, plugin, pod, state=states[plugin.name])
    nodes.feasible_rows, nodes.feasible_journal = feasible, Journal()
    prepared = {plugin.name: plugin.pre_score(pod, nodes) for plugin in profile.pre_score}
    for scorer, _ in profile.score:
        state = prepared.get(scorer.name)
        if not isinstance(state, Skip):
            yield f"score of {scorer.name}", partial(scores, scorer, pod, state=state)


def scores(plugin: Score, pod: Pod, nodes: Nodes, state: Any) -> list[int]:
    """Return the raw scores of each row."""
    found: list[int] = ask_score(plugin, pod, nodes, state).tolist()
    return found
