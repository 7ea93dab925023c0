"""Examples of dropped items, in the one SQLite file."""

from __future__ import annotations

from collections.abc import Iterable
from sqlite3 import Connection

from gossamer.core.drops import DropSample
from gossamer.core.storable import without_surrogates as text
from gossamer.drivers.sql import load_statements, write_rows
from gossamer.store.samples import place_samples

SQL = load_statements("gossamer.store.sqlite", "store.sql")


def keep_samples(conn: Connection, job: int, samples: Iterable[DropSample]) -> None:
    """Keep those of a job that have a slot, in the caller's transaction."""
    rows = [
        (job, text(s.reason), slot, text(s.stage), text(s.type), text(s.url), s.at, s.data)
        for (_, slot), s in place_samples(samples).items()
    ]
    write_rows(conn, SQL["keep_samples"], rows)
