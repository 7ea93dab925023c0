"""No question about a job's past reads more rows than its answer needs, however many there are."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from gossamer.core.series import COLUMNS
from gossamer.drivers.sqlite.database import Database
from gossamer.store.postgres.schema import load_migrations
from gossamer.store.sqlite import items, ledger, series, store

BY = {
    "steps": "series USING PRIMARY KEY (job=? AND step=? AND at>? AND at<?)",
    "gauges": "gauge USING PRIMARY KEY (job=? AND step=? AND at>? AND at<?)",
    "hours": "hourly USING PRIMARY KEY (job=? AND kind=? AND hour=? AND who=?)",
    "reasons": "hourly USING PRIMARY KEY (job=? AND kind=? AND hour>?)",
    "failures": "hourly USING COVERING INDEX hourly_failure (job=? AND kind=? AND label=? AND hour=?)",
    "hosts": "hourly USING COVERING INDEX hourly_failure (job=? AND kind=? AND label=? AND hour>?)",
    "fold_series": "series USING PRIMARY KEY (job=? AND step=? AND at<?)",
    "fold_gauges": "gauge USING PRIMARY KEY (job=? AND step=? AND at<?)",
    "drop_series": "series USING PRIMARY KEY (job=? AND step=? AND at<?)",
    "drop_gauges": "gauge USING PRIMARY KEY (job=? AND step=? AND at<?)",
    "drop_hourly": "hourly USING PRIMARY KEY (job=? AND kind=? AND hour<?)",
}
"""How each statement finds its rows."""


@pytest.fixture
def db(tmp_path):
    with closing(Database(tmp_path / "x.db")) as db:
        yield db


def plan_of(db, statement):
    """How SQLite goes about a statement."""
    numbers = [int(number) for number in re.findall(r"\?(\d)", statement)]
    values = (1,) * max(numbers, default=statement.count("?"))
    rows = db.run_sync(lambda conn: conn.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall())
    return [row[3] for row in rows]


@pytest.mark.parametrize("name", BY)
def test_rows_are_found_by_an_index(db, name):
    plan = plan_of(db, series.SQL[name])
    assert f"SEARCH {BY[name]}" in plan
    assert not [step for step in plan if re.match(r"SCAN (?!job$|json_each|\()|.*ORDER BY", step)]


def test_the_latest_attempts_of_a_reason_are_found_by_an_index(db):
    plan = plan_of(db, ledger.SQL["attempts"].replace(":which", " AND reason <> '' AND reason = ?"))
    assert plan[0] == "SEARCH attempt USING INDEX attempt_reason (job=? AND reason=? AND rowid<?)"
    stale = plan_of(db, store.SQL["mark_stale"])
    assert stale[0] == "SEARCH attempt USING INDEX attempt_job (job=? AND rowid>?)", (
        "among those just written"
    )


def test_the_tables_have_a_column_for_each_counter(db):
    found = db.run_sync(lambda conn: conn.execute("SELECT name FROM pragma_table_info('series')").fetchall())
    assert [name for (name,) in found] == ["job", "step", "at", "covered", *COLUMNS]
    table = load_migrations()[6].split("CREATE TABLE series (")[1].split("PRIMARY KEY")[0]
    assert re.findall(r"^ +(\w+) bigint NOT NULL DEFAULT 0", table, re.MULTILINE) == [*COLUMNS]


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("attempts_at", "attempt USING INDEX attempt_place (<expr>=? AND url=?"),
        ("page", "page USING INDEX page_place (<expr>=? AND fingerprint=?)"),
        ("on_page", "item USING INDEX item_recent (spider=? AND changed_at=?)"),
    ],
)
def test_a_url_and_its_page_are_found_without_reading_the_ledger(db, name, by):
    sql = (ledger.SQL | items.SQL)[name]
    plan = plan_of(db, sql.replace(":which", " AND url IN (?3)").replace("LIMIT ?", "LIMIT 1"))
    assert [step for step in plan if step.startswith(f"SEARCH {by}")]
    read_whole = re.compile(r"SCAN (?!part$|visit$|candidate$|found$|CONSTANT|\()|.*AUTOMATIC")
    assert not [step for step in plan if read_whole.match(step)]
