"""Objects on disk: one SQLite database in WAL mode, a transaction a change.

A change is handed to the operating system before it is acknowledged, so it outlives the process however that ends;
only a crash of the machine itself can take the last moments with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from stowplan.embedded.errors import StatusError
from stowplan.embedded.resource import Object
from stowplan.embedded.stored import Stored

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
"""
_PUT: Final = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM objects WHERE storage = ? AND namespace = ? AND name = ?"


class Database:
    """The journal of a store. One process at a time has it open."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Whoever has the store uses it from one thread at a time, though not always from the one that opened it.
        self._connection = sqlite3.connect(folder / FILE_NAME, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_SCHEMA)
        except sqlite3.OperationalError as error:
            self._connection.close()
            problem = f"{folder / FILE_NAME}: {error}; is another cluster running on this folder?"
            raise DatabaseInUseError(problem) from error

    def version(self) -> int:
        """The version of the last change."""
        query = (
            "SELECT max(coalesce((SELECT max(version) FROM objects), 0), coalesce((SELECT version FROM removals), 0))"
        )
        return int(self._connection.execute(query).fetchone()[0])

    def load(self, storage: str) -> Iterator[Object]:
        rows = self._connection.execute("SELECT body FROM objects WHERE storage = ?", (storage,))
        return (msgspec.json.decode(body, type=dict[str, Any]) for (body,) in rows)

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


class DatabaseInUseError(Exception):
    """The database cannot be opened, most likely because another process has it."""
