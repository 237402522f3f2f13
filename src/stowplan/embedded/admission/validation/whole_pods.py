"""Rules of what a pod asks for as a whole, beside its containers."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.validation.field import Field
from stowplan.embedded.admission.validation.resources import check_name, check_requirements
from stowplan.model import decode
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity
from stowplan.model.requests import HUGE_PAGES_PREFIX, container_limit_list, container_request_list, is_pod_level

_SUPPORTED: Final = ("cpu", HUGE_PAGES_PREFIX, "memory")
_PARTS: Final = ("containers", "initContainers")


def check_resources(spec: Field) -> None:
    """Check the resources of a pod, which its containers share: those of all, and none has more than there is."""
    resources = spec["resources"]
    if not resources:
        return
    if "claims" in resources:
        resources["claims"].forbidden("claims may not be set for Resources at pod-level")
    check_requirements(resources, _check_name)
    containers = decode.convert(Pod, {"spec": {part: spec.value[part] for part in _PARTS if part in spec}})
    least = "must be greater than or equal to aggregate container"
    for name, sum_ in sorted(container_request_list(containers).items()):
        _check_least(resources["requests"], name, sum_, f"{least} requests of {sum_}")
    for name, sum_ in sorted(container_limit_list(containers).items()):
        if name.startswith(HUGE_PAGES_PREFIX):
            _check_least(resources["limits"], name, sum_, f"{least} limits of {sum_}")
    for index, container in enumerate(spec["containers"]):
        for name, limit in (container["resources"].get("limits") or {}).items():
            most = resources["limits"].get(name)
            if most is not None and Quantity.parse(limit) > Quantity.parse(most):
                # Upstream looks for containers below the resources of the pod.
                place = Field(spec.problems, index, None, resources["containers"])
                place.entry(name)["limits"].invalid(f"must be less than or equal to pod limits of {most}", limit)


def _check_name(amount: Field, name: str) -> None:
    known = len(amount.problems.causes)
    check_name(amount, name)
    if len(amount.problems.causes) == known and not is_pod_level(name):
        amount.unsupported(_SUPPORTED, name)


def _check_least(amounts: Field, name: str, least: Quantity, detail: str) -> None:
    amount = amounts.get(name)
    if amount is not None and Quantity.parse(amount) < least:
        amounts.entry(name).invalid(detail)
