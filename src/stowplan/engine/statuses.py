"""What is written to the status of pods, beside the loop.

For each pod one write comes after another, so that what was said last is what is written last.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from stowplan.engine.ports import Listener, Trouble, Writer
from stowplan.engine.timeouts import Patience
from stowplan.model.meta import Condition
from stowplan.model.pod import Pod
from stowplan.queue.entry import pod_id


class Statuses:
    """The writes under way and those that wait for them."""

    def __init__(self, writer: Writer, tell: Listener, patience: Patience) -> None:
        self._writer = writer
        self._tell = tell
        self._patience = patience
        self._turns: dict[str, asyncio.Lock] = {}
        self._in_line: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._turns)

    async def write(self, pod: Pod, condition: Condition | None, nominated_node_name: str | None) -> None:
        """Write a pod's condition and nominated node (as `Writer.update_status` takes them); a failure is only told."""
        identity = pod_id(pod)
        self._in_line[identity] += 1
        try:
            async with self._turns.setdefault(identity, asyncio.Lock()), self._patience.for_a_write():
                await self._writer.update_status(pod, condition, nominated_node_name)
        except Exception as error:
            text = str(error) or type(error).__name__
            self._tell(Trouble(f"pod {pod.key!r}: its status could not be updated: {text}"))
        finally:
            self._in_line[identity] -= 1
            if not self._in_line[identity]:
                del self._in_line[identity], self._turns[identity]
