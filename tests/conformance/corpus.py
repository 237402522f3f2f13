"""The files of the corpus: where they are, what kind of case they hold, and their lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from stowplan.config import releases

HERE = Path(__file__).resolve().parent
SAMPLE = HERE / "sample"
# Kept beside the repository: too large to be part of it.
WHOLE = HERE.parents[2] / "shared" / "conformance"


class Line(NamedTuple):
    """One case, still as text: decoding is left to whoever checks it."""

    kind: str
    text: bytes
    release: str = releases.OLDEST


class Selection(NamedTuple):
    """Which cases to run; an empty field selects all."""

    kind: str = ""
    tag: str = ""
    case_id: str = ""
    first: int = 0
    release: str = ""


def default_directory() -> Path:
    return WHOLE if WHOLE.is_dir() else SAMPLE


def files(directory: Path) -> list[Path]:
    """List the files of a corpus; of one that is there packed and unpacked, the packed one. One file will do."""
    if directory.is_file():
        return [directory]
    found: dict[tuple[str, str], Path] = {}
    for pattern in ("*.jsonl", "*.jsonl.gz"):
        for path in (
            *directory.glob(pattern),
            *(one for each in releases.RELEASES for one in directory.glob(f"{each}/{pattern}")),
        ):
            found[release_of(path), path.name.removesuffix(".gz")] = path
    if not found:
        raise FileNotFoundError(f"no *.jsonl.gz or *.jsonl in {directory}; name the directory of a corpus")
    return [found[name] for name in sorted(found)]


def release_of(path: Path) -> str:
    """Tell the release that a file was recorded from by its folder; what is in no such folder is the oldest one's."""
    return path.parent.name if path.parent.name in releases.RELEASES else releases.OLDEST


def kind_of(path: Path) -> str:
    """Tell the kind of a file's cases by its name: `cycle-medium-seed1.jsonl.gz` holds cases of kind `cycle`."""
    return path.name.partition("-")[0].partition(".")[0]


def lines_of(path: Path) -> list[bytes]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.splitlines()


def select(directory: Path, wanted: Selection) -> Iterator[Line]:
    """Yield the selected cases of a corpus, in the order of its files."""
    for path in files(directory):
        kind, release = kind_of(path), release_of(path)
        if wanted.kind in ("", kind) and wanted.release in ("", release):
            chosen = [Line(kind, text, release) for text in lines_of(path) if _is_wanted(text, wanted)]
            yield from chosen[: wanted.first or None]


def decode(text: bytes, release: str = releases.OLDEST) -> dict[str, Any]:
    """Read a case, and note beside its fields which release it was recorded from."""
    case: dict[str, Any] = msgspec.json.decode(text)
    return {**case, "release": release}


def tags_of(case: dict[str, Any]) -> list[str]:
    """Return the features of a case; a case of the primitives has its table instead."""
    tags: list[str] = case.get("features") or [case["table"]]
    return tags


def _is_wanted(text: bytes, wanted: Selection) -> bool:
    # Most cases are passed over without decoding them.
    if f'"{wanted.case_id or wanted.tag}"'.encode() not in text and (wanted.case_id or wanted.tag):
        return False
    if not wanted.tag and not wanted.case_id:
        return True
    case = decode(text)
    return wanted.tag in ("", *tags_of(case)) and wanted.case_id in ("", case["id"])
