"""Pages that are made for a spider have what its source looks for, and follow from their URLs."""

import json
import re
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest
from parsel import Selector

from kit.side_by_side.items import find_chance, tell_difference
from kit.side_by_side.pages import Flavour, flavours_for
from kit.side_by_side.projects import ProjectEntry, check_out, find_repository, read_list
from kit.side_by_side.reading import read_needs
from kit.side_by_side.site import MadeSite
from kit.side_by_side.texts import sample_pattern

LIST = Path(__file__).parents[3] / "scripts" / "scrapy_projects.toml"
SPIDER = dedent("""
    import json, re
    from datetime import datetime
    import scrapy
    from scrapy.linkextractors import LinkExtractor

    ROW = "//table[@id='prices']//tr[position()>1]"

    class Shop(scrapy.Spider):
        name = "shop"
        start_urls = ["https://shop.example/list"]
        extractor = LinkExtractor(allow=r"/item/\\d+\\.html$")

        def parse(self, response):
            for block in response.css("div.box > ul#all li.one"):
                yield {
                    "name": block.css("h2::text").get().strip(),
                    "price": float(block.xpath(".//span[contains(@class, 'price')]/text()").get()),
                    "day": datetime.strptime(block.css("time::text").get(), "%d.%m.%Y"),
                    "code": block.css("i::text").re_first(r"No\\. (\\d{3})"),
                    "half": block.xpath("p/text()").get().split("/")[1],
                }
            for row in response.xpath(ROW):
                yield from self.read_row(row)
            yield response.follow(response.xpath('//a[text()="Next"]/@href').get(), self.parse_detail)

        def read_row(self, row):
            yield {"first": row.xpath("./td[1]/text()").get(), "third": row.xpath("./td[3]/b/text()").get()}

        def parse_detail(self, response):
            data = json.loads(response.text)
            for entry in data["result"]["entries"]:
                yield {"id": int(entry["id"]), "title": entry.get("title")}
""")


@pytest.fixture(scope="module")
def needs():
    return read_needs([SPIDER])


@pytest.fixture(scope="module")
def page(needs):
    answer = MadeSite(needs, Flavour())("https://shop.example/list", {}, b"")
    assert answer.content_type.startswith("text/html")
    return Selector(answer.body.decode())


def test_what_stands_in_a_block_is_in_each_block(page):
    blocks = page.css("div.box > ul#all li.one")
    assert len(blocks) == 3
    for block in blocks:
        assert block.css("h2::text").get().strip()
        assert float(block.xpath(".//span[contains(@class, 'price')]/text()").get()) > 0
        assert re.fullmatch(r"\d\d\.\d\d\.20\d\d", block.css("time::text").get())
        assert block.css("i::text").re_first(r"No\. (\d{3})")
        assert block.xpath("p/text()").get().split("/")[1]
    assert len({block.css("h2::text").get() for block in blocks}) == 3


def test_what_a_function_is_handed_is_followed_into_it(page):
    rows = page.xpath("//table[@id='prices']//tr[position()>1]")
    assert rows
    assert all(row.xpath("./td[1]/text()").get() and row.xpath("./td[3]/b/text()").get() for row in rows)


def test_links_have_the_shapes_that_are_allowed_and_come_to_an_end(needs):
    site = MadeSite(needs, Flavour())
    level, seen = ["https://shop.example/list"], set()
    for _ in range(6):
        found = set()
        for url in level:
            answer = Selector(site(url, {}, b"").body.decode())
            found |= {link for link in answer.css("a::attr(href)").getall() if link != "/end"}
        assert not found & seen, "a page is linked from one page only"
        seen |= found
        level = [f"https://shop.example{link}" for link in found]
    assert level == []
    assert len(seen) < 100
    assert any(re.search(r"/item/\d+\.html$", link) for link in seen)


def test_json_has_the_keys_that_are_looked_up(needs):
    answer = MadeSite(needs, Flavour(shape="json"))("https://shop.example/more", {}, b"")
    entries = json.loads(answer.body)["result"]["entries"]
    assert len(entries) == 3
    assert all(int(entry["id"]) and entry["title"] for entry in entries)
    assert {flavour.shape for flavour in flavours_for(needs)} == {"auto", "json", "json-first", "json-later"}


def test_a_page_follows_from_its_url(needs):
    first, second = MadeSite(needs, Flavour()), MadeSite(needs, Flavour())
    assert first("https://a.example/1", {}, b"") == second("https://a.example/1", {}, b"")
    assert first("https://a.example/1", {}, b"") != first("https://a.example/2", {}, b"")
    assert b"No more" in first("https://a.example/list?page=7", {}, b"").body


@pytest.mark.parametrize(
    "pattern",
    [r"/item/\d+\.html$", r"id=([^&]+)", r"/(news|blog)/\d{4}/[a-z-]+", r"(?i)page-(\d+)/?$", r"a.*b"],
)
def test_a_sample_of_a_pattern_matches_it(pattern):
    assert re.search(pattern, sample_pattern(pattern, 1234567))


def test_items_are_compared_without_regard_to_order_and_chance():
    one, two = {"a": 1, "at": "10:00"}, {"a": 2.0, "at": "10:01"}
    assert tell_difference([one, two], [{"a": 2, "at": "10:01"}, one]) == ""
    assert "not as often" in tell_difference([one, one], [one])
    assert "fields: at" in tell_difference([one], [{"a": 1, "at": "11:00"}])
    chance = find_chance([one], [{"a": 1, "at": "11:00"}])
    assert chance == {"at"}
    assert tell_difference([one], [{"a": 1, "at": "11:00"}], chance) == ""
    numbered = (
        [{"name": "a", "place": 0}, {"name": "b", "place": 1}],
        [{"name": "b", "place": 0}, {"name": "a", "place": 1}],
    )
    assert len(find_chance(*numbered)) == 1, "the order of the crawl is in it"
    assert find_chance([one, two], [two, one]) == set()


def test_the_list_names_projects_and_whole_commits():
    entries = read_list(LIST)
    assert len(entries) >= 60
    assert len({entry.name for entry in entries}) == len(entries)
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.name)
        assert re.fullmatch(r"[0-9a-f]{40}", entry.commit)
    allowed = {"name", "commit", "roots", "spiders"}
    assert all(set(row) <= allowed for row in tomllib.loads(LIST.read_text())["project"])


def test_a_project_is_checked_out_at_its_commit(tmp_path):
    import subprocess

    clone = tmp_path / "clones" / "owner+name"
    clone.mkdir(parents=True)
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (clone / "spiders").mkdir()
    (clone / "spiders" / "one.py").write_text("name = 'one'\n")
    (clone / "picture.png").write_bytes(b"\x89")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "first"], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    entry = ProjectEntry("owner/name", commit)
    folder = check_out(entry, find_repository(tmp_path / "clones", entry), tmp_path / "out")
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["one.py"]
    assert find_repository(tmp_path / "clones", ProjectEntry("nobody/nothing", commit)) is None
