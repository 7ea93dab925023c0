"""The options of a command line, as settings."""

from __future__ import annotations

import re
from datetime import datetime

from gossamer.config.option import SettingOption, read_option
from gossamer.core.errors import UsageError

_SECTIONED = {
    "archive": "archive.on",
    "cache": "cache.on",
    "metrics_port": "metrics.port",
}
"""Options for settings in sections."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")


def parse_seconds(text: str, option: str) -> float:
    """Parse ``90``, ``90s``, ``15m``, ``2h``, ``3d``, ``1w`` or ``1h30m`` as seconds."""
    compact = text.strip().lower().replace(" ", "")
    parts = _DURATION.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise UsageError(f"{option} {text!r} is not a duration; write seconds, or 90s, 15m, 2h, 3d")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def parse_time(text: str, option: str, now: float) -> float:
    """A time as seconds since the epoch: ``2026-11-23``, ``2026-11-23T14:30``, or ``3d``: so long ago.

    Without a time zone it is that of this machine. Raises ``UsageError`` for anything else.
    """
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        return now - parse_seconds(text, option)
    except UsageError:
        raise UsageError(
            f"{option} {text!r} is not a time; write 2026-11-23, 2026-11-23T14:30, 2026-11-23T14:30Z, or "
            "2h, 3d for so long ago"
        ) from None


def to_overrides(settings: list[str] | None, **given: object) -> list[SettingOption]:
    """``-s`` options, and options that are named like the setting that they give; ``None`` was not given.

    Raises ``SettingError`` for an ``-s`` option that is not of the form ``KEY=VALUE``.
    """
    named = [
        SettingOption(_SECTIONED.get(key, key), value, f"--{key.replace('_', '-')}")
        for key, value in given.items()
        if value is not None
    ]
    return [*map(read_option, settings or ()), *named]


def page_overrides(settings: list[str] | None, *, no_robots: bool, **given: object) -> list[SettingOption]:
    """Return the same with ``--no-robots``."""
    refused = [SettingOption("robots", False, "--no-robots")] if no_robots else []
    return [*to_overrides(settings, **given), *refused]


def crawl_overrides(
    settings: list[str] | None,
    *,
    max_time: str | None,
    no_robots: bool,
    recrawl: bool = False,
    **given: object,
) -> list[SettingOption]:
    """Return the options of a crawl; ``-s freshness.recrawl=all`` has priority over ``--recrawl``."""
    given["max_time"] = None if max_time is None else parse_seconds(max_time, "--max-time")
    due = [SettingOption("freshness.recrawl", "due", "--recrawl")] if recrawl else []
    return [*due, *page_overrides(settings, no_robots=no_robots, **given)]


def arguments_of(pairs: list[str] | None) -> dict[str, str]:
    """Return ``-a KEY=VALUE`` options as a spider's arguments."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"-a {pair!r} is not of the form ARG=VALUE")
        found[key] = value
    return found


def job_key_of(text: str) -> bytes:
    """Return ``--key`` as the key of a job; empty if not given."""
    if text and not re.fullmatch("[0-9a-f]{32}", text):
        raise UsageError(f"--key {text!r} is not a key: it has 32 hexadecimal digits")
    return bytes.fromhex(text)
