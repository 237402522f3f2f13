"""Writes what the embedded API server knows about the Kubernetes types: `python -m tools.generate_types [FOLDER]`.

FOLDER has a folder for each release, with a go.mod that pins `k8s.io/kubernetes` and its staging modules; of each a
file is written, `src/stowplan/embedded/types/kubernetes-MAJOR.MINOR.json.gz`: whole of the newest, what is different of
the others. Each fact comes from the one place of a release that says it:

- the OpenAPI documents (`api/openapi-spec/v3`): fields, types, required ones, defaults, merge keys, list types, and
  what a field means;
- the source of those that an API server serves (`pkg/generated/openapi`): the values that a field may have, which the
  documents leave out;
- `generated.proto`: the numbers that fields have on the wire;
- the Go structs (`types.go`), which say what neither document does: what Go calls a type in an error, which fields are
  pointers, which are left out of JSON when they are empty, and which have their own fields where they stand themselves.

The file has two documents in JSON, types and descriptions, so that only `kubectl explain` pays for the latter.
`stowplan.embedded.types.release` reads them, and says what is in them.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from stowplan.embedded.objects.releases import VERSIONS
from stowplan.embedded.storage.catalogue import all_of

Json = dict[str, Any]

_ROOT: Final = Path(__file__).resolve().parents[1]
CONTROL_PLANE: Final = _ROOT / "tests" / "e2e" / "control_plane"
TYPES: Final = _ROOT / "src" / "stowplan" / "embedded" / "types"
_MODULES: Final = tuple(
    f"k8s.io/{name}" for name in ("kubernetes", "api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_MEMBER: Final = re.compile(r'^\t(?:\w+ +)?(\S+) +`json:"([^",]*)([^"]*)"(?:[^`]*protobuf:"([^"]*)")?', re.MULTILINE)
_WIRE_NAME: Final = re.compile(r"name=(\w+)")
_IMPORT: Final = re.compile(r'^\t(?:(\w+) )?"([\w./-]+)"$', re.MULTILINE)
_MESSAGE: Final = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NUMBERED: Final = re.compile(r"^  (?:optional|repeated|map<).* (\w+) = (\d+);$", re.MULTILINE)
_GO_TYPE: Final = re.compile(r"(?:(\w+)\.)?([A-Z]\w*)")
_DEFINITION: Final = re.compile(r"^func schema_(\w+)\(.*?^\}", re.MULTILINE | re.DOTALL)
_PROPERTY: Final = re.compile(r'^\t{5}"([^"]+)": \{\n(.*?)^\t{5}\},', re.MULTILINE | re.DOTALL)
_DESCRIPTION: Final = re.compile(r'Description: +("(?:[^"\\]|\\.)*")')
_ENUM: Final = re.compile(r"Enum: +\[\]interface\{\}\{(.*)\},$", re.MULTILINE)
_KINDS: Final = "x-kubernetes-group-version-kind"


def main(arguments: list[str]) -> None:
    """Write the file of each release, unless it is there already and says the same."""
    folder = Path(arguments[0]) if arguments else CONTROL_PLANE
    for name, documents in files(Release(folder / number) for number in VERSIONS).items():
        path = TYPES / name
        # Not every machine compresses alike.
        if not path.exists() or gzip.decompress(path.read_bytes()) != b"".join(documents):
            path.write_bytes(b"".join(gzip.compress(document, 9, mtime=0) for document in documents))
        print(f"{path.relative_to(_ROOT)}: {path.stat().st_size} bytes")


def files(releases: Iterable[Release]) -> dict[str, list[bytes]]:
    """The documents of the file of each release, by its name; releases are given from the oldest to the newest."""
    found = {}
    for release, newer in pairwise((*releases, None)):
        assert release is not None
        contents = release.contents() if newer is None else _different(release.contents(), newer)
        found[f"kubernetes-{release.number}.json.gz"] = [_encode(content) for content in contents]
    return found


def _different(contents: tuple[Json, Json], newer: Release) -> tuple[Json, Json]:
    """What a release says that the next one does not."""
    (whole, meanings), (newer_whole, newer_meanings) = contents, newer.contents()
    types = _changed(whole["types"], newer_whole["types"])
    texts = {name: _changed(said, newer_meanings.get(name, {})) for name, said in meanings.items()}
    return {**whole, "types": types, "beside": newer.number}, {name: said for name, said in texts.items() if said}


def _changed(named: Json, newer: Json) -> Json:
    return {name: said for name, said in named.items() if newer.get(name) != said}


class Release:
    """The types of one release of Kubernetes, from the Go modules that it consists of."""

    def __init__(self, folder: Path) -> None:
        command = ["go", "mod", "download", "-json", *_MODULES]
        told = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        modules = json.loads("[" + told.replace("}\n{", "},{") + "]")
        self._folders = {module["Path"]: Path(module["Dir"]) for module in modules}
        self.version = next(module["Version"] for module in modules if module["Path"] == "k8s.io/kubernetes")
        self.number = ".".join(self.version[1:].split(".")[:2])
        self._packages = cache(self._read_package)
        self.contents = cache(self._read_contents)

    def _read_contents(self) -> tuple[Json, Json]:
        """What is written of the release: types, and what they mean."""
        schemas = self._schemas()
        descriptions = {name: _take_descriptions(schema) for name, schema in schemas.items()}
        types = {name: self._type(name, schema) for name, schema in schemas.items()}
        kinds = {
            "/".join((kind["group"], kind["version"], kind["kind"])): name
            for name, schema in schemas.items()
            for kind in schema.get(_KINDS, ())
        }
        return {"kinds": kinds, "types": types}, descriptions

    def _schemas(self) -> dict[str, Json]:
        """Every type of the versions of groups that the API serves."""
        documents = self._folders["k8s.io/kubernetes"] / "api" / "openapi-spec" / "v3"
        found: dict[str, Json] = {}
        for group, version in sorted({(each.group, each.version) for each in all_of(self.number)}):
            name = f"apis__{group}__{version}_openapi.json" if group else f"api__{version}_openapi.json"
            document = json.loads((documents / name).read_text(encoding="utf-8"))
            found |= document["components"]["schemas"]
        for schema in found.values():
            # What every group has is of no one kind.
            if len(schema.get(_KINDS, ())) > 1:
                del schema[_KINDS]
        self._add_enums(found)
        return found

    def _add_enums(self, schemas: dict[str, Json]) -> None:
        """Add the values that fields may have, and what each of those means."""
        generated = self._folders["k8s.io/kubernetes"] / "pkg" / "generated" / "openapi" / "zz_generated.openapi.go"
        functions = {match[1]: match[0] for match in _DEFINITION.finditer(generated.read_text(encoding="utf-8"))}
        for name, schema in schemas.items():
            # A function is named after the last four parts of the package, and the type.
            path = name.replace("io.k8s.", "k8sio.").split(".")
            for field, text in _PROPERTY.findall(functions.get("_".join(path[-5:]), "")):
                if enum := _ENUM.search(text):
                    described = schema["properties"][field]
                    described["description"] = json.loads(_DESCRIPTION.findall(text)[0])
                    valued = described.get("items") or described.get("additionalProperties") or described
                    valued["enum"] = json.loads(f"[{enum[1]}]")

    def _type(self, name: str, schema: Json) -> Json:
        package, _, struct = name.rpartition(".")
        members = dict(self._members(package, struct)) if schema.get("properties") else {}
        if not members:
            return {"schema": schema}
        return {"schema": schema, "go": members, "wire": self._wire(package, struct)}

    def _members(self, package: str, struct: str, way: str = "") -> Iterator[tuple[str, str]]:
        """The JSON name and the Go type of each field; one of an embedded struct is behind the way to it."""
        for spelled, name, options, _ in self._packages(package).structs.get(struct, ()):
            # An embedded struct has no name of its own; older releases say that it is inline, too.
            if not name:
                owner, embedded = self._resolved(package, spelled)
                yield from self._members(owner, embedded, f"{way}{embedded}.")
            else:
                omitted = ",omitempty" if "omitempty" in options or "omitzero" in options else ""
                yield name, f"{way} ".lstrip() + self._go_type(package, spelled) + omitted

    def _wire(self, package: str, struct: str) -> Json:
        """The JSON name by the number on the wire; of an embedded struct, its own fields by their numbers."""
        found: Json = {}
        numbers = self._packages(package).numbers.get(struct, {})
        for spelled, name, _, tag in self._packages(package).structs[struct]:
            named = _WIRE_NAME.search(tag)
            wire_name = named[1] if named else spelled[0].lower() + spelled[1:]
            if tag:
                found[numbers[wire_name]] = name or self._wire(*self._resolved(package, spelled))
        return found

    def _resolved(self, package: str, spelled: str) -> tuple[str, str]:
        """The package and the name of a struct, as the source of a package spells it."""
        alias, _, name = spelled.lstrip("*").rpartition(".")
        return (self._packages(package).imports[alias] if alias else package), name

    def _go_type(self, package: str, spelled: str) -> str:
        """A type as Go's errors call it; one behind `*` may be absent."""

        def qualified(match: re.Match[str]) -> str:
            owner = self._packages(package).imports[match[1]] if match[1] else package
            return f"{owner.rpartition('.')[2]}.{match[2]}"

        pointer = "*" if spelled.startswith("*") else ""
        return pointer + _GO_TYPE.sub(qualified, spelled.replace("*", "").replace("[]byte", "[]uint8"))

    def _read_package(self, package: str) -> _Package:
        module, *path = package.removeprefix("io.k8s.").split(".")
        return _Package(self._folders[f"k8s.io/{module}"].joinpath(*path))


