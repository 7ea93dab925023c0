"""``kill -9`` in the middle of outputs: a file and a table of PostgreSQL have every item once."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import asyncpg
import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST
from kit.programs import run, start
from kit.shop_spider import SPIDER

TOML = """
[outputs.lines]
url = "items.jsonl"
batch = 3

[outputs.table]
url = "{url}"
batch = 3
"""


def written(path: Path) -> int:
    """The whole lines of a file."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_in_the_middle(path: Path, more: int, *arguments: str) -> None:
    """Run a command until it has written so many more lines, and kill it."""
    wanted = written(path) + more
    process = start(*arguments, cwd=path.parent)
    while written(path) < wanted and process.poll() is None:
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize(("products", "kills"), [(60, 1), pytest.param(400, 30, marks=pytest.mark.thorough)])
async def test_whatever_is_killed_every_item_is_in_each_output_once(tmp_path, postgres_url, products, kills):
    """Bugs it would catch: a batch that was cut off is not written again, or is there twice."""
    path = tmp_path / "items.jsonl"
    (tmp_path / "gossamer.toml").write_text(TOML.replace("{url}", postgres_url))
    with serve_in_thread(Shop(products, page_bytes=1000)) as site:
        (tmp_path / "shop.py").write_text(SPIDER.replace("{url}", site.url))
        for number in range(kills):
            command = ("outputs", "write") if number % 2 else ("crawl", "shop.py", *FAST)
            kill_in_the_middle(path, products // (kills + 2), *command)
        assert 0 < written(path) < products, "nobody was killed in the middle"
        done = run("crawl", "shop.py", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    keys = Counter(json.loads(line)["key"] for line in path.read_bytes().splitlines())
    assert (len(keys), set(keys.values())) == (products, {1})
    connection = await asyncpg.connect(postgres_url)
    (count,) = await connection.fetchrow("SELECT count(*) FROM gossamer_items.item")
    await connection.close()
    assert count == products
