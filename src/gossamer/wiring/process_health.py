"""Assembles the health of this process: its event loop, its servers, and the receivers of reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, ExitStack

from gossamer.core.health import PartHealth
from gossamer.observe.health import ProcessHealth
from gossamer.observe.loop_lag import LoopLagMonitor
from gossamer.observe.service_watchdog import report_to_systemd


def watch_process(
    closing: ExitStack | AsyncExitStack, read_work: Callable[[], Iterable[PartHealth]]
) -> ProcessHealth:
    """Watch the event loop that runs, until ``closing`` is closed; ``read_work`` tells of the servers."""
    health, lag = ProcessHealth(), LoopLagMonitor()
    closing.callback(lag.close)
    health.watch_loop(lag.held_up_s)
    health.watch_work(read_work)
    closing.enter_context(report_to_systemd(health, os.environ))
    return health
