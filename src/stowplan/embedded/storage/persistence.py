"""Objects on disk: one SQLite database in WAL mode, a transaction a change.

A change is handed to the operating system before it is acknowledged, so it outlives the process however that ends;
only a crash of the machine itself can take the last moments with it. Folder and files are their owner's alone: what is
kept are also Secrets, and the key that tokens are signed with.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from stowplan.embedded.objects import private_files
from stowplan.embedded.objects.errors import StatusError
from stowplan.embedded.objects.private_files import NotPrivateError
from stowplan.embedded.objects.resource import Object
from stowplan.embedded.storage.stored import Stored
from stowplan.model import json_values

FILE_NAME: Final = "cluster.db"

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS objects (
    storage TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (storage, namespace, name)
);
CREATE TABLE IF NOT EXISTS removals (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""
_PUT: Final = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM objects WHERE storage = ? AND namespace = ? AND name = ?"


class Database:
    """The journal of a store. One process at a time has it open."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        try:
            private_files.make_folder(folder, FILE_NAME)
            # SQLite gives what it writes beside the database the permissions of the database.
            os.close(private_files.open_file(self._path, os.O_RDWR))
        except NotPrivateError as error:
            raise DatabaseError(str(error)) from None
        except OSError as error:
            problem = f"{folder}: no cluster can be kept there: {error.strerror}"
            raise DatabaseError(f"{problem}; name a folder that can be written") from None
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            # Whoever has the store uses it from one thread at a time, though not always from the one that opened it.
            connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            connection.close()
            raise self._unusable(error) from None
        return connection

    def version(self) -> int:
        """The version of the last change."""
        query = (
            "SELECT max(coalesce((SELECT max(version) FROM objects), 0), coalesce((SELECT version FROM removals), 0))"
        )
        try:
            return int(self._connection.execute(query).fetchone()[0])
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def secret(self, name: str, new: bytes) -> bytes:
        """Return the secret that is kept under a name; the first time that is the one given here.

        Raise DatabaseError if what is kept is not of its length.
        """
        try:
            self._connection.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, new))
            (kept,) = self._connection.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()
        except (sqlite3.Error, TypeError) as error:
            raise self._unusable(error) from None
        if not isinstance(kept, bytes) or len(kept) != len(new):
            problem = f"{self._path}: the {name} is damaged; put a copy of the file in its place, or end all tokens"
            raise DatabaseError(f"{problem} by deleting the row from the table secrets: a new one is made then")
        return kept

    def load(self, storage: str) -> Iterator[Object]:
        """Read what is kept of a resource. Raise DatabaseError if that is damaged."""
        try:
            for (body,) in self._connection.execute("SELECT body FROM objects WHERE storage = ?", (storage,)):
                yield json_values.read_object(body)
        except (sqlite3.Error, msgspec.DecodeError, TypeError) as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> DatabaseError:
        """Say why the file cannot be used, and what to do."""
        if "locked" in str(error):
            return DatabaseInUseError(f"{self._path}: {error}; is another cluster running on this folder?")
        if isinstance(error, sqlite3.OperationalError) and not self._is_damage(error):
            return DatabaseError(f"{self._path}: {error}; name a folder that can be written")
        remedy = "put a copy in its place, or begin anew in another folder"
        return DatabaseError(f"{self._path}: not the database of a cluster, or damaged ({error}); {remedy}")

    def _is_damage(self, error: sqlite3.OperationalError) -> bool:
        return any(word in str(error) for word in ("no such", "has no column", "malformed", "disk I/O"))

    def put(self, storage: str, kept: Stored) -> None:
        self._execute(_PUT, (storage, kept.namespace, kept.name, kept.version, kept.body))

    def drop(self, storage: str, gone: Stored) -> None:
        self._execute("BEGIN", ())
        self._execute(_DROP, (storage, gone.namespace, gone.name))
        self._execute("INSERT OR REPLACE INTO removals VALUES (1, ?)", (gone.version,))
        self._execute("COMMIT", ())

    def close(self) -> None:
        self._connection.close()

    def _execute(self, statement: str, values: tuple[str | int | bytes, ...]) -> None:
        try:
            self._connection.execute(statement, values)
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise StatusError(500, "InternalError", f"the change could not be written to disk: {error}") from error


class DatabaseError(Exception):
    """The database cannot be opened or read; the text names the file and says what to do."""


class DatabaseInUseError(DatabaseError):
    """The database cannot be opened, most likely because another process has it."""
