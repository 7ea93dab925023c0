"""``spider.state``: values that a spider keeps between runs, in the folder ``JOBDIR``.

They are stored as JSON, never pickled. As in Scrapy they are written at the end of a run, so a kill loses
later changes.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.storage import NotStorableError, from_stored, to_stored
from gossamer.core.errors import UsageError
from gossamer.export.files import replace_file

log = logging.getLogger("gossamer.crawl")
FILE = "spider.state.json"


def read_state(crawler: AdaptedCrawler) -> None:
    """Give the spider its state, if a folder is set for it. Raises ``UsageError`` for a damaged file."""
    spider: Any = crawler.open_spider
    path = _path_of(crawler)
    if path is None:
        return
    spider.state = {}
    if path.is_file():
        try:
            state = from_stored(json.loads(path.read_bytes()))
        except (ValueError, NotStorableError, OSError) as error:
            raise UsageError(f"the state of the spider in {path} cannot be read: {error}") from error
        except (LookupError, TypeError, AttributeError) as error:  # JSON, and not as it was written
            raise _damaged(path) from error
        if not isinstance(state, dict):
            raise _damaged(path)
        spider.state = state


def _damaged(path: Path) -> UsageError:
    return UsageError(f"the state of the spider in {path} is damaged: repair the file, or remove it")


def write_state(crawler: AdaptedCrawler) -> None:
    """Write the state if a folder is set for it; report values that cannot be stored."""
    path, state = _path_of(crawler), getattr(crawler.spider, "state", None)
    if path is None or state is None or not crawler.keeps_state:
        return
    try:
        stored = to_stored(state)
    except NotStorableError as error:
        log.warning("the state of the spider holds a %s, which no file can hold: it is not kept", error)
        return
    with replace_file(path, keep=False) as (out, _):
        out.write(json.dumps(stored).encode())


def _path_of(crawler: AdaptedCrawler) -> Path | None:
    folder = crawler.settings["JOBDIR"]
    return Path(folder) / FILE if folder else None
