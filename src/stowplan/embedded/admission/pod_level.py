"""Resources of a pod as a whole, filled in from those of its containers where the pod says a part of them.

With PodLevelResourcesFixDefaulting this comes behind everything else that admission adds to the containers, and limits
are filled in, too; without, it comes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stowplan.embedded.objects.resource import Object
from stowplan.model import decode
from stowplan.model.meta import ResourceList
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import HUGE_PAGES_PREFIX, is_pod_level, limit_list, request_list

FIXED: Final = "PodLevelResourcesFixDefaulting"
_PARTS: Final = ("containers", "initContainers")


def complete(spec: Object, *, is_fixed: bool) -> None:
    """Fill in the resources of a pod as a whole, in place; a pod that says nothing of them has none."""
    resources = spec.get("resources") or {}
    if not (resources.get("requests") or resources.get("limits")):
        return
    containers = decode.convert(Pod, {"spec": {part: spec[part] for part in _PARTS if part in spec}})
    limits, requests = dict(resources.get("limits", {})), dict(resources.get("requests", {}))
    sums = limit_list(containers)
    _fill(limits, sums, (name for name in sums if name.startswith(HUGE_PAGES_PREFIX) and name not in requests))
    if is_fixed or limits:
        asked = request_list(containers)
        _fill(requests, asked, (name for name in asked if not name.startswith(HUGE_PAGES_PREFIX)))
        requests = {**{name: amount for name, amount in limits.items() if is_pod_level(name)}, **requests}
    if is_fixed:
        for name in _limited_by_all(spec, requests.keys() - limits.keys()):
            limits[name] = str(max(Quantity.parse(requests[name]), sums[name]))
    resources.update((name, part) for name, part in (("requests", requests), ("limits", limits)) if part)


def keep(spec: Object, before: Object) -> None:
    """Let a changed pod that does not mention the resources of the whole keep them: its writer may not know them."""
    if "resources" in before:
        spec.setdefault("resources", before["resources"])


def _fill(amounts: Object, sums: ResourceList, names: Iterable[str]) -> None:
    for name in names:
        if is_pod_level(name):
            amounts.setdefault(name, str(sums[name]))


def _limited_by_all(spec: Object, names: Iterable[str]) -> list[str]:
    """The resources that every container has a limit for; none if there are no containers, which is refused later."""
    told = [container.get("resources", {}).get("limits", {}) for part in _PARTS for container in spec.get(part, ())]
    return [name for name in names if told and is_pod_level(name) and all(name in limits for limits in told)]
