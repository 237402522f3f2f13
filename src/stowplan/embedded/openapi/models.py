"""The models of the official client library, read from their source text.

They are data, written as classes: importing them runs a thousand files and takes over a second, during which a server
would answer nobody. Reading the few that a document needs takes some milliseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_LIBRARY: Final = "kubernetes_asyncio"
_IMPORT: Final = re.compile(r"^from \S+\.(\w+) import (\w+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^    (openapi_types|attribute_map) = \{\n(.*?)\n    \}$", re.MULTILINE | re.DOTALL)
_ENTRY: Final = re.compile(r"^ +'(\w+)': '([^']*)'", re.MULTILINE)
_DOCUMENTED: Final = re.compile(
    r'"""Gets the (\w+) of this \w+\.  # noqa: E501\n\n        (\S.*?)(?:  # noqa: E501)?\n\n        :return:',
    re.DOTALL,
)
_REQUIRED: Final = re.compile(r"Invalid value for `(\w+)`, must not be `None`")
_ESCAPED: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Model:
    """One struct of the API; fields are named as in JSON."""

    types: dict[str, str]
    #: What fields mean, as far as that is told.
    texts: dict[str, str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


@cache
def find(name: str) -> Model | None:
    """Find a model such as `V1PodSpec`."""
    module = _modules().get(name)
    return None if module is None else _read((_folder() / f"{module}.py").read_text(encoding="utf-8"))


def exists(name: str) -> bool:
    return name in _modules()


def _read(source: str) -> Model:
    blocks = {name: dict(_ENTRY.findall(content)) for name, content in _BLOCK.findall(source)}
    names = blocks.get("attribute_map", {})
    return Model(
        {names[key]: kind for key, kind in blocks.get("openapi_types", {}).items()},
        {names[key]: _ESCAPED.sub(r"\1", text) for key, text in _DOCUMENTED.findall(source)},
        frozenset(names[key] for key in _REQUIRED.findall(source)),
    )


@cache
def _modules() -> dict[str, str]:
    """The module of each model."""
    index = _folder() / "__init__.py"
    listed = _IMPORT.findall(index.read_text(encoding="utf-8")) if index.exists() else []
    return {model: module for module, model in listed}


@cache
def _folder() -> Path:
    spec = find_spec(_LIBRARY)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{_LIBRARY} is not installed: install the requirements of stowplan again")
    return Path(spec.submodule_search_locations[0], "client", "models")
