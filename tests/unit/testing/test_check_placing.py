"""`check_plugin` finds what would break only when a pod is about to be bound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stowplan.framework.contract import SKIP, Bind, Filter, Permit, Plugin, PreBind, Reserve, Wait, refuse
from stowplan.model.pod import Pod
from stowplan.testing import check_plugin


class PermitsWithTrue(Permit):
    def permit(self, pod: Pod, node_name: str) -> Any:
        return True


class WaitsForAWord(Permit):
    def permit(self, pod: Pod, node_name: str) -> Any:
        return Wait("5s")  # type: ignore[arg-type]


class BindsWithTrue(Bind):
    async def bind(self, pod: Pod, node_name: str) -> Any:
        return True


class ReservesWithFalse(Reserve):
    def reserve(self, pod: Pod, node_name: str) -> Any:
        return False

    def unreserve(self, pod: Pod, node_name: str) -> None: ...


class UnreservesOnce(Reserve):
    """Must do no harm if `reserve` was not called."""

    def __init__(self) -> None:
        self.taken: dict[str, str] = {}

    def reserve(self, pod: Pod, node_name: str) -> None:
        self.taken[pod.key] = node_name

    def unreserve(self, pod: Pod, node_name: str) -> None:
        del self.taken[pod.key]


class BreaksInPreBind(PreBind):
    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        raise LookupError("no such volume")


class NotAsync(PreBind):
    def pre_bind(self, pod: Pod, node_name: str) -> Any: ...


class Filters(Filter):
    def filters(self, pod: Pod, nodes: Any, state: Any) -> Any: ...


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param(
            PermitsWithTrue(),
            "permit returned True; return None to let the pod be bound, refuse(reason), or Wait(seconds)",
            id="a permit that says True",
        ),
        pytest.param(
            WaitsForAWord(),
            "it raised TypeError: Wait takes a number of seconds, got str '5s'",
            id="a permit that waits for no time",
        ),
        pytest.param(
            BindsWithTrue(), "bind returned True; return None, SKIP or refuse(reason)", id="a bind that says True"
        ),
        pytest.param(
            ReservesWithFalse(), "reserve returned False; return None or refuse(reason)", id="a reserve that says False"
        ),
        pytest.param(UnreservesOnce(), "it raised KeyError: ", id="an unreserve that works only once"),
        pytest.param(BreaksInPreBind(), f"it raised LookupError: no such volume (at {__file__}:", id="one that raises"),
    ],
)
def test_an_answer_that_is_none_is_caught(plugin: Plugin, expected: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_plugin(plugin)
    assert f"plugin {plugin.name!r} breaks the contract with pod 'default/" in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        pytest.param(NotAsync(), "method 'pre_bind' is awaited: write `async def pre_bind`", id="not async"),
        pytest.param(
            Filters(),  # type: ignore[abstract]
            "method 'filters' would never be called; did you mean 'filter', the method of Filter?",
            id="misnamed",
        ),
    ],
)
def test_a_class_that_cannot_work_is_caught(plugin: Plugin, expected: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_plugin(plugin)
    assert str(caught.value) == f"plugin {plugin.name!r} breaks the contract: {expected}"


class Sound(Reserve, Permit, PreBind, Bind):
    """Waits for a cluster that is not there, which is no fault."""

    def reserve(self, pod: Pod, node_name: str) -> None: ...

    def unreserve(self, pod: Pod, node_name: str) -> None: ...

    def permit(self, pod: Pod, node_name: str) -> Any:
        return Wait(3) if pod.name < "m" else refuse("not today")

    def pre_bind_pre_flight(self, pod: Pod, node_name: str) -> Any:
        return SKIP if pod.name < "c" else None

    async def pre_bind(self, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(1)

    async def bind(self, pod: Pod, node_name: str) -> Any:
        return SKIP


def test_a_sound_plugin_passes() -> None:
    check_plugin(Sound())
