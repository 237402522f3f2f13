"""What a configuration has to know of the plugins that exist, and how it names them.

`framework.registry` derives the declarations from the plugin classes: no stage of reading a configuration knows a
plugin by its name. Extension points have the names of the plugin contract (`pre_filter`); files spell them `preFilter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stowplan.config.arguments import PluginArgs

# In the order in which kube-scheduler goes through them: it decides which of two faults is reported.
POINTS = (
    "pre_filter",
    "filter",
    "post_filter",
    "reserve",
    "pre_score",
    "score",
    "pre_bind",
    "bind",
    "post_bind",
    "permit",
    "pre_enqueue",
    "queue_sort",
    "placement_generate",
    "placement_score",
)


@dataclass(frozen=True, slots=True)
class PluginDeclaration:
    """One plugin: where it may be listed, whether profiles have it unasked, and what arguments it takes."""

    name: str
    points: frozenset[str]
    is_default: bool = False
    #: Its weight among the default plugins; 0 for none.
    weight: int = 0
    #: The feature gate that has to be on for it to be a default plugin, if any.
    gate: str = ""
    #: None: its arguments are not looked at before it is made.
    args_type: type[PluginArgs] | None = None


#: The plugins that exist, by name; the default ones are in the order in which they run.
Declarations = Mapping[str, PluginDeclaration]


def camel(point: str) -> str:
    """Spell a point as the configuration file does: `pre_filter` is `preFilter`."""
    head, *rest = point.split("_")
    return head + "".join(word.capitalize() for word in rest)


def plugin_type(point: str) -> str:
    """Name the kind of plugin a point takes, as error messages do: `pre_filter` takes a `PreFilterPlugin`."""
    return "".join(word.capitalize() for word in point.split("_")) + "Plugin"


def is_reference(name: str) -> bool:
    """Say whether a plugin is written out as `where:Class`."""
    return ":" in name


def class_name(reference: str) -> str:
    return reference.rpartition(":")[2]
