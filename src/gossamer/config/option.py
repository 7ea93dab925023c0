"""A setting as an option of a command line."""

from __future__ import annotations

from typing import Any, NamedTuple

from gossamer.core.errors import SettingError


class SettingOption(NamedTuple):
    """``-s delay=2``, whose value is text, or ``--delay 2``, whose value has its type already."""

    key: str
    value: Any
    name: str  # as it was typed, for people: ``-s delay``, ``--delay``


def read_option(text: str) -> SettingOption:
    """Parse the value of ``-s``. Raises ``SettingError`` if it is not ``KEY=VALUE``."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise SettingError(f"-s {text!r} is not of the form KEY=VALUE")
    return SettingOption(key, value, f"-s {key}")
