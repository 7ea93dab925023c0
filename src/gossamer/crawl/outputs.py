"""The outputs of a crawl of one machine, loaded when the settings name any."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from gossamer.config.settings import Settings
from gossamer.wiring.backends import Backends

log = logging.getLogger("gossamer.crawl")


class CrawlOutputs:
    """Writes the items of a crawl to its outputs, beside it. Raises ``SettingError`` for an unfit one."""

    def __init__(self, settings: Settings, backends: Backends) -> None:
        self._runner: Any = None
        if settings.outputs and settings.replay.job is None:  # a replay's results must be promoted first
            room = import_module("gossamer.wiring.outputs")
            self._runner = room.open_outputs(settings, backends.keeping)

    async def start(self) -> None:
        """Begin to write; the rest of earlier crawls is written as well."""
        if self._runner is not None:
            await self._runner.start()

    async def end(self) -> None:
        """Write the rest, as long as the outputs are waited for."""
        if self._runner is not None:
            for name in await self._runner.end():
                log.warning(
                    "the output %s has not got all items; the rest is written by the next crawl, or by "
                    "`gossamer outputs write`",
                    name,
                )

    def abandon(self) -> None:
        """Wait no longer."""
        if self._runner is not None:
            self._runner.abandon()
