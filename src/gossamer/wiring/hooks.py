"""The hooks of a crawl, by its spiders and settings; their code is imported where there are any."""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.config.settings import Settings
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.targets.discovery import CrawlTarget

if TYPE_CHECKING:
    from gossamer.callbacks.hooks import SpiderHooks


async def open_hooks(
    settings: Settings, target: CrawlTarget, clock: Clock, opening: AsyncExitStack
) -> SpiderHooks | None:
    """Open the hooks of the target's spiders, those of its own spider at once; ``None`` without any.

    Raises ``UsageError``.
    """
    if not target.has_hooks and not settings.hooks:
        return None
    room = import_module("gossamer.callbacks.hooks")
    hooks: SpiderHooks = room.SpiderHooks(
        target.choose, clock, names=settings.hooks, timeout_s=settings.parse.callback_timeout
    )
    opening.push_async_callback(hooks.close)
    await hooks.open_hooks(target.spider)
    return hooks


def with_request_hooks(fetcher: Fetcher, hooks: SpiderHooks | None) -> Fetcher:
    """Return a fetcher that applies the hooks of requests; without a network they do not apply."""
    if hooks is None or not fetcher.touches_network:
        return fetcher
    made: Fetcher = import_module("gossamer.fetch.hooked").RequestHookFetcher(fetcher, hooks)
    return made


def with_response_hooks(fetcher: Fetcher, hooks: SpiderHooks | None) -> Fetcher:
    """Return a fetcher that passes all responses, also of archives, to the hooks first."""
    if hooks is None:
        return fetcher
    made: Fetcher = import_module("gossamer.fetch.hooked").ResponseHookFetcher(fetcher, hooks)
    return made
