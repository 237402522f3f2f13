"""Where extenders have a say if there are any: the choice of a node, and who binds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stowplan.app.assembly import assemble
from stowplan.app.cluster import Cluster
from stowplan.engine import with_extenders
from stowplan.engine.extended import Extended
from stowplan.engine.parts import Parts
from stowplan.engine.results import Chosen
from stowplan.framework.extender import Filtered
from stowplan.framework.handle import ExtenderError
from stowplan.framework.verdict import Code, Rejection
from stowplan.model.binding import Binding
from stowplan.simulate.notebook import Notebook
from stowplan.testing import make_node, make_pod
from tests.unit.extender.fakes import FakeExtender

POD = make_pod("web").build()
DOWN = ExtenderError("http://fake: refused")


class Book(Notebook):
    """A cluster that notes every binding."""

    def __init__(self) -> None:
        super().__init__()
        self.bindings: list[tuple[str, str]] = []

    async def bind(self, binding: Binding) -> None:
        self.bindings.append((binding.metadata.name, binding.target.name))


def assembled(extenders: Sequence[FakeExtender]) -> tuple[Parts, Book]:
    cluster, book = Cluster(), Book()
    _, parts = assemble(cluster, book, lambda: 0)
    for name in ("a", "b"):
        parts.intake.add(make_node(name).capacity(cpu=4, memory="8Gi", pods=9).build(), 0)
    if extenders:
        parts.extended = Extended(parts.field, extenders, lambda name: None, lambda said: None, parts.field.ties)
    return parts, book


@pytest.mark.parametrize(
    ("extenders", "node"),
    [
        pytest.param([], "a", id="without extenders the plugins decide"),
        pytest.param([FakeExtender(filtered=Filtered(("b",)))], "b", id="an extender has a say"),
    ],
)
def test_who_chooses(extenders: list[FakeExtender], node: str) -> None:
    parts, _ = assembled(extenders)
    # Something on b, so that the plugins would rather have a.
    parts.intake.add(make_pod("there").requests(cpu="1").on("b").build(), 0)
    result = asyncio.run(with_extenders.decide(parts, parts.profiles["default-scheduler"], POD))
    assert isinstance(result, Chosen)
    assert result.node_name == node


@pytest.mark.parametrize(
    ("extenders", "rejection", "bindings"),
    [
        pytest.param([], None, [("web", "a")], id="without extenders the plugins bind"),
        pytest.param([FakeExtender(bound=True)], None, [], id="an extender binds, so nobody else does"),
        pytest.param([FakeExtender(scores={})], None, [("web", "a")], id="an extender that does not bind"),
        pytest.param([FakeExtender(bound=True, wants=False)], None, [("web", "a")], id="one that does not care"),
        pytest.param(
            [FakeExtender(bound=DOWN)],
            Rejection(("http://fake: refused",), Code.ERROR),
            [],
            id="an extender that fails to bind is not stood in for",
        ),
    ],
)
def test_who_binds(extenders: list[FakeExtender], rejection: Rejection | None, bindings: list[tuple[str, str]]) -> None:
    parts, book = assembled(extenders)
    found = asyncio.run(with_extenders.bind(parts, parts.profiles["default-scheduler"], POD, "a"))
    assert (found, book.bindings) == (rejection, bindings)
