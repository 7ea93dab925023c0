"""Opens the way to fetch that looks like a browser, by the settings."""

from __future__ import annotations

import logging

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.ports.fetcher import Fetcher
from gossamer.wiring.fetchers import FetchParts, http_options_of

log = logging.getLogger("gossamer.crawl")


def open_impersonate(parts: FetchParts) -> Fetcher:
    """The fetcher of ``impersonate``. Raises ``SettingError`` for a profile that does not exist."""
    settings = parts.settings
    wanted = settings.impersonate
    try:
        fetcher = ImpersonatingFetcher(
            http_options_of(parts),
            clock=parts.clock,
            profile=wanted.profile,
            platform=wanted.platform or "",
            accept_language=wanted.accept_language,
            guard=parts.guard,
            cookies=parts.cookies,
        )
    except SettingError as error:
        raise SettingError(f"impersonate.profile = {wanted.profile!r}: {error}") from None
    if settings.user_agent != _usual_user_agent(settings):
        log.warning(
            "user_agent = %r is not sent by the rung 'impersonate': it would not fit the browser %s",
            settings.user_agent,
            fetcher.profile,
        )
    return fetcher


def _usual_user_agent(settings: Settings) -> str:
    return Settings.model_validate({"contact": settings.contact}).user_agent
