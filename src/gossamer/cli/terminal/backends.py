"""Open the back ends for one command, run a coroutine with them, and close them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gossamer.cli.errors import print_message
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.ports.backends import StoreBackend
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.open import open_store

T = TypeVar("T")
AGAIN_S = 0.5


def run_with_backends(
    settings: Settings,
    work: Callable[[Backends], Awaitable[T]],
    *,
    create: bool = False,
    patience_s: float = 0.0,
    limit_s: float | None = None,
) -> T:
    """Return the result of ``work``. Raises ``StorageError`` without a database (and not ``create``).

    Waits up to ``patience_s`` for servers that are away; one request to them takes at most ``limit_s``.
    """

    async def run() -> T:
        until = time.monotonic() + patience_s
        backends = await _open_patiently(settings, create=create, until=until, limit_s=limit_s)
        try:
            return await work(backends)
        finally:
            await backends.close()

    return asyncio.run(run())


def run_with_store(
    settings: Settings, work: Callable[[StoreBackend], Awaitable[T]], *, create: bool = False
) -> T:
    """Return the result of ``work`` with the store alone, also while the server of the frontier is away."""

    async def run() -> T:
        keeping = await open_store(settings, create=create)
        try:
            return await work(keeping)
        finally:
            await keeping.close()

    return asyncio.run(run())


async def _open_patiently(
    settings: Settings, *, create: bool, until: float, limit_s: float | None
) -> Backends:
    told = False
    while True:
        try:
            return await open_backends(settings, create=create, limit_s=limit_s)
        except StorageError as error:
            if time.monotonic() >= until:
                raise
            if not told:
                print_message(f"{error}; waiting")
            told = True
            await asyncio.sleep(AGAIN_S)
