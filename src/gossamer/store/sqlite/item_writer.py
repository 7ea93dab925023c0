"""Writing items into the one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

import msgspec

from gossamer.core.results import ItemRecord, VisitResult
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements, write_rows, write_rows_returning
from gossamer.store.totals import seen_at

SQL = load_statements("gossamer.store.sqlite", "store.sql")


class ItemWriter:
    """Writes items in the caller's transaction, with the options of a store.

    ``min_interval_s``: an item that changed less than this ago is not changed again. ``keeps_history``: all
    former values are kept, not only those that another job saw. ``is_followed``: changes are noted for
    outputs.
    """

    def __init__(self, min_interval_s: float, *, keeps_history: bool, is_followed: bool) -> None:
        self._more = (1,) if is_followed else ()
        is_news = SQL["is_news"].replace(":min_interval", repr(float(min_interval_s)))
        self._upsert = (
            SQL["upsert_items"]
            .replace(":is_news", f"({is_news})")
            .replace(":keeps_history", str(int(keeps_history)))
            .replace(":is_followed", str(int(is_followed)))
            .replace(":followed", ", is_followed" if is_followed else "")
        )

    def write_items(
        self, conn: Connection, job: int, spider: str, results: Sequence[VisitResult]
    ) -> tuple[int, int]:
        """Return how many are new to the job, and how many it had already."""
        spider, more = text(spider), (job, *self._more)
        rows = [
            (spider, *_item_row(item, seen_at(result)), *more) for result in results for item in result.items
        ]
        upserted = write_rows_returning(conn, self._upsert, rows)
        hashes = dict(upserted)
        if len(hashes) < len(
            set(upserted)
        ):  # an item with several values, which come back in no promised order
            hashes = dict(
                conn.execute(SQL["hashes"], (msgspec.json.encode(list(hashes)).decode(),)).fetchall()
            )
        sighted = [(job, *pair) for pair in sorted(hashes.items())]
        fresh = write_rows(conn, SQL["sight"], sighted)
        if fresh < len(sighted):
            write_rows(conn, SQL["sight_again"], sighted)
        return fresh, len(rows) - fresh


def clean_texts(values: Sequence[str]) -> Sequence[str]:
    """Texts that UTF-8 can carry; nearly always all of a row are ASCII, and nothing has to be done."""
    return values if "".join(values).isascii() else [text(value) for value in values]


def _item_row(item: ItemRecord, at: float) -> tuple[Any, ...]:
    data = item.data.decode("utf-8", "replace")
    kind, key, url = clean_texts((item.type, item.key, item.url))
    return (kind, key, item.hash, at, at, at, url, data)
