"""A PostgreSQL server's facts about itself and our user, read without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.policy.fitness import PostgresFacts

if TYPE_CHECKING:
    from gossamer.drivers.postgres.types import Connection

_SELF = """
SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
       pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_read_only,
       (SELECT sum(setting::int * CASE name WHEN 'max_connections' THEN 1 ELSE -1 END)::int FROM pg_settings
         WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')) AS most,
       (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
       (SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'gossamer') AS ours,
       (SELECT min(nullif(l, -1)) FROM (SELECT rolconnlimit AS l FROM pg_roles WHERE rolname = current_user
         UNION ALL SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS limits) AS own,
       extract(epoch FROM clock_timestamp())::float8 AS time,
       has_database_privilege(current_database(), 'CREATE') AS may_create
"""
_SCHEMA = "SELECT has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE')"
_TABLES = """
SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
   AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
        AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')
        AND ($2 OR pg_has_role(c.relowner, 'USAGE')))
 ORDER BY 1 LIMIT 1
"""


async def read_facts(conn: Connection, schema: str, version: int | None, newest: int) -> PostgresFacts:
    """Return the facts of a server whose schema has a version, or none yet, and must become the newest."""
    row = await conn.fetchrow(_SELF)
    assert row is not None
    return PostgresFacts(
        version=row["version"],
        used=row["used"],
        ours=row["ours"],
        most=min(row["most"], row["own"]) if row["own"] is not None else row["most"],
        time=row["time"],
        is_read_only=row["is_read_only"],
        lacks=await _find_lack(conn, schema, version, newest, may_create=row["may_create"]),
    )


async def _find_lack(
    conn: Connection, schema: str, version: int | None, newest: int, *, may_create: bool
) -> str:
    if not await conn.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema):
        return "" if may_create else f"may not create the schema {schema}"
    if version is None:
        return "" if await conn.fetchval(_SCHEMA, schema) else f"may not create tables in the schema {schema}"
    table = await conn.fetchval(_TABLES, schema, version == newest)
    return f"may not change the table {schema}.{table}" if table else ""
