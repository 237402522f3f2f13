"""One object in two forms: events of the core group and of events.k8s.io, autoscalers of their two versions.

The store keeps the form of the core group, and of the second version. Other resources differ between versions in
`apiVersion` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from stowplan.embedded.objects import reading
from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage.catalogue import built_in
from stowplan.embedded.storage.stored import Stored, encode

_EVENTS: Final = "events.k8s.io"
_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENTS_NAMES: Final = {core: event for event, core in _CORE_NAMES.items()}
_AUTOSCALERS: Final = "horizontalpodautoscalers.autoscaling"
FIRST_AUTOSCALERS: Final = "autoscaling/v1"

_CORE_EVENTS: Final = built_in("", "events")
_SECOND_AUTOSCALERS: Final = built_in("autoscaling", "horizontalpodautoscalers", "v2")
_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_CURRENT_METRICS: Final = f"{_PREFIX}current-metrics"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_CARRIERS: Final = frozenset((_METRICS, _BEHAVIOR, _CURRENT_METRICS, _CONDITIONS))
_TARGET: Final = "targetCPUUtilizationPercentage"
_CURRENT: Final = "currentCPUUtilizationPercentage"
_USUAL_CPU_PERCENT: Final = 80
#: More than anything has that an annotation may carry: a metric with a selector has eight.
_MOST_LEVELS: Final = 20
#: By source of a metric: the names in the annotation, and where the second version has the same.
_Names = dict[str, dict[str, tuple[str, ...]]]


def _names(of: str) -> _Names:
    """The names of what metrics aim at ("target"), or of what was measured ("current")."""
    average, value = {f"{of}AverageValue": (of, "averageValue")}, {f"{of}Value": (of, "value")}
    resource = {"name": ("name",), f"{of}AverageUtilization": (of, "averageUtilization"), **average}
    name = {"metricName": ("metric", "name")}
    measured = {**name, "selector": ("metric", "selector")}
    return {
        "resource": resource,
        "containerResource": {**resource, "container": ("container",)},
        "pods": {**measured, **average},
        "object": {**measured, "target": ("describedObject",), **value, "averageValue": (of, "averageValue")},
        "external": {**name, "metricSelector": ("metric", "selector"), **value, **average},
    }


_AIMS: Final = _names("target")
_READINGS: Final = _names("current")


def kept_as(resource: Resource) -> Resource:
    """The resource in whose form the store keeps the objects of this one."""
    if resource.qualified == _AUTOSCALERS:
        return _SECOND_AUTOSCALERS
    return _CORE_EVENTS if resource.group == _EVENTS else resource


def to_keep(resource: Resource, obj: Object) -> Object:
    """The form in which the store keeps an object that came by this resource."""
    if resource.qualified == _AUTOSCALERS and resource.api_version == FIRST_AUTOSCALERS:
        return to_second_autoscaler(obj)
    if resource.group != _EVENTS:
        return obj
    return {**_renamed(obj, _CORE_NAMES), "apiVersion": "v1"}


def to_serve(resource: Resource, stored: Stored) -> Object:
    """The form in which this resource shows a stored object."""
    obj = stored.object
    if resource.group == _EVENTS:
        obj = _renamed(obj, _EVENTS_NAMES)
    elif resource.qualified == _AUTOSCALERS and resource.api_version != stored.api_version:
        # One that was kept before there were two forms may be of the first version.
        is_first = resource.api_version == FIRST_AUTOSCALERS
        obj = to_first_autoscaler(obj) if is_first else to_second_autoscaler(obj)
    obj["apiVersion"] = resource.api_version
    return obj


def bytes_to_serve(resource: Resource, stored: Stored) -> bytes:
    """The JSON in which this resource shows a stored object: as kept, unless it was written through another version."""
    if resource.api_version == stored.api_version:
        return stored.body
    return encode(to_serve(resource, stored))


def _renamed(obj: Object, names: dict[str, str]) -> Object:
    return {names.get(key, key): value for key, value in obj.items()}


def usual_metrics() -> list[Object]:
    """What an autoscaler aims at that says nothing of it."""
    return [_of_cpu("target", {"type": "Utilization", "averageUtilization": _USUAL_CPU_PERCENT})]


def without_carriers(annotations: Object | None) -> Object:
    """The annotations that are not a part of the object in another form."""
    return {key: value for key, value in (annotations or {}).items() if key not in _CARRIERS}


def to_second_autoscaler(autoscaler: Object) -> Object:
    """An autoscaler of the first version in the form of the second; what is no metric in an annotation is left out."""
    carried = autoscaler["metadata"].get("annotations") or {}
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    metrics = [_with_aim_type(each) for each in _later(_read(carried, _METRICS, list), _AIMS)]
    if (percent := spec.pop(_TARGET, None)) is not None:
        metrics.append(_of_cpu("target", {"type": "Utilization", "averageUtilization": percent}))
    spec["metrics"] = metrics or usual_metrics()
    if behavior := _read(carried, _BEHAVIOR, dict):
        spec["behavior"] = _with_keys(behavior, lambda key: key[:1].lower() + key[1:])
    if (percent := status.pop(_CURRENT, None)) is not None:
        status["currentMetrics"] = [_of_cpu("current", {"averageUtilization": percent})]
    if current := _later(_read(carried, _CURRENT_METRICS, list), _READINGS):
        status["currentMetrics"] = current
    if conditions := _read(carried, _CONDITIONS, list):
        status["conditions"] = conditions
    return _with(autoscaler, _SECOND_AUTOSCALERS.api_version, spec, status, without_carriers(carried))


def to_first_autoscaler(autoscaler: Object) -> Object:
    """An autoscaler of the second version in the form of the first."""
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    percents = [_percent(each, "target") for each in metrics]
    _set(spec, _TARGET, next((percent for percent in percents if percent is not None), None))
    for each in current:
        _set(status, _CURRENT, _percent(each, "current"))
    others = [each for each, percent in zip(metrics, percents, strict=True) if percent is None]
    carried = {
        _METRICS: [_earlier(each, _AIMS) for each in others],
        _BEHAVIOR: _with_keys(spec.pop("behavior", None) or {}, lambda key: key[:1].upper() + key[1:]),
        _CURRENT_METRICS: [_earlier(each, _READINGS) for each in current],
        _CONDITIONS: status.pop("conditions", None),
    }
    annotations = without_carriers(autoscaler["metadata"].get("annotations"))
    annotations |= {key: msgspec.json.encode(value).decode() for key, value in carried.items() if value}
    return _with(autoscaler, FIRST_AUTOSCALERS, spec, status, annotations)


def _with(autoscaler: Object, version: str, spec: Object, status: Object, annotations: Object) -> Object:
    metadata = {key: value for key, value in autoscaler["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    told = {"status": status} if "status" in autoscaler or status else {}
    return {**autoscaler, "apiVersion": version, "metadata": metadata, "spec": spec, **told}


def _set(part: Object, field: str, percent: int | None) -> None:
    if percent is not None:
        part[field] = percent


def _of_cpu(field: str, amount: Object) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", field: amount}}


def _percent(metric: Object, field: str) -> int | None:
    """The share of the cpu that a metric is about, if it is about that."""
    source = metric.get("resource") or {}
    if metric.get("type") != "Resource" or source.get("name") != "cpu":
        return None
    percent: int | None = (source.get(field) or {}).get("averageUtilization")
    return percent


def _earlier(metric: Object, names: _Names) -> Object:
    """A metric of the second version under the names of the annotation."""
    result = {"type": metric.get("type", "")}
    for source, fields in names.items():
        if source in metric:
            found = ((name, reading.at(metric[source], *path)) for name, path in fields.items())
            result[source] = {name: value for name, value in found if value is not None}
    return result


def _later(metrics: list[Any], names: _Names) -> list[Object]:
    """Metrics of an annotation in the form of the second version."""
    return [dict(_sources(metric, names)) for metric in metrics if isinstance(metric, dict)]


def _sources(metric: Object, names: _Names) -> Iterator[tuple[str, Any]]:
    yield "type", metric.get("type", "")
    for source, fields in names.items():
        if not isinstance(given := metric.get(source), dict):
            continue
        result: Object = {}
        for name, (first, *rest) in fields.items():
            if given.get(name) is None:
                continue
            if rest:
                result.setdefault(first, {})[rest[0]] = given[name]
            else:
                result[first] = given[name]
        yield source, result


def _with_aim_type(metric: Object) -> Object:
    """The second version says of which type an aim is."""
    for source in _AIMS.keys() & metric.keys():
        target = metric[source].setdefault("target", {})
        if source == "object" and "averageValue" in target and target.get("value") in ("0", 0):
            # Upstream cannot leave it out.
            del target["value"]
        is_average = "value" not in target or (source == "object" and "averageValue" in target)
        is_share = "averageUtilization" in target
        target["type"] = "Utilization" if is_share else "AverageValue" if is_average else "Value"
    return metric


def _read(annotations: Object, key: str, kind: type) -> Any:
    """What an annotation carries; nothing if it is not what it should be."""
    try:
        carried: Any = msgspec.json.decode(annotations.get(key, ""), type=kind)
    except (msgspec.MsgspecError, RecursionError, TypeError, UnicodeEncodeError):
        return kind()
    return carried if _is_within(carried, _MOST_LEVELS) else kind()


def _is_within(value: Any, levels: int) -> bool:
    """Whether a value goes no deeper than so many levels."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_within(member, levels - 1) for member in members)


def _with_keys(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {change(key): _with_keys(member, change) for key, member in value.items()}
    return [_with_keys(each, change) for each in value] if isinstance(value, list) else value
