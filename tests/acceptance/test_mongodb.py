"""A crawl into MongoDB, and what people then do with it."""

import csv
import json

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SPIDER = """
from gossamer import Spider

class Pages(Spider):
    name = "pages"
    start_urls = ["{url}/0"]
    allowed_domains = ["127.0.0.1"]
    price = 1

    def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        yield {"number": number, "price.net": number * 1.5 + int(self.price), "wide": 2**70}
        if number < 19:
            yield response.follow(f"/{number + 1}")
"""
PASSWORD = "s3cret-of-ann"


@pytest.fixture
def site():
    with serve_in_thread(lambda path, headers: SiteResponse()) as served:
        yield served


@pytest.mark.long
def test_a_crawl_is_kept_and_exported(tmp_path, site, mongo_url):
    """A bug it would catch: fields that are no names to MongoDB come back changed, or not at all."""
    (tmp_path / "pages.py").write_text(SPIDER.replace("{url}", site.url))
    env = {"GOSSAMER_STORE__URL": mongo_url}
    done = gossamer("crawl pages.py -o pages.jsonl", *FAST, cwd=tmp_path, env=env)
    assert "20 items to" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert rows == [{"number": n, "price.net": n * 1.5 + 1, "wide": 2**70} for n in range(20)]
    gossamer("crawl pages.py --fresh -a price=2", *FAST, cwd=tmp_path, env=env)
    for job, price in (("pages-1", 1), ("pages-2", 2)):
        gossamer(f"export {job} -o {job}.csv", cwd=tmp_path, env=env)
        found = list(csv.DictReader((tmp_path / f"{job}.csv").read_text().splitlines()))
        assert [float(row["price.net"]) for row in found] == [n * 1.5 + price for n in range(20)]
    status = asked("status pages-1", cwd=tmp_path, env=env)
    assert (status["pages"], status["items"], status["attempts"]) == (20, 20, 20)
    attempts = asked("attempts pages-1", cwd=tmp_path, env=env)
    assert {row["status"] for row in attempts} == {200}
    told = gossamer(f"explain {site.url}/7", cwd=tmp_path, env=env).stdout
    assert "200" in told


@pytest.mark.long
def test_a_server_that_is_away_is_named_without_its_password(tmp_path, site):
    (tmp_path / "pages.py").write_text(SPIDER.replace("{url}", site.url))
    url = f"mongodb://ann:{PASSWORD}@127.0.0.1:1/crawls?serverSelectionTimeoutMS=1"
    done = gossamer("crawl pages.py", *FAST, cwd=tmp_path, env={"GOSSAMER_STORE__URL": url}, code=4)
    assert "MongoDB at mongodb://127.0.0.1:1/crawls: cannot be reached" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert not site.hits
