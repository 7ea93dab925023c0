"""What commands print: JSON for programs, and the cells of tables for people (``tables.py``).

Results go to stdout, everything else to stderr. Text that comes from the web passes through :func:`plain`
before it reaches a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Mapping
from datetime import datetime
from typing import Any

from gossamer.observe.text import json_line, one_line, shown_url

plain = one_line
"""Text of strangers made harmless: one line, no control characters, bounded."""

plain_url = shown_url
"""The same for a URL, without its password."""

STATS_SHOWN = 20
"""Statistics of a spider that people see; there may be a hundred."""

LONG = 1000
"""Characters of one cell, at most."""


def print_json(value: Any) -> None:
    """One JSON value on one line of stdout. Control characters are escaped, so a terminal is safe too."""
    sys.stdout.write(f"{json_line(value)}\n")


async def print_json_rows(rows: AsyncIterable[Any]) -> None:
    """The same of an array, row by row: of any length, with the memory of one row."""
    opening = "["
    async for row in rows:
        sys.stdout.write(opening + json_line(row))
        opening = ","
    sys.stdout.write("[]\n" if opening == "[" else "]\n")


def local_time(at: float | None) -> str:
    """A time for people, in their time zone."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def local_short(at: float, *, seconds: bool = False) -> str:
    """The same where space is short: without the year, and to the minute unless seconds matter."""
    return datetime.fromtimestamp(at).astimezone().strftime("%m-%d %H:%M:%S" if seconds else "%m-%d %H:%M")


def stat_facts(stats: Mapping[str, float]) -> list[tuple[str, str]]:
    """What a spider has counted itself, a line each; ``--json`` has those that are too many here."""
    lines = [f"{plain(name)}: {value:,}" for name, value in [*stats.items()][:STATS_SHOWN]]
    if len(stats) > STATS_SHOWN:
        lines.append(f"... and {len(stats) - STATS_SHOWN} more")
    return [("stats" if place == 0 else "", line) for place, line in enumerate(lines)]
