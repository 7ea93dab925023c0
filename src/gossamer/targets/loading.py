"""A target with its settings: found in the project, and put together from all layers, in one step."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer.config.layers import LoadedSettings, find_project, load_settings
from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.record import Record
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget, find_target
from gossamer.targets.plan import unshared_note
from gossamer.targets.settings import spider_settings
from gossamer.targets.slips import find_slips
from gossamer.targets.unused_results import find_unused_results

log = logging.getLogger("gossamer.crawl")


class LoadedTarget(Record, frozen=True):
    """The target of a crawl, with its settings."""

    target: CrawlTarget
    loaded: LoadedSettings

    @property
    def settings(self) -> Settings:
        """The settings of the crawl."""
        return self.loaded.settings


def load_target(
    target: str | type[Spider],
    arguments: Mapping[str, str],
    overrides: Mapping[str, Any] | Sequence[SettingOption] = (),
    *,
    env: Mapping[str, str] | None = None,
    start: Path | None = None,
) -> LoadedTarget:
    """Find a target and settle its settings.

    ``overrides`` are settings of the strongest layer, ``env`` is this process's environment unless another
    one is given, ``start`` the folder from which the project is searched upwards (the current one).
    Raises ``UsageError`` and ``SettingError``.
    """
    start = start or Path.cwd()
    env = os.environ if env is None else env
    given = _list_options(overrides)

    def read_options() -> Mapping[str, Any]:
        """Return the options for Scrapy's spiders: those in capitals, and the setting ``scrapy``."""
        nonlocal given
        foreign = {option.key: option.value for option in given if option.key.isupper()}
        given = [option for option in given if not option.key.isupper()]
        said = load_settings(overrides=given, env=env, start=start).settings.scrapy | foreign
        if foreign:
            given.append(SettingOption("scrapy", said, "-s NAME"))
        return said

    found = find_target(target, arguments, find_project(start), read_options)
    loaded = load_settings(overrides=given, env=env, spider=spider_settings(found.spider), start=start)
    if loaded.settings.processes > 1 and (why := found.spider.find_binding()):
        log.warning("the spider %r is crawled with one process: %s", found.name, why)
        loaded = replace(loaded, settings=loaded.settings.model_copy(update={"processes": 1}))
    if loaded.settings.processes > 1 and found.spider.unshared_settings:
        log.warning("%s", unshared_note(found.spider.unshared_settings))
    for slip in (*find_slips(type(found.spider)), *find_unused_results(type(found.spider))):
        log.warning("%s", slip)
    return LoadedTarget(found, loaded)


def _list_options(overrides: Mapping[str, Any] | Sequence[SettingOption]) -> list[SettingOption]:
    if not isinstance(overrides, Mapping):
        return list(overrides)
    return [SettingOption(key, value, f"the argument {key}") for key, value in overrides.items()]
