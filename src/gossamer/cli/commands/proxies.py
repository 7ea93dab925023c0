"""``gossamer proxies``: the health of proxies, and a test of each."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import local_short, print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.text import format_count
from gossamer.crawl.proxy_check import ProxyCheck, check_proxies
from gossamer.queries.documents import to_document
from gossamer.queries.proxies import ProxyStatus, list_proxies
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer proxies                              shows their health
  gossamer proxies --json
  gossamer proxies test https://ip.example/     tries each of them once
  gossamer proxies test -s proxies.file=new.txt
"""
HOSTS_SHOWN = 3
NAMES_SHOWN = 10
COLUMNS = (
    *("proxy", "provider", "kind", "country", "ok", "refused", "failed", "ms"),
    *("rested", "rests until", "not for"),
)


def show_proxies(
    action: Annotated[
        str | None, typer.Argument(metavar="test", help="`test` fetches a page through each of them.")
    ] = None,
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="The page; by default proxies.test_url.")
    ] = None,
    *,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the health of proxies, and test them.

    With `test`, each is tried once. The exit code is 1 if any of them does not work, or gives another page
    than most of the others.
    """
    settled = settings_of(data, settings)
    if not settled.proxies.are_there:
        raise UsageError("the settings list no proxies: set proxies.urls or proxies.file")
    if action is None:
        _print_status(settled, as_json=as_json)
    elif action == "test":
        _run_test(settled, url, as_json=as_json)
    else:
        raise UsageError(f"{action!r} is not an action; `gossamer proxies test URL` is")


def _print_status(settings: Settings, *, as_json: bool) -> None:
    async def work(backends: Backends) -> list[ProxyStatus]:
        return await list_proxies(settings, backends)

    found = run_with_backends(settings, work)
    if as_json:
        print_json(to_document(found))
        return
    print_table(
        COLUMNS,
        (
            (
                one.name,
                one.provider,
                one.kind,
                one.country,
                one.answers,
                one.blocks,
                one.failures,
                f"{one.latency_s * 1000:,.0f}",
                one.quarantines,
                "" if one.quarantined_until is None else local_short(one.quarantined_until, seconds=True),
                _hosts_cell(one),
            )
            for one in found
        ),
        right=("ok", "refused", "failed", "ms", "rested"),
        wide="proxy",
    )


def _hosts_cell(status: ProxyStatus) -> str:
    hosts = [blocked.host for blocked in status.blocked_hosts]
    more = len(hosts) - HOSTS_SHOWN
    return " ".join(hosts[:HOSTS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _run_test(settings: Settings, url: str | None, *, as_json: bool) -> None:
    found = asyncio.run(check_proxies(settings, url, _tell_progress))
    if as_json:
        print_json(to_document(found))
    else:
        _print_checks(found)
        _print_differences(found)
    raise typer.Exit(0 if all(one.works and one.differs is False for one in found) else 1)


def _tell_progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done:,} of {count:,} proxies tried" + ("\n" if done == count else ""))
        sys.stderr.flush()


def _print_checks(found: list[ProxyCheck]) -> None:
    print_table(
        ("proxy", "provider", "kind", "works", "status", "ms", "address", "error"),
        (
            (
                one.name,
                one.provider,
                one.kind,
                ("differs" if one.differs else "yes") if one.works else "no",
                one.status or "-",
                f"{one.elapsed_ms:,.0f}" if one.status else "-",
                one.address,
                one.error,
            )
            for one in found
        ),
        right=("status", "ms"),
        wide="error",
    )


def _print_differences(found: list[ProxyCheck]) -> None:
    """Print the proxies that give another page than the others."""
    different = [one.name for one in found if one.differs]
    if any(one.differs is None for one in found):
        print_message("the proxies give different pages, none of which most of them give: try another URL")
    elif different:
        shown = ", ".join(different[:NAMES_SHOWN]) + (" and others" if len(different) > NAMES_SHOWN else "")
        gives = "gives" if len(different) == 1 else "give"
        count = format_count(len(different), "proxy", "proxies")
        print_message(f"{count} of {len(found):,} {gives} another page than most of the others: {shown}")


COMMANDS = (("proxies", show_proxies, EXAMPLES),)
