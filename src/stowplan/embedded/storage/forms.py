"""One object in two forms: events of the core group and of events.k8s.io, autoscalers of their two versions.

The store keeps the form of the core group, and of the second version. Other resources differ between versions in
`apiVersion` only.
"""

from __future__ import annotations

from typing import Final

from stowplan.embedded.objects.resource import Object, Resource
from stowplan.embedded.storage import autoscaler_forms
from stowplan.embedded.storage.catalogue import BUILT_IN
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

_CORE_EVENTS: Final = next(resource for resource in BUILT_IN if resource.qualified == "events")
_SECOND_AUTOSCALERS: Final = next(
    resource
    for resource in BUILT_IN
    if (resource.qualified, resource.api_version) == (_AUTOSCALERS, autoscaler_forms.SECOND)
)


def kept_as(resource: Resource) -> Resource:
    """The resource in whose form the store keeps the objects of this one."""
    if resource.qualified == _AUTOSCALERS:
        return _SECOND_AUTOSCALERS
    return _CORE_EVENTS if resource.group == _EVENTS else resource


def to_keep(resource: Resource, obj: Object) -> Object:
    """The form in which the store keeps an object that came by this resource."""
    if resource.qualified == _AUTOSCALERS and resource.api_version == autoscaler_forms.FIRST:
        return autoscaler_forms.to_second(obj)
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
        is_first = resource.api_version == autoscaler_forms.FIRST
        obj = autoscaler_forms.to_first(obj) if is_first else autoscaler_forms.to_second(obj)
    obj["apiVersion"] = resource.api_version
    return obj


def bytes_to_serve(resource: Resource, stored: Stored) -> bytes:
    """The JSON in which this resource shows a stored object: as kept, unless it was written through another version."""
    if resource.api_version == stored.api_version:
        return stored.body
    return encode(to_serve(resource, stored))


def _renamed(obj: Object, names: dict[str, str]) -> Object:
    return {names.get(key, key): value for key, value in obj.items()}
