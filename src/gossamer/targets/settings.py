"""The settings that a spider brings along."""

from __future__ import annotations

from typing import Any

from gossamer.config.settings import setting_fields
from gossamer.spiders.spider import Spider


def spider_settings(spider: Spider) -> dict[str, Any]:
    """A spider's own settings: its ``settings``, and class attributes named like a setting."""
    own = {
        name: getattr(spider, name)
        for name in setting_fields()
        if "." not in name and not hasattr(Spider, name) and not callable(getattr(spider, name, callable))
    }
    if spider.fetch and isinstance(spider.fetch, str):
        own["fetch"] = spider.fetch
    return {**own, **spider.settings}
