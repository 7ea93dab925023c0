"""Opening a data directory for one command: run a coroutine with it, close it whatever happens."""

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
    """The result of ``work``. Raises ``StorageError`` when there is no database (and not ``create``).

    ``patience_s`` is for how long servers that are away are waited for, ``limit_s`` the longest that one
    question to them takes.
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
    """The same with the store alone: what needs no requests does not need their server."""

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
