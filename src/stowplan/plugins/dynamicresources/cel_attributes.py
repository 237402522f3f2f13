"""The values of a device's attributes, as expressions see them."""

from __future__ import annotations

from typing import Any

from stowplan.cel import values
from stowplan.cel.values import Carrier, VersionError, of_version
from stowplan.model.device_pool import DeviceAttribute


def of_attribute(attribute: DeviceAttribute, has_lists: bool) -> Any:
    """Return what stands for the value of an attribute. Raise ValueError if it has none that is known."""
    if has_lists:
        for listed in (attribute.int_values, attribute.bool_values, attribute.string_values):
            if listed:
                return list(listed)
        if attribute.version_values:
            return [_version_of(text) for text in attribute.version_values]
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is not None:
        return _version_of(attribute.version_value)
    raise ValueError("unsupported attribute value")


def _version_of(text: str) -> Carrier:
    try:
        return of_version(values.parse_version(text))
    except VersionError as error:
        raise ValueError(f"parse semantic version: {error}") from error
