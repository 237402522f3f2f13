"""What a release is, and that it comes out the same when somebody else makes it.

`check` is the first step of `make release`: the version has a day in CHANGELOG.md, and nothing is uncommitted. `sums`
is its last: SHA256SUMS. `again` (`make release-check`) makes the release anew from its source archive, in another
folder, and compares.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.changelog import CHANGELOG, VERSION, entries

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"
SOURCE = f"stowplan-{VERSION}.tar.gz"
FILES = (
    SOURCE,
    f"stowplan-{VERSION}-py3-none-any.whl",
    f"stowplan-{VERSION}-image.tar",
    f"stowplan-{VERSION}.cdx.json",
)


def main() -> None:
    """Take one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("check", "sums", "again"))
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    asked = parser.parse_args()
    steps = {"check": check, "sums": sums, "again": again}
    if problems := steps[asked.step](asked.folder):
        sys.exit("\n".join(problems))


def check(folder: Path) -> list[str]:
    """Return what is in the way of a release, also a folder that is in the way of its files."""
    problems = [f"{folder} is a file; remove it"] if folder.is_file() else []
    if entries(CHANGELOG.read_text(encoding="utf-8")).get(VERSION) is None:
        problems.append(f"CHANGELOG.md has no day for version {VERSION}: write '## [{VERSION}] - YYYY-MM-DD'")
    # What was unpacked from a source archive has no history.
    if (ROOT / ".git").exists():
        status = ["git", "status", "--porcelain"]
        changed = subprocess.run(status, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        if changed:
            problems.append(f"a release is made from what is committed; commit or remove these first:\n{changed}")
    return problems


def sums(folder: Path) -> list[str]:
    """Write the checksums of the files of a release."""
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in sorted(FILES)]
    (folder / SUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return []


def again(folder: Path) -> list[str]:
    """Make a release anew from its source archive; return what came out otherwise."""
    with tempfile.TemporaryDirectory(prefix="stowplan-made-again-") as name:
        with tarfile.open(folder / SOURCE) as archive:
            archive.extractall(name, filter="data")
        place = Path(name) / f"stowplan-{VERSION}"
        # The tool that the Makefile pins, and what Debian gave, which its checksums vouch for.
        (place / ".uv").symlink_to(ROOT / ".uv")
        if (ROOT / "build" / "debian").exists():
            shutil.copytree(ROOT / "build" / "debian", place / "build" / "debian", symlinks=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
        subprocess.run(["make", "release-files"], cwd=place, env=environment, check=True)
        problems = [
            f"{SUMS} says of {line.split()[1]} what it did not become when made again"
            for line in (folder / SUMS).read_text(encoding="utf-8").splitlines()
            if line not in (place / "dist" / SUMS).read_text(encoding="utf-8").splitlines()
        ]
    if not problems:
        print("made again from the source archive in another folder: the same bytes")
    return problems


if __name__ == "__main__":
    main()
