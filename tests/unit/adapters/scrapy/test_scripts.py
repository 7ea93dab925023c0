"""Files that start Scrapy themselves: nothing is crawled while one is read; what it would crawl counts."""

import sys

import pytest
import twisted.internet
from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from gossamer.core.errors import UsageError
from gossamer.targets.spider_files import class_in_file, spiders_in_file


@pytest.fixture(autouse=True)
def reactor(monkeypatch):
    """A reactor that has no loop: whatever would run it fails."""
    unmade = AsyncioSelectorReactor.__new__(AsyncioSelectorReactor)
    monkeypatch.setitem(sys.modules, "twisted.internet.reactor", unmade)
    monkeypatch.setattr(twisted.internet, "reactor", unmade, raising=False)


SPIDERS = """
import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess, CrawlerRunner

class Silk(scrapy.Spider):
    name = "silk"
    start_urls = ["http://shop.example/"]

class Wool(scrapy.Spider):
    def __init__(self, color="red", **kwargs):
        super().__init__(name=f"wool-{color}", **kwargs)
"""
PROCESS = """
process = {kind}({{"USER_AGENT": "made/1.0", "OWN": 3}})
process.crawl(Wool, color="blue")
process.start()
"""
REACTOR = """
from twisted.internet import defer, reactor

runner = CrawlerRunner(settings={"OWN": 3, "USER_AGENT": "made/1.0"})

@defer.inlineCallbacks
def crawl():
    yield runner.crawl(Wool, color="blue")
    reactor.stop()

crawl()
reactor.run()
"""
ENDINGS = [
    PROCESS.format(kind="CrawlerProcess"),
    PROCESS.format(kind="AsyncCrawlerProcess"),
    REACTOR,
    "crawler = CrawlerProcess({'OWN': 3, 'USER_AGENT': 'made/1.0'}).create_crawler(Wool)\n"
    "CrawlerRunner().crawl(crawler, color='blue').addBoth(print)",
]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_starts_a_crawl_gives_its_spider_with_settings_and_arguments(ending, tmp_path):
    file = tmp_path / "shop.py"
    file.write_text(SPIDERS + ending)
    found = class_in_file(file, None)
    spider = found()
    assert spider.name == "wool-blue"
    assert spider.adapted.settings.getint("OWN") == 3
    assert spider.settings["user_agent"] == "made/1.0"
    assert found(color="green").name == "wool-green"
    assert class_in_file(file, "Silk")().name == "silk"


def test_a_file_that_starts_nothing_gives_its_own_spiders(tmp_path):
    file = tmp_path / "plain.py"
    file.write_text(
        SPIDERS + "if __name__ == '__main__':" + PROCESS.format(kind="CrawlerProcess").replace("\n", "\n    ")
    )
    assert [one.name for one in spiders_in_file(file)] == ["silk"]


STARTERS = [
    "from scrapy import cmdline\ncmdline.execute('scrapy crawl silk -a color=blue'.split())",
    "from scrapy.cmdline import execute\nexecute(['scrapy', 'crawl', 'silk', '-a', 'color=blue'])",
    "from scrapy.crawler import CrawlerProcess\nfrom scrapy.utils.project import get_project_settings\n"
    "process = CrawlerProcess(get_project_settings())\nprocess.crawl('silk', color='blue')\nprocess.start()",
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = started_shop.settings\n")
    package = tmp_path / "started_shop"
    (package / "spiders").mkdir(parents=True)
    (package / "settings.py").write_text("SPIDER_MODULES = ['started_shop.spiders']\nOWN = 4\n")
    (package / "spiders" / "__init__.py").write_text("")
    (package / "spiders" / "silk.py").write_text(SPIDERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", STARTERS)
def test_a_script_of_a_project_gives_the_spider_that_it_names(text, project):
    (project / "run.py").write_text(text)
    spider = class_in_file(project / "run.py", None)()
    assert (spider.name, spider.adapted.color, spider.adapted.settings.getint("OWN")) == ("silk", "blue", 4)


def test_the_project_is_that_of_the_current_folder_where_another_lies_within(project):
    inner = project / "started_shop"
    (inner / "scrapy.cfg").write_text("[settings]\ndefault = nowhere.settings\n")
    spider = class_in_file(inner / "spiders" / "silk.py", "Silk")()
    assert spider.adapted.settings.getint("OWN") == 4


def test_a_script_that_names_no_spider_of_the_project_is_refused(project):
    (project / "run.py").write_text(STARTERS[0].replace("silk", "linen"))
    with pytest.raises(UsageError, match="'linen': no spider has this name"):
        class_in_file(project / "run.py", None)
