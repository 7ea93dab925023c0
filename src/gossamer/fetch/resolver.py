"""Name look-ups on threads of their own.

The loop's default executor has a handful of threads, shared with everything else; a broad crawl asks for a
new name many times a second and each may take a second to fail.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiohttp.abc import AbstractResolver, ResolveResult

_Row = tuple[socket.AddressFamily, int, str]  # family, protocol, numeric address


class ThreadResolver(AbstractResolver):
    """The system's resolver (``getaddrinfo``), up to ``threads`` look-ups at a time."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gossamer-dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host in the system's order; raises ``socket.gaierror``."""
        loop = asyncio.get_running_loop()
        rows = await loop.run_in_executor(self._pool, _look_up, host, port, family)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=found,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for found, proto, address in rows
        ]

    async def close(self) -> None:
        """Let the threads end; look-ups under way are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[_Row]:
    rows = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
    return [(found, proto, str(address[0])) for found, _, proto, _, address in rows]
