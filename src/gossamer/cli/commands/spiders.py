"""``gossamer list``: the available spiders, and the arguments that each takes."""

from __future__ import annotations

import inspect
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.completion import complete_spiders
from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.layers import find_project
from gossamer.spiders.spider import Spider
from gossamer.targets.arguments import ArgumentRules, accepted_arguments
from gossamer.targets.discovery import discover_spiders, one_or_more, spiders_in

EXAMPLES = """
  gossamer list                    the spiders of the project and of installed packages
  gossamer list shop.py            those of a file, with their arguments
  gossamer list shop --json
"""


def list_spiders(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="SPIDER",
            help="Only this spider (a name, FILE.py[:Class], or FILE.toml).",
            autocompletion=complete_spiders,
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the spiders and the arguments they take.

    Arguments are given with -a NAME=VALUE; the type is the annotation of the attribute of that name in the
    spider's class. A spider without annotations takes what its source mentions, as text.
    """
    with redirect_stdout(sys.stderr):  # what files print when they are imported
        found = [(spider, accepted_arguments(spider)) for spider in _find_spiders(target)]
    if as_json:
        print_json([_spider_json(spider, takes) for spider, takes in found])
        return
    print_table(
        ("spider", "domains", "argument", "type", "default"),
        (row for spider, takes in found for row in _argument_rows(spider, takes)),
        wide="domains",
    )


def _find_spiders(target: str | None) -> list[type[Spider]]:
    project = find_project(Path.cwd())
    if target is not None:
        return spiders_in(target, project)
    found = discover_spiders(project)
    for message in found.broken:
        print_message(message)
    if not found.spiders and project is None:
        print_message(
            "no gossamer.toml here or in a folder above, so no project was searched: "
            "`gossamer list FILE.py` lists the spiders of a file, `gossamer new DIR` makes a project"
        )
    elif not found.spiders:
        print_message("the project has no spiders yet: `gossamer genspider NAME DOMAIN` writes one")
    return [spider for _, spider in sorted(found.spiders.items())]


def _argument_rows(spider: type[Spider], takes: ArgumentRules) -> list[tuple[str, ...]]:
    """Return a row for each argument; the first row has the values that they share."""
    rows = [
        (
            argument.name,
            argument.type,
            "(required)" if argument.required else _format_default(argument.shown_default),
        )
        for argument in takes.arguments.values()
    ]
    if takes.others:
        rows.append(("any other" if rows else "any", "str", ""))
    first, *more = rows or [("none", "", "")]
    name, domains = spider.name or spider.__name__, ", ".join(one_or_more(spider.allowed_domains))
    return [(name, domains, *first), *(("", "", *row) for row in more)]


def _format_default(default: Any) -> str:
    """Return a default as it would be typed."""
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, list | tuple | set | frozenset):
        return ",".join(map(str, default))
    return str(getattr(default, "value", default))


def _spider_json(spider: type[Spider], takes: ArgumentRules) -> dict[str, Any]:
    return {
        "spider": spider.name,
        "class": spider.__qualname__,
        "module": spider.__module__,
        "file": str(getattr(spider, "source_file", None) or inspect.getsourcefile(spider)),
        "description": (spider.__doc__ or "").strip().partition("\n")[0],
        "allowed_domains": list(one_or_more(spider.allowed_domains)),
        "arguments": [
            {
                "name": argument.name,
                "type": argument.type,
                "required": argument.required,
                "default": _default_json(argument.shown_default),
            }
            for argument in takes.arguments.values()
        ],
        "other_arguments": takes.others,
    }


def _default_json(default: Any) -> Any:
    """Return a default for JSON; as text if JSON has no form for it."""
    if isinstance(default, set | frozenset):
        return sorted(map(str, default))
    return getattr(default, "value", default)


COMMANDS = (("list", list_spiders, EXAMPLES),)
