"""What hostile answers may cost: memory when many are large at once, time when few bytes become many."""

from __future__ import annotations

import asyncio
import zlib

import pytest

from gossamer.fetch.decode import PIECE_BYTES, Decoder
from gossamer.fetch.guard import Guard
from gossamer.fetch.http import HttpFetcher
from gossamer.fetch.limits import HttpOptions
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from gossamer.words.errors import Fault, FetchError
from gossamer.words.model import Request


def test_decoding_pauses_after_each_piece() -> None:
    decoder = Decoder("deflate", 100_000_000)
    sizes = [decoder.decoded_bytes for _ in decoder.steps(zlib.compress(bytes(20 * PIECE_BYTES)))]
    assert len(sizes) >= 20
    assert all(after - before <= PIECE_BYTES for before, after in zip([0, *sizes], sizes, strict=False))
    assert decoder.finish() == (bytes(20 * PIECE_BYTES), ())


@pytest.mark.parametrize("name", ["endless_body", "hundred_megabytes_unannounced"])
async def test_large_bodies_wait_for_each_other(name: str) -> None:
    """With room for one of them, eight at once all come to their end."""
    async with BadSite() as site:
        options = HttpOptions(max_body_bytes=2_000_000, large_bodies_bytes=1_000_000)
        fetcher = HttpFetcher(options, clock=ManualClock(), guard=Guard({"127.0.0.1"}))
        fetches = [fetcher.fetch(Request(site.url(f"{name}/{number}"))) for number in range(8)]
        ends = await asyncio.gather(*fetches, return_exceptions=True)
        assert [end.fault for end in ends if isinstance(end, FetchError)] == [Fault.TOO_LARGE] * 8
        assert (await fetcher.fetch(Request(site.url("good")))).status == 200
        await fetcher.close()


async def test_bodies_that_wait_are_no_slower_for_it() -> None:
    """The time in which a body must arrive does not run while nobody reads it."""
    async with BadSite() as site:
        options = HttpOptions(
            max_body_bytes=4_000_000, large_bodies_bytes=600_000, idle_s=0.3, body_s=0.6, headers_s=5.0
        )
        fetcher = HttpFetcher(options, clock=ManualClock(), guard=Guard({"127.0.0.1"}))
        fetches = [fetcher.fetch(Request(site.url(f"giant_urls/{number}"))) for number in range(20)]
        ends = await asyncio.gather(*fetches)
        assert len({len(end.body) for end in ends}) == 1
        await fetcher.close()
