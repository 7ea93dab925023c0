"""Headers of answers are taken as browsers take them: 256 KiB in all, in lines of any number and length."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.limits import MAX_HEAD_BYTES, HttpOptions
from gossamer.fetch.http.repair import repair_header
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.ports.fetcher import Fetcher
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.fetcher import try_fetch
from kit.raw_server import OK, Raw, fetcher_with

FIELDS = {
    "five thousand lines": [(f"x-{n}", "a") for n in range(5000)],
    "lines of one letter": [("x", "")] * 15_000,
    "a line of 200 KB": [("x-long", "y" * 200_000)],
    "lines of 100 KB": [("x-long", "y" * 100_000)] * 2,
}
TOO_MUCH = {
    "twenty thousand lines": [(f"x-{n}", "abcdef") for n in range(20_000)],
    "a line of 300 KB": [("x-long", "y" * 300_000)],
    "lines of 100 KB": [("x-long", "y" * 100_000)] * 3,
}


def impersonating() -> Fetcher:
    return ImpersonatingFetcher(HttpOptions(), clock=ManualClock(), guard=AddressGuard({"127.0.0.1"}))


def answer_with(fields: list[tuple[str, str]], start: bytes = b"HTTP/1.1 200 OK\r\n") -> bytes:
    lines = "".join(f"{name}:{value}\r\n" for name, value in fields)
    return start + lines.encode() + OK.partition(b"\r\n")[2]


async def fetch_all(make: Callable[[], Fetcher], answers: dict[str, bytes]) -> list[FetchResult | Fault]:
    fetcher = make()
    async with Raw({f"/{number}": answer for number, answer in enumerate(answers.values())}) as server:
        found = [await try_fetch(fetcher, Request(f"{server.url}/{n}")) for n in range(len(answers))]
    await fetcher.close()
    return found


@pytest.mark.parametrize("make", [fetcher_with, impersonating], ids=["http", "impersonate"])
async def test_headers_that_browsers_take_are_taken_whole(make: Callable[[], Fetcher]) -> None:
    found = await fetch_all(make, {name: answer_with(fields) for name, fields in FIELDS.items()})
    for (name, fields), got in zip(FIELDS.items(), found, strict=True):
        assert isinstance(got, FetchResult), (name, got)
        assert (got.body, len(got.headers)) == (b"ok", len(fields) + 1), name


@pytest.mark.parametrize("make", [fetcher_with, impersonating], ids=["http", "impersonate"])
async def test_larger_ones_are_refused_for_good(make: Callable[[], Fetcher]) -> None:
    """The bound is the same the next time: nothing is gained by another try."""
    found = await fetch_all(make, {name: answer_with(fields) for name, fields in TOO_MUCH.items()})
    assert found == [Fault.TOO_LARGE] * len(TOO_MUCH)
    assert FAULTS[Fault.TOO_LARGE].kind is FaultKind.HOPELESS


async def test_more_fields_than_the_library_can_hold_do_not_end_the_process() -> None:
    """wreq's table has a size that its Rust code must not pass: it would abort."""
    many = [(f"x{n}", "") for n in range(30_000)]
    assert await fetch_all(impersonating, {"many": answer_with(many)}) == [Fault.TOO_LARGE]
    assert await fetch_all(impersonating, {"same": answer_with([("x", "")] * 60_000)}) == [Fault.TOO_LARGE]


async def test_broken_headers_have_the_same_bound() -> None:
    """Those that are put in order: here, without a blank in the status line."""
    start = b"HTTP/1.1 200OK\r\n"
    long, bomb = FIELDS["a line of 200 KB"], TOO_MUCH["a line of 300 KB"]
    found = await fetch_all(fetcher_with, {"l": answer_with(long, start), "b": answer_with(bomb, start)})
    assert isinstance(found[0], FetchResult)
    assert found[1] is Fault.TOO_LARGE


def test_a_line_that_is_folded_very_often_is_read_in_no_time() -> None:
    lines = b"X: a\r\n" + b" b\n" * (MAX_HEAD_BYTES // 3 - 20)
    start = time.process_time()
    assert repair_header(b"HTTP/1.1 200OK\r\n" + lines + b"\r\n") is not None
    assert time.process_time() - start < 0.6
