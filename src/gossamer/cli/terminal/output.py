"""The output of commands: JSON for programs, and the cells of tables for people (``tables.py``).

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
"""Return untrusted text made harmless: one bounded line without control characters."""

plain_url = shown_url
"""Return a URL made harmless, without its password."""

STATS_SHOWN = 20
"""Maximum counters of a spider that people see; there may be a hundred."""

LONG = 1000
"""Maximum characters of one cell."""


def print_json(value: Any) -> None:
    """Print one JSON value on one line. Control characters are escaped, so a terminal is safe."""
    sys.stdout.write(f"{json_line(value)}\n")


async def print_json_rows(rows: AsyncIterable[Any]) -> None:
    """Print a JSON array of any length row by row, with the memory of one row."""
    opening = "["
    async for row in rows:
        sys.stdout.write(opening + json_line(row))
        opening = ","
    sys.stdout.write("[]\n" if opening == "[" else "]\n")


def local_time(at: float | None) -> str:
    """Return a time for people, in their time zone."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def local_short(at: float, *, seconds: bool = False) -> str:
    """Return a shorter time: without the year, and to the minute unless seconds matter."""
    return datetime.fromtimestamp(at).astimezone().strftime("%m-%d %H:%M:%S" if seconds else "%m-%d %H:%M")


def stat_facts(stats: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return a spider's own counters, a line each; ``--json`` has all, also when these are too many."""
    lines = [f"{plain(name)}: {value:,}" for name, value in [*stats.items()][:STATS_SHOWN]]
    if len(stats) > STATS_SHOWN:
        lines.append(f"... and {len(stats) - STATS_SHOWN} more")
    return [("stats" if place == 0 else "", line) for place, line in enumerate(lines)]
