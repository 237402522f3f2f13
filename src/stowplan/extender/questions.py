"""The questions that extenders have not answered yet, so that somebody who looks can say what a pod waits for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from stowplan.framework.extender import Extender
from stowplan.model.pod import Pod


class Question(NamedTuple):
    """What one extender is being asked."""

    extender: Extender
    verb: str


class OpenQuestions:
    """What extenders are being asked, by pod."""

    def __init__(self) -> None:
        self._by_pod: dict[str, list[Question]] = {}

    def of(self, pod: Pod) -> tuple[Question, ...]:
        """Return what is not answered yet about a pod, in the order asked."""
        return tuple(self._by_pod.get(_id(pod), ()))

    @contextmanager
    def asked(self, pod: Pod, question: Question) -> Iterator[None]:
        """Note a question for as long as it is open."""
        open_ones = self._by_pod.setdefault(_id(pod), [])
        open_ones.append(question)
        try:
            yield
        finally:
            open_ones.remove(question)
            if not open_ones:
                self._by_pod.pop(_id(pod), None)


def _id(pod: Pod) -> str:
    return pod.metadata.uid or pod.key
