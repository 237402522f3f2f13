"""Limit ranges: what the containers of a namespace ask for when they do not say, and the least and most they may.

Defaults are set before an object is checked, bounds are enforced after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stowplan.embedded.admission.cluster_view import ClusterView
from stowplan.embedded.objects.errors import forbidden
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in
from stowplan.model import decode, requests
from stowplan.model.pod import Pod
from stowplan.model.quantity import Quantity

_NOTE: Final = "kubernetes.io/limit-ranger"
_RANGES: Final = built_in("", "limitranges")
_Amounts = Mapping[str, str]


def set_defaults(pod: Object, api: ClusterView) -> None:
    """Give the containers of a new pod what they do not say, and note that."""
    items = [item for item in _items(pod, api) if item.get("type") == "Container"]
    if not items:
        return
    limits, amounts = _joined(items, "default"), _joined(items, "defaultRequest")
    notes = []
    for field, name in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(field, ()):
            notes += _set(
                container["resources"], "requests", amounts, f"request for {name} {container.get('name', '')}"
            )
            notes += _set(container["resources"], "limits", limits, f"limit for {name} {container.get('name', '')}")
    if notes:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[_NOTE] = f"LimitRanger plugin set: {'; '.join(notes)}"


def check_pod(resource: Resource, pod: Object, api: ClusterView) -> None:
    """Refuse a pod that asks for less or more than its namespace allows."""
    items = _items(pod, api)
    if not items:
        return
    problems: list[str] = []
    weighed = decode.convert(Pod, pod)
    asked, limited = requests.request_list(weighed), requests.limit_list(weighed)
    whole = {name: str(amount) for name, amount in asked.items()}, {n: str(a) for n, a in limited.items()}
    for item in items:
        if item.get("type") == "Container":
            for container in (*pod["spec"].get("containers", ()), *pod["spec"].get("initContainers", ())):
                found = container["resources"]
                problems += _problems(item, found.get("requests", {}), found.get("limits", {}))
        elif item.get("type") == "Pod":
            problems += _problems(item, *whole)
    _refuse(resource, pod, problems)


def check_claim(resource: Resource, claim: Object, api: ClusterView) -> None:
    """Refuse a claim for a volume smaller or larger than its namespace allows."""
    asked = claim["spec"]["resources"].get("requests", {})
    problems: list[str] = []
    for item in _items(claim, api):
        if item.get("type") == "PersistentVolumeClaim":
            # A claim has no limit but what it asks for.
            problems += _problems(item, asked, asked, beyond="request")
    _refuse(resource, claim, problems)


def _items(obj: Object, api: ClusterView) -> list[Object]:
    ranges = api.store.list(_RANGES, obj["metadata"].get("namespace", ""))
    return [item for stored in ranges for item in stored.object.get("spec", {}).get("limits", ())]


def _joined(items: list[Object], field: str) -> dict[str, str]:
    return {name: amount for item in items for name, amount in item.get(field, {}).items()}


def _set(resources: Object, field: str, defaults: _Amounts, what: str) -> list[str]:
    missing = [name for name in sorted(defaults) if name not in resources.get(field, {})]
    if not missing:
        return []
    resources[field] = {**resources.get(field, {}), **{name: defaults[name] for name in missing}}
    return [f"{', '.join(missing)} {what}"]


def _refuse(resource: Resource, obj: Object, problems: list[str]) -> None:
    if problems:
        distinct = list(dict.fromkeys(problems))
        spelled = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
        raise forbidden(resource, obj["metadata"]["name"], spelled)


def _problems(item: Object, asked: _Amounts, limited: _Amounts, beyond: str = "limit") -> Iterator[str]:
    kind = item["type"]
    for name, least in sorted(item.get("min", {}).items()):
        yield from _below(f"minimum {name} usage per {kind} is {least}", least, asked.get(name), limited.get(name))
    for name, most in sorted(item.get("max", {}).items()):
        bound = f"maximum {name} usage per {kind} is {most}"
        yield from _above(bound, most, asked.get(name), limited.get(name), beyond)
    for name, ratio in sorted(item.get("maxLimitRequestRatio", {}).items()):
        bound = f"{name} max limit to request ratio per {kind} is {ratio}"
        yield from _too_far_apart(bound, ratio, asked.get(name), limited.get(name))


def _below(bound: str, least: str, asked: str | None, limited: str | None) -> Iterator[str]:
    if asked is None:
        yield f"{bound}.  No request is specified"
    elif Quantity.parse(asked) < Quantity.parse(least):
        yield f"{bound}, but request is {asked}"
    elif limited is not None and Quantity.parse(limited) < Quantity.parse(least):
        yield f"{bound}, but limit is {limited}"


def _above(bound: str, most: str, asked: str | None, limited: str | None, beyond: str) -> Iterator[str]:
    if limited is None:
        yield f"{bound}.  No {beyond} is specified"
    elif Quantity.parse(limited) > Quantity.parse(most):
        yield f"{bound}, but {beyond} is {limited}"
    elif asked is not None and Quantity.parse(asked) > Quantity.parse(most):
        yield f"{bound}, but request is {asked}"


def _too_far_apart(bound: str, ratio: str, asked: str | None, limited: str | None) -> Iterator[str]:
    least = Quantity.parse(asked or "0").milli_value
    most = Quantity.parse(limited or "0").milli_value
    if least == 0:
        yield f"{bound}, but no request is specified or request is 0"
    elif most == 0:
        yield f"{bound}, but no limit is specified or limit is 0"
    elif most * 1000 > Quantity.parse(ratio).milli_value * least:
        yield f"{bound}, but provided ratio is {most / least:f}"
