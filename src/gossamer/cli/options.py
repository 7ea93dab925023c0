"""Options that several commands share, and what they mean."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli import completion
from gossamer.words.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config import Settings

Data = Annotated[
    str | None, typer.Option("--data", metavar="DIR", help="The data directory [default: .gossamer].")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--set",
        metavar="KEY=VALUE",
        help="A setting; can be given several times.",
        autocompletion=completion.settings,
    ),
]
Argument = Annotated[
    list[str] | None, typer.Option("-a", metavar="ARG=VALUE", help="An argument of the spider.")
]
MaxPages = Annotated[int | None, typer.Option(metavar="N", help="Stop after N pages.")]
MaxDepth = Annotated[int | None, typer.Option(metavar="N", help="Follow links N hops from a seed.")]
MaxTime = Annotated[str | None, typer.Option(metavar="TIME", help="Stop after 90s, 15m, 2h ...")]
Delay = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Between two requests to a host [default: follows the host]."),
]
PerHost = Annotated[int | None, typer.Option(metavar="N", help="Requests at once to one host.")]
TargetText = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A URL, a spider's name, or FILE.py[:Class].",
        autocompletion=completion.spiders,
    ),
]
NoRobots = Annotated[bool, typer.Option("--no-robots", help="Ignore robots.txt (your own sites).")]
PageSpider = Annotated[
    str | None,
    typer.Option(
        metavar="SPIDER",
        help="A spider's name or FILE.py, instead of the URL's.",
        autocompletion=completion.spiders,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="A job's id, or its name for the latest.", autocompletion=completion.jobs
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="jsonl, json, csv or xml, whatever the suffix.",
        autocompletion=completion.words(of=completion.formats),
    ),
]

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")


def seconds(text: str, option: str) -> float:
    """``90``, ``90s``, ``15m``, ``2h``, ``3d``, ``1w`` and ``1h30m`` as seconds."""
    compact = text.strip().lower().replace(" ", "")
    parts = _DURATION.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise UsageError(f"{option} {text!r} is no duration; write seconds, or 90s, 15m, 2h, 3d")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def overrides(settings: list[str] | None, **given: object) -> list[str]:
    """``-s`` options and options with names of their own as ``KEY=VALUE``; ``None`` was not given."""
    named = [f"{key}={value}" for key, value in given.items() if value is not None]
    return [*(settings or ()), *named]


def crawl_overrides(
    settings: list[str] | None, *, max_time: str | None, no_robots: bool, **given: object
) -> list[str]:
    """The options that say how to crawl, as ``KEY=VALUE``."""
    return overrides(
        settings,
        max_time=None if max_time is None else seconds(max_time, "--max-time"),
        robots="false" if no_robots else None,
        **given,
    )


def settings_of(data: str | None, settings: list[str] | None = None) -> Settings:
    """The settings for commands that look at a data directory."""
    from gossamer.config import load_settings

    loaded = load_settings(overrides=overrides(settings, data=data), env=os.environ, start=Path.cwd())
    return loaded.settings


def arguments_of(pairs: list[str] | None) -> dict[str, str]:
    """``-a KEY=VALUE`` options as a spider's arguments."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"-a {pair!r} is not of the form ARG=VALUE")
        found[key] = value
    return found
