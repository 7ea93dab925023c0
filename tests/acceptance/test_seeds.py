"""Lists of URLs given to a job, and crawled."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess

import asyncpg
import pytest

from gossamer.core.exits import ExitCode
from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.environment import environment
from kit.programs import command, run, start

SPIDER = """
from gossamer import Spider

class Shop(Spider):
    name = "shop"
    start_urls = []
    allowed_domains = ["{host}"]

    def parse(self, response):
        yield {"url": response.url, "kind": "page"}

    def parse_product(self, response, n):
        yield {"url": response.url, "kind": f"product {n}", "meta": response.meta.get("k")}
"""


@pytest.fixture
def site():
    page = SiteResponse(200, b'<!doctype html><title>Page</title><a href="/other">other</a>')
    with serve_in_thread(lambda path, headers: page) as served:
        yield served


@pytest.fixture
def shop(tmp_path, site):
    path = tmp_path / "shop.py"
    path.write_text(SPIDER.replace("{host}", site.host))
    return path


def pages_of(site, count):
    return [f"{site.url}/page?n={n}" for n in range(count)]


def test_pages_that_are_named_one_by_one_are_fetched_and_nothing_else(tmp_path, site):
    (tmp_path / "urls.txt").write_text(
        "\n".join(["# mine", *pages_of(site, 30), "not a url", "ftp://x.example/"])
    )
    done = gossamer("seeds urls.txt", cwd=tmp_path, code=1)
    assert "line 32: not a URL: not a url" in done.stderr
    assert "line 33" in done.stderr
    assert "32 (30 added, 0 known already)" in done.stdout
    assert "gossamer crawl generic" in done.stdout
    result = json.loads(gossamer("crawl generic --json", *FAST, "--no-robots", cwd=tmp_path).stdout)
    assert (result["pages"], len(site.hits)) == (30, 30), "private hosts were named by whoever gave the list"


def test_an_urgent_row_raises_what_waits_already(tmp_path, site, shop):
    """With its callback and what goes with it; a row without a priority does not, nor one that is done."""
    urls = pages_of(site, 6)
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    gossamer("seeds urls.txt --target shop.py", cwd=tmp_path)
    row = {
        "url": urls[4],
        "priority": 9,
        "meta": {"k": "now"},
        "callback": "parse_product",
        "cb_kwargs": {"n": 4},
    }
    rows = [
        row,
        {"url": urls[2], "priority": 2},
        {"url": urls[1], "meta": {"k": 1}},
        {"url": f"{site.url}/new"},
    ]
    (tmp_path / "urgent.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = gossamer("seeds urgent.jsonl --target shop.py", cwd=tmp_path)
    assert "4 (1 added, 3 known already, 2 of them raised)" in done.stdout
    again = asked("seeds urgent.jsonl --target shop.py", cwd=tmp_path)
    assert (again["known"], again["raised"]) == (4, 0)
    gossamer("crawl shop.py -O out.jsonl --no-robots --delay 0 --concurrency 1", cwd=tmp_path)
    items = list(map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines()))
    assert [item["url"] for item in items[:3]] == [urls[4], urls[2], urls[0]]
    assert (items[0]["kind"], items[0]["meta"], len(items)) == ("product 4", "now", 7)
    assert asked("seeds urgent.jsonl --target shop.py", cwd=tmp_path)["raised"] == 0, "it is done"


def test_a_row_names_its_callback_and_what_goes_with_it(tmp_path, site, shop):
    rows = [{"url": url, "callback": "parse_product", "cb_kwargs": {"n": n}, "meta": {"k": n}, "priority": n}
            for n, url in enumerate(pages_of(site, 3))]  # fmt: skip
    rows += [{"url": f"{site.url}/page?wrong", "callback": name} for name in ("parse_nothing", "start", "_x")]
    rows += [{"url": "https://else.example/"}]
    (tmp_path / "urls.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = gossamer("seeds urls.jsonl --target shop.py --json", cwd=tmp_path, code=1)
    report = json.loads(done.stdout)
    again = gossamer("seeds urls.jsonl --target ./shop.py -s delay=0 --data d", cwd=tmp_path, code=1)
    assert "gossamer crawl ./shop.py -s delay=0 --data d\n" in again.stdout, "what crawls them"
    assert report["left_out"] == {"invalid": 3, "offsite": 1}
    assert [refusal["number"] for refusal in report["refusals"]] == [4, 5, 6, 7]
    gossamer("crawl shop.py -O out.jsonl --no-robots", *FAST, cwd=tmp_path)
    items = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted((item["kind"], item["meta"]) for item in items) == [(f"product {n}", n) for n in range(3)]


@pytest.mark.long
def test_a_list_that_was_cut_off_is_completed_by_the_same_command(tmp_path):
    count = 60_000
    (tmp_path / "urls.txt").write_text("".join(f"https://shop.example/{n}\n" for n in range(count)))
    data = tmp_path / ".gossamer"
    cut = start("seeds", tmp_path / "urls.txt", "--data", data)
    while waiting_in(data) < 5_000:
        assert cut.poll() is None
    os.kill(cut.pid, signal.SIGKILL)
    cut.wait()
    before = waiting_in(data)
    assert before < count
    report = json.loads(run("seeds", tmp_path / "urls.txt", "--data", data, "--json").stdout)
    assert (report["added"], report["known"]) == (count - before, before)
    assert report["job"] == "generic-1"
    assert waiting_in(data) == count


def waiting_in(data):
    try:
        with sqlite3.connect(f"file:{data / 'gossamer.db'}?mode=ro", uri=True) as conn:
            return conn.execute("SELECT coalesce(sum(pending), 0) FROM frontier").fetchone()[0]
    except sqlite3.Error:
        return 0


def test_a_job_that_is_there_and_has_ended_takes_more(tmp_path, site, shop):
    gossamer("crawl shop.py --no-robots", *FAST, cwd=tmp_path)
    (tmp_path / "urls.txt").write_text("\n".join(pages_of(site, 5)))
    assert asked("seeds urls.txt --job shop", cwd=tmp_path)["added"] == 5
    assert asked("crawl shop.py --no-robots", *FAST, cwd=tmp_path)["pages"] == 5
    assert asked("seeds urls.txt --target shop.py --fresh", cwd=tmp_path)["job"] == "shop-2"


def test_rows_of_a_query(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as conn:
        conn.execute("CREATE TABLE product (link TEXT, priority INTEGER, meta TEXT)")
        conn.executemany(
            "INSERT INTO product VALUES (?, ?, ?)",
            [(f"https://shop.example/{n}", n % 3, '{"n": 1}') for n in range(5_000)] + [(None, 0, None)],
        )
    said = ("--database", f"sqlite:///{tmp_path / 'shop.db'}")
    done = gossamer(
        "seeds --column link --json --query", "SELECT * FROM product", *said, cwd=tmp_path, code=1
    )
    report = json.loads(done.stdout)
    assert (report["rows"], report["added"], report["left_out"]) == (5_001, 5_000, {"invalid": 1})
    wrong = gossamer("seeds --query", "SELECT * FROM absent", *said, cwd=tmp_path, code=2)
    assert "no such table: absent" in wrong.stderr
    writing = gossamer("seeds --query", "DELETE FROM product", *said, cwd=tmp_path, code=2)
    assert "readonly" in writing.stderr


async def test_rows_of_a_query_to_postgresql(tmp_path, postgres_url):
    conn = await asyncpg.connect(postgres_url)
    await conn.execute(
        "CREATE TABLE page AS SELECT 'https://shop.example/' || n AS url FROM generate_series(1, 7000) n"
    )
    await conn.close()
    asking = ("--database", postgres_url, "--query")
    done = run("seeds", "--json", *asking, "SELECT url FROM page", "--data", tmp_path / "data")
    assert json.loads(done.stdout)["added"] == 7_000, done.stderr
    wrong = run("seeds", *asking, "SELECT nothing FROM page", "--data", tmp_path / "data")
    assert (wrong.returncode, 'column "nothing" does not exist' in wrong.stderr) == (2, True)
    writing = run("seeds", *asking, "DELETE FROM page", "--data", tmp_path / "data")
    assert (writing.returncode, "read-only transaction" in writing.stderr) == (2, True), writing.stderr


def test_seeds_of_a_cancelled_job_are_refused(tmp_path):
    (tmp_path / "urls.txt").write_text("https://shop.example/\n")
    gossamer("seeds urls.txt", cwd=tmp_path)
    gossamer("cancel generic", cwd=tmp_path)
    assert "is cancelled" in gossamer("seeds urls.txt --job generic", cwd=tmp_path, code=2).stderr
    assert asked("seeds urls.txt", cwd=tmp_path)["job"] == "generic-2"


def test_what_does_not_go_together_is_said(tmp_path):
    for arguments in ("seeds", "seeds x.txt --query y --database sqlite:///z", "seeds --query y"):
        assert "name a FILE" in gossamer(arguments, cwd=tmp_path, code=2).stderr
    assert "--job names a job" in gossamer("seeds x.txt --job y --target z", cwd=tmp_path, code=2).stderr
    unknown = gossamer("seeds --query x --database mysql://me:secret@y/z", cwd=tmp_path, code=2).stderr
    assert "cannot be asked" in unknown
    assert "secret" not in unknown
    for url in ("postgresql://me:secret#1@127.0.0.1:1/y", "postgresql://me:secret/1@127.0.0.1:1/y"):
        mangled = gossamer("seeds --query x --database", url, cwd=tmp_path, code=2).stderr
        assert "is not a URL of PostgreSQL" in mangled
        assert "secret" not in mangled


def test_a_list_comes_through_a_pipe(tmp_path):
    lines = "".join(f"https://host{n % 50}.example/{n}\n" for n in range(5_000))
    arguments = command("seeds", "-", "--data", tmp_path / "data", "--json")
    done = subprocess.run(
        arguments, input=lines, env=environment(), capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["added"] == 5_000, done.stderr


def heed_interrupts():
    """What a shell starts in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_pipe_that_stands_still_holds_up_neither_its_rows_nor_the_end(tmp_path):
    arguments = command("seeds", "-", "--data", tmp_path / "data")
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "bufsize": 1}
    given = {"env": environment(), "preexec_fn": heed_interrupts}
    with subprocess.Popen(arguments, **pipes, **given) as reading:
        reading.stdin.write("https://shop.example/1\n")
        while not waiting_in(tmp_path / "data"):
            assert reading.poll() is None
        reading.send_signal(signal.SIGINT)
        assert reading.wait() == ExitCode.STOPPED, "and the pipe is open"
        assert "interrupted" in reading.stderr.read()


def test_a_file_that_is_not_there_makes_no_job(tmp_path):
    assert "the file does not exist" in gossamer("seeds nothing.txt", cwd=tmp_path, code=2).stderr
    assert not (tmp_path / ".gossamer").exists()


def test_what_came_before_the_damage_of_a_list_is_added(tmp_path):
    """A bug it would catch: the rows that were read last are dropped when reading fails behind them."""
    packed = gzip.compress("".join(f"https://shop.example/{n}\n" for n in range(3)).encode())
    (tmp_path / "urls.txt.gz").write_bytes(packed[:-4])
    done = gossamer("seeds urls.txt.gz", cwd=tmp_path, code=2)
    assert "is damaged: " in done.stderr
    assert waiting_in(tmp_path / ".gossamer") == 3
