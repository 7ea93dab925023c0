"""The schema of the one file: its version, and its migrations.

``PRAGMA application_id`` marks a file as ours, ``PRAGMA user_version`` holds its schema version. Migrations
are the numbered ``migrations/NNNN_*.sql``; each runs with its version number in one transaction, so a crash
leaves the old version or the new one. A newer file is refused.

Their common result is in ``whole/NNNN.sql``, by the number of the last: it makes a new file in a fifth of the
time. ``scripts/sqlite_schema.py`` writes it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from gossamer.core.errors import SchemaVersionError, StorageError
from gossamer.drivers.sqlite.errors import translate_error

APPLICATION_ID = 0x476F7373  # "Goss"
_HERE = files("gossamer.drivers.sqlite")


def load_migrations() -> dict[int, str]:
    """Return the SQL that leads to each schema version."""
    return {number: file.read_text("utf-8") for number, file in _find_scripts("migrations").items()}


def load_whole() -> dict[int, str]:
    """Return the SQL of a whole schema, by its version; the latest that was written down."""
    number, file = max(_find_scripts("whole").items())
    return {number: file.read_text("utf-8")}


def _find_scripts(folder: str) -> dict[int, Traversable]:
    found = (_HERE / folder).iterdir()
    return {int(file.name[:4]): file for file in found if file.name.endswith(".sql")}


def migrate_schema(conn: sqlite3.Connection, path: Path, steps: dict[int, str] | None = None) -> None:
    """Bring the file to today's schema, or refuse it.

    Raises :class:`SchemaVersionError` for a newer file, :class:`StorageError` for another program's.
    """
    ours = max(_find_scripts("migrations") if steps is None else steps)
    version = _read_version(conn, path, ours)
    if version == ours:
        return
    if steps is None:
        steps = load_migrations()
        if not version:
            steps = _skip_to_whole(steps)
    for number in sorted(steps):
        conn.execute("BEGIN IMMEDIATE")
        try:
            # Looked at again under the lock: another process may have migrated meanwhile.
            if _read_version(conn, path, ours) < number:
                for statement in split_statements(steps[number]):
                    conn.execute(statement)
                conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                conn.execute(f"PRAGMA user_version = {number}")
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


def check_file(path: Path) -> None:
    """Raise the errors of opening an existing file, as far as a look shows them; change nothing."""
    if not path.exists():
        return
    if not os.access(path, os.W_OK):
        raise StorageError(f"{path}: the file is read-only; make it and its directory writable")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as conn:
            _read_version(conn, path, max(_find_scripts("migrations")))
    except sqlite3.Error as error:
        raise translate_error(error, path) from error


def _skip_to_whole(steps: dict[int, str]) -> dict[int, str]:
    """Return the steps for a new file."""
    whole = load_whole()
    return whole | {number: sql for number, sql in steps.items() if number > max(whole)}


def _read_version(conn: sqlite3.Connection, path: Path, ours: int) -> int:
    application = conn.execute("PRAGMA application_id").fetchone()[0]
    version = int(conn.execute("PRAGMA user_version").fetchone()[0])
    is_empty = conn.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_master)").fetchone()[0]
    if application != APPLICATION_ID and not (is_empty and application == 0):
        raise StorageError(f"{path}: this SQLite file belongs to another program; name another one")
    if version > ours:
        raise SchemaVersionError(
            f"{path}: written by a newer Gossamer (schema {version}; this one knows {ours}); "
            "upgrade Gossamer, or use another --data directory"
        )
    return version


def split_statements(script: str) -> list[str]:
    """Return the statements of a script, one by one (``executescript`` would commit on its own)."""
    found, pending = [], ""
    for piece in script.split(";")[:-1]:
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    return found
