"""``gossamer worker``, ``supervisor`` and ``up``: the processes of a fleet."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Annotated

import typer

from gossamer.cli.options import Data, Set
from gossamer.config.command_settings import settings_of
from gossamer.config.settings import Settings
from gossamer.observe.log import LEVELS, LineFormatter

WORKER_EXAMPLES = """
  gossamer worker                            takes shifts of every job of the fleet
  gossamer worker --slots 4 -s frontier.url=redis://queue/0
  gossamer worker --proxy acme               uses the proxies of this provider alone
"""
SUPERVISOR_EXAMPLES = """
  gossamer supervisor                        any number may run; one of them leads
"""
UP_EXAMPLES = """
  gossamer up --workers 4                    a supervisor and four workers on this machine
"""
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Log every page too.")]
Slots = Annotated[int, typer.Option(metavar="N", min=1, help="Number of shifts a worker works on at once.")]
Lanes = Annotated[str, typer.Option(metavar="LANES", help="The lanes it serves; by default cluster.lanes.")]


def start_worker(
    *,
    slots: Slots = 2,
    lanes: Lanes = "",
    proxy: Annotated[
        str, typer.Option(metavar="NAME", help="The proxy or the provider that it uses: proxies.only.")
    ] = "",
    data: Data = None,
    settings: Set = None,
    verbose: Verbose = False,
) -> None:
    """Work for the fleet until told to stop.

    SIGTERM (or Ctrl-C) finishes what is in flight, gives back what was not begun and stops; a second one
    gives everything back at once. Nothing is lost either way, not even when the worker is killed.
    """
    from gossamer.cluster.running import run_worker  # Celery may be missing, which is said as an error

    settled = settings_of(data, [*(settings or ()), *([f"proxies.only={proxy}"] if proxy else [])])
    _log_to_stderr(settled, verbose=verbose)
    raise typer.Exit(run_worker(settled, slots=slots, lanes=_split_lanes(lanes)))


def start_supervisor(data: Data = None, settings: Set = None, verbose: Verbose = False) -> None:
    """Supervise the fleet until told to stop.

    It asks for shifts, replaces the shifts of lost workers, and ends jobs. It keeps nothing itself: it may be
    killed and started at any time, anywhere, and several may run.
    """
    from gossamer.cluster.running import run_supervisor

    settled = settings_of(data, settings)
    _log_to_stderr(settled, verbose=verbose)
    asyncio.run(run_supervisor(settled))


def start_fleet(
    *,
    workers: Annotated[int, typer.Option(metavar="N", min=0, help="Workers.")] = 2,
    slots: Slots = 2,
    lanes: Lanes = "",
    data: Data = None,
    settings: Set = None,
    verbose: Verbose = False,
) -> None:
    """Run a supervisor and some workers here.

    Processes that die are restarted. SIGTERM (or Ctrl-C) stops them as it stops a worker; a second one stops
    them at once.
    """
    from gossamer.cluster import broker, local_fleet

    settled = settings_of(data, settings)
    broker.broker_url(settled)  # what is wrong with the settings is wrong with those of every process
    _log_to_stderr(settled, verbose=verbose)
    more = [word for pair in settings or () for word in ("-s", pair)]
    more += [*(["--data", data] if data else []), *(["-v"] if verbose else [])]
    work = ["--slots", str(slots), *(["--lanes", lanes] if lanes else [])]
    gossamer = [sys.executable, "-m", "gossamer"]
    commands = [("the supervisor", [*gossamer, "supervisor", *more])]
    commands += [
        (f"worker {number}", [*gossamer, "worker", *work, *more]) for number in range(1, workers + 1)
    ]
    raise typer.Exit(local_fleet.LocalFleet(commands, drain_s=settled.cluster.drain).run())


def _split_lanes(lanes: str) -> list[str]:
    return [name for name in (lane.strip() for lane in lanes.split(",")) if name]


def _log_to_stderr(settings: Settings, *, verbose: bool) -> None:
    """Lines on stderr for as long as the process lives."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("gossamer").setLevel(logging.DEBUG if verbose else LEVELS[settings.log.level])


COMMANDS = (
    ("worker", start_worker, WORKER_EXAMPLES),
    ("supervisor", start_supervisor, SUPERVISOR_EXAMPLES),
    ("up", start_fleet, UP_EXAMPLES),
)
