"""Manifests for a cluster, from files, whole folders or the standard input, in the order in which it can take them.

What others need comes first (custom resources, namespaces, classes); within one rank the order of the files counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stowplan.model import manifests as manifest_text
from stowplan.model.json_values import MalformedObject

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
#: Kinds that have to be there before others, in this order; all others come after them.
_FIRST: Final = (
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "DeviceClass",
    "ServiceAccount",
    "LimitRange",
    "ResourceQuota",
    "Node",
)


class ManifestError(Exception):
    """Manifests that cannot be used; the text names the file, the object and what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object, and where it was written."""

    origin: str
    content: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def is_definition(self) -> bool:
        """Whether it defines a kind, without which objects of that kind mean nothing."""
        return self.kind == "CustomResourceDefinition"

    @property
    def is_needed_by_others(self) -> bool:
        """Whether other objects may need it to be there."""
        return self.kind in _FIRST

    @property
    def title(self) -> str:
        """What messages call it: `examples/a.yaml: Pod shop/web`."""
        metadata = self.content.get("metadata") or {}
        name = metadata.get("name") or metadata.get("generateName", "")
        namespace = metadata.get("namespace")
        return f"{self.origin}: {self.kind} {f'{namespace}/{name}' if namespace else name}"


def read(paths: Iterable[str]) -> list[Manifest]:
    """Read all objects, those first that others need. Raise ManifestError if something cannot be read."""
    return in_order(manifest for path in paths for manifest in _read(path))


def in_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the manifests with those first that others need."""
    return sorted(manifests, key=lambda manifest: _rank(manifest.kind))


def read_text(path: str) -> str:
    """Read a file, or the standard input."""
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: not a text file in UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}; check the path") from None


def _read(path: str) -> list[Manifest]:
    found = [manifest for file in _files(path) for manifest in _objects(file)]
    if not found:
        # Most likely a template that came out empty: nobody names a file for nothing.
        raise ManifestError(f"{path}: no object is written there; name a file that has some")
    return found


def _rank(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _files(path: str) -> list[str]:
    """Return a file itself, or the manifests of a folder and its folders, by name."""
    folder = Path(path)
    if path == STDIN or not folder.is_dir():
        return [path]
    found = sorted(str(file) for file in folder.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not found:
        raise ManifestError(f"{path}: no file there ends in {', '.join(_SUFFIXES)}; name a file")
    return found


def _objects(path: str) -> Iterator[Manifest]:
    try:
        for content in manifest_text.read(read_text(path)):
            yield Manifest(path, _checked(path, content))
    except MalformedObject as error:
        raise ManifestError(f"{path}: {error}") from None


def _checked(path: str, content: Any) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise ManifestError(f"{path}: expected objects, got {type(content).__name__}; write apiVersion, kind, metadata")
    for field in ("apiVersion", "kind"):
        if not isinstance(content.get(field), str) or not content[field]:
            raise ManifestError(f"{path}: an object has no {field}; say what it is")
    if not isinstance(content.get("metadata", {}), Mapping):
        raise ManifestError(f"{path}: {content['kind']}: metadata: expected an object; give it a name there")
    return content
