"""How long the points took that wait for the cluster is noted, with how they ended."""

from __future__ import annotations

from stowplan.model.pod import Pod
from stowplan.simulate import virtual_time
from stowplan.testing import make_node, make_pod
from tests.scenarios.stage import Fault, Stage, configuration

NODE = make_node("n").capacity(cpu=4).build()
SECOND = 1_000_000_000


def noted(pod: Pod, *faults: Fault) -> list[tuple[str, str, str, int]]:
    """Return what is noted while a pod is bound, in the first ten seconds."""
    points: list[tuple[str, str, str, int]] = []

    async def main() -> None:
        stage = Stage(configuration())
        stage.faults.extend(faults)
        stage.book.create(NODE)
        stage.start()
        stage.scheduler.environment.note_point = lambda *note: points.append(note)
        stage.book.create(pod)
        await stage.wait(10)
        await stage.finish()

    virtual_time.run(main())
    return points


def test_binding_is_timed_and_so_is_what_comes_before_and_after() -> None:
    found = noted(make_pod("p").build(), Fault("bind", hang=3))
    assert found == [
        ("PreBind", "Success", "default-scheduler", 0),
        ("Bind", "Success", "default-scheduler", 3 * SECOND),
        ("PostBind", "Success", "default-scheduler", 0),
    ]


def test_binding_that_fails_is_timed_too() -> None:
    found = noted(make_pod("p").build(), Fault("bind", text="no quorum"))
    assert found[:2] == [("PreBind", "Success", "default-scheduler", 0), ("Bind", "Error", "default-scheduler", 0)]
