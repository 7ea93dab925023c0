"""The contract of fetchers, as far as it is a browser's: most of it takes minutes (``make test-browser``)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.testing.badroutes import PAGE
from gossamer.testing.badsite import BadSite
from gossamer.testing.contracts import fetcher as contract
from kit.browser_pages import choose_checks, open_fetcher

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SHOWN = PAGE.replace(b"<!doctype html>", b"<!DOCTYPE html><html><head>")
SHOWN = SHOWN.replace(b"</title>", b"</title></head><body>") + b"</body></html>"
"""The good page as a browser writes it down."""

SHORT = ("methods", "headers", "redirects_are_returned", "cookies", "bad_urls", "private_is_refused")
"""What is checked on every run."""

READ_ANYWAY = ("bad_length", "cut_header", "odd_status", "switching", "huge_chunk_size", "broken_chunked")
BOMBS = ("gzip_bomb", "deflate_bomb", "nested_bomb", "br_bomb", "zstd_bomb", "bomb_on_404")
REDIRECTS = ("redirect_bad_location", "redirect_nowhere", "redirect_empty_location")

OWN_WAYS = {
    "omitted_headers": "it says for itself what it is",
    "good_page": "the header of a page says UTF-8, in which its tree was written down",
    **dict.fromkeys(("decoded", "misbehaviour_junk_encoding", "misbehaviour_wrong_encoding"), "it decodes"),
    **dict.fromkeys(
        (
            "connections_are_kept",
            "head_keeps_its_connection",
            "closed_idle_is_retried_once",
            "fresh_failure_is_not_retried",
        ),
        "it keeps connections, and tries again, as it likes",
    ),
    **dict.fromkeys(("nameless_cookies", "unread_is_not_reused", "unsent_is_not_reused"), "the same"),
    **dict.fromkeys(("odd_answers", "hopeless_answers", "misbehaviour_hopeless_answer"), "it reads them"),
    **{f"misbehaviour_{name}": "it reads what is broken in its own way" for name in READ_ANYWAY},
    **{f"misbehaviour_{name}": "it unpacks them; their tree is bounded, and memory is" for name in BOMBS},
    **{f"misbehaviour_{name}": "it refuses the redirect by itself" for name in REDIRECTS},
    "misbehaviour_million_chunks": "it reads them; what a tab may read is bounded",
    "misbehaviour_refresh": "a redirect of the page is one",
}
"""What a browser decides for itself, and why the contract is not asked of it."""

_sessions = itertools.count()


class ShownPages:
    """The fetcher as one of bytes: with the good page as it was sent, and cookies of its own."""

    touches_network = True

    def __init__(self, fetcher: BrowserFetcher) -> None:
        self._fetcher = fetcher
        self._number = next(_sessions)

    async def fetch(self, request: Request, *route: Any) -> FetchResult:
        own = request.replace(session=f"{self._number} {request.session}")
        fetched = await self._fetcher.fetch(own, *route)
        return msgspec.structs.replace(fetched, body=PAGE) if fetched.body == SHOWN else fetched

    async def close(self) -> None:
        """It is the next check's as well."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher() -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=8, connect_s=1, max_body_bytes=4_000_000) as fetcher:
        yield fetcher


@pytest.mark.parametrize("name", choose_checks(OWN_WAYS, SHORT))
async def test_the_contract(fetcher: BrowserFetcher, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "PATIENCE_S", 40.0)
    async with BadSite() as site:
        await contract.FETCHER_CHECKS[name](ShownPages(fetcher), site)
