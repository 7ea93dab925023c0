"""One spider file run by Scrapy, in a process of its own, and by Gossamer: what each gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kit.environment import environment
from kit.programs import run

RUNNER = """
import sys
from scrapy import Spider
from scrapy.cmdline import execute
from scrapy.utils.spider import iter_spider_classes
from scrapy.commands import runspider

load = runspider._import_file


def load_with_start(path):
    module = load(path)
    for kind in iter_spider_classes(module):
        if hasattr(kind, "start_requests") and "start" not in vars(kind):
            async def start(self):
                for request in self.start_requests():
                    yield request
            kind.start = start
    return module


runspider._import_file = load_with_start
execute(["scrapy", "runspider", *sys.argv[1:]])
"""
"""Scrapy's own ``runspider``, with the one thing that its newer versions have dropped."""
QUICK = ("-s", "DOWNLOAD_DELAY=0", "-s", "LOG_LEVEL=WARNING", "-s", "RETRY_TIMES=0")


def run_scrapy(file: Path, *options: str, url: str) -> list[dict[str, Any]]:
    """The items that Scrapy gives, in an order of their own."""
    out = file.with_name("scrapy.jsonl")
    said = crawl_with_scrapy(file, *options, "-O", out.name, url=url)
    assert out.is_file(), said
    return read_items(out)


def crawl_with_scrapy(file: Path, *options: str, url: str) -> str:
    """Run Scrapy, which writes the feeds of the spider's settings; its log."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, file.name, "-a", f"url={url}", *QUICK, *options],
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def run_gossamer(file: Path, *options: str, url: str) -> list[dict[str, Any]]:
    """The items that Gossamer gives, in the same order."""
    out = file.with_name("gossamer.jsonl")
    fast = ("--delay", "0", "--per-host", "8", "-s", "max_retries=0", "-s", "robots=false")
    done = run("crawl", file.name, "-a", f"url={url}", *fast, *options, "-O", out.name, cwd=file.parent)
    assert done.returncode == 0, done.stderr
    return read_items(out)


def read_items(file: Path) -> list[dict[str, Any]]:
    """Return the items of a JSON Lines file, sorted by content."""
    items = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
