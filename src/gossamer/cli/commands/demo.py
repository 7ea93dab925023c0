"""``gossamer demo``: crawl the built-in shop on loopback."""

from __future__ import annotations

from typing import Annotated

import typer

from gossamer.cli.options import AsJson, Data
from gossamer.cli.terminal.demonstration import crawl_demo

EXAMPLES = """
  gossamer demo
  gossamer demo --products 2000 --data /tmp/demo
"""


def run_demo(
    products: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="N", help="Products in the shop.")
    ] = 200,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Crawl a small shop on this machine.

    The shop is served on loopback, so no network is needed; it takes a few seconds. The results go to
    the data directory `.gossamer/demo`, apart from your own crawls.
    """
    raise typer.Exit(crawl_demo(products, data or ".gossamer/demo", as_json=as_json))


COMMANDS = (("demo", run_demo, EXAMPLES),)
