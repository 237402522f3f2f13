"""Keys are worked off once each, when they are due, and again when they fail."""

import asyncio
from collections.abc import Callable

import pytest

from stowplan.embedded.informers.event_recorder import Failures
from stowplan.embedded.informers.metadata import ObjectKey
from stowplan.embedded.informers.workqueue import Worker, WorkQueue
from stowplan.embedded.objects.errors import StatusError
from stowplan.simulate import virtual_time

A, B, C = ("", "a"), ("", "b"), ("", "c")


class Heard(Failures):
    """Writes down what fails."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []

    def tell(self, key: ObjectKey, error: Exception, does: str = "") -> None:
        self.failed.append((key[1], str(error)))

    def forget(self, key: ObjectKey) -> None:
        self.failed.append((key[1], "well again"))


def take_all(fill: Callable[[WorkQueue], None], count: int) -> list[tuple[str, float]]:
    """Take keys after `fill`, each with the time at which it came."""

    async def run() -> list[tuple[str, float]]:
        queue = WorkQueue()
        fill(queue)
        taken = []
        for _ in range(count):
            key = await queue.take()
            taken.append((key[1], round(asyncio.get_running_loop().time(), 3)))
        return taken

    return virtual_time.run(run())


def add_twice(queue: WorkQueue) -> None:
    for key in (A, B, A, C):
        queue.add(key)


def add_later(queue: WorkQueue) -> None:
    queue.add_after(A, 5)
    queue.add_after(B, 2)
    queue.add_after(A, 1)
    queue.add_after(B, 9)


def add_now_and_later(queue: WorkQueue) -> None:
    queue.add_after(A, 5)
    queue.add(A)
    queue.add_after(B, 7)


def fail(queue: WorkQueue) -> None:
    queue.add_failed(A)
    queue.add_failed(A)


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        pytest.param(add_twice, [("a", 0), ("b", 0), ("c", 0)], id="a key waits at most once"),
        pytest.param(add_later, [("a", 1), ("b", 2)], id="the earlier moment counts"),
        pytest.param(add_now_and_later, [("a", 0), ("b", 7)], id="what was taken at once does not come again later"),
        pytest.param(fail, [("a", 0.01)], id="a failed key comes back"),
    ],
)
def test_keys_come_when_they_are_due(fill: Callable[[WorkQueue], None], expected: list[tuple[str, float]]) -> None:
    assert take_all(fill, len(expected)) == expected


def test_a_worker_tries_again_what_fails_ever_later_and_goes_on_with_the_rest() -> None:
    tried: list[tuple[str, float]] = []

    def reconcile(key: ObjectKey) -> float | None:
        tried.append((key[1], round(asyncio.get_running_loop().time(), 3)))
        if key == A and len(tried) < 6:
            raise StatusError(409, "Conflict", "changed meanwhile")
        return None

    async def run() -> None:
        queue = WorkQueue()
        queue.add(A)
        queue.add(B)
        task = asyncio.create_task(Worker(queue, reconcile, (), Heard()).run())
        await asyncio.sleep(60)
        task.cancel()

    virtual_time.run(run())
    assert tried == [("a", 0), ("b", 0), ("a", 0.01), ("a", 0.03), ("a", 0.07), ("a", 0.15)]


def test_a_worker_survives_what_nobody_thought_of_and_comes_back_when_asked() -> None:
    tried: list[float] = []

    def reconcile(key: ObjectKey) -> float | None:
        tried.append(round(asyncio.get_running_loop().time(), 3))
        if len(tried) == 1:
            raise KeyError("nobody thought of this")
        return 10.0 if len(tried) < 4 else None

    async def run() -> None:
        queue = WorkQueue()
        queue.add(A)
        task = asyncio.create_task(Worker(queue, reconcile, (), Heard()).run())
        await asyncio.sleep(60)
        task.cancel()

    virtual_time.run(run())
    assert tried == [0, 0.01, 10.01, 20.01]


def test_a_worker_tells_what_fails_unless_it_was_only_too_slow() -> None:
    heard, faults = Heard(), [StatusError(409, "Conflict", "changed"), KeyError("type"), StatusError(403, "F", "no")]

    def reconcile(key: ObjectKey) -> float | None:
        if faults:
            raise faults.pop(0)
        return None

    async def run() -> None:
        queue = WorkQueue()
        queue.add(A)
        task = asyncio.create_task(Worker(queue, reconcile, (), heard).run())
        await asyncio.sleep(60)
        task.cancel()

    virtual_time.run(run())
    assert heard.failed == [("a", "'type'"), ("a", "no"), ("a", "well again")]


def test_a_key_whose_time_has_come_does_not_wait_for_the_others_to_end() -> None:
    async def run() -> list[str]:
        queue, taken = WorkQueue(), []
        queue.add_after(A, 1)
        for _ in range(5):
            queue.add(B)
            await asyncio.sleep(0.5)
            queue.add(C)
            taken.append((await queue.take())[1])
        return taken

    assert virtual_time.run(run()) == ["b", "c", "b", "a", "c"]
