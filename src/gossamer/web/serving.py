"""The process of the dashboard: from the settings to a server that listens, and to its end."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from contextlib import AsyncExitStack

from gossamer.access.gate import AccessGate
from gossamer.config.layers import COMMAND_LINE, LoadedSettings
from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError, SettingError, UsageError
from gossamer.jobs.delayed_actions import keep_finishing
from gossamer.observe.health import ProcessHealth
from gossamer.ports.clock import Clock
from gossamer.queries.explain.job_scope import JobScopeCache
from gossamer.runtime.cancelling import end_tasks
from gossamer.web.answers import LIMIT_S, AnswerCache
from gossamer.web.app import make_app
from gossamer.web.connections import MAX_HEAD, TimedProtocol
from gossamer.web.packages import uvicorn
from gossamer.web.parts import WebParts
from gossamer.wiring.backend_check import BackendCheck, waiting_health
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.process_health import watch_process

DRAIN_S = 2
"""Seconds that answers under way have when the dashboard ends; streams never end by themselves."""
BACKLOG = 128

log = logging.getLogger("gossamer.web")


def run_dashboard(loaded: LoadedSettings) -> None:
    """Serve the dashboard until told to end. Raises ``UsageError`` where it must not listen, and what
    ``open_backends`` raises.
    """
    asyncio.run(_serve(loaded))


async def _serve(loaded: LoadedSettings) -> None:
    settings = loaded.settings
    async with AsyncExitStack() as closing:
        began_at, servers = time.monotonic(), None
        # First: systemd waits for 90 s at most, and a migration may take longer.
        health = watch_process(closing, lambda: servers.read_parts() if servers else waiting_health(began_at))
        backends = await open_backends(settings, create=True, limit_s=LIMIT_S)
        closing.push_async_callback(backends.close)
        await _warn_of_store(backends)
        listening = closing.enter_context(listen_at(settings.dashboard.host, settings.dashboard.port))
        is_local = _is_loopback(listening)
        await check_place(backends, settings.dashboard.host, is_local=is_local)
        servers = BackendCheck(backends)
        closing.push_async_callback(end_tasks, asyncio.create_task(servers.run()))
        parts = make_parts(loaded, backends, is_local=is_local, health=health)
        log.info("the dashboard is at http://%s", _shown_place(settings.dashboard.host, listening))
        await _serve_parts(parts, settings, listening)


async def _warn_of_store(backends: Backends) -> None:
    """Say that the fleet has another store. Crawls without a fleet are looked after nevertheless.

    Each action checks the fleet of its job.
    """
    try:
        await backends.check_fleet()
    except SettingError as error:
        log.warning("the dashboard cannot steer this fleet: %s", error)


def make_parts(
    loaded: LoadedSettings,
    backends: Backends,
    *,
    is_local: bool,
    clock: Clock | None = None,
    health: ProcessHealth | None = None,
) -> WebParts:
    """Return the dependencies of a dashboard; ``clock`` is for tokens, by default that of the back ends."""
    gate = AccessGate(backends.tokens, clock or backends.clock, is_local=is_local)
    given = [
        SettingOption(name, found[0].value, found[0].source)
        for name, found in loaded.layers.items()
        if found[0].layer == COMMAND_LINE
    ]
    scopes = JobScopeCache(None, None, None, given)
    return WebParts(backends, loaded, gate, AnswerCache(), scopes, health or ProcessHealth(), is_local)


async def check_place(backends: Backends, host: str, *, is_local: bool) -> None:
    """Raise ``UsageError`` if other machines reach the address and no token exists."""
    if not is_local and not await backends.tokens.list_tokens():
        raise UsageError(
            f"the dashboard would listen at {host}, where others can reach it, without any token yet: "
            "make one with `gossamer token create NAME --role admin`, or listen at 127.0.0.1"
        )


def listen_at(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises ``MissingServiceError`` if that fails."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        return socket.create_server(place[:2], family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None) or 0  # of names that are not found it is below 0
        why = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or error
        raise MissingServiceError(
            f"the dashboard cannot listen at {host}:{port} ({why}); choose others with --host and --port"
        ) from None


async def _serve_parts(parts: WebParts, settings: Settings, listening: socket.socket) -> None:
    finishing = asyncio.create_task(keep_finishing(parts.backends))
    try:
        await uvicorn.Server(make_config(parts, settings)).serve(sockets=[listening])
    finally:
        await end_tasks(finishing)


def make_config(parts: WebParts, settings: Settings) -> uvicorn.Config:
    """Return the configuration of the server, which bounds the memory and time of requests."""
    trusted = list(settings.dashboard.trusted_proxies)
    return uvicorn.Config(
        make_app(parts),
        http=TimedProtocol,  # by h11: the other parser sets no bound to the headers of a request
        h11_max_incomplete_event_size=MAX_HEAD,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted),
        forwarded_allow_ips=trusted,
        lifespan="off",
        timeout_graceful_shutdown=DRAIN_S,
    )


def _is_loopback(listening: socket.socket) -> bool:
    address = str(listening.getsockname()[0])
    return address == "::1" or address.startswith("127.")


def _shown_place(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
