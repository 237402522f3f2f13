"""The Python of the image, run on the machine that builds: bytes depend on the lock, not on what is installed here.

Bytecode and compressed data differ between releases of Python and zlib. So whatever makes such bytes runs on the
locked packages of this machine's architecture, unpacked beside and started with their own loader, without a chroot.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.image.debian import Package, members

PYTHON = "python3.11"


class Interpreter:
    """One unpacked Python."""

    def __init__(self, packages: Sequence[Package], folder: Path) -> None:
        for package in packages:
            for member, content in members(package):
                _unpack(folder / member.name, member.linkname if member.issym() else None, content, member.isdir())
        (loader,) = (path for path in folder.glob("usr/lib*/**/ld-linux-*.so.*") if not path.is_symlink())
        libraries = ":".join(sorted({str(path.parent) for path in folder.glob("usr/lib/*-linux-gnu/*.so.*")}))
        self._command = [str(loader), "--library-path", libraries, str(folder / "usr" / "bin" / PYTHON)]
        self._environment = {
            "PYTHONHOME": str(folder / "usr"),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
        }

    def output(self, words: Sequence[str | Path], stdin: bytes = b"") -> bytes:
        """Run Python with arguments and return what it printed; raise CalledProcessError if it fails."""
        command = [*self._command, *words]
        return subprocess.run(command, env=self._environment, check=True, input=stdin, stdout=subprocess.PIPE).stdout


def _unpack(path: Path, target: str | None, content: bytes, is_folder: bool) -> None:
    if is_folder:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if target is not None:
        path.symlink_to(target)
        return
    path.write_bytes(content)
    path.chmod(0o755)
