"""The subject of the archive contracts: the two ends of an archive, and answers to store."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RawExchange
from gossamer.ports.archive_reader import ArchiveReader
from gossamer.ports.archive_writer import ArchiveWriter
from gossamer.testing.clock import EPOCH

__all__ = ["JOB", "PAGE", "SITE", "ArchiveSubject", "make_answer", "plain", "sent_by_http"]

JOB = "shop-1-0123456789ab"
SITE = "https://shop.example"
PAGE = f"{SITE}/page?b=2&a=1"


@dataclass
class ArchiveSubject:
    """An empty archive: the writer of the job ``JOB``, and a reader of all jobs."""

    writer: ArchiveWriter
    reader: ArchiveReader
    make_writer: Callable[[str], ArchiveWriter]
    """Another worker's writer for a job."""
    is_shared_at_once: bool = True
    """Whether others can read records after a flush; otherwise only after close, as with uploads of whole
    files.
    """

    async def write(self, url: str = PAGE, **said: Any) -> str:
        """Archive an answer; return its location."""
        return await self.writer.write_exchange(Request(url), make_answer(url, **said))

    async def settle(self) -> None:
        """Make the written records readable."""
        await (self.writer.flush() if self.is_shared_at_once else self.writer.close())


def make_answer(
    url: str = PAGE,
    body: bytes = b"<h1>A page</h1>",
    *,
    at: float = EPOCH,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html; charset=utf-8"),),
    rung: str = "http",
    flags: tuple[str, ...] = (),
    raw: RawExchange | None = None,
) -> FetchResult:
    """Make an answer as fetchers return it."""
    return FetchResult(
        url=url,
        status=status,
        headers=headers,
        body=body,
        started_at=at,
        latency_s=0.1,
        elapsed_s=0.2,
        rung=rung,
        wire_bytes=len(body) if raw is None else len(raw.body),
        flags=flags,
        address="192.0.2.1",
        raw=raw,
    )


def sent_by_http(url: str = PAGE, body: bytes = b"<h1>Packed</h1>" * 100) -> FetchResult:
    """Make a compressed answer in chunks, with cookies, as it arrives over plain HTTP."""
    packed = gzip.compress(body, mtime=0)
    fields = (
        ("Content-Type", "text/html"),
        ("Content-Encoding", "gzip"),
        ("Set-Cookie", "session=canary-cookie; Path=/"),
        ("X-Two", "1"),
        ("Transfer-Encoding", "chunked"),
        ("X-Two", "2"),
    )
    header = "HTTP/1.1 200 OK\r\n" + "".join([f"{name}: {value}\r\n" for name, value in fields]) + "\r\n"
    asked = (
        f"GET {url.removeprefix(SITE)} HTTP/1.1\r\nHost: shop.example\r\nCookie: session=canary-sent\r\n"
        "Authorization: Basic canary-password\r\nX-Api-Key: canary-key\r\n\r\n"
    )
    raw = RawExchange(request_header=asked.encode(), response_header=header.encode(), body=packed)
    headers = tuple((name.lower(), value) for name, value in fields)
    return make_answer(url, body, headers=headers, raw=raw)


def plain(fetched: FetchResult) -> tuple[Any, ...]:
    """Return the parts that an archive restores: URL, status, headers without cookie values, body, flags."""
    headers = tuple((name, "-" if name == "set-cookie" else value) for name, value in fetched.headers)
    return fetched.url, fetched.status, headers, fetched.body, fetched.flags
