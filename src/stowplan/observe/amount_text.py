"""How an amount of a resource is written for people: `1.5` cores, `16Gi`, `3` of anything else."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def amount_text(resource: str, units: int) -> str:
    """Write an amount, given in millicores for cpu and whole units for the rest: bytes get a unit."""
    if resource == "cpu":
        return f"{units / 1000:g}"
    if resource not in ("memory", "ephemeral-storage") and not resource.startswith("hugepages-"):
        return str(units)
    value, unit = float(units), 0
    while abs(value) >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.4g}{_UNITS[unit]}"
