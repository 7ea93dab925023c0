"""The stored results of a crawl, read without the crawler's own code: pages, items and the ledger."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kit.fleet.site import canonical


@dataclass(frozen=True, slots=True)
class Tried:
    """One row of the ledger."""

    url: str
    verdict: str
    status: int  # 0: no answer
    reason: str = ""
    worker: str = ""
    rung: str = ""  # of a fleet


@dataclass(frozen=True)
class Stored:
    """Everything that a job has stored."""

    pages: Sequence[str]  # the URL of every row
    lines: Sequence[str]  # of the export, as they are
    ledger: Sequence[Tried]  # oldest first

    @property
    def items(self) -> list[str]:
        """The items, each as `canonical` writes it."""
        return [canonical(json.loads(line)) for line in self.lines]


def from_sqlite(data: Path, exported: str) -> Stored:
    """The store of an embedded crawl; ``exported`` are its items as JSON lines."""
    with closing(sqlite3.connect(data / "gossamer.db")) as connection, connection:
        pages = [url for (url,) in connection.execute("select url from page order by id")]
        tried = connection.execute("select url, verdict, status, reason, worker from attempt order by id")
        return Stored(pages, exported.splitlines(), [Tried(*row) for row in tried])
