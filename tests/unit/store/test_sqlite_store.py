"""What only the SQL store has to prove."""

from gossamer.disk.database import Database
from gossamer.store.jobs import SqliteJobBook, slug
from gossamer.store.shared_state import SqliteSharedState
from gossamer.store.sqlite import SqliteStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.store import harvest, item
from gossamer.words.model import Job


async def test_a_job_of_another_book_is_entered(tmp_path):
    db = Database(tmp_path / "x.db")
    store, book = SqliteStore(db), SqliteJobBook(db, ManualClock())
    for job_id in ("shop-7", "elsewhere"):
        job = Job(id=job_id, name="shop", target="t", created_at=5.0, key=b"k")
        await store.write(job, [harvest(item("1"))])
        assert await book.get(job_id) == job
    assert (await book.create("shop", "t")).id == "shop-8"
    db.close()


async def test_everything_is_there_after_a_restart(tmp_path):
    clock = ManualClock()
    db = Database(tmp_path / "x.db")
    job = await SqliteJobBook(db, clock).create("shop", "t")
    await SqliteStore(db).write(job, [harvest(item("1"))])
    await SqliteSharedState(db, clock).put("s", "k", b"v", 60)
    db.close()
    db = Database(tmp_path / "x.db")
    assert await SqliteJobBook(db, clock).get("shop") == job
    assert (await SqliteStore(db).tally(job)).items == 1
    assert await SqliteSharedState(db, clock).get("s", "k") == b"v"
    db.close()


async def test_shared_state_does_not_grow_for_ever(tmp_path):
    clock = ManualClock()
    db = Database(tmp_path / "x.db")
    shared = SqliteSharedState(db, clock)
    for n in range(100):
        await shared.put("s", str(n), b"v", 1)
        clock.advance(0.5)
    rows = db.run_sync(lambda conn: conn.execute("SELECT count(*) FROM shared").fetchone()[0])
    assert rows < 10
    db.close()


def test_slugs():
    names = ["shop", "www.a.example", "ünï cödé", "../..", "", "a/b\\c", "x" * 500, ".hidden", "-rf"]
    for name in names:
        made = slug(name)
        assert made
        assert len(made) <= 64
        assert made[0] not in ".-"
        assert not set(made) & set("/\\ \0\n")
