"""Changed items in a table of a PostgreSQL database, for queries by other programs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.core.changes import ChangedItem
from gossamer.drivers.postgres.errors import RefusedValueError
from gossamer.drivers.postgres.server import PostgresServer
from gossamer.drivers.sql import load_statements
from gossamer.store.postgres.json import clean_text, to_jsonb

SQL = load_statements("gossamer.store.postgres", "output.sql")
SCHEMA = "gossamer_items"

log = logging.getLogger("gossamer.outputs")


class PostgresOutput:
    """An ``ItemOutput`` into ``gossamer_items.item``: each item once, with the values that it has now."""

    def __init__(self, url: str) -> None:
        self._server = PostgresServer(url, migrations={1: SQL["make_table"]}, schema=SCHEMA, connections=1)

    def __repr__(self) -> str:
        return f"<PostgresOutput {self._server!r}>"

    async def read_state(self, former: bytes, items: Sequence[ChangedItem]) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        return b"-"  # nothing has to be known

    async def write_batch(self, name: str, items: Sequence[ChangedItem], state: bytes) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        rows = [_row_of(item) for item in items]
        try:
            await self._upsert(rows)
        except RefusedValueError:
            for row in rows:
                try:
                    await self._upsert([row])
                except RefusedValueError as error:
                    log.warning("%s %.200r was not written to %r: %s", row[1], row[2], self._server, error)
        return state

    async def _upsert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        columns = list(zip(*rows, strict=True))
        await self._server.run(lambda conn: conn.execute(SQL["upsert"], *columns))

    async def close(self) -> None:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        await self._server.close()


def _row_of(item: ChangedItem) -> tuple[Any, ...]:
    names = (clean_text(part) for part in (item.spider, item.type, item.key, item.url))
    data, _, _ = to_jsonb(msgspec.json.encode(item.data))
    return (*names, item.first_seen, item.last_seen, item.changed_at, data)
