"""The engines that selectors of HTML can work on, by their names in the settings."""

from __future__ import annotations

from importlib import import_module

from gossamer.core.errors import UsageError
from gossamer.parse.html_engine import HTML
from gossamer.ports.selector_engine import SelectorEngine


def engine_named(name: str) -> SelectorEngine:
    """Return the engine ``turbohtml`` or ``lxml``, loaded on first use. Raises ``UsageError``."""
    if name == "turbohtml":
        return HTML
    if name != "lxml":
        raise UsageError(f"unknown engine {name!r} for selectors; known are turbohtml and lxml")
    engine: SelectorEngine = import_module("gossamer.parse.lxml_html").LXML_HTML
    return engine
