"""Name look-ups on threads of their own, remembered for a while.

The loop's default executor has a handful of threads, shared with everything else; a broad crawl asks for a
new name many times a second and each may take a second to fail.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, Protocol

AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""A row as ``socket.getaddrinfo`` gives it: family, type, protocol, canonical name, socket address."""

MAX_REMEMBERED = 10_000


class Resolver(Protocol):
    """Looks names up."""

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """The addresses of a host in order of preference; raises ``socket.gaierror``, ``UnicodeError``."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class ThreadResolver:
    """The system's resolver (``getaddrinfo``), up to ``threads`` look-ups at a time."""

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # only crawls of named hosts need it

        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gossamer-dns")

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """See :class:`Resolver`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _look_up, host, port)

    async def close(self) -> None:
        """Let the threads end; look-ups under way are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Names:
    """What a resolver said, for ``ttl_s``; whoever asks for the same name meanwhile waits for one look-up."""

    def __init__(self, resolver: Resolver, ttl_s: float) -> None:
        self.resolver = resolver
        self._ttl_s = ttl_s
        self._known: dict[tuple[str, int], tuple[float, Sequence[AddressInfo]]] = {}
        self._asked: dict[tuple[str, int], asyncio.Task[Sequence[AddressInfo]]] = {}

    async def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """The addresses of a host; numeric ones need nobody to be asked. Raises as a :class:`Resolver`."""
        numeric = _numeric(host, port)
        if numeric is not None:
            return (numeric,)
        key = (host, port)
        loop = asyncio.get_running_loop()
        until, rows = self._known.get(key, (0.0, ()))
        if until > loop.time():
            return rows
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = loop.create_task(self._ask(key))
            task.add_done_callback(lambda done: self._asked.pop(key, None))
        return await asyncio.shield(task)

    async def _ask(self, key: tuple[str, int]) -> Sequence[AddressInfo]:
        try:
            rows = await self.resolver.resolve(*key)
        except socket.gaierror:
            raise
        except OSError as error:  # not an answer: nobody could be asked
            raise socket.gaierror(socket.EAI_AGAIN, error.strerror or "no look-up") from error
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[key] = (asyncio.get_running_loop().time() + self._ttl_s, rows)
        return rows


def _numeric(host: str, port: int) -> AddressInfo | None:
    """The row of a plain IP address. ``0x7f.1`` and the like are the system resolver's business."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.inet_pton(family, host)
    except (OSError, UnicodeError):
        return None
    address = (host, port, 0, 0) if family == socket.AF_INET6 else (host, port)
    return (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)


def _look_up(host: str, port: int) -> Sequence[AddressInfo]:
    return socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
