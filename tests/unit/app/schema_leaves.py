"""Every field of a KubeSchedulerConfiguration, and of the arguments of plugins, by its path."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.config import schema
from stowplan.config.types import Configuration
from tests.known_plugins import IN_TREE


def of_configuration() -> set[str]:
    return set(_leaves(schema.record_of(Configuration), ""))


def of_arguments() -> set[str]:
    """Return the fields of the arguments of in-tree plugins, each behind the name of its plugin."""
    return {
        f"{name}: {path}"
        for name, one in IN_TREE.items()
        if one.args_type is not None
        for path in _leaves(schema.record_of(one.args_type), "")
    }


def _leaves(kind: schema.FieldType, path: str) -> Iterator[str]:
    match kind:
        case schema.Record():
            for name, of_field in kind.fields.items():
                # What a document is, not what it says.
                if name not in ("apiVersion", "kind"):
                    yield from _leaves(of_field, f"{path}.{name}" if path else name)
        case schema.Items():
            yield from _leaves(kind.of, f"{path}[]")
        case _:
            yield path
