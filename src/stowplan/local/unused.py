"""What of a configuration a scheduler inside its own cluster has no use for: told at the start."""

from __future__ import annotations

from typing import Final

from stowplan.config.types import Configuration

_UNUSED: Final = {
    "leader_election": "there is one scheduler, in the process of its cluster",
    "client_connection": "the cluster is in the same process",
    "delay_cache_until_active": "the scheduler is always active",
}


def notes(configuration: Configuration) -> list[str]:
    """Say which fields were set to something that does not matter here."""
    default = Configuration()
    names = {field: _camel(field) for field in _UNUSED}
    return [
        f"{names[field]} has no effect in `stowplan up`: {why}"
        for field, why in _UNUSED.items()
        if getattr(configuration, field) != getattr(default, field)
    ]


def _camel(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(word.capitalize() for word in rest)
