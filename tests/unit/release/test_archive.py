"""The archive of an image is the same whenever, wherever and by whomever its root was made."""

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from stowplan import __version__
from tools.image.oci import Archive, layer, pack

DAY = 1_800_000_000


def make_root(folder: Path, written_at: float, in_order: int) -> Path:
    """Make a small root; its files are made in one order or the other."""
    root = folder / "amd64"
    files = [("usr/bin/tool", 0o700), ("etc/list", 0o600), ("usr/lib/data", 0o666)]
    for name, mode in files[::in_order]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
        path.chmod(mode)
        os.utime(path, (written_at, written_at))
    (root / "tmp").mkdir()
    (root / "lib").symlink_to("usr/lib")
    return root


def compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [make_root(tmp_path / "one", 1e9, 1), make_root(tmp_path / "elsewhere", 1.5e9, -1)]


def test_the_same_root_is_the_same_bytes(roots: list[Path], tmp_path: Path) -> None:
    written = []
    for number, root in enumerate(roots):
        pack([root], tmp_path / str(number), Archive(DAY, compress))
        written.append((tmp_path / str(number)).read_bytes())
    assert written[0] == written[1]


def test_another_root_is_others(roots: list[Path]) -> None:
    (roots[1] / "etc" / "list").write_text("something else", encoding="utf-8")
    assert layer(roots[0], DAY) != layer(roots[1], DAY)


def test_everything_is_of_root_and_of_one_day(roots: list[Path]) -> None:
    with tarfile.open(fileobj=io.BytesIO(layer(roots[0], DAY))) as archive:
        members = archive.getmembers()
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members} == {(0, 0, "", DAY)}
    assert {member.name: oct(member.mode) for member in members} == {
        "etc": "0o755",
        "etc/list": "0o644",
        "lib": "0o777",
        "tmp": "0o1777",
        "usr": "0o755",
        "usr/bin": "0o755",
        "usr/bin/tool": "0o755",
        "usr/lib": "0o755",
        "usr/lib/data": "0o644",
    }


def test_who_reads_it_finds_the_layer_and_how_it_is_started(roots: list[Path], tmp_path: Path) -> None:
    pack([roots[0]], tmp_path / "image.tar", Archive(DAY, compress))
    with tarfile.open(tmp_path / "image.tar") as archive:
        content = {name: held.read() for name in archive.getnames() if (held := archive.extractfile(name))}

    def blob(descriptor: dict[str, Any]) -> bytes:
        found = content["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]
        assert descriptor["digest"] == f"sha256:{hashlib.sha256(found).hexdigest()}"
        assert descriptor["size"] == len(found)
        return found

    (named,) = json.loads(content["index.json"])["manifests"]
    (described,) = json.loads(blob(named))["manifests"]
    assert described["platform"] == {"architecture": "amd64", "os": "linux"}
    manifest = json.loads(blob(described))
    config = json.loads(blob(manifest["config"]))
    (packed,) = manifest["layers"]
    assert gzip.decompress(blob(packed)) == layer(roots[0], DAY)
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer(roots[0], DAY)).hexdigest()}"]
    assert (config["architecture"], config["created"]) == ("amd64", "2027-01-15T08:00:00Z")
    assert config["config"]["User"] == "65532:65532"
    assert json.loads(content["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (for_docker,) = json.loads(content["manifest.json"])
    assert for_docker["RepoTags"] == [f"stowplan:{__version__}-amd64"]
    assert [for_docker["Config"], *for_docker["Layers"]] == [
        "blobs/sha256/" + one["digest"].removeprefix("sha256:") for one in (manifest["config"], packed)
    ]
