"""``from gossamer import crawl`` can be called whatever was imported before it."""

import subprocess
import sys

import pytest

SPIDER = """
class None_(Spider):
    name = "none"
    start_urls = []

    async def start(self):
        return
        yield

print(asyncio.run(crawl(None_, data=sys.argv[1])).finish_reason)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "from gossamer import Spider, crawl",
        "from gossamer import CrawlResult, Spider, crawl",
        "import gossamer.crawl.run\nfrom gossamer import Spider, crawl",
        "import gossamer\nfrom gossamer import Spider\ncrawl = gossamer.crawl",
    ],
)
def test_it_crawls(tmp_path, imports):
    code = f"import asyncio, sys\n{imports}\n{SPIDER}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("finished\n", 0), done.stderr
