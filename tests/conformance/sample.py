"""`python -m tests.conformance.sample`: draw a small corpus that is part of the repository from the whole one.

The draw is the same every time: the first few cases of every feature tag, fewer where clusters are large.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.conformance import corpus

MAX_BYTES = 3_000_000
PER_TAG = {
    "cycle": 7,
    "preemption": 8,
    "config": 6,
    "primitives": 80,
    "queue": 6,
    "gates": 3,
    "stretch": 6,
    "story": 2,
    "gangs": 6,
}
# A large cluster takes as much room as twenty small ones.
LARGE_BYTES = 60_000
PER_TAG_LARGE = 1


def main(arguments: list[str] | None = None) -> None:
    """Write the sample and say how large it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.sample", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=corpus.WHOLE, metavar="DIR")
    parser.add_argument("--to", type=Path, default=corpus.SAMPLE, metavar="DIR")
    options = parser.parse_args(arguments)
    total = write(options.directory, options.to)
    print(f"{total} bytes in {len(corpus.files(options.to))} files")


def write(source: Path, target: Path) -> int:
    """Write a sample of every file of `source`, and return the bytes it takes."""
    target.mkdir(parents=True, exist_ok=True)
    for path in target.glob("**/*.jsonl.gz"):
        path.unlink()
    for path in corpus.files(source):
        drawn = draw(corpus.kind_of(path), corpus.lines_of(path))
        name = path.name.removesuffix(".gz") + ".gz"
        folder = target / corpus.release_of(path)
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(pack(drawn))
    total = sum(path.stat().st_size for path in corpus.files(target))
    if total > MAX_BYTES:
        raise ValueError(f"the sample takes {total} bytes, more than {MAX_BYTES}; draw fewer cases per tag in PER_TAG")
    return total


def draw(kind: str, lines: Iterable[bytes]) -> list[bytes]:
    """Return the first cases of every tag, in their order; a case counts for all its tags."""
    drawn: list[bytes] = []
    have: Counter[str] = Counter()
    for line in lines:
        tags = corpus.tags_of(corpus.decode(line))
        enough = PER_TAG_LARGE if len(line) > LARGE_BYTES else PER_TAG.get(kind, min(PER_TAG.values()))
        if any(have[tag] < enough for tag in tags):
            drawn.append(line)
            have.update(tags)
    return drawn


def pack(lines: Iterable[bytes]) -> bytes:
    """Compress lines; the same lines always give the same bytes."""
    return gzip.compress(b"".join(line + b"\n" for line in lines), compresslevel=9, mtime=0)


if __name__ == "__main__":
    main()
