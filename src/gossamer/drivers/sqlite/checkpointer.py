"""Keeps the write-ahead log short beside the writer, so that no call waits while pages are copied back.

A checkpoint copies committed pages from the log into the file, and waits for the disk twice. In the writer it
would block every later call for tens of milliseconds. Here a thread with its own connection does it while the
writer runs; to restart its log the writer has to copy only the rest.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress

EVERY = 12_000
"""Changed rows after which the log is copied back. A page of a crawl changes about 15 and dirties 3 to 6
pages of 4 KiB, fewer when many are recorded together."""
LOG_LIMIT = 32_000
"""Pages in the log (128 MB) at which the writer copies the rest itself, and begins it anew."""


class Checkpointer(threading.Thread):
    """Makes checkpoints on demand. A daemon: the next process to open the file completes its work.

    The connection must have read something: otherwise it does not know that there is a log.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        super().__init__(name="gossamer-sqlite-checkpointer", daemon=True)
        self._conn = conn
        self._wanted = threading.Semaphore(0)
        self._closing = False
        self._seen = 0  # rows changed when it was last told
        self.start()

    def report_changes(self, changes: int) -> None:
        """Note how many rows the writer has changed since it was opened."""
        if changes - self._seen >= EVERY:
            self._seen = changes
            self._wanted.release()

    def run(self) -> None:
        """Work until :meth:`close`."""
        try:
            while self._wanted.acquire() and not self._closing:
                with suppress(sqlite3.Error):  # the writer meets the same trouble, and tells its callers
                    self._conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            self._conn.close()

    def close(self) -> None:
        """Finish the current checkpoint. Idempotent; blocks."""
        self._closing = True
        self._wanted.release()
        self.join()
