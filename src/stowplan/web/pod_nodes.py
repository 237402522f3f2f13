"""Every node for one pod, as columns: whether it fits, what every plugin says against it, and what each score is."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from stowplan.framework.verdict import Rejection
from stowplan.observe.explain import NodeReports, label_of
from stowplan.observe.explanation import Explanation
from stowplan.table.columns import Mask, Scores
from stowplan.web.funnel import reports_of
from stowplan.web.pod_answers import PluginColumns, PodNodesAnswer, ReasonText

T = TypeVar("T")
_NOBODY: Final = -1


class Numbered(dict[T, int]):
    """Things in the order in which they were first named, each with its number."""

    def __missing__(self, key: T) -> int:
        number = self[key] = len(self)
        return number


def pod_nodes(explanation: Explanation) -> PodNodesAnswer:
    """Return what is said of all nodes."""
    reports = reports_of(explanation)
    outcome, names = reports.outcome, list(explanation.nodes)
    columns = _scores(reports, names)
    plugins: Numbered[str] = Numbered()
    for column in columns:
        plugins[column.name]
    first = _first(reports, names, plugins)
    reasons: Numbered[tuple[str, str]] = Numbered()
    codes = _codes(reports, names, reasons)
    scoring = len(columns)
    columns += [PluginColumns(name, None, [], [], []) for name in list(plugins)[scoring:]]
    return PodNodesAnswer(
        names=names,
        feasible=outcome.feasible.tolist(),
        total=_where(outcome.feasible, outcome.total) if outcome.total is not None else [None] * len(names),
        first_plugin=first,
        reason_codes=codes,
        reasons=[ReasonText(*reason) for reason in reasons],
        plugins=columns,
    )


def _where(feasible: Mask, values: Scores) -> list[int | None]:
    """Return values, None where a node is not feasible."""
    return [value if fits else None for value, fits in zip(values.tolist(), feasible.tolist(), strict=True)]


def _scores(reports: NodeReports, names: list[str]) -> list[PluginColumns]:
    outcome = reports.outcome
    if outcome.ranking is None:
        return []
    found = [
        PluginColumns(
            plugin,
            weight,
            _where(outcome.feasible, raw),
            _where(outcome.feasible, normalized),
            _where(outcome.feasible, normalized * weight),
        )
        for plugin, (raw, normalized, weight) in outcome.ranking.by_plugin().items()
    ]
    row_of = {name: row for row, name in enumerate(names)} if any(one.added for one in outcome.reports) else {}
    for extender in outcome.reports:
        weighted: list[int | None] = [None] * len(names)
        for name, added in extender.added.items():
            if name in row_of:
                weighted[row_of[name]] = added
        if extender.added:
            points = [None if added is None else added // extender.weight for added in weighted]
            found.append(PluginColumns(label_of(extender), extender.weight, points, points, weighted))
    return found


def _first(reports: NodeReports, names: list[str], plugins: Numbered[str]) -> list[int]:
    """Return who is the first to refuse each node, as upstream tells it."""
    outcome = reports.outcome
    verdict = outcome.verdict
    if verdict is None:
        return [_NOBODY] * len(names)
    if verdict.pre_filter is not None:
        return [plugins[verdict.pre_filter.plugin]] * len(names)
    used = np.flatnonzero(np.bincount(verdict.words, minlength=1)).tolist()
    number_of = np.full(len(verdict.vocabulary.rejections), _NOBODY)
    for number in used:
        if number:
            number_of[number] = plugins[verdict.vocabulary[number].plugin]
    first: NDArray[np.int64] = number_of[verdict.words]
    if verdict.evaluated is not None and verdict.narrowed_by and not verdict.evaluated.all():
        first[~verdict.evaluated] = plugins[verdict.narrowed_by[0]]
    told: list[int] = first.tolist()
    if any(extender.rejected for extender in outcome.reports):
        row_of = {name: row for row, name in enumerate(names)}
        for extender in outcome.reports:
            for name in extender.rejected:
                told[row_of[name]] = plugins[label_of(extender)]
    return told


def _codes(reports: NodeReports, names: list[str], reasons: Numbered[tuple[str, str]]) -> list[list[int]]:
    """Return all that is said against each node. Nodes of which the same is said share a list."""
    opinions = reports.opinions
    words = opinions.words[opinions.words.any(axis=1)]
    spelled: dict[tuple[int, ...], list[int]] = {}

    def spell(numbers: tuple[int, ...]) -> list[int]:
        found = spelled.get(numbers)
        if found is None:
            said = (opinions.vocabulary[number] for number in numbers if number)
            found = spelled[numbers] = [code for rejection in said for code in _spell(rejection, reasons)]
        return found

    codes = [spell(tuple(numbers)) for numbers in words.T.tolist()] if len(words) else [[] for _ in names]
    if any(extender.rejected for extender in reports.outcome.reports):
        row_of = {name: row for row, name in enumerate(names)}
        for extender in reports.outcome.reports:
            for name, rejection in extender.rejected.items():
                codes[row_of[name]] = [*codes[row_of[name]], *_spell(rejection, reasons, label_of(extender))]
    return codes


def _spell(rejection: Rejection, reasons: Numbered[tuple[str, str]], by: str = "") -> list[int]:
    return [reasons[by or rejection.plugin, text] for text in rejection.reasons or ("without a word",)]
