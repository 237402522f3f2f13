"""Debian's packages for the image: which (`deploy/image/packages`), which versions (`packages.lock`), and their files.

apt fetches what the lock names, for any architecture, with the sources and keys that the system has and state of our
own; nothing is installed, and no script of a package runs. `python -m tools.image.debian` writes the lock anew.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "deploy" / "image" / "packages"
LOCK = PACKAGES.with_suffix(".lock")
ARCHITECTURES = ("amd64", "arm64")
CACHE = ROOT / "build" / "debian"

_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
_URI = re.compile(r"'[^']+' (?P<file>\S+)_(?P<version>[^_]+)_\w+\.deb \d+ SHA256:(?P<digest>[0-9a-f]{64})$")


@dataclass(frozen=True)
class Package:
    """One package of one architecture, by what is in it."""

    architecture: str
    name: str
    version: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.architecture} {self.name} {self.version} sha256:{self.sha256}"

    @property
    def file(self) -> Path:
        """Return where it is kept."""
        return CACHE / self.architecture / f"{self.name}-{self.sha256[:16]}.deb"


def locked(architecture: str, lock: Path = LOCK) -> list[Package]:
    """Return what the lock has for an architecture."""
    found = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            where, name, version, digest = line.split()
            if where == architecture:
                found.append(Package(where, name, version, digest.removeprefix("sha256:")))
    if not found:
        raise SystemExit(f"{lock.name} has nothing for {architecture!r}; known: {', '.join(ARCHITECTURES)}")
    return found


def fetch(packages: Sequence[Package]) -> None:
    """Download what is not there yet; end if something else came than the lock says."""
    missing = [package for package in packages if not package.file.exists()]
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise SystemExit(
            "the image is made from Debian's packages, and there is no apt-get; use deploy/Dockerfile here"
        )
    architecture = missing[0].architecture
    _update(architecture)
    folder = CACHE / architecture / "new"
    folder.mkdir(exist_ok=True)
    _apt(architecture, "download", *(f"{package.name}={package.version}" for package in missing), folder=folder)
    came = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in folder.glob("*.deb")}
    for package in missing:
        if package.sha256 not in came:
            raise SystemExit(f"what apt has as {package.name} {package.version} has not the checksum of {LOCK.name}")
        came[package.sha256].rename(package.file)
    shutil.rmtree(folder)


def members(package: Package) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Yield the files of a package, their names as they are in a root where `/bin`, `/lib` and the like are links."""
    content = subprocess.run(["dpkg-deb", "--fsys-tarfile", package.file], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            member.name = member.name.removeprefix("./")
            if member.name.split("/")[0] in ("bin", "lib", "lib64", "sbin"):
                member.name = f"usr/{member.name}"
            held = archive.extractfile(member) if member.isreg() else None
            yield member, held.read() if held else b""


def control(package: Package) -> bytes:
    """Return what a package says of itself."""
    return subprocess.run(["dpkg-deb", "--field", package.file], check=True, stdout=subprocess.PIPE).stdout


def host_architecture() -> str:
    """Return Debian's name for the architecture that this program runs on."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def purl(package: Package) -> str:
    """Return the address of a package that tools for bills of materials know it by."""
    return f"pkg:deb/debian/{quote(package.name)}@{quote(package.version)}?arch={package.architecture}&distro=bookworm"


def main() -> None:
    """Write the lock: the newest versions that apt has now."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    lines = ["# Written by `make image-lock`: architecture, package, version, and the checksum of the file."]
    for architecture in ARCHITECTURES:
        _update(architecture)
        lines += [str(_newest(architecture, name)) for name in _names()]
    LOCK.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _names() -> list[str]:
    lines = PACKAGES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _newest(architecture: str, name: str) -> Package:
    said = _apt(architecture, "download", "--print-uris", name).strip()
    found = _URI.search(said)
    if found is None:
        raise SystemExit(f"apt has no package {name!r} for {architecture}: {said or 'it says nothing'}")
    # The name of the file has the colon of an epoch as %3a.
    return Package(architecture, name, found["version"].replace("%3a", ":"), found["digest"])


def _update(architecture: str) -> None:
    (CACHE / architecture / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (CACHE / architecture / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    (CACHE / architecture / "status").touch()
    _apt(architecture, "update")


def _apt(architecture: str, *words: str, folder: Path | None = None) -> str:
    """Run apt-get with state of our own, for one architecture, and return what it printed."""
    state = CACHE / architecture
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Dir::Cache": state,
        "Dir::State": state,
        "Dir::State::Lists": state / "lists",
        "Dir::State::Status": state / "status",
    }
    if _SOURCES.exists():
        # What else the system has sources of has nothing to do with the image.
        settings |= {"Dir::Etc::SourceList": _SOURCES, "Dir::Etc::SourceParts": "/dev/null"}
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    ended = subprocess.run(
        ["apt-get", "--quiet=2", *options, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        print(ended.stderr, file=sys.stderr)
        raise SystemExit(
            f"apt-get {' '.join(words)} failed for {architecture}. If a version is no longer there, take the newest"
            " ones with `make image-lock`; to make an old release again, use sources of Debian's archive of snapshots."
        )
    return ended.stdout


if __name__ == "__main__":
    main()
