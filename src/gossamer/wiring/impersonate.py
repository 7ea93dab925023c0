"""Opens the way to fetch that looks like a browser, by the settings."""

from __future__ import annotations

import logging

from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.fetch.impersonate.profiles import find_profile
from gossamer.ports.fetcher import Fetcher
from gossamer.wiring.fetchers import FetchParts, http_options_of

log = logging.getLogger("gossamer.crawl")


def open_impersonate(parts: FetchParts) -> Fetcher:
    """Open the fetcher of ``impersonate``. Raises ``SettingError`` for an unknown profile."""
    settings = parts.settings
    wanted = settings.impersonate
    platform = wanted.platform or ""
    _check_profile("impersonate.profile", wanted.profile, platform)
    for profile in settings.sessions.profiles:
        _check_profile("sessions.profiles", profile, platform)
    fetcher = ImpersonatingFetcher(
        http_options_of(parts),
        clock=parts.clock,
        profile=wanted.profile,
        platform=platform,
        accept_language=wanted.accept_language,
        guard=parts.guard,
        cookies=parts.cookies,
    )
    if settings.user_agent != _usual_user_agent(settings):
        log.warning(
            "user_agent = %r is not sent by the rung 'impersonate': it would not fit the browser %s",
            settings.user_agent,
            fetcher.profile,
        )
    return fetcher


def _check_profile(key: str, profile: str, platform: str) -> None:
    try:
        find_profile(profile, platform)
    except SettingError as error:
        raise SettingError(f"{key} = {profile!r}: {error}") from None


def _usual_user_agent(settings: Settings) -> str:
    return Settings.model_validate({"contact": settings.contact}).user_agent