class _Package:
    """What the source of one Go package says about its structs."""

    def __init__(self, folder: Path) -> None:
        #: Packages by the names that the source calls them; all files of one API package agree on those.
        self.imports: dict[str, str] = {}
        self.structs: dict[str, list[tuple[str, ...]]] = {}
        self.numbers: dict[str, dict[str, str]] = {}
        for file in sorted(folder.glob("*.go")):
            if not file.name.startswith(("zz_generated", "generated.")) and not file.name.endswith("_test.go"):
                source = file.read_text(encoding="utf-8")
                for alias, path in _IMPORT.findall(source):
                    package = path.replace("k8s.io/", "io.k8s.").replace("/", ".")
                    self.imports[alias or package.rpartition(".")[2]] = package
                self.structs |= {name: _MEMBER.findall(body) for name, body in _STRUCT.findall(source)}
        protobuf = folder / "generated.proto"
        if protobuf.exists():
            text = protobuf.read_text(encoding="utf-8")
            self.numbers = {name: dict(_NUMBERED.findall(body)) for name, body in _MESSAGE.findall(text)}


def _take_descriptions(schema: Json) -> Json:
    """Take what it means, and what its fields mean, out of a schema."""
    fields = {name: field.pop("description", "") for name, field in schema.get("properties", {}).items()}
    return {"": schema.pop("description", ""), **fields}


def _encode(content: Json) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"


if __name__ == "__main__":
    main(sys.argv[1:])
