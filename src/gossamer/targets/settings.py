"""The settings that a spider brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.config.settings import setting_fields
from gossamer.core.errors import UsageError
from gossamer.spiders.spider import Spider


def spider_settings(spider: Spider) -> dict[str, Any]:
    """A spider's own settings: its ``settings``, and class attributes named like a setting.

    Raises ``UsageError``.
    """
    own = {
        name: getattr(spider, name)
        for name in setting_fields()
        if "." not in name and not hasattr(Spider, name) and not callable(getattr(spider, name, callable))
    }
    if spider.fetch and isinstance(spider.fetch, str):
        own["fetch"] = spider.fetch
    if not isinstance(spider.settings, Mapping):
        raise UsageError(
            f"settings of the spider {spider.name!r} is a {type(spider.settings).__name__}, and has to be a "
            'dict: settings = {"delay": 1.0}'
        )
    return {**own, **spider.settings}
