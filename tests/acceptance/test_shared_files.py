"""Several crawls write to one file with `-o`: each item of each of them is there once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.environment import environment
from kit.programs import command, run

SPIDER = """
from gossamer import Request, Spider


class Numbers(Spider):
    name = "NAME"
    settings = {"delay": 0, "per_host": 8, "robots": False}

    async def start(self):
        for number in range(COUNT):
            yield Request(f"URL/?n={number}")

    def parse(self, response):
        yield {"of": self.name, "url": response.url}
"""

pytestmark = pytest.mark.slow


def write(folder: Path, name: str, count: int, url: str) -> str:
    text = SPIDER.replace("NAME", name).replace("COUNT", str(count)).replace("URL", url)
    (folder / f"{name}.py").write_text(text)
    return f"{name}.py"


def lines_of(path: Path) -> list[str]:
    return sorted(f"{item['of']} {item['url']}" for item in map(json.loads, path.read_text().splitlines()))


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_two_at_once_lose_nothing(suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"shared.{suffix}"
    with serve_in_thread(Shop(1)) as site:
        crawls = [
            subprocess.Popen(
                command("crawl", write(tmp_path, name, 60, site.url), "-q", "--data", name, "-o", out.name),
                cwd=tmp_path,
                env=environment(),
            )
            for name in ("one", "two", "three")
        ]
        assert [crawl.wait(60) for crawl in crawls] == [0, 0, 0]
    if suffix.endswith("gz"):
        plain = tmp_path / "shared.jsonl"
        plain.write_bytes(subprocess.run(["gzip", "-dc", out], stdout=subprocess.PIPE, check=True).stdout)
        out = plain
    found = lines_of(out)
    assert len(found) == len(set(found)) == 180


def test_a_crawl_that_goes_on_after_another_one_has_each_item_once(tmp_path: Path) -> None:
    """Bug it would catch: what the file has is known of its latest job alone."""
    out = tmp_path / "shared.jsonl"
    with serve_in_thread(Shop(1)) as site:
        first, other = write(tmp_path, "first", 40, site.url), write(tmp_path, "other", 5, site.url)
        for spider, more in ((first, ["--max-pages", "15"]), (other, []), (first, [])):
            said = run("crawl", spider, "-q", "-o", out.name, *more, cwd=tmp_path)
            assert said.returncode == 0, said.stderr
    found = lines_of(out)
    assert len(found) == len(set(found)) == 45
