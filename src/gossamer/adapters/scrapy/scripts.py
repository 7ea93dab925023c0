"""Read files that start Scrapy themselves, without crawling; their crawls are recorded.

A file that ends with ``process.crawl(MySpider)`` and ``process.start()``, or with ``cmdline.execute(...)``,
is imported like any other. Its arguments to ``CrawlerProcess`` (settings, arguments of the spider) apply.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

from scrapy import Spider, cmdline, crawler
from scrapy.settings import BaseSettings
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.defer import Deferred, succeed


class ScriptedCrawl(NamedTuple):
    """A crawl that a file would have started."""

    spider: type[Spider] | str
    settings: BaseSettings
    arguments: Mapping[str, Any]


SETTINGS_VARIABLE = "SCRAPY_SETTINGS_MODULE"
"""The environment variable that names the settings of a project."""
_NAME = "__scripted_crawls__"
"""The attribute of a module that holds its crawls, so that they vanish with it."""


def find_crawls(module: ModuleType | None) -> list[ScriptedCrawl]:
    """Return the crawls that a module recorded when it was read."""
    found: list[ScriptedCrawl] = getattr(module, _NAME, [])
    return found


def find_crawl(spider_class: type[Spider]) -> ScriptedCrawl | None:
    """Return the crawl of a spider that its own file would have started, or ``None``."""
    crawls = find_crawls(sys.modules.get(spider_class.__module__))
    return next((crawl for crawl in crawls if crawl.spider is spider_class), None)


@contextmanager
def hold_crawls() -> Iterator[None]:
    """Let nothing be started by Scrapy meanwhile, and no file name the settings of the next one's project."""
    named = os.environ.get(SETTINGS_VARIABLE)
    held: tuple[tuple[Any, str, Any], ...] = (
        (crawler.CrawlerRunner, "crawl", _note_runner),
        (crawler.AsyncCrawlerRunner, "crawl", _note_runner),
        (crawler.CrawlerProcess, "start", _ignore),
        (crawler.AsyncCrawlerProcess, "start", _ignore),
        (crawler.CrawlerProcessBase, "__init__", _prepare_process),
        (cmdline, "execute", _note_command),
        (AsyncioSelectorReactor, "run", _ignore),
        (AsyncioSelectorReactor, "stop", _ignore),
    )
    former = [(place, name, getattr(place, name)) for place, name, _ in held]
    for place, name, value in held:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in former:
            setattr(place, name, value)
        if named is None:  # `get_project_settings()` sets it
            os.environ.pop(SETTINGS_VARIABLE, None)


def _prepare_process(
    process: crawler.CrawlerProcessBase, settings: Any = None, install_root_handler: bool | None = None
) -> None:
    """Initialise the process like a runner, without a log."""
    crawler.CrawlerRunnerBase.__init__(process, settings)
    process._initialized_reactor = True  # type: ignore[attr-defined]


def _note_runner(
    runner: crawler.CrawlerRunnerBase, crawler_or_spidercls: Any, *args: Any, **kwargs: Any
) -> Deferred[None]:
    given = crawler_or_spidercls
    if isinstance(given, crawler.Crawler):
        _note(ScriptedCrawl(given.spidercls, given.settings, kwargs))
    else:
        _note(ScriptedCrawl(given, runner.settings, kwargs))
    return succeed(None)


def _note_command(argv: Sequence[str] | None = None, settings: BaseSettings | None = None) -> None:
    """Note ``scrapy crawl NAME -a KEY=VALUE``; other commands start no crawl."""
    words = [str(word) for word in argv or ()]
    if words[1:2] == ["crawl"] and len(words) > 2:
        given = [value for option, value in pairwise(words) if option == "-a" and "=" in value]
        arguments = dict(value.split("=", 1) for value in given)
        _note(ScriptedCrawl(words[2], settings or BaseSettings(), arguments))


def _note(crawl: ScriptedCrawl) -> None:
    sys._getframe(2).f_globals.setdefault(_NAME, []).append(crawl)


def _ignore(*args: Any, **kwargs: Any) -> None:
    return None
