"""What programs hand to a `Cluster`, checked where it comes in: whoever errs is told what is expected."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stowplan.config import feature_gates
from stowplan.config.feature_gates import FeatureGates
from stowplan.model import decode, json_values
from stowplan.model.meta import Part
from stowplan.model.pod import Pod

_MADE = "stowplan.testing makes some, stowplan.model.decode reads them"


def read_yaml(source: str | Path) -> list[Any]:
    """Read the objects of a YAML file, or of YAML text (anything with a line break in it).

    Raise ValueError if there are none or one cannot be read; warn of kinds that scheduling does not read: a dump of a
    cluster is full of them.
    """
    is_text = isinstance(source, str) and ("\n" in source or not source.strip())
    origin = "the text" if is_text else str(source)
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
    try:
        found = decode.decode_yaml(text)
    except decode.MalformedObject as error:
        raise decode.MalformedObject(f"{origin}: {error}") from None
    if not found:
        raise ValueError(f"{origin}: no object is written there; give the path or the text of some")
    for one in found:
        if isinstance(one, decode.UnknownObject):
            problem = f"scheduling reads no {one.kind} of {one.api_version}, which is left out"
            title = json_values.title(one.content)
            # Told of the line that calls `Cluster.from_yaml`.
            warnings.warn(f"{origin}: {title}: {problem}; of a workload, give the pods", stacklevel=3)
    return found


def as_gates(given: object) -> FeatureGates:
    """Take feature gates as they were read, as a mapping, or as `--feature-gates` has them."""
    if isinstance(given, FeatureGates):
        return given
    if isinstance(given, str):
        return feature_gates.parse(given)
    if isinstance(given, Mapping) and all(isinstance(value, bool) for value in given.values()):
        return feature_gates.with_settings(given)
    expected = 'a mapping such as {"StorageCapacityScoring": True}, or text as --feature-gates takes it'
    raise TypeError(f"feature_gates: expected {expected}, got {given!r:.60}")


def check_object(given: object) -> None:
    """Raise TypeError if it is no API object."""
    if not isinstance(given, Part) or not hasattr(given, "metadata"):
        raise TypeError(f"expected a Node, a Pod or another API object, got {type(given).__name__}; {_MADE}")


def check_pod(given: object) -> None:
    """Raise TypeError if it is no pod."""
    if not isinstance(given, Pod):
        raise TypeError(f"expected a Pod, got {type(given).__name__}; {_MADE}")
