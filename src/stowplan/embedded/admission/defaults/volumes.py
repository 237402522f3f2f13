"""Defaults of volumes."""

from __future__ import annotations

from typing import Final

from stowplan.embedded.admission.defaults.containers import name_version
from stowplan.embedded.objects.resource import Object

_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_WITH_MODE: Final = ("secret", "configMap", "downwardAPI", "projected")


def complete(volume: Object) -> None:
    """Fill in one volume; one that names no source is an empty directory."""
    if len(volume) == ("name" in volume):
        volume["emptyDir"] = {}
    for kind in _WITH_MODE:
        if kind in volume:
            volume[kind].setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for item in (volume.get("downwardAPI") or {}).get("items", ()):
        name_version(item.get("fieldRef"))
    for source in (volume.get("projected") or {}).get("sources", ()):
        _complete_source(source)
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("metadata", {})
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _complete_source(source: Object) -> None:
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    for item in (source.get("downwardAPI") or {}).get("items", ()):
        name_version(item.get("fieldRef"))
