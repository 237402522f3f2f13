"""From the configuration to extenders that can be asked. Nothing is contacted before the first question."""

from __future__ import annotations

from collections.abc import Iterable

from stowplan.config.types import ExtenderConfig
from stowplan.extender.client import HttpExtender
from stowplan.extender.transport import HttpTransport


def connect(extenders: Iterable[ExtenderConfig]) -> tuple[HttpExtender, ...]:
    """Make the extenders in the order they are asked; raise ConfigError if a certificate of one cannot be used.

    Those that may fail come last, as upstream has it: they are not to be in the way of the others.
    """
    made = [HttpExtender(settings, HttpTransport(settings)) for settings in extenders]
    return tuple(sorted(made, key=lambda extender: extender.is_ignorable))
