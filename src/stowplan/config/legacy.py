"""Configurations of older releases, turned into one of version v1: what `--legacy-config` asks for.

Versions and names are replaced in the document, before anybody reads it; each of them is told once. Where nobody asks
for it, `validate.py` refuses the names in upstream's words, with the remedy from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from stowplan.config.document import Document, Json, JsonObject
from stowplan.config.schema import GROUP, KIND, VERSION

Tell = Callable[[str], None]

#: Volumes of these kinds are those of CSI drivers by now, and are counted as such.
COUNTS_VOLUMES: Final = "NodeVolumeLimits"

#: By the name that is gone: the plugin that does its work today.
SUCCESSORS: Final[Mapping[str, str]] = {
    "AzureDiskLimits": COUNTS_VOLUMES,
    "CinderLimits": COUNTS_VOLUMES,
    "EBSLimits": COUNTS_VOLUMES,
    "GCEPDLimits": COUNTS_VOLUMES,
    "SelectorSpread": "PodTopologySpread",
}
#: Names that version v1 itself refuses; the others were gone before it.
REFUSED_BY_V1: Final = frozenset(name for name, by in SUCCESSORS.items() if by == COUNTS_VOLUMES)

_BY_HAND: Final[Mapping[str, str]] = {
    "NodeLabel": "write it as addedAffinity of NodeAffinity",
    "NodePreferAvoidPods": "taint the nodes instead",
    "NodeResourcesLeastAllocated": "give NodeResourcesFit the scoringStrategy LeastAllocated",
    "NodeResourcesMostAllocated": "give NodeResourcesFit the scoringStrategy MostAllocated",
    "RequestedToCapacityRatio": "give NodeResourcesFit the scoringStrategy RequestedToCapacityRatio",
    "ServiceAffinity": "let pods say it with affinity",
}

OLDER_VERSIONS: Final = ("v1beta3", "v1beta2", "v1beta1")
FLAG: Final = "--legacy-config"

_OLD: Final = frozenset(f"{GROUP}/{version}" for version in OLDER_VERSIONS)
#: Fields that were gone before v1.
_GONE: Final = ("healthzBindAddress", "metricsBindAddress")
#: Before v1beta3 some plugins counted for less.
_OTHER_WEIGHTS: Final = frozenset(f"{GROUP}/{version}" for version in ("v1beta2", "v1beta1"))


def convert(document: Document, tell: Tell) -> Document:
    """Return a document in terms of v1, and tell what was replaced; one that is no configuration comes as it is."""
    root = document.root
    if not isinstance(root, JsonObject) or root.get("kind") != KIND:
        return document
    told: dict[str, None] = {}
    converted = _Conversion(told).configuration(root)
    for text in told:
        tell(text)
    return Document(converted, document.text, document.yaml_faults)


class _Conversion:
    """Goes through a document; `told` collects what was replaced, each thing once."""

    def __init__(self, told: dict[str, None]) -> None:
        self._told = told

    def configuration(self, root: JsonObject) -> JsonObject:
        version = root.get("apiVersion")
        if isinstance(version, str) and version in _OLD:
            self._say(f"apiVersion {version} is gone: read as {GROUP}/{VERSION}")
            if version in _OTHER_WEIGHTS:
                self._say("default weights of score plugins are those of v1; list the plugins to weigh them otherwise")
        for name in _GONE:
            if root.get(name) is not None and version in _OLD:
                self._say(f"{name} is left out: --bind-address and --secure-port say where health and metrics are")
        members = (
            (name, self._member(name, value)) for name, value in root.members if not (name in _GONE and version in _OLD)
        )
        return JsonObject(tuple(members))

    def _member(self, name: str, value: Json) -> Json:
        if name == "apiVersion":
            return _version(value)
        if name == "profiles" and isinstance(value, list):
            return [_changed(each, self._part_of_profile) for each in value]
        return value

    def _part_of_profile(self, name: str, value: Json) -> Json:
        if name == "pluginConfig" and isinstance(value, list):
            return self._plugin_config(value)
        return _changed(value, lambda _, listed: _changed(listed, self._side)) if name == "plugins" else value

    def _side(self, side: str, plugins: Json) -> Json:
        if not isinstance(plugins, list):
            return plugins
        return self._enabled(plugins) if side == "enabled" else self._disabled(plugins)

    def _enabled(self, plugins: list[Json]) -> list[Json]:
        """Put the successor in the place of each plugin that is gone, once."""
        kept: list[Json] = []
        names = {_name(each) for each in plugins}
        for each in plugins:
            name = _name(each)
            successor = SUCCESSORS.get(name)
            if successor is None or not isinstance(each, JsonObject):
                kept.append(each)
                continue
            why = ", which counts these volumes as those of their CSI driver" if successor == COUNTS_VOLUMES else ""
            self._say(f"plugin {name} is gone: {successor} takes its place{why}")
            if successor not in names:
                names.add(successor)
                kept.append(_changed(each, partial(_renamed, successor)))
        return kept

    def _disabled(self, plugins: list[Json]) -> list[Json]:
        """Leave out plugins that are gone: what is in their place does more, and stays."""
        for name in map(_name, plugins):
            if name in SUCCESSORS:
                more = f"{SUCCESSORS[name]} does its work and more; disable that to have none of it"
                self._say(f"plugin {name} is gone and need not be disabled: {more}")
        return [each for each in plugins if _name(each) not in SUCCESSORS]

    def _plugin_config(self, given: list[Json]) -> list[Json]:
        for name in map(_name, given):
            if name in SUCCESSORS:
                self._say(f"pluginConfig of {name} is left out: it took no arguments that {SUCCESSORS[name]} knows")
        return [_changed(each, _with_version) for each in given if _name(each) not in SUCCESSORS]

    def _say(self, text: str) -> None:
        self._told[text] = None


def _name(value: Json) -> str:
    name = value.get("name") if isinstance(value, JsonObject) else None
    return name if isinstance(name, str) else ""


def _changed(value: Json, change: Callable[[str, Json], Json]) -> Json:
    """Change every member of an object; anything else stays what it is."""
    if not isinstance(value, JsonObject):
        return value
    return JsonObject(tuple((name, change(name, each)) for name, each in value.members))


def _renamed(new: str, name: str, value: Json) -> Json:
    return new if name == "name" else value


def _version(value: Json) -> Json:
    return f"{GROUP}/{VERSION}" if isinstance(value, str) and value in _OLD else value


def _with_version(name: str, value: Json) -> Json:
    """Arguments may say their version themselves."""
    return (
        _changed(value, lambda key, each: _version(each) if key == "apiVersion" else each) if name == "args" else value
    )


def remedy_for(name: str) -> str:
    """Say what to do about a plugin that is gone; nothing if there never was one of that name."""
    if name in SUCCESSORS:
        return f"{name} is gone: write {SUCCESSORS[name]} instead, or give {FLAG} to have the file converted"
    return f"{name} is gone: {_BY_HAND[name]}" if name in _BY_HAND else ""
