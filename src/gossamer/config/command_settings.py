"""The settings of commands that only read. A separate module: the help of options needs no pydantic."""

from __future__ import annotations

import os
from pathlib import Path

from gossamer.config.layers import PREFIX, load_settings
from gossamer.config.names import canonical_name
from gossamer.config.overrides import to_overrides
from gossamer.config.settings import Settings


def settings_of(data: str | None, settings: list[str] | None = None, **given: object) -> Settings:
    """Return the settings for commands that read a data directory; ``given`` are their other options."""
    overrides = to_overrides(settings, data=data, **given)
    loaded = load_settings(overrides=overrides, env=os.environ, start=Path.cwd())
    return loaded.settings


def split_settings(settings: list[str] | None) -> tuple[dict[str, str], list[str]]:
    """Split ``-s`` options for child processes: into environment variables, and remaining options.

    Command lines are visible to anyone who can list processes, and a setting may hold a password. An empty
    variable would count as not set, so a setting with an empty value stays an option.
    """
    given = {canonical_name(option.key): str(option.value) for option in to_overrides(settings)}
    variables = {f"{PREFIX}{key.replace('.', '__').upper()}": value for key, value in given.items() if value}
    return variables, [f"{key}=" for key, value in given.items() if not value]
