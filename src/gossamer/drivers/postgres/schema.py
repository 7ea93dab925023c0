"""The schema in PostgreSQL: its version, its migrations, and its requirements.

All tables are in one schema of the database (``gossamer``), so that the database may have other tenants; its
table ``version`` holds the version. The owner of the tables passes the migrations, by number; they run in one
transaction under an advisory lock, so that one of many workers that start together migrates, and a crash
leaves the old version or the new one. A newer schema is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gossamer.core.errors import SchemaVersionError, StorageError
from gossamer.drivers.postgres.errors import refuse_user

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

MINIMUM = 13
"""The oldest major version of PostgreSQL that its makers support."""
MIGRATE_S = 1800.0
"""How long a migration may take, one's own or that of another worker, which is waited for."""
LOCK = 0x476F7373  # "Goss": the first key of our advisory locks


async def prepare_schema(conn: Connection, schema: str, place: str, steps: Mapping[int, str]) -> None:
    """Check the server, and bring the schema to today's version; ``steps`` is the SQL that leads to each.

    Raises :class:`SchemaVersionError` for a newer one, :class:`StorageError` for a server that does not do.
    """
    await _check_server(conn, place)
    if await _read_version(conn, schema, place, max(steps)) == max(steps):
        return
    async with conn.transaction():
        await conn.execute("SELECT pg_advisory_xact_lock($1)", LOCK, timeout=MIGRATE_S)
        # Looked at again under the lock: another process may have migrated meanwhile.
        version = await _read_version(conn, schema, place, max(steps))
        if version is None:
            await _create_schema(conn, schema)
        for number in sorted(steps):
            if number > (version or 0):
                await conn.execute(steps[number], timeout=MIGRATE_S)
                await conn.execute("UPDATE version SET version = $1, since = now()", number)


async def check_schema(conn: Connection, schema: str, place: str, steps: Mapping[int, str]) -> int | None:
    """Return the schema's version and change nothing; an older or missing version is accepted."""
    await _check_server(conn, place)
    return await _read_version(conn, schema, place, max(steps))


async def _check_server(conn: Connection, place: str) -> None:
    found = conn.get_server_version()
    if found.major < MINIMUM:
        raise StorageError(
            f"PostgreSQL at {place} is version {found.major}.{found.minor}; at least {MINIMUM} is needed"
        )
    encoding = await conn.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise StorageError(
            f"PostgreSQL at {place}: the database's encoding is {encoding}, and pages have text that "
            "it cannot hold; make one with: createdb --encoding=UTF8 --template=template0 NAME"
        )


async def _read_version(conn: Connection, schema: str, place: str, ours: int) -> int | None:
    """Return the schema's version; ``None``: it was never made."""
    # From the catalogue: to_regclass() may return the cached state from before we got the lock.
    may_use = await conn.fetchval(
        "SELECT has_schema_privilege(schemaname, 'USAGE') FROM pg_tables "
        "WHERE schemaname = $1 AND tablename = 'version'",
        schema,
    )
    if may_use is None:
        return None
    if not may_use:
        raise refuse_user(place, f"may not use the schema {schema}")
    version = int(await conn.fetchval("SELECT version FROM version"))
    if version > ours:
        raise SchemaVersionError(
            f"PostgreSQL at {place}: written by a newer Gossamer (schema {version}; this one knows {ours}); "
            "upgrade Gossamer, or use another database"
        )
    return version


async def _create_schema(conn: Connection, schema: str) -> None:
    # IF NOT EXISTS would ask for the right to make one even where an administrator has made it already.
    if not await conn.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema):
        await conn.execute(f"CREATE SCHEMA {schema}")
    await conn.execute(
        "CREATE TABLE version (version integer NOT NULL, since timestamptz NOT NULL DEFAULT now())"
    )
    await conn.execute("INSERT INTO version VALUES (0)")
