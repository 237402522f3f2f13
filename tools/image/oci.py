"""The image as an archive in the OCI layout, the same bytes from the same roots: `make image`.

    python -m tools.image.oci --output dist/stowplan-0.1.0-image.tar build/image/amd64 build/image/arm64

One layer for each architecture, told by the name of the folder; all times are the day of the release. `skopeo copy
oci-archive:FILE`, `podman load` and `docker load` read it: the last by a manifest of its own, which is in it, too.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.changelog import VERSION, release_time
from tools.image import debian
from tools.image.root import interpreter, size

CONFIG = debian.ROOT / "deploy" / "image" / "config.json"
NAME = f"stowplan:{VERSION}"

_MEDIA = "application/vnd.oci.image"
_GZIP = (
    "import gzip, shutil, sys; shutil.copyfileobj(sys.stdin.buffer, gzip.GzipFile('', 'wb', 9, sys.stdout.buffer, 0))"
)


@dataclass
class Archive:
    """The blobs of an archive, each under its digest."""

    time: int
    compress: Callable[[bytes], bytes]
    blobs: dict[str, bytes] = field(default_factory=dict)

    def add(self, media_type: str, content: bytes) -> dict[str, Any]:
        """Add a blob and return how others refer to it."""
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def write(self, path: Path, files: dict[str, bytes]) -> None:
        """Write the blobs and further files."""
        everything = {f"blobs/sha256/{digest}": content for digest, content in self.blobs.items()} | files
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name in ("blobs", "blobs/sha256"):
                archive.addfile(_entry(name, self.time, tarfile.DIRTYPE, 0o755))
            for name, content in sorted(everything.items()):
                entry = _entry(name, self.time, tarfile.REGTYPE, 0o644)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


def main() -> None:
    """Make an archive from roots."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("roots", type=Path, nargs="+", help="folders that are named like their architectures")
    asked = parser.parse_args()
    pack(asked.roots, asked.output, Archive(release_time(), _compressed))
    for root in asked.roots:
        print(f"{root.name}: {size(root) / 1e6:.1f} MB in files")
    print(f"{asked.output.name}: {asked.output.stat().st_size / 1e6:.1f} MB")


def pack(roots: Sequence[Path], output: Path, archive: Archive) -> None:
    """Write the archive of an image, for each architecture that there is a root of."""
    manifests, for_docker = [], []
    for root in sorted(roots, key=lambda root: root.name):
        manifest, described = _image(archive, root)
        manifests.append(manifest | {"platform": {"architecture": root.name, "os": "linux"}})
        for_docker.append(described)
    index = _json({"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": manifests})
    named = archive.add(f"{_MEDIA}.index.v1+json", index)
    named["annotations"] = {"io.containerd.image.name": f"docker.io/library/{NAME}", _title("ref.name"): VERSION}
    files = {
        "index.json": _json({"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": [named]}),
        "manifest.json": _json(for_docker),
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    archive.write(output, files)


def layer(root: Path, time: int) -> bytes:
    """Return a root as a tar archive: sorted, everything root's, every time the same."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            _add(archive, path, str(path.relative_to(root)), time)
    return written.getvalue()


def _add(archive: tarfile.TarFile, path: Path, name: str, time: int) -> None:
    if path.is_symlink():
        entry = _entry(name, time, tarfile.SYMTYPE, 0o777)
        entry.linkname = str(path.readlink())
        archive.addfile(entry)
    elif path.is_dir():
        archive.addfile(_entry(name, time, tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755))
    else:
        entry = _entry(name, time, tarfile.REGTYPE, 0o755 if path.stat().st_mode & 0o100 else 0o644)
        content = path.read_bytes()
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))


def _image(archive: Archive, root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add the image of one architecture; return how the index refers to it, and how Docker does."""
    content = layer(root, archive.time)
    packed = archive.add(f"{_MEDIA}.layer.v1.tar+gzip", archive.compress(content))
    created = datetime.fromtimestamp(archive.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = dict(_labels(created))
    config = {
        "architecture": root.name,
        "config": json.loads(CONFIG.read_text(encoding="utf-8")) | {"Labels": labels},
        "created": created,
        "history": [{"created": created, "created_by": "tools/image/oci.py"}],
        "os": "linux",
        "rootfs": {"diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"], "type": "layers"},
    }
    described = archive.add(f"{_MEDIA}.config.v1+json", _json(config))
    manifest = {"schemaVersion": 2, "mediaType": f"{_MEDIA}.manifest.v1+json", "config": described, "layers": [packed]}
    manifest["annotations"] = labels
    for_docker = {"Config": _path(described), "Layers": [_path(packed)], "RepoTags": [f"{NAME}-{root.name}"]}
    return archive.add(f"{_MEDIA}.manifest.v1+json", _json(manifest)), for_docker


def _labels(created: str) -> Iterator[tuple[str, str]]:
    yield _title("created"), created
    yield _title("licenses"), "Apache-2.0"
    yield _title("title"), "stowplan"
    yield _title("url"), "https://stowplan.dev"
    yield _title("version"), VERSION


def _title(name: str) -> str:
    return f"org.opencontainers.image.{name}"


def _compressed(content: bytes) -> bytes:
    with interpreter() as python:
        return python.output(["-c", _GZIP], content)


def _path(descriptor: dict[str, Any]) -> str:
    return f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"


def _entry(name: str, time: int, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.type, entry.mode = time, kind, mode
    return entry


def _json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


if __name__ == "__main__":
    main()
