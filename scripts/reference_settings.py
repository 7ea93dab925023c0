"""The reference page of the settings, from their definitions."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from meanings import Undocumented, code, sentence, table
from pydantic.fields import FieldInfo

from gossamer.compat.scrapy import hints
from gossamer.config.layers import PREFIX
from gossamer.config.section import BaseSettings
from gossamer.config.settings import Settings, find_field, section_groups, setting_fields

INTRO = """\
# Settings

You can set a setting in several places. The first of these that sets it wins:

1. the command line: `-s KEY=VALUE`, or an option such as `--delay`;
2. the environment: `GOSSAMER_HTTP__MAX_REDIRECTS=3` (two underscores between a section and its key);
3. the spider: `settings = {"http.max_redirects": 3}`, or a class attribute such as `delay = 1.0`;
4. the project's `gossamer.toml`, in the current folder or the nearest folder above it;
5. the default.

`gossamer settings --explain KEY` shows the source of a value. An unknown name is an error that suggests the
nearest name; a value of the wrong type is also an error.

Durations are in seconds, sizes in bytes. On the command line and in the environment, `none` means no value, a
switch is `true` or `false`, and lists and tables are JSON; a list with one entry needs no brackets."""
LONG = 48
"""Largest number of characters of a default in a table."""
WORDS = {bool: "switch", int: "whole number", float: "number", str: "text", tuple: "list", dict: "table"}


def settings_page() -> str:
    """Return the page of all settings with types, defaults, meanings and environment variables."""
    parts, long = [INTRO], []
    for section, title, names in _sections():
        rows = []
        for name in names:
            field = find_field(name)
            assert field is not None, name
            default, is_long = _default(field)
            if is_long:
                long.append((name, default))
            shown = f"[below](#long-defaults): {len(field.default)} entries" if is_long else default
            rows.append((_key(name), kind(field), shown, _meaning(name, field)))
        parts += [f"## {section}", title, table(("setting", "type", "default", "meaning"), rows)]
    if long:
        parts += ["## Long defaults", *(f"`{name}`: {default}" for name, default in long)]
    known = [(code(name.upper()), code(ours)) for name, ours in hints.SETTINGS.items()]
    advice = [(code(name.upper()), words) for name, words in hints.ADVICE.items()]
    parts += [
        "## Names of Scrapy",
        "Scrapy settings and their Gossamer counterparts.",
        table(("Scrapy", "Gossamer"), sorted(known)),
        "These settings, and those whose names begin with them (`HTTPCACHE_ENABLED`, ...), do not exist:",
        table(("Scrapy", "instead"), sorted(advice)),
    ]
    return "\n\n".join(parts)  # fmt: skip


def _sections() -> list[tuple[str, str, list[str]]]:
    """Return heading, text and settings of each section; settings without a section come first."""
    plain = [name for name in setting_fields() if "." not in name]
    found = [("The crawl", "Keys without a section.", plain)]
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings):
            title = (field.annotation.__doc__ or "").strip()
            if not title:
                raise Undocumented(f"the section {name} has no docstring")
            inner = [key for key in setting_fields() if key.startswith(f"{name}.")]
            found.append((f"[{name}]", title, inner))
    for name, section in section_groups().items():
        words = (section.__doc__ or "").strip()
        title = f"{words} NAME is yours to choose: lower-case letters, digits, `_`, `-`."
        found.append((f"[{name}.NAME]", title, [f"{name}.NAME.{key}" for key in section.model_fields]))
    return found


def _key(name: str) -> str:
    variable = PREFIX + name.replace(".", "__").upper()
    return f'<a id="{name}"></a>`{name}`<br><small>`{variable}`</small>'


def _meaning(name: str, field: FieldInfo) -> str:
    if not (field.description or "").strip():
        raise Undocumented(f"the setting {name} has no description")
    return sentence(field.description or "")


def _default(field: FieldInfo) -> tuple[str, bool]:
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "none", False
    if value in ("", (), {}):
        return "empty", False
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, tuple):
        text = ", ".join(map(str, value))
        return (", ".join(map(code, value)), True) if len(text) > LONG else (code(text), False)
    return code(text), False


def kind(field: FieldInfo) -> str:
    """Return the type of a setting in words, with its bounds."""
    words, bounds = _kinds(field.annotation)
    bounds += _bounds(field.metadata)
    return " or ".join(words) + (f", {', '.join(dict.fromkeys(bounds))}" if bounds else "")


def _kinds(annotation: Any) -> tuple[list[str], list[str]]:
    """Return the names of the types that an annotation allows, and their bounds."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        parts = [_kinds(part) for part in get_args(annotation) if part is not type(None)]
        words, bounds = [word for part in parts for word in part[0]], [b for part in parts for b in part[1]]
        return [*words, "none"], bounds
    if origin is Literal:
        return [code(choice) for choice in get_args(annotation)], []
    if hasattr(annotation, "__metadata__"):
        words, bounds = _kinds(annotation.__origin__)
        return words, bounds + _bounds(annotation.__metadata__)
    return [WORDS[origin or annotation]], []


def _bounds(metadata: Any) -> list[str]:
    """Return bounds in words, such as ``at least 0``."""
    found = []
    for constraint in metadata:
        if isinstance(constraint, FieldInfo):
            found += _bounds(constraint.metadata)
        for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
            if getattr(constraint, name, None) is not None:
                found.append(f"{words} {getattr(constraint, name):g}")
    return found
