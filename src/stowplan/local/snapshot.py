"""A snapshot of a live cluster: all that scheduling reads, and what makes pods, as manifests in a fixed order.

Secrets and ConfigMaps are never asked for. What no plugin reads and may tell more than it should is left out: what
containers run and with which environment, their probes and hooks, what they said when they ended, the configuration
that kubectl remembers, references to secrets of service accounts; and what differs each time one looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from stowplan.local.manifests import Manifest, ManifestError, read_cluster

_OF_METADATA: Final = frozenset({"managedFields", "selfLink", "resourceVersion"})
_OF_ANNOTATIONS: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
#: Nothing with a default is among it: a template would get that back, and no longer be the one of its owner.
_OF_CONTAINERS: Final = frozenset(
    {
        *("args", "command", "env", "envFrom", "workingDir"),
        *("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"),
    }
)
_OF_CONTAINER_STATUSES: Final = frozenset({"containerID", "lastState", "state", "user", "volumeMounts"})
_OF_CONDITIONS: Final = frozenset({"lastHeartbeatTime", "lastProbeTime"})
#: What is left out of an object, or of each in a list, by the field that it is in, wherever that is.
_LEFT_OUT: Final[Mapping[str, frozenset[str]]] = {
    "metadata": _OF_METADATA,
    "annotations": _OF_ANNOTATIONS,
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers"), _OF_CONTAINERS),
    **dict.fromkeys(
        ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"), _OF_CONTAINER_STATUSES
    ),
    "conditions": _OF_CONDITIONS,
}
_OF_KINDS: Final[Mapping[str, frozenset[str]]] = {"ServiceAccount": frozenset({"secrets", "imagePullSecrets"})}
_NONE: Final[frozenset[str]] = frozenset()


async def take(kubeconfig: str, context: str, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Read a cluster; `tell` hears what could not be listed. Raise SourceError if there is nothing to read."""
    found = await read_cluster(kubeconfig, tell, context=context, has_all=True)
    if not any(one.kind == "Node" for one in found):
        where = kubeconfig or "the cluster"
        raise ManifestError(f"{where}: no node could be read, and nothing is scheduled without; see who may list nodes")
    return [cleaned(one) for one in _in_order(found)]


def _in_order(found: list[Manifest]) -> list[Manifest]:
    """Put objects in the order of their kinds as they are listed, then by namespace and name."""
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(_type(one) for one in found))}

    def place(one: Manifest) -> tuple[int, str, str]:
        metadata = one.content["metadata"]
        return kinds[_type(one)], metadata.get("namespace", ""), metadata["name"]

    return sorted(found, key=place)


def _type(one: Manifest) -> tuple[str, str]:
    return one.content["apiVersion"], one.kind


def cleaned(manifest: Manifest) -> dict[str, Any]:
    """Return an object without what is not needed."""
    content = {key: value for key, value in manifest.content.items() if key not in ("apiVersion", "kind")}
    rest = _without(content, _OF_KINDS.get(manifest.kind, _NONE))
    return {"apiVersion": manifest.content["apiVersion"], "kind": manifest.kind, **rest}


def _without(value: Any, left_out: frozenset[str]) -> Any:
    """Leave out fields here and of whatever is further inside."""
    if isinstance(value, Mapping):
        return {key: _without(inner, _LEFT_OUT.get(key, _NONE)) for key, inner in value.items() if key not in left_out}
    if isinstance(value, list):
        return [_without(inner, left_out) for inner in value]
    return value
