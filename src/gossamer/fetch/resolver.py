"""Resolve names on dedicated threads, and cache the answers for a while.

The loop's default executor has a few threads, shared with everything else; a broad crawl resolves many new
names per second, and each may take a second to fail.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from gossamer.fetch.machine import LOCAL_ERRORS, is_out_of_files

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""A row as ``socket.getaddrinfo`` gives it: family, type, protocol, canonical name, socket address."""

MAX_REMEMBERED = 10_000


class Resolver(Protocol):
    """Looks names up."""

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """Return a host's addresses in order of preference; raises ``socket.gaierror``, ``UnicodeError``."""
        ...


class ThreadResolver:
    """The system's resolver (``getaddrinfo``), up to ``threads`` look-ups at a time.

    Nothing can break off a look-up, which may take half a minute: each has a daemon thread, so that not even
    the end of the process waits for it.
    """

    def __init__(self, threads: int) -> None:
        self._free = asyncio.Semaphore(threads)

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """See :class:`Resolver`."""
        async with self._free:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[Sequence[AddressInfo]] = loop.create_future()
            thread = threading.Thread(
                target=_look_up, args=(loop, answer, host, port), name="gossamer-dns", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise OSError(errno.EAGAIN, "no thread for a look-up") from error
            return await answer


class CachingResolver:
    """Caches a resolver's answers for ``ttl_s``; simultaneous requests for one name share one look-up."""

    def __init__(self, resolver: Resolver, ttl_s: float) -> None:
        self._resolver = resolver
        self._ttl_s = ttl_s
        self._known: dict[tuple[str, int], tuple[float, Sequence[AddressInfo]]] = {}
        self._asked: dict[tuple[str, int], asyncio.Task[Sequence[AddressInfo]]] = {}

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """Return the addresses of a host; numeric ones need no look-up. Raises as a :class:`Resolver`."""
        numeric = _numeric_address(host, port)
        if numeric is not None:
            return (numeric,)
        key = (host, port)
        loop = asyncio.get_running_loop()
        until, rows = self._known.get(key, (0.0, ()))
        if until > loop.time():
            return rows
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = loop.create_task(self._ask_resolver(key))
            task.add_done_callback(lambda done: self._asked.pop(key, None))
        return await asyncio.shield(task)

    def forget_host(self, host: str, port: int) -> None:
        """Forget a host's addresses because they did not lead to it; the next request resolves it again."""
        self._known.pop((host, port), None)

    async def _ask_resolver(self, key: tuple[str, int]) -> Sequence[AddressInfo]:
        try:
            rows = await self._resolver.resolve(*key)
        except socket.gaierror:
            raise
        except OSError as error:  # not an answer: no server was reached
            if error.errno in LOCAL_ERRORS:
                raise
            raise socket.gaierror(socket.EAI_AGAIN, error.strerror or "no look-up") from error
        self._known.pop(key, None)
        while len(self._known) >= MAX_REMEMBERED:
            del self._known[next(iter(self._known))]  # the oldest look-up
        self._known[key] = (asyncio.get_running_loop().time() + self._ttl_s, rows)
        return rows


def _numeric_address(host: str, port: int) -> AddressInfo | None:
    """Return the row of a plain IP address. Other notations (``0x7f.1``) are left to the system's
    resolver."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.inet_pton(family, host)
    except (OSError, UnicodeError):
        return None
    address = (host, port, 0, 0) if family == socket.AF_INET6 else (host, port)
    return (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)


def _look_up(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Sequence[AddressInfo]], host: str, port: int
) -> None:
    """Ask, on a thread, and answer on the loop if it is still there."""
    rows: Sequence[AddressInfo] = ()
    error: Exception | None = None
    try:
        rows = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    except Exception as raised:  # noqa: BLE001 - waiters must get any error
        # Without a free file no server can be queried, and the system's resolver reports a missing answer.
        is_local = isinstance(raised, socket.gaierror) and is_out_of_files()
        error = OSError(errno.EMFILE, "no file for a look-up") if is_local else raised

    def tell() -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(rows)
        else:
            answer.set_exception(error)

    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(tell)
