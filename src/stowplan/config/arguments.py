"""The typed arguments of plugins: what all of them share. Each plugin has its own class of them beside it.

`schema.py` derives from the fields how a file is read, `defaults.py` fills them in, `validate.py` and `construct.py`
have them check themselves. Arguments of plugins that declare no class stay plain JSON values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import msgspec

from stowplan.config.feature_gates import FeatureGates


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
