"""Where a crawl's items go: to stdout, into files that grow, and not to places that cannot be written."""

import csv
import json

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SPIDER = """
from gossamer import Spider

class Two(Spider):
    name = "two"
    fields = "a"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield {name: name for name in self.fields.split()}
"""


@pytest.fixture(scope="module")
def site():
    with serve_in_thread(lambda path, headers: SiteResponse()) as served:
        yield served


@pytest.fixture
def here(tmp_path, site):
    (tmp_path / "two.py").write_text(SPIDER.replace("{url}", site.url))
    return tmp_path


@pytest.mark.parametrize("option", ["-o", "-O"])
def test_items_go_to_stdout_and_everything_else_to_stderr(here, option):
    done = gossamer(f"crawl two.py {option} -", *FAST, cwd=here)
    assert done.stdout == '{"a":"a"}\n'
    assert "1 item to stdout" in done.stderr
    done = gossamer(f"crawl two.py --fresh {option} - --format csv", *FAST, cwd=here)
    assert done.stdout == "a\na\n"  # as text; the file has CR LF
    assert not (here / "-").exists()
    assert gossamer("export two -o -", cwd=here).stdout == '{"a":"a"}\n'
    both = gossamer(f"crawl two.py {option} - --json", *FAST, cwd=here, code=2)
    assert "cannot both go to stdout" in both.stderr
    assert "name a file" in gossamer("crawl two.py --format csv", *FAST, cwd=here, code=2).stderr


def test_a_bucket_that_cannot_be_used_is_told_before_the_first_page(here, site, s3_url, monkeypatch):
    """Else a crawl of a day ends without its file."""
    before = len(site.hits)
    done = gossamer("crawl two.py -O s3://no-such-bucket/{date}/x.jsonl", *FAST, cwd=here, code=4)
    assert "s3://no-such-bucket: there is no such bucket" in done.stderr
    gossamer(f"crawl two.py -O {s3_url}/x.jsonl", *FAST, cwd=here)
    assert len(site.hits) > before
    before = len(site.hits)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    done = gossamer(f"crawl two.py --fresh -O {s3_url}/x.jsonl", *FAST, cwd=here, code=4)
    assert "there are no keys for it; set AWS_ACCESS_KEY_ID" in done.stderr
    assert len(site.hits) == before


def test_names_with_placeholders_in_a_bucket(here, s3_url):
    """A bug it would catch: the name is checked before its placeholders are filled in."""
    gossamer(f"crawl two.py -O {s3_url}/{{spider}}-{{date}}.csv", *FAST, cwd=here)
    done = gossamer(f"export two -o {s3_url}/{{job}}-{{n}}.jsonl --split 1", cwd=here)
    assert done.stderr == f"1 item to {s3_url}/two-1-0001.jsonl\n"


@pytest.mark.parametrize("command", ["crawl two.py -O", "crawl two.py -o", "export two -o"])
def test_places_that_are_no_files_are_refused_before_anything_happens(here, site, command):
    before = len(site.hits)
    done = gossamer(f"{command} gs://bucket/items.csv", cwd=here, code=2)
    assert "not to gs:// places" in done.stderr
    assert len(site.hits) == before
    assert sorted(path.name for path in here.iterdir()) == ["two.py"]


def test_a_new_field_becomes_a_column_and_no_item_is_lost(here):
    gossamer("crawl two.py -o items.csv", *FAST, cwd=here)
    gossamer("crawl two.py -a fields='b a' -o items.csv", *FAST, cwd=here)
    with (here / "items.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "a", "b": ""}, {"a": "a", "b": "b"}]


def test_a_file_that_cannot_be_continued_is_refused_before_the_crawl(here, site):
    (here / "items.csv").write_text("a;b\n1;2\n")
    before = len(site.hits)
    done = gossamer("crawl two.py -o items.csv", *FAST, cwd=here, code=2)
    assert "not separated by commas" in done.stderr
    assert len(site.hits) == before


def test_a_file_that_is_spoilt_meanwhile_loses_nothing(here, monkeypatch):
    """It is said which command exports the items, and the other files are written."""
    import gossamer.export.json as module
    from gossamer.core.errors import UsageError

    def refuse(*_):
        raise UsageError("items.json was changed")

    monkeypatch.setattr(module, "JsonWriter", refuse)
    done = gossamer("crawl two.py -o items.json -o items.jsonl", *FAST, cwd=here, code=2)
    assert "items.json was changed; the items are stored, `gossamer export two-1 -o FILE`" in done.stderr
    assert json.loads((here / "items.jsonl").read_text()) == {"a": "a"}


KEYED = """
from gossamer import Item, Spider, key

class Product(Item):
    sku: str = key()
    price: int

class Prices(Spider):
    name = "prices"
    price: int
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        yield Product(sku="a", price=self.price)
        yield Product(sku="b", price=7)
"""


@pytest.mark.parametrize("place", ["a file", "servers"])
def test_an_old_jobs_export_keeps_the_values_that_job_saw(here, site, place, request):
    """Whatever later crawls find; an item whose value is the same is one item all the time."""
    env = {}
    if place == "servers":
        env["GOSSAMER_FRONTIER__URL"] = request.getfixturevalue("redis_url")
        env["GOSSAMER_STORE__URL"] = request.getfixturevalue("postgres_url")
    (here / "prices.py").write_text(KEYED.replace("{url}", site.url))
    for price in (1, 2, 1, 3):
        gossamer(f"crawl prices.py -q --fresh -a price={price}", *FAST, cwd=here, env=env)
    exported = []
    for number in (1, 2, 3, 4):
        rows = asked(f"export prices-{number}", cwd=here, env=env)
        exported.append([(row["sku"], row["price"]) for row in rows])
    assert exported == [[("a", price), ("b", 7)] for price in (1, 2, 1, 3)]
