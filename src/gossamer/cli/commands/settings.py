"""``gossamer settings``: every setting, its value and its source."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.layers import LoadedSettings, SettingExplanation, load_settings
from gossamer.config.overrides import to_overrides
from gossamer.targets.loading import load_target

EXAMPLES = """
  gossamer settings                           all of them, with the layer that set each
  gossamer settings --explain http.max_redirects
  gossamer settings --spider shop.py -s delay=2 --json
"""


def show_settings(
    *,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Show one setting in full: meaning, value, every layer.",
            autocompletion=completion.setting_keys,
        ),
    ] = None,
    spider: Annotated[
        str | None,
        typer.Option(
            metavar="SPIDER",
            help="Include the settings of this spider (name or FILE.py).",
            autocompletion=completion.complete_spiders,
        ),
    ] = None,
    data: Data = None,
    given: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the settings and which layer set each.

    Strongest first: the command line, the environment (GOSSAMER_HTTP__MAX_REDIRECTS), the spider,
    gossamer.toml, the defaults.
    """
    loaded = _load_with_spider(spider, data, given)
    if explain is not None:
        found = loaded.explain_setting(explain)
        if as_json:
            print_json(_setting_json(found, full=True))
        else:
            print_facts(_setting_facts(found))
        return
    every = [loaded.explain_setting(key) for key in loaded.setting_names()]
    if as_json:
        print_json([_setting_json(found) for found in every])
        return
    print_table(
        ("setting", "layer", "value"),
        ((found.key, found.layer, _format_value(found.value)) for found in every),
        wide="value",
    )


def _load_with_spider(spider: str | None, data: str | None, given: list[str] | None) -> LoadedSettings:
    overrides = to_overrides(given, data=data)
    if spider is not None:
        return load_target(spider, {}, overrides).loaded
    return load_settings(overrides=overrides, env=os.environ, start=Path.cwd())


def _setting_facts(found: SettingExplanation) -> list[tuple[str, str]]:
    facts = [
        ("setting", found.key),
        ("meaning", found.description),
        ("value", _format_value(found.value)),
        ("set by", found.layer if found.layer == found.source else f"{found.layer} ({found.source})"),
        ("default", _format_value(found.default)),
    ]
    return facts + [
        ("overridden", f"{_format_value(value)} ({source})") for source, value in found.overridden
    ]


def _format_value(value: Any) -> str:
    """Return a value as it is written after ``KEY=``."""
    if value is None:
        return "none"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _setting_json(found: SettingExplanation, *, full: bool = False) -> dict[str, Any]:
    brief = {"key": found.key, "value": found.value, "layer": found.layer, "source": found.source}
    if not full:
        return brief
    return {
        **brief,
        "default": found.default,
        "description": found.description,
        "overridden": [{"source": source, "value": value} for source, value in found.overridden],
    }


COMMANDS = (("settings", show_settings, EXAMPLES),)
