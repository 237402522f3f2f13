"""Folders and files are their owner's alone, whatever the umask, and what is not becomes so or is refused."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stowplan.embedded.objects import private_files
from stowplan.embedded.objects.private_files import NotPrivateError
from stowplan.embedded.storage.persistence import Database, DatabaseError
from tests.integration.embedded.running import make_api, make_namespace

MINE = "cluster.db"


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: mode_of(path) for path in folder.iterdir()}


def somebody_elses(folder: Path) -> Path:
    """A folder of another user: only the administrator can make one, and to everybody else the root is one."""
    if os.geteuid() != 0:
        return Path("/")
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    return folder


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_a_cluster_is_kept_where_only_its_owner_looks(tmp_path: Path, mask: int) -> None:
    folder = tmp_path / "data"
    with umask(mask):
        database = Database(folder)
        make_namespace(make_api(database), "default")
        # While it is in use: what is written beside the database is closed, too.
        assert modes_in(folder) == {"cluster.db": 0o600, "cluster.db-wal": 0o600}
        database.close()
    assert mode_of(folder) == 0o700


def test_a_cluster_that_was_open_to_others_is_closed_to_them_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"
    Database(folder).close()
    folder.chmod(0o755)
    (folder / "cluster.db").chmod(0o644)
    (folder / "cluster.db.old").touch(0o640)
    with caplog.at_level(logging.WARNING):
        Database(folder).close()
    assert (mode_of(folder), modes_in(folder)) == (0o700, {"cluster.db": 0o600, "cluster.db.old": 0o600})
    assert sorted(caplog.messages) == [
        f"{folder} was open to others (0755) and is now its owner's alone (0700)",
        f"{folder}/cluster.db was open to others (0644) and is now its owner's alone (0600)",
        f"{folder}/cluster.db.old was open to others (0640) and is now its owner's alone (0600)",
    ]


def test_a_cluster_that_was_closed_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Database(tmp_path / "data").close()
    Database(tmp_path / "data").close()
    assert caplog.messages == []


def test_the_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = somebody_elses(tmp_path / "theirs")
    with pytest.raises(NotPrivateError, match=r"belongs to another user .*; name one of your own"):
        private_files.close_folder(folder)


def test_a_cluster_in_the_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = somebody_elses(tmp_path / "theirs")
    with pytest.raises(DatabaseError, match=r"name (one of your own|a folder for the cluster alone)"):
        Database(folder)


def test_a_folder_of_something_else_is_left_open_and_refused(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "README").touch()
    with pytest.raises(DatabaseError, match="has files of something else in it; name a folder for the cluster alone"):
        Database(folder)
    assert (mode_of(folder), [path.name for path in folder.iterdir()]) == (0o755, ["README"])


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    Database(tmp_path / "data").close()
    assert mode_of(tmp_path / "data") == 0o700


def test_a_device_stays_as_it_is() -> None:
    before = mode_of(Path(os.devnull))
    os.close(private_files.open_file(Path(os.devnull), os.O_WRONLY))
    assert mode_of(Path(os.devnull)) == before


def test_a_secret_is_kept_with_the_cluster(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    assert database.secret("key", b"first") == b"first"
    assert database.secret("key", b"later") == b"first"
    database.close()
    again = Database(tmp_path / "data")
    assert again.secret("key", b"other") == b"first"
    again.close()


def test_a_secret_that_is_damaged_is_said_to_be(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    database.secret("key", b"")
    with pytest.raises(DatabaseError, match=r"cluster.db: the key is damaged; .* a new one is made then"):
        database.secret("key", b"first")
    database.close()
