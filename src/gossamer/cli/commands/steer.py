"""``gossamer set`` and ``host``: what is changed of a crawl while it runs."""

from __future__ import annotations

import getpass
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.config.live import FollowingKind
from gossamer.config.option import read_option
from gossamer.config.overrides import parse_seconds
from gossamer.core.errors import UsageError
from gossamer.core.hosts import HostCommand, HostOrder
from gossamer.jobs.hosts import ChangedHost, steer_host
from gossamer.jobs.limits import SettingReport, change_settings, put_back
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.targets.launch import to_text
from gossamer.wiring.backends import Backends

SET_EXAMPLES = """
  gossamer set shop delay=2 per_host=4     running workers follow at once
  gossamer set shop max_pages=none         no budget of pages any more
  gossamer set shop delay --back           as the crawl was begun
"""
HOST_EXAMPLES = """
  gossamer host shop shop.example --delay 5     a pace of its own, slower or faster
  gossamer host shop shop.example --delay none  the pace of the job again
  gossamer host shop shop.example --hold 2h     leave it alone for two hours
  gossamer host shop shop.example --ask         end that, and any pause of its own
  gossamer host shop shop.example --skip        nothing more of it; --take ends that
"""

Pairs = Annotated[
    list[str],
    typer.Argument(metavar="KEY=VALUE...", help="Settings.", autocompletion=completion.complete_settings),
]
Back = Annotated[
    bool,
    typer.Option("--back", help="Give the settings (KEY...) the values again that the crawl began with."),
]
HostName = Annotated[str, typer.Argument(metavar="HOST", help="HOST or HOST:PORT.")]
_FOLLOWS = {
    FollowingKind.LEASE: "with the next request",
    FollowingKind.LOOK: "within a second; on a fleet within a minute",
}


def set_settings(
    name: JobName,
    pairs: Pairs,
    *,
    back: Back = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Change settings of a crawl while it runs.

    Running workers follow. What was changed outlives a pause and a resume; a later `gossamer crawl` that
    gives the same setting another value ends it.
    """

    async def work(backends: Backends) -> tuple[SettingReport, ...]:
        job = await find_job(backends, name)
        if back:
            return await put_back(backends, job, pairs, getpass.getuser())
        return await change_settings(backends, job, list(map(read_option, pairs)), getpass.getuser())

    changed = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(changed))
        return
    print_table(
        ("setting", "before", "now", "workers follow"),
        ((c.key, to_text(c.before), to_text(c.after), _FOLLOWS[c.follows]) for c in changed),
    )


# --------------------------------------------------------------------------- hosts


def change_host(
    name: JobName,
    host: HostName,
    *,
    delay: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="Its own delay; none: that of the job again.")
    ] = None,
    hold: Annotated[
        str | None, typer.Option(metavar="TIME", help="Ask it nothing for 90s, 15m, 2h ...")
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="End a hold; ask it as soon as its delay allows.")
    ] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Fetch nothing more of it.")] = False,
    take: Annotated[bool, typer.Option("--take", help="Fetch what was skipped.")] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Change how one host of a crawl is asked, while it runs.

    A delay of robots.txt, and what a host that throttles asks for, hold whatever is said here. The requests
    of a host that is skipped stay where they are.
    """
    orders = _orders_of(delay, hold, ask=ask, skip=skip, take=take)

    async def work(backends: Backends) -> ChangedHost:
        job = await find_job(backends, name)
        for order in orders:
            changed = await steer_host(backends, job, host.lower(), order)
        return changed

    changed = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(changed))
    else:
        typer.echo(changed.text)


def _orders_of(
    delay: str | None, hold: str | None, *, ask: bool, skip: bool, take: bool
) -> Sequence[HostOrder]:
    orders: list[Any] = []
    if delay is not None:
        seconds = None if delay == "none" else parse_seconds(delay, "--delay")
        orders.append(HostOrder(command=HostCommand.PACE, delay_s=seconds))
    if hold is not None:
        until = time.time() + parse_seconds(hold, "--hold")
        orders.append(HostOrder(command=HostCommand.HOLD, until=until))
    wanted = ((ask, HostCommand.ASK), (skip, HostCommand.SKIP), (take, HostCommand.TAKE))
    orders += [HostOrder(command=command) for is_wanted, command in wanted if is_wanted]
    if not orders:
        raise UsageError("say what is to change: --delay, --hold, --ask, --skip or --take")
    if (hold is not None and ask) or (skip and take):
        raise UsageError("--hold and --ask, and --skip and --take, exclude each other")
    return orders


COMMANDS = (("set", set_settings, SET_EXAMPLES), ("host", change_host, HOST_EXAMPLES))
