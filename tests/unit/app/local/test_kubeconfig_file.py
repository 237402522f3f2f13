"""The kubeconfig that leads to an embedded cluster."""

import asyncio
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stowplan.app.local import kubeconfig_file
from stowplan.app.local.kubeconfig_file import DEFAULT_PATH, Access
from stowplan.kube import credentials


@pytest.mark.parametrize(
    "access",
    [
        pytest.param(Access("http://127.0.0.1:6443"), id="without credentials"),
        pytest.param(
            Access("https://192.0.2.1:6443", "secret", "pem\n", "a.example", "https://192.0.2.1:10251"),
            id="token and TLS",
        ),
    ],
)
def test_what_is_written_is_read_again(tmp_path: Path, access: Access) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    kubeconfig_file.write(path, access)
    assert kubeconfig_file.read(path) == access


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    kubeconfig_file.write(path, Access("http://127.0.0.1:1", "secret"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["kubeconfig"]


def test_any_client_understands_it(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    kubeconfig_file.write(path, Access("http://127.0.0.1:6443", "secret"))
    found = asyncio.run(credentials.load(str(path), {}, lambda: datetime.now(UTC)))
    assert found.server == "http://127.0.0.1:6443"
    assert asyncio.run(found.authorization.header()) == "Bearer secret"


def test_the_folder_of_the_default_stays_out_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kubeconfig_file.write(DEFAULT_PATH, Access("http://127.0.0.1:1"))
    assert (tmp_path / ".stowplan" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="not there"),
        pytest.param("a: b: c", id="no YAML"),
        pytest.param("{}", id="empty"),
        pytest.param(
            "{current-context: kind, clusters: [{name: kind, cluster: {}}], users: [{name: kind}]}", id="another's"
        ),
    ],
)
def test_another_file_is_not_taken_for_ours(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    assert kubeconfig_file.read(path) is None
