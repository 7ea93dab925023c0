"""The settings of commands that look at what is there; apart from options, whose help needs no pydantic."""

from __future__ import annotations

import os
from pathlib import Path

from gossamer.config.layers import PREFIX, load_settings
from gossamer.config.names import canonical_name
from gossamer.config.overrides import to_overrides
from gossamer.config.settings import Settings


def settings_of(data: str | None, settings: list[str] | None = None, **given: object) -> Settings:
    """The settings for commands that look at a data directory; ``given`` are options of their own."""
    overrides = to_overrides(settings, data=data, **given)
    loaded = load_settings(overrides=overrides, env=os.environ, start=Path.cwd())
    return loaded.settings


def split_settings(settings: list[str] | None) -> tuple[dict[str, str], list[str]]:
    """``-s`` options for processes of one's own: as environment variables, and what has to stay an option.

    Whoever may list processes reads their command lines, and a setting may hold a password. An empty
    variable would count as not set, so what is set to nothing stays an option.
    """
    given = {canonical_name(option.key): str(option.value) for option in to_overrides(settings)}
    variables = {f"{PREFIX}{key.replace('.', '__').upper()}": value for key, value in given.items() if value}
    return variables, [f"{key}=" for key, value in given.items() if not value]
