"""The settings of commands that look at what is there; apart from options, whose help needs no pydantic."""

from __future__ import annotations

import os
from pathlib import Path

from gossamer.config.layers import load_settings
from gossamer.config.overrides import to_overrides
from gossamer.config.settings import Settings


def settings_of(data: str | None, settings: list[str] | None = None, **given: object) -> Settings:
    """The settings for commands that look at a data directory; ``given`` are options of their own."""
    overrides = to_overrides(settings, data=data, **given)
    loaded = load_settings(overrides=overrides, env=os.environ, start=Path.cwd())
    return loaded.settings
