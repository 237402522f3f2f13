"""The image that `make image` packed, unpacked as a container runtime would, and the command lines that run it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stowplan import __version__
from tests.limits import LIMIT_SECONDS
from tools.image.debian import host_architecture

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "dist" / f"stowplan-{__version__}-image.tar"


class Image:
    """One image of an archive, unpacked into a folder; `settings` is what is seen as `/etc/stowplan` in it."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.root, self.settings = folder / "root", folder / "settings"
        self.settings.mkdir()
        with tarfile.open(archive) as held:
            index = _read(held, _described(held, "index.json")["manifests"][0])
            (manifest,) = (one for one in index["manifests"] if one["platform"]["architecture"] == host_architecture())
            image = _read(held, manifest)
            self.config: dict[str, Any] = _read(held, image["config"])
            for layer in image["layers"]:
                with tarfile.open(fileobj=io.BytesIO(_blob(held, layer)), mode="r:gz") as packed:
                    packed.extractall(self.root, filter="fully_trusted")

    def command(self, *words: str, program: Sequence[str] | None = None) -> list[str | Path]:
        """Return what runs it on this machine: its entry point, or another program of it."""
        environment = self.config["config"]["Env"]
        entry = self.config["config"]["Entrypoint"] if program is None else program
        enter = [sys.executable, Path(__file__).with_name("enter_root.py"), self.root, self.settings]
        return ["env", "-i", *environment, *enter, *entry, *words]

    def run(self, *words: str, program: Sequence[str] | None = None) -> str:
        """Run it to its end and return what it printed."""
        command = self.command(*words, program=program)
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def size(self) -> int:
        """Return the bytes of its files."""
        return sum(os.lstat(path).st_size for path in self.root.rglob("*") if path.is_symlink() or path.is_file())


def _described(archive: tarfile.TarFile, name: str) -> Any:
    held = archive.extractfile(name)
    assert held is not None
    return json.loads(held.read())


def _read(archive: tarfile.TarFile, descriptor: dict[str, Any]) -> Any:
    return json.loads(_blob(archive, descriptor))


def _blob(archive: tarfile.TarFile, descriptor: dict[str, Any]) -> bytes:
    """Return what a descriptor stands for, which is what it says."""
    digest = descriptor["digest"].removeprefix("sha256:")
    held = archive.extractfile(f"blobs/sha256/{digest}")
    assert held is not None
    content = held.read()
    assert (hashlib.sha256(content).hexdigest(), len(content)) == (digest, descriptor["size"])
    return content
