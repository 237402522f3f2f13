"""Who keeps a pod out of the queue: the first that rejects it, but the one that did so up to now before all others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stowplan.framework.profile import Profile
from stowplan.testing import make_pod
from tests.scenarios import plugins

POD = make_pod("p").build()


class OtherGate(plugins.Gate):
    pass


@pytest.mark.parametrize(
    ("gated_by", "asked", "by"),
    [
        pytest.param("", ["Gate"], "Gate", id="a new pod: in the order of the profile"),
        pytest.param("OtherGate", ["OtherGate"], "OtherGate", id="one that the second keeps out: the second first"),
        pytest.param("Gone", ["Gate"], "Gate", id="one that nobody here has kept out"),
    ],
)
def test_who_is_asked_first(gated_by: str, asked: list[str], by: str) -> None:
    handle = SimpleNamespace(calls=[])
    gates = tuple(cls(handle, {"p": ["refuse no"]}) for cls in (plugins.Gate, OtherGate))
    rejection = Profile("default-scheduler", pre_enqueue=gates).run_pre_enqueue(POD, gated_by)
    assert rejection is not None
    assert rejection.plugin == by
    assert handle.calls == [f"{name}.pre_enqueue p" for name in asked]


def test_if_it_lets_the_pod_in_the_others_are_asked_once_each() -> None:
    handle = SimpleNamespace(calls=[])
    gates = tuple(cls(handle) for cls in (plugins.Gate, OtherGate))
    assert Profile("default-scheduler", pre_enqueue=gates).run_pre_enqueue(POD, "OtherGate") is None
    assert handle.calls == ["OtherGate.pre_enqueue p", "Gate.pre_enqueue p"]
