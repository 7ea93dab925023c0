"""Reports to systemd, if it has started this process: that the process has started, and its health.

The protocol is that of ``sd_notify``: datagrams to the socket that ``NOTIFY_SOCKET`` names.
"""

from __future__ import annotations

import faulthandler
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from gossamer.observe.health import ProcessHealth

STATUS_S = 5.0
"""Seconds between two reports of the status without a watchdog."""
BYTES = 1024
"""Maximum size of a status."""

log = logging.getLogger("gossamer.crawl")


class ServiceWatchdog:
    """The socket of systemd; does nothing without one."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        name = variables.get("NOTIFY_SOCKET", "")
        self.is_there = name.startswith(("/", "@"))
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        micros = variables.get("WATCHDOG_USEC", "")
        self.every_s = int(micros) / 1e6 / 3 if micros.isdigit() and int(micros) else STATUS_S

    def notify(self, *lines: str) -> None:
        """Send one message. Errors are ignored."""
        if not self.is_there:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.settimeout(1.0)
            out.sendto("\n".join(lines).encode(), self._address)


@contextmanager
def report_to_systemd(health: ProcessHealth, variables: Mapping[str, str]) -> Iterator[None]:
    """While the block lasts, systemd knows that this process has begun, and whether it is alive.

    A process that is not alive is started again by ``WatchdogSec``: the watchdog is fed only while it is. It
    has begun at once, also where it waits for servers: only a person can end that.
    """
    manager = ServiceWatchdog(variables)
    if not manager.is_there:
        yield
        return
    with suppress(RuntimeError, OSError, ValueError):
        faulthandler.enable()  # systemd ends what hangs by SIGABRT: then the journal has all stacks
    is_over = threading.Event()
    thread = threading.Thread(
        target=_keep_reporting, args=(manager, health, is_over), name="gossamer-systemd", daemon=True
    )
    manager.notify("READY=1", "WATCHDOG=1")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        manager.notify("STOPPING=1")


def _keep_reporting(manager: ServiceWatchdog, health: ProcessHealth, is_over: threading.Event) -> None:
    while not is_over.wait(manager.every_s):
        try:
            dead, idle = health.find_failures(), health.find_failures(is_work_asked=True)
        except Exception:
            log.exception("the health of this process could not be read")
            continue
        status = "; ".join(dead or idle) or "at work"
        status = status.replace("\n", " ")[:BYTES]
        manager.notify(f"STATUS={status}", *([] if dead else ["WATCHDOG=1"]))
