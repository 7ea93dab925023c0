"""The comparison of public projects works: a project of our own, with pages made for its spiders."""

import subprocess
import sys
from pathlib import Path

import pytest

from kit import scrapy_examples
from kit.side_by_side.comparison import CANNOT, DIFFERS, EQUAL, Comparer
from kit.side_by_side.runs import SpiderEntry

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROJECT = Path(scrapy_examples.__file__).parent


@pytest.mark.long
def test_spiders_give_equal_items_on_pages_that_are_made_for_them(tmp_path):
    comparer = Comparer(tmp_path / "kept")
    spiders = {spider.name: spider for spider in comparer.find_spiders(PROJECT)}
    assert {"by-follow", "by-rules", "scroll", "old"} <= set(spiders)
    for name in ("by-follow", "old"):
        found = comparer.compare_spider("ours", spiders[name])
        assert found.outcome == EQUAL, found
        assert found.scrapy_items == found.gossamer_items >= 3
        assert found.by_requests is (name == "old")


@pytest.mark.long
def test_a_difference_and_what_scrapy_cannot_start_are_told(tmp_path):
    project = tmp_path / "project"
    (project / "own" / "spiders").mkdir(parents=True)
    (project / "scrapy.cfg").write_text("[settings]\ndefault = own.settings\n")
    (project / "own" / "settings.py").write_text('SPIDER_MODULES = ["own.spiders"]\n')
    (project / "own" / "spiders" / "odd.py").write_text(
        "import sys, scrapy\n"
        "class Odd(scrapy.Spider):\n"
        "    name = 'odd'\n"
        "    start_urls = ['http://odd.example/']\n"
        "    def parse(self, response):\n"
        "        yield {'title': response.css('h1::text').get(), 'by': 'gossamer' in sys.modules}\n"
    )
    (project / "own" / "spiders" / "older.py").write_text(
        "from scrapy.spider import BaseSpider\nimport nothing_here.x as y\nprint 1\n"
    )
    comparer = Comparer()
    odd, older = comparer.find_spiders(project)
    found = comparer.compare_spider("ours", odd)
    assert (found.outcome, found.scrapy_items, found.gossamer_items) == (DIFFERS, 1, 1)
    assert "fields: by" in found.why
    refused = comparer.compare_spider("ours", older)
    assert refused.outcome == CANNOT
    assert "SyntaxError" in refused.why


def test_the_script_says_which_project_is_missing_and_writes_its_report(tmp_path):
    listed = tmp_path / "list.toml"
    listed.write_text(f'[[project]]\nname = "nobody/nothing"\ncommit = "{"0" * 40}"\n')
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "scripts/compare_scrapy.py"),
            "--list",
            str(listed),
            "--cache",
            str(tmp_path / "c"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nobody/nothing: not among the clones" in done.stderr
    assert (tmp_path / "c" / "report.json").exists()
    assert SpiderEntry(tmp_path, Path(), "x").name == "x"
