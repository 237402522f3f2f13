"""Checks the volumes of a pod: that each has a name of its own and one source."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation import names
from stowplan.embedded.admission.validation.problems import Problems
from stowplan.embedded.objects.resource import Object

#: What a source cannot do without.
_NEEDED: Final = {
    "persistentVolumeClaim": "claimName",
    "configMap": "name",
    "secret": "secretName",
    "hostPath": "path",
    "csi": "driver",
}


def check_volumes(problems: Problems, volumes: list[Object], path: str) -> set[str]:
    """Check volumes, and return their names."""
    taken: set[str] = set()
    for index, volume in enumerate(volumes):
        place, name = f"{path}[{index}]", volume.get("name", "")
        _check_source(problems, volume, place)
        if not name:
            problems.required(f"{place}.name")
        else:
            problems.each(f"{place}.name", name, names.label(name))
        if name in taken:
            problems.duplicate(f"{place}.name", name)
        taken.add(name)
    return taken


def _check_source(problems: Problems, volume: Object, path: str) -> None:
    sources = [name for name in volume if name != "name"]
    for extra in sources[1:]:
        problems.forbidden(f"{path}.{extra}", "may not specify more than 1 volume type")
    for source in sources[:1]:
        needed = _NEEDED.get(source)
        if needed and not volume[source].get(needed):
            problems.required(f"{path}.{source}.{needed}")
