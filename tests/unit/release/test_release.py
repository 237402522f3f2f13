"""The files that go with a release: checksums, and the list of what it is made from."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from stowplan import __version__
from tools.bill_of_materials import bill
from tools.changelog import release_time
from tools.image.root import SITE
from tools.release import FILES, check, sums

#: Of nothing, and of `a`.
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
LETTER = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
METADATA = "Metadata-Version: 2.4\nName: click\nVersion: {version}\nLicense-Expression: BSD-3-Clause\n"


def test_checksums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(b"a" if name.endswith(".whl") else b"")
    assert sums(tmp_path) == []
    assert (tmp_path / "SHA256SUMS").read_text(encoding="utf-8").splitlines() == [
        f"{NOTHING}  stowplan-{__version__}-image.tar",
        f"{LETTER}  stowplan-{__version__}-py3-none-any.whl",
        f"{NOTHING}  stowplan-{__version__}.cdx.json",
        f"{NOTHING}  stowplan-{__version__}.tar.gz",
    ]


def test_a_file_where_the_folder_should_be_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "dist").touch()
    assert f"{tmp_path / 'dist'} is a file; remove it" in check(tmp_path / "dist")


def test_the_time_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert release_time() == 1_800_000_000


def test_the_bill_of_materials_has_libraries_and_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    click = version("click")
    for architecture in ("amd64", "arm64"):
        metadata = tmp_path / architecture / SITE / f"click-{click}.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(METADATA.format(version=click), encoding="utf-8")
    found = bill([tmp_path / "amd64", tmp_path / "arm64"])
    components = {one["bom-ref"]: one for one in found["components"]}
    assert found["metadata"]["timestamp"] == "2027-01-15T08:00:00Z"
    assert found["metadata"]["component"]["version"] == __version__
    # The same on both, so once.
    assert [reference for reference in components if reference.startswith("pkg:pypi/")] == [f"pkg:pypi/click@{click}"]
    assert components[f"pkg:pypi/click@{click}"]["licenses"] == [{"license": {"name": "BSD-3-Clause"}}]
    libc = [one for one in components.values() if one["name"] == "libc6"]
    assert {one["purl"].rpartition("arch=")[2] for one in libc} == {"amd64&distro=bookworm", "arm64&distro=bookworm"}
    assert all(len(one["hashes"][0]["content"]) == 64 for one in libc)
    assert json.dumps(found, sort_keys=True) == json.dumps(
        bill([tmp_path / "amd64", tmp_path / "arm64"]), sort_keys=True
    )
