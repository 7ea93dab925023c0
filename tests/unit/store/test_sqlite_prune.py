"""Old rows of the ledger go, whatever stands before them."""

from __future__ import annotations

import sqlite3

from gossamer.config.settings import Settings
from gossamer.core.results import Attempt, Verdict
from gossamer.store.sqlite.store import PRUNED
from gossamer.wiring.backends import open_backends

DAY_S = 86_400.0


async def test_rows_of_a_clock_that_was_ahead_keep_no_old_ones(tmp_path):
    """They stand before the old ones, and the ledger would grow until their time comes."""
    settings = Settings.model_validate({"data": str(tmp_path), "store": {"ledger_days": 1}})
    backends = await open_backends(settings, create=True)

    async def record(at: float, count: int) -> None:
        rows = [
            Attempt(at=at, url=f"http://a/{n}", fingerprint=n, verdict=Verdict.SUCCESS, worker="w")
            for n in range(count)
        ]
        await backends.store.record_attempts(job, rows)

    try:
        job, now = await backends.book.create("shop", "shop.py"), 100 * DAY_S + 1
        for at, count in ((now + 9 * DAY_S, PRUNED + 50), (DAY_S, 2 * PRUNED), (now - 60, 3)):
            await record(at, count)
        await backends.keeping.prune_ledger(now)
        (file,) = tmp_path.glob("*.db")
        with sqlite3.connect(file) as database:
            left = database.execute("select at, count(*) from attempt group by at order by at").fetchall()
        assert left == [(now - 60, 3), (now + 9 * DAY_S, PRUNED + 50)]
    finally:
        await backends.close()
