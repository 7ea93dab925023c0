"""The question to a spider whether it wants the crawl to end."""

from __future__ import annotations

import inspect
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.runtime.user_code import traceback_text
from gossamer.spiders.spider import Spider


def ask_for_end(spider: Spider) -> str:
    """Return a spider's reason to end the crawl. Raises ``UsageError`` for an invalid answer."""
    try:
        why: Any = spider.find_end()
    except Exception as error:
        told = traceback_text(error, __file__)
        raise UsageError(f"in find_end() of the spider {spider.name}:\n{told}") from error
    if isinstance(why, str):
        return why
    if inspect.iscoroutine(why):
        why.close()
        raise UsageError(
            f"find_end() of the spider {spider.name} is a plain function: write it without async"
        )
    raise UsageError(f"find_end() of the spider {spider.name} returned {why!r}: it says why in a text, or ''")
