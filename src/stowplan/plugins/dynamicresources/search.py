"""The search for devices on one node: the first that fit, tried in order, one claim and one request after the other.

A device that is tried is counted in until what comes after it turns out impossible; then it is taken back and the next
one is tried. The order decides which devices are given, so it is upstream's: pools, slices and devices as in
`inventory.py`, alternatives as listed, and within one request only later devices after earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from stowplan.plugins.dynamicresources.asks import MOST_DEVICES, AllocationError, Ask
from stowplan.plugins.dynamicresources.holding import Given, Holding
from stowplan.plugins.dynamicresources.pools import OfferedDevice

IsLate = Callable[[], bool]


def never() -> bool:
    """Say that there is always time."""
    return False


class Want(NamedTuple):
    """An ask on one node: how many devices it needs there, and which, if it wants all of them."""

    ask: Ask
    needed: int
    all_devices: Sequence[OfferedDevice] | None = None


class _Position(NamedTuple):
    """The device that is looked for next."""

    claim: int
    request: int = 0
    #: -1 as long as none is chosen.
    alternative: int = -1
    device: int = 0
    #: Within a request, where to go on in the list of devices.
    start: int = 0


#: Yields what is looked for next; is sent, and returns, whether a claim would be given too many devices whatever is
#: tried, so that other devices for the same number of them need no trying.
_Trial = Generator[_Position, bool, bool]


class Search:
    """One search. `wants` has, by claim and request, the alternatives."""

    def __init__(
        self,
        wants: Sequence[Sequence[Sequence[Want]]],
        devices: Sequence[OfferedDevice],
        holding: Holding,
        is_late: IsLate = never,
    ) -> None:
        """`is_late` says whether the time for this node is over."""
        self._wants = wants
        self._devices = devices
        self._holding = holding
        self._is_late = is_late

    def result(self) -> list[list[Given]] | None:
        """Return, by claim, the devices that are given; None if they do not suffice. Raise AllocationError."""
        trials: list[_Trial] = [self._try(_Position(0))]
        # A trial is started by None and goes on with the outcome of the one that followed it.
        outcome: bool | None = None
        while trials:
            try:
                position = trials[-1].send(outcome)  # type: ignore[arg-type]
            except StopIteration as end:
                outcome = end.value
                trials.pop()
                continue
            if position.claim == len(self._wants):
                return self._holding.given
            outcome = None
            trials.append(self._try(position))
        return None

    def _try(self, position: _Position) -> _Trial:
        claim, request, alternative, device, _ = position
        requests = self._wants[claim]
        if self._is_late():
            raise AllocationError(f"node {self._holding.node.name}: timed out trying to allocate devices")
        if request == len(requests):
            yield _Position(claim + 1)
            # Other devices for earlier claims may leave some for alternatives of this one.
            return False
        alternatives = requests[request]
        if alternative < 0 and alternatives[0].ask.sub_request:
            return (yield from self._try_alternatives(position, len(alternatives)))
        want = alternatives[max(alternative, 0)]
        if want.all_devices is not None and not want.all_devices:
            return False
        if device >= want.needed:
            return (yield _Position(claim, request + 1))
        if len(self._holding.given[claim]) + want.needed - device > MOST_DEVICES:
            return True
        if want.all_devices is not None:
            return (yield from self._try_this(position, want.ask, want.all_devices[device]))
        return (yield from self._try_each(position, want.ask))

    def _try_alternatives(self, position: _Position, count: int) -> _Trial:
        has_too_many = True
        for alternative in range(count):
            # In this order: every alternative has to be tried.
            has_too_many = (yield position._replace(alternative=alternative)) and has_too_many
        return has_too_many

    def _try_this(self, position: _Position, ask: Ask, offered: OfferedDevice) -> _Trial:
        given = self._holding.give(ask, offered)
        if given is None:
            return False
        has_too_many = yield position._replace(device=position.device + 1)
        self._holding.take_back(given)
        return has_too_many

    def _try_each(self, position: _Position, ask: Ask) -> _Trial:
        claim, request, alternative, device, start = position
        holding, devices = self._holding, self._devices
        for index in range(start, len(devices)):
            offered = devices[index]
            if not holding.is_free(ask, offered) or not holding.suits(ask, offered):
                continue
            given = holding.give(ask, offered)
            if given is None:
                continue
            has_too_many = yield _Position(claim, request, alternative, device + 1, index + 1)
            holding.take_back(given)
            if has_too_many:
                return True
        return False
