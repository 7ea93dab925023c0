"""A crawl's items in other places, as a user sets them up."""

import json
import sqlite3
from contextlib import closing

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, gossamer

SPIDER = """
from gossamer import Item, Spider, key

class Thing(Item):
    name: str = key()
    price: int

class Things(Spider):
    name = "things"
    price = "1"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        for name in "abc":
            yield Thing(name=name, price=int(self.price) if name == "b" else 1)
"""
TOML = """
[outputs.lines]
url = "out/things.jsonl"

[outputs.table]
url = "sqlite:///out/things.db"
"""


def test_items_are_in_every_output_once_and_again_when_they_change(tmp_path):
    lines = tmp_path / "out" / "things.jsonl"
    (tmp_path / "gossamer.toml").write_text(TOML)
    with serve_in_thread(lambda path, headers: SiteResponse()) as site:
        (tmp_path / "things.py").write_text(SPIDER.replace("{url}", site.url))
        for arguments, expected in (("", 3), ("", 3), ("-a price=2", 4)):
            gossamer(f"crawl things.py {arguments} --fresh", *FAST, cwd=tmp_path)
            assert len(lines.read_text().splitlines()) == expected
    last = json.loads(lines.read_text().splitlines()[-1])
    assert (last["spider"], last["type"], last["key"], last["data"]) == (
        "things",
        "Thing",
        "b",
        {"name": "b", "price": 2},
    )
    with closing(sqlite3.connect(tmp_path / "out" / "things.db")) as conn:
        assert conn.execute("SELECT key, data ->> 'price' FROM item ORDER BY key").fetchall() == [
            ("a", 1),
            ("b", 2),
            ("c", 1),
        ]
    found = json.loads(gossamer("outputs list --json", cwd=tmp_path).stdout)
    assert [(row["output"], row["waiting"]) for row in found] == [("lines", 0), ("table", 0)]
    done = gossamer("crawl things.py --set outputs.lines.url=x.csv", *FAST, cwd=tmp_path, code=2)
    assert "names no output" in done.stderr
