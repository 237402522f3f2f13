"""What plugins declare to those who read configurations: where they may be listed, and what arguments they take.

Each plugin has its class of arguments beside it: `schema.py` derives from the fields how a file is read, `defaults.py`
fills them in, `validate.py` and `construct.py` have them check themselves. `framework.registry` derives the
declarations from the plugin classes: no stage of reading a configuration knows a plugin by its name. Extension points
have the names of the plugin contract (`pre_filter`); files spell them `preFilter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import msgspec

from stowplan.config.errors import upper_camel
from stowplan.config.feature_gates import FeatureGates

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
    "pod_group_post_filter",
)


class PluginArgs(msgspec.Struct, frozen=True, rename="camel"):
    """Inherit this, with one field and its default per argument; the kind in files is the name of the class.

    A file spells `limit_celsius` as `limitCelsius`. Fields are `str`, `bool`, `int` (or `model.meta.Int32`), `float`,
    `model.duration.Duration`, tuples of these, structs of them, and structs of `model`, such as NodeAffinity.
    """

    has_kind: ClassVar[bool] = True
    #: Whether values are checked when the plugin is made, not with the rest of the configuration.
    is_checked_when_made: ClassVar[bool] = False
    #: The field, if any, for resources that are left to others; what extenders manage alone is put there.
    field_of_ignored_resources: ClassVar[str] = ""

    def defaulted(self, gates: FeatureGates) -> Self:
        """Fill in what plain defaults cannot: what counts as not given, what depends on a feature gate."""
        return self

    def faults(self, path: str, gates: FeatureGates) -> list[str]:
        """Return what is wrong with the values at `path`, each a finished sentence (made by `config.errors`)."""
        return []

    def notes(self) -> Iterator[str]:
        """Yield what is said without effect."""
        return iter(())


# The other forms are what the user wrote for a plugin that declares no class; None when nothing was.
Arguments = PluginArgs | dict[str, Any] | list[Any] | str | int | float | bool | None


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
    #: The one that it comes directly before, if the order of all does not say so.
    before: str = ""


#: The plugins that exist, by name; the default ones are in the order in which they run.
Declarations = Mapping[str, PluginDeclaration]


def in_order(declared: Declarations) -> dict[str, PluginDeclaration]:
    """Return declarations with each that has to come before another one there; at the end if that is missing."""
    order = [name for name, one in declared.items() if not one.before]
    for name, one in declared.items():
        if one.before:
            order.insert(order.index(one.before) if one.before in order else len(order), name)
    return {name: declared[name] for name in order}


def args_type_of(name: str, known: Declarations) -> type[PluginArgs] | None:
    """Return the declared type of a plugin's arguments; those of one written out as `where:Class` come later."""
    return known[name].args_type if not is_reference(name) and name in known else None


def camel(point: str) -> str:
    """Spell a point as the configuration file does: `pre_filter` is `preFilter`."""
    head, *rest = point.split("_")
    return head + "".join(word.capitalize() for word in rest)


def plugin_type(point: str) -> str:
    """Name the kind of plugin a point takes, as error messages do: `pre_filter` takes a `PreFilterPlugin`."""
    return f"{upper_camel(point)}Plugin"


def is_reference(name: str) -> bool:
    """Say whether a plugin is written out as `where:Class`."""
    return ":" in name


def class_name(reference: str) -> str:
    return reference.rpartition(":")[2]
