"""Feeds of Scrapy's projects have the contents that Scrapy writes, and each item once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.programs import run
from kit.quotes_site import QuotesSite
from kit.scrapy_runs import crawl_with_scrapy, run_gossamer

SPIDER = """
import datetime
from dataclasses import dataclass, field
from decimal import Decimal

import scrapy
from itemadapter import ItemAdapter
from scrapy.exporters import JsonLinesItemExporter
from scrapy.extensions.feedexport import ItemFilter
from scrapy.extensions.postprocessing import GzipPlugin


class Book(scrapy.Item):
    title = scrapy.Field(serializer=lambda value: f"<{value}>")
    tags = scrapy.Field()
    price = scrapy.Field()
    left_out = scrapy.Field()


@dataclass
class Person:
    name: str
    born: datetime.date = None
    address: dict = field(default_factory=dict)


class Shout(JsonLinesItemExporter):
    def __init__(self, file, **kwargs):
        self.mark = kwargs.pop("mark", "!")
        super().__init__(file, **kwargs)

    def export_item(self, item):
        super().export_item({"shout": str(ItemAdapter(item).asdict()) + self.mark})


class NoBooks(ItemFilter):
    def accepts(self, item):
        return not isinstance(item, Book)


def with_year(params, spider):
    return {**params, "year": 2026}


FEEDS = {
    "all.json": {"format": "json"},
    "all.jl": {"format": "jsonlines", "encoding": "latin-1", "fields": ["name", "title"]},
    "books.csv": {"format": "csv", "item_classes": [Book], "overwrite": True},
    "books.named.csv": {"format": "csv", "item_classes": [Book], "fields": {"title": "T", "price": "P"}},
    "people/%(name)s-%(year)d.xml": {
        "format": "xml", "item_classes": [Person], "indent": 2, "uri_params": with_year,
        "item_export_kwargs": {"root_element": "people", "item_element": "person"},
    },
    "filtered.json": {"format": "json", "item_filter": NoBooks, "indent": 4},
    "packed.jl.gz": {"format": "jl", "postprocessing": [GzipPlugin], "gzip_compresslevel": 3},
    "batch-%(batch_id)02d.json": {"format": "json", "batch_item_count": 2},
    "none.json": {"format": "json", "item_classes": [str], "store_empty": True},
    "nothing.json": {"format": "json", "item_classes": [str], "store_empty": False},
    "shouted.txt": {"format": "shout", "item_export_kwargs": {"mark": "?"}},
    "all.pickle": {"format": "pickle"},
}


class Books(scrapy.Spider):
    name = "books"
    custom_settings = {
        "FEEDS": FEEDS, "FEED_EXPORTERS": {"shout": Shout}, "FEED_EXPORT_ENCODING": "utf-8",
    }

    def start_requests(self):
        yield scrapy.Request(self.url + "/")

    def parse(self, response):
        yield Book(title="Größe", tags=["a", "b, c"], price=Decimal("1.50"))
        yield Person("Jane", datetime.date(1775, 12, 16), {"town": "Steventon", "rooms": [1, 2]})
        yield {"title": "plain <&>", "when": datetime.datetime(2026, 1, 2, 3, 4, 5), "nothing": None}
        yield Book(title="Second", price=2.5)
        yield Person("Emma")
"""
OLD_NAMES = """
import scrapy


class Old(scrapy.Spider):
    name = "old"
    custom_settings = {"FEED_URI": "%(name)s.csv", "FEED_FORMAT": "csv", "FEED_EXPORT_FIELDS": ["b", "a"]}

    def start_requests(self):
        yield scrapy.Request(self.url + "/")

    def parse(self, response):
        yield {"a": 1, "b": [1, 2]}
        yield {"a": "x", "c": 3}
"""
SEVERAL_RUNS = """
import scrapy
from scrapy.exceptions import CloseSpider


class Growing(scrapy.Spider):
    name = "growing"
    custom_settings = {"FEEDS": {
        "growing.jl": {"format": "jl"}, "whole.jl": {"format": "jl", "overwrite": True},
    }}

    def start_requests(self):
        for number in range(1, 5):
            yield scrapy.Request(f"{self.url}/page/{number}/", cb_kwargs={"number": number}, priority=-number)

    def parse(self, response, number):
        yield {"number": number}
        if number == 2 and self.stops == "yes":
            raise CloseSpider("for now")
"""


def files_of(folder: Path) -> dict[str, bytes]:
    """The contents of the feeds in a folder, by their names."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".jsonl") and "__pycache__" not in path.parts:
            body = path.read_bytes()
            found[str(path.relative_to(folder))] = gzip.decompress(body) if path.suffix == ".gz" else body
    return found


