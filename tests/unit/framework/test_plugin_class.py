"""A class that would never do what its author meant is told apart from a plugin before anybody asks it."""

from __future__ import annotations

from typing import Any

import pytest

from stowplan.framework.contract import Bind, Filter, Normalize, Permit, Plugin, PostBind, PreBind, Score
from stowplan.framework.plugin_class import faults
from stowplan.framework.registry import RegistryError, load
from stowplan.plugins import in_tree


class Scores(Score):
    def scores(self, pod: Any, nodes: Any, state: Any) -> Any: ...


class Filters(Filter):
    def filters(self, pod: Any, nodes: Any, state: Any) -> Any: ...


class Bare(Filter):
    pass


class HalfInherited(Score):
    def score(self, pod: Any, nodes: Any, state: Any) -> Any: ...

    def filter(self, pod: Any, nodes: Any, state: Any) -> Any: ...


class GoNames(Score):
    def score(self, pod: Any, nodes: Any, state: Any) -> Any: ...

    def PreFilter(self, pod: Any, nodes: Any) -> Any: ...  # noqa: N802 - as in kube-scheduler


class OldName(Normalize):
    def score(self, pod: Any, nodes: Any, state: Any) -> Any: ...

    def normalize_score(self, scores: Any, low: int, high: int, state: Any) -> Any: ...


class Waits(PreBind, Bind, PostBind):
    def pre_bind(self, pod: Any, node_name: str) -> Any: ...

    def bind(self, pod: Any, node_name: str) -> Any: ...

    def post_bind(self, pod: Any, node_name: str) -> Any: ...


class AsyncScore(Score):
    async def score(self, pod: Any, nodes: Any, state: Any) -> Any: ...  # type: ignore[override]


class ShortOfState(Score):
    def score(self, pod: Any, nodes: Any) -> Any: ...  # type: ignore[override]


class SaysTrue(Permit):
    def permit(self, pod: Any, node_name: str) -> bool:  # type: ignore[override]
        return True


class Good(Score, PreBind):
    """Helpers of its own may be called as they like, if no method of the contract could be meant."""

    def score(self, pod: Any, nodes: Any, state: Any, extra: int = 3) -> Any: ...

    def scores(self) -> Any: ...

    def find(self) -> Any: ...

    def _filters(self) -> Any: ...

    async def pre_bind(self, pod: Any, node_name: str) -> Any: ...


UNCALLED = "would never be called"


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        pytest.param(
            Scores, [f"method 'scores' {UNCALLED}; did you mean 'score', the method of Score?"], id="one letter more"
        ),
        pytest.param(
            Filters, [f"method 'filters' {UNCALLED}; did you mean 'filter', the method of Filter?"], id="of a filter"
        ),
        pytest.param(Bare, ["it inherits Filter but has no method 'filter'; write it"], id="no method at all"),
        pytest.param(
            HalfInherited,
            [f"method 'filter' {UNCALLED}: the class does not inherit Filter; inherit it"],
            id="a method without its point",
        ),
        pytest.param(
            GoNames,
            [
                f"method 'PreFilter' {UNCALLED}; did you mean 'pre_filter'?"
                " inherit PreFilter and rename it, or begin its name with _ if it is your own"
            ],
            id="as Go spells it",
        ),
        pytest.param(
            OldName,
            [f"method 'normalize_score' {UNCALLED}; did you mean 'normalize', the method of Normalize?"],
            id="as kube-scheduler calls it",
        ),
        pytest.param(
            Waits,
            [
                "method 'pre_bind' is awaited: write `async def pre_bind`",
                "method 'bind' is awaited: write `async def bind`",
                "method 'post_bind' is awaited: write `async def post_bind`",
            ],
            id="not async where it is awaited",
        ),
        pytest.param(
            AsyncScore,
            ["method 'score' is not awaited: write `def score`, without async"],
            id="async where nobody waits",
        ),
        pytest.param(
            ShortOfState,
            ["method 'score' cannot be called as score(pod, nodes, state); give it these parameters"],
            id="too few parameters",
        ),
        pytest.param(
            SaysTrue,
            [
                "method 'permit' answers with a bool;"
                " return None to let the pod be bound, refuse(reason), or Wait(seconds)"
            ],
            id="a permit that is declared to say True",
        ),
        pytest.param(Good, [], id="nothing wrong"),
    ],
)
def test_what_is_wrong_with_a_class_is_named(cls: type[Plugin], expected: list[str]) -> None:
    assert faults(cls) == expected


@pytest.mark.parametrize("cls", in_tree(), ids=lambda cls: cls.__name__)
def test_nothing_is_wrong_with_the_plugins_of_the_tree(cls: type[Plugin]) -> None:
    assert faults(cls) == []


def test_such_a_class_is_refused_when_it_is_loaded() -> None:
    message = f"plugin '{__name__}:Scores': method 'scores' would never be called; did you mean 'score'"
    with pytest.raises(RegistryError) as raised:
        load(f"{__name__}:Scores")
    assert str(raised.value).startswith(message)
