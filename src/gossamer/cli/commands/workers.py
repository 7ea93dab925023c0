"""``gossamer worker``, ``supervisor`` and ``up``: the processes of a fleet."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from gossamer.cli.options import Data, MetricsPort, Set
from gossamer.cli.terminal.process_log import write_log
from gossamer.config.command_settings import settings_of, split_settings
from gossamer.config.settings import Settings

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
    metrics_port: MetricsPort = None,
    data: Data = None,
    settings: Set = None,
    verbose: Verbose = False,
) -> None:
    """Work for the fleet until stopped.

    SIGTERM (or Ctrl-C) finishes requests in flight, returns the others to the queue and stops; a second one
    returns all of them at once. Nothing is lost either way, not even when the worker is killed.
    """
    from gossamer.cluster.running import run_worker  # Celery may be missing: a usage error

    words = [*(settings or ()), *([f"proxies.only={proxy}"] if proxy else [])]
    settled = settings_of(data, words, metrics_port=metrics_port)
    with write_log(settled, verbose=verbose):
        raise typer.Exit(run_worker(settled, slots=slots, lanes=_split_lanes(lanes)))


def start_supervisor(
    *,
    metrics_port: MetricsPort = None,
    data: Data = None,
    settings: Set = None,
    verbose: Verbose = False,
) -> None:
    """Supervise the fleet until stopped.

    It asks for shifts, replaces the shifts of lost workers, and ends jobs. It keeps nothing itself: it may be
    killed and started at any time, anywhere, and several may run.
    """
    from gossamer.cluster.running import run_supervisor

    settled = settings_of(data, settings, metrics_port=metrics_port)
    with write_log(settled, verbose=verbose):
        asyncio.run(run_supervisor(settled))


def start_fleet(
    *,
    workers: Annotated[int, typer.Option(metavar="N", min=0, help="Workers.")] = 2,
    slots: Slots = 2,
    lanes: Lanes = "",
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", help="Serve metrics for Prometheus: the supervisor at PORT, worker N at PORT + N."
        ),
    ] = None,
    data: Data = None,
    settings: Set = None,
    verbose: Verbose = False,
) -> None:
    """Run a supervisor and some workers here.

    Processes that die are restarted. SIGTERM (or Ctrl-C) stops them as it stops a worker; a second one stops
    them at once.
    """
    from gossamer.cluster import broker, local_fleet

    settled = settings_of(data, settings, metrics_port=metrics_port)
    broker.broker_url(settled)  # a wrong setting is wrong for every process
    variables, options = split_settings(settings)
    more = [word for pair in options for word in ("-s", pair)]
    more += [*(["--data", data] if data else []), *(["-v"] if verbose else [])]
    work = ["--slots", str(slots), *(["--lanes", lanes] if lanes else [])]
    gossamer = [sys.executable, "-m", "gossamer"]
    roles = [("the supervisor", ["supervisor"])]
    roles += [(f"worker {number}", ["worker", *work]) for number in range(1, workers + 1)]
    commands = [
        (name, [*gossamer, *role, *more, *_metrics_option(settled, number)])
        for number, (name, role) in enumerate(roles)
    ]
    with write_log(settled, verbose=verbose):
        fleet = local_fleet.LocalFleet(commands, drain_s=settled.cluster.drain, variables=variables)
        raise typer.Exit(fleet.run())


def _metrics_option(settings: Settings, number: int) -> list[str]:
    """Return the metrics port of one of several processes."""
    port = settings.metrics.port
    return [] if port is None else ["--metrics-port", str(port + number)]


def _split_lanes(lanes: str) -> list[str]:
    return [name for name in (lane.strip() for lane in lanes.split(",")) if name]


COMMANDS = (
    ("worker", start_worker, WORKER_EXAMPLES),
    ("supervisor", start_supervisor, SUPERVISOR_EXAMPLES),
    ("up", start_fleet, UP_EXAMPLES),
)
