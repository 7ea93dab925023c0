"""The way to fetch `browser`, by the settings."""

from __future__ import annotations

import os

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.fetch.browser.limits import BrowserOptions
from gossamer.fetch.browser.task import TaskOptions
from gossamer.ports.fetcher import Fetcher
from gossamer.wiring.fetchers import FetchParts


def browser_options_of(settings: Settings) -> BrowserOptions:
    """Return the limits and habits of the browser, without credentials."""
    browser, http = settings.browser, settings.http
    width, height = browser.viewport.split("x")
    is_sandboxed = os.geteuid() != 0 if browser.sandbox is None else browser.sandbox
    return BrowserOptions(
        kind=browser.kind,
        executable=browser.executable or "",
        connect=browser.connect,
        is_stealthy=browser.stealth,
        is_sandboxed=is_sandboxed,
        user_agent=settings.user_agent,
        is_open=browser.profile == "honest" and not browser.stealth,
        headers=http.headers,
        says_referer=http.referer,
        insecure_hosts=frozenset(http.insecure_hosts),
        tabs=browser.pages,
        timeout_s=browser.timeout,
        connect_s=http.connect_timeout,
        max_pages=browser.max_pages,
        max_age_s=browser.max_age,
        max_body_bytes=http.max_size_bytes,
        max_memory_bytes=browser.max_memory_mb * 1024 * 1024,
        blocked=frozenset(browser.block),
        is_flattened=browser.flatten,
        locale=browser.locale,
        timezone=browser.timezone or "",
        viewport=(int(width), int(height)),
        device=browser.device,
        geolocation=_place_of(browser.geolocation),
        storage_state=browser.storage_state,
    )


def _place_of(text: str) -> tuple[float, float] | None:
    latitude, _, longitude = text.partition(",")
    return (float(latitude), float(longitude)) if text else None


def open_browser(parts: FetchParts) -> Fetcher:
    """Open the fetcher. Raises ``MissingServiceError`` for a missing package or browser."""
    options = replace(browser_options_of(parts.settings), authorizations=dict(parts.authorizations))
    return BrowserFetcher(
        options,
        clock=parts.clock,
        guard=parts.guard,
        cookies=parts.cookies,
        guide=parts.guide,
        tasks=_task_options_of(parts.settings),
    )


def _task_options_of(settings: Settings) -> TaskOptions:
    browser = settings.browser
    return TaskOptions(
        screenshots=browser.screenshots,
        human=browser.human,
        consent=None if browser.consent == "leave" else browser.consent,
        max_capture_bytes=browser.max_capture_bytes,
    )
