"""Settings of a job that may be changed while it runs, and its settings with the changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from gossamer.config.names import canonical_name, suggest_name
from gossamer.config.settings import Settings, find_field
from gossamer.core.errors import SettingError, UsageError
from gossamer.policy.patterns import compile_pattern


class FollowingKind(StrEnum):
    """The moment at which a running job applies a change."""

    LEASE = "lease"  # at once, and wherever it is worked on: by the next request
    LOOK = "look"  # within a second on one machine; on a fleet by the shifts that begin from then on


_BY_LEASE = (
    "delay", "random_delay", "min_delay", "max_delay", "per_host", "max_pages", "max_pages_per_host",
    "crawl_delay_cap", "retry_after_cap", "host_patience",
)  # fmt: skip
_BY_LOOK = (
    "concurrency", "max_depth", "max_time", "max_items", "max_errors", "max_retries", "retry_backoff",
    "retry_backoff_cap", "budgets.cost", "budgets.bytes", "budgets.browser_seconds",
)  # fmt: skip
LIVE_SETTINGS: Mapping[str, FollowingKind] = {
    **dict.fromkeys(_BY_LEASE, FollowingKind.LEASE),
    **dict.fromkeys(_BY_LOOK, FollowingKind.LOOK),
}
"""The settings that a running job follows, by their full names."""


START_SETTINGS = frozenset({
    *LIVE_SETTINGS, "include", "exclude", "deny_extensions", "follow_nofollow", "sort_query", "unescape",
    "keep_fragments", "drop_session_ids", "tracking_params", "contact",
})  # fmt: skip
"""Settings for a crawl that is started remotely: none names code, files or secrets."""


PATTERN_SETTINGS = ("include", "exclude")
MOST_PATTERNS, LONGEST_PATTERN = 50, 500
"""Limits for a crawl that is started remotely: expressions of a setting, characters of each."""


def check_startable_settings(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return settings by their full names. Raises ``SettingError`` for those not allowed remotely."""
    named = [(canonical_name(key), value) for key, value in given.items()]
    for key, value in named:
        if find_field(key) is None:
            raise SettingError(f"unknown setting {key!r}{suggest_name(key)}")
        if key not in START_SETTINGS:
            raise SettingError(
                f"{key} is not given to a crawl that is started here: set it in gossamer.toml, or start the "
                f"crawl at a terminal. Possible settings: {', '.join(sorted(START_SETTINGS))}"
            )
        if key in PATTERN_SETTINGS:
            _check_patterns(key, value)
    return named


def _check_patterns(key: str, value: Any) -> None:
    """Raise ``SettingError`` for expressions with which a remote user could hold up workers."""
    if not isinstance(value, list | tuple) or not all(isinstance(pattern, str) for pattern in value):
        raise SettingError(f'{key} is a list of regular expressions, as in ["/shop/"]')
    if len(value) > MOST_PATTERNS or any(len(pattern) > LONGEST_PATTERN for pattern in value):
        raise SettingError(
            f"{key} has at most {MOST_PATTERNS} regular expressions of {LONGEST_PATTERN} characters where a "
            "crawl is started here"
        )
    for pattern in value:
        try:
            is_linear = compile_pattern(pattern).is_linear
        except UsageError as error:
            raise SettingError(f"{key}: {error}") from None
        if not is_linear:
            raise SettingError(
                f"{key} has {pattern!r}, and a search for that may take any time: leave out look-around, "
                "back references, a + behind another repetition and sets within sets, or start this crawl at "
                "a terminal"
            )


def live_name(key: str) -> str:
    """Return the full name of a setting that a running job follows. Raises ``SettingError`` for others."""
    name = canonical_name(key)
    if find_field(name) is None:
        raise SettingError(f"unknown setting {key!r}{suggest_name(key)}")
    if name not in LIVE_SETTINGS:
        raise SettingError(
            f"{name} holds for a job from its beginning, and a running one does not follow it: end the job, "
            f"and begin another one with it. Settings that can be changed now: {', '.join(LIVE_SETTINGS)}"
        )
    return name


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings with other values, checked before, by their full names."""
    for name, value in changes.items():
        section, _, key = name.rpartition(".")
        inner = getattr(settings, section).model_copy(update={key: value}) if section else value
        settings = settings.model_copy(update={section or key: inner})
    return settings


def setting_value(settings: Settings, name: str) -> Any:
    """Return the value of a setting by its full name."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value