def crawled_side_by_side(text: str, folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The feeds that Scrapy writes, and those that Gossamer does."""
    places = []
    with serve_in_thread(QuotesSite(5)) as site:
        for crawl in (crawl_with_scrapy, run_gossamer):
            place = folder / crawl.__name__
            place.mkdir()
            file = place / "spider.py"
            file.write_text(text)
            options = () if crawl is crawl_with_scrapy else ("--data", str(folder / "data"))
            crawl(file, *options, url=site.url)
            places.append(files_of(place))
    return places[0], places[1]


def test_feeds_have_the_contents_that_scrapy_writes(tmp_path: Path) -> None:
    wanted, given = crawled_side_by_side(SPIDER, tmp_path)
    assert len(wanted) == 13
    assert given.keys() == wanted.keys()
    for name, body in wanted.items():
        if name not in ("all.pickle", "shouted.txt"):  # which hold more than text
            assert given[name] == body, name
    assert given["all.pickle"]
    assert given["shouted.txt"].count(b"?") == 5


def test_the_old_names_of_the_settings_mean_the_same(tmp_path: Path) -> None:
    wanted, given = crawled_side_by_side(OLD_NAMES, tmp_path)
    assert wanted["old.csv"].startswith(b"b,a\r\n")
    assert given == wanted


def numbers_in(file: Path) -> list[int]:
    return sorted(json.loads(line)["number"] for line in file.read_text().splitlines())


def test_a_feed_that_is_continued_has_each_item_of_a_job_once(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(SEVERAL_RUNS)
    with serve_in_thread(QuotesSite(35)) as site:
        for stops, wanted in (("yes", [1, 2]), ("no", [1, 2, 3, 4]), ("no", [1, 2, 3, 4])):
            options = ("-a", f"url={site.url}", "-a", "stops=yes", "-s", "robots=false", "--concurrency", "1")
            if stops == "no":
                file.write_text(SEVERAL_RUNS.replace('self.stops == "yes"', "False"))
            done = run("crawl", file.name, *options, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert numbers_in(tmp_path / "growing.jl") == wanted
            assert numbers_in(tmp_path / "whole.jl") == wanted


def test_a_feed_that_cannot_be_written_is_said_and_takes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "spider.py"
    file.write_text(OLD_NAMES.replace("%(name)s.csv", "taken/file.csv"))
    (tmp_path / "taken").write_text("a file where a folder should be")
    with serve_in_thread(QuotesSite(5)) as site:
        done = run("crawl", file.name, "-a", f"url={site.url}", "-s", "robots=false", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
    assert "taken/file.csv" in done.stderr
    exported = run("export", "old", "-o", "-", cwd=tmp_path)
    assert len(exported.stdout.splitlines()) == 2


KEEPING = """
import scrapy


class Keeping(scrapy.Spider):
    name = "keeping"
    custom_settings = {
        "JOBDIR": "state",
        "FEEDS": {"more.jl": {"format": "jl"}, "whole.csv": {"format": "csv", "overwrite": True}},
    }

    def start_requests(self):
        self.state["runs"] = self.state.get("runs", 0) + 1
        yield scrapy.Request(self.url + "/page/1/")

    def parse(self, response):
        yield {"number": 1}
"""


@pytest.mark.long
def test_a_replay_writes_neither_feeds_nor_state(tmp_path: Path) -> None:
    """Bug it would catch: both are those of a version that nobody has promoted."""
    file, data = tmp_path / "spider.py", tmp_path / "data"
    file.write_text(KEEPING)
    with serve_in_thread(QuotesSite(5)) as site:
        run_gossamer(file, "--archive", "--data", str(data), url=site.url)
    before = files_of(tmp_path)
    assert before["more.jl"]
    assert b'"runs": 1' in before["state/spider.state.json"]
    file.write_text(KEEPING.replace('"number": 1', '"number": 2'))
    said = run("replay", "keeping", "--diff", "--data", data, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "changed  item" in said.stdout, said.stdout
    after = files_of(tmp_path)
    assert {name: after[name] for name in before if not name.startswith("data/")} == {
        name: body for name, body in before.items() if not name.startswith("data/")
    }


@pytest.mark.long
@pytest.mark.parametrize(("chosen", "b", "a"), [('["b", "a"]', "b", "a"), ('{"b": "B", "a": "a"}', "B", "a")])
def test_a_file_of_the_command_line_has_the_fields_that_the_settings_choose(
    tmp_path: Path, chosen: str, b: str, a: str
) -> None:
    """As Scrapy's ``-O`` has, by their new names; without any that are chosen it has all."""
    (tmp_path / "old.py").write_text(OLD_NAMES.replace('["b", "a"]', chosen))
    with serve_in_thread(QuotesSite(1)) as site:
        for name in ("given.csv", "given.jsonl"):
            done = run("crawl", "old.py", "-a", f"url={site.url}", "-O", name, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
    assert (tmp_path / "given.csv").read_text().splitlines() == [f"{b},{a}", '"[1,2]",1', ",x"]
    lines = [json.loads(line) for line in (tmp_path / "given.jsonl").read_text().splitlines()]
    assert [list(line.items()) for line in lines] == [[(b, [1, 2]), (a, 1)], [(a, "x")]]
