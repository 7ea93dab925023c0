"""What a worker remembers of pages: when it asks conditionally, and that no link is lost by it."""

import pytest
from msgspec.structs import replace

from gossamer.core.freshness import KnownPage
from gossamer.core.jobs import Job
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.routes import Route
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.page_memory import PageMemory
from gossamer.policy.freshness import FreshnessRules, known_fingerprint_of, prior_for
from gossamer.store.memory.known_pages import MemoryKnownPageStore
from gossamer.testing.clock import ManualClock

URL = "http://a.example/p"
RULES = FreshnessRules(min_interval_s=1.0, max_interval_s=1e6, prior=prior_for(1e5))
PAGE = KnownPage(
    fingerprint=known_fingerprint_of(Request(URL)),
    url=URL,
    host="a.example",
    request="p/p",
    due_at=1.0,
    rate=RULES.prior,
    etag='"1"',
    modified="Tue, 15 Nov 1994 12:45:26 GMT",
    job="shop-1",
    checked_at=1.0,
    checks=1,
)


async def asked(page=PAGE, request=None, rung="http", *, is_recrawl=True):
    """The headers that a page is asked for with, by a later job of its spider."""
    store = MemoryKnownPageStore()
    store.save_pages("shop", [page])
    job = Job(id="shop-2", name="shop", target="shop", created_at=0.0)
    memory = PageMemory(
        store, job, RULES, ManualClock(), pack_request=lambda *_: "p/p", asks_conditionally=is_recrawl
    )
    entry = Entry(request=request or Request(URL), fingerprint=5, host="a.example")
    lease = Lease(entry=entry, token=1, granted_at=0.0, start_by=9.0, deadline=9.0, attempt=1)
    await memory.load_pages([lease])
    attempt = OpenAttempt(lease, entry, 2.0, "w1", route=Route(rung=rung))
    wanted = await memory.prepare_request(attempt, entry.request)
    assert attempt.is_conditional == (wanted != entry.request)
    return wanted.headers


async def test_a_known_page_is_asked_for_with_its_validators():
    both = {"If-None-Match": PAGE.etag, "If-Modified-Since": PAGE.modified}
    assert await asked() == both
    assert await asked(rung="impersonate") == both
    assert await asked(replace(PAGE, etag="")) == {"If-Modified-Since": PAGE.modified}


@pytest.mark.parametrize(
    "given",
    [
        {"is_recrawl": False},
        # Its lease was lost after this job had stored it: its links are found by its callback only.
        {"page": replace(PAGE, job="shop-2")},
        {"page": replace(PAGE, etag="", modified="")},
        {"page": replace(PAGE, fingerprint=1)},
        {"rung": "browser"},
        {"rung": "gateway:x"},
        {"request": Request(URL, method="POST", body=b"x")},
    ],
)
async def test_other_pages_are_asked_for_whole(given):
    assert await asked(**given) == {}


async def test_conditions_of_a_requests_own_stay():
    own = {"if-none-match": '"mine"'}
    assert await asked(request=Request(URL, headers=own)) == own
