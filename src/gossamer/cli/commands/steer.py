"""``gossamer set`` and ``host``: change a crawl while it runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.acting import act, loaded_of
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.live import LIVE_SETTINGS, FollowingKind, live_name
from gossamer.config.overrides import parse_seconds
from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import UsageError
from gossamer.jobs.hosts import SteeredHost, read_host
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
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings; with --back, only their keys.",
        autocompletion=completion.complete_settings,
    ),
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

    Running workers follow. A change outlives a pause and a resume; it ends when a later `gossamer crawl`
    gives the same setting another value.
    """

    loaded, kind = loaded_of(data, settings), "back" if back else "limits"
    given = [_read_pair(pair) for pair in pairs] if not back else [(key, None) for key in pairs]
    names = {live_name(key): value for key, value in given}

    async def work(backends: Backends) -> LoggedAction:
        job = await find_job(backends, name)
        return await act(backends, loaded, ActionOrder(kind=kind, by="", job=job.id, given=names))

    done = run_with_backends(loaded.settings, work)
    before, after = done.before["settings"], done.after["settings"]
    if as_json:
        print_json([{"key": key, "before": before[key], "after": after[key]} for key in names])
        return
    print_table(
        ("setting", "before", "now", "workers follow"),
        ((key, to_text(before[key]), to_text(after[key]), _FOLLOWS[LIVE_SETTINGS[key]]) for key in names),
    )


def _read_pair(text: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not key or not equals:
        raise UsageError(
            f"{text!r} is not of the form KEY=VALUE, as in delay=2; with --back, keys stand alone"
        )
    return key, value


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
    take: Annotated[bool, typer.Option("--take", help="Fetch the skipped requests.")] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Change how one host is crawled, while the crawl runs.

    A crawl-delay of robots.txt and the pause that a throttling host requests always apply. The requests of a
    skipped host stay in the queue.
    """
    loaded, orders = loaded_of(data, settings), _orders_of(delay, hold, ask=ask, skip=skip, take=take)

    async def work(backends: Backends) -> SteeredHost:
        job = await find_job(backends, name)
        for kind, given in orders:
            order = ActionOrder(kind=kind, by="", job=job.id, who=host.lower(), given=given)
            await act(backends, loaded, order)
        return await read_host(backends, job, host.lower())

    news = run_with_backends(loaded.settings, work)
    if as_json:
        print_json(to_document(news))
    else:
        typer.echo(news.text)


def _orders_of(
    delay: str | None, hold: str | None, *, ask: bool, skip: bool, take: bool
) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions to run, in order, with the values of each."""
    orders: list[tuple[str, dict[str, Any]]] = []
    if delay is not None:
        orders.append(("pace", {"delay": None if delay == "none" else parse_seconds(delay, "--delay")}))
    if hold is not None:
        orders.append(("hold", {"seconds": parse_seconds(hold, "--hold")}))
    orders += [
        (kind, {}) for is_wanted, kind in ((ask, "release"), (skip, "skip"), (take, "take")) if is_wanted
    ]
    if not orders:
        raise UsageError("give a change: --delay, --hold, --ask, --skip or --take")
    if (hold is not None and ask) or (skip and take):
        raise UsageError("--hold and --ask, and --skip and --take, exclude each other")
    return orders


COMMANDS = (("set", set_settings, SET_EXAMPLES), ("host", change_host, HOST_EXAMPLES))
