"""``gossamer dashboard``: crawls in a browser, and the HTTP API."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Data, Set
from gossamer.cli.terminal.process_log import write_log
from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption
from gossamer.config.overrides import to_overrides

EXAMPLES = """
  gossamer dashboard                         at http://127.0.0.1:8787, for this machine
  gossamer dashboard --data /srv/crawl --port 9000
  gossamer token create ann --role operate && gossamer dashboard --host 0.0.0.0
"""


def start_dashboard(
    *,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Listen here [default: 127.0.0.1].")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Listen at this port [default: 8787].")
    ] = None,
    data: Data = None,
    settings: Set = None,
) -> None:
    """Show the crawls in a browser, and serve the HTTP API.

    Runs until stopped (SIGTERM or Ctrl-C). It reads the data directory, or Redis and PostgreSQL if the
    settings name them; crawls do not depend on it. On this machine no token is needed until the first one is
    made; at another address the dashboard starts only if a token exists.
    """
    given = {"dashboard.host": (host, "--host"), "dashboard.port": (port, "--port")}
    options = [SettingOption(key, value, name) for key, (value, name) in given.items() if value is not None]
    overrides = [*to_overrides(settings, data=data), *options]
    loaded = load_settings(overrides=overrides, env=os.environ, start=Path.cwd())
    import_module("gossamer.web.packages")  # raises the error that names the missing package
    serving = import_module("gossamer.web.serving")
    with write_log(loaded.settings):
        serving.run_dashboard(loaded)


COMMANDS = (("dashboard", start_dashboard, EXAMPLES),)
