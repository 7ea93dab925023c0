"""What a worker remembers of pages: when it asks conditionally, and that no link is lost by it."""

import pytest
from msgspec.structs import replace

from gossamer.core.freshness import KnownPage
from gossamer.core.jobs import Job
from gossamer.core.requests import LAST, Entry, Lease, Request
from gossamer.core.results import DEFERRED, FetchResult, Verdict
from gossamer.core.routes import Route
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.page_memory import PageMemory
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy.deferral import defer_entry, page_entry_of
from gossamer.policy.freshness import FreshnessRules, known_fingerprint_of, prior_for
from gossamer.spiders.pagination import STATE
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
        store,
        job,
        RULES,
        ManualClock(),
        pack_request=pack_request,
        unpack_request=unpack_request,
        own_meta=(STATE,),
        asks_conditionally=is_recrawl,
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
        # Nobody has seen what another callback, or the same one with another argument, makes of the page.
        {"request": Request(URL, "parse_other")},
        {"request": Request(URL, cb_kwargs={"price": 5})},
        {"request": Request(URL, meta={"price": 5})},
        {"request": Request(URL, session="french")},
        {"page": replace(PAGE, request="\t" * 6 + "{")},
    ],
)
async def test_other_pages_are_asked_for_whole(given):
    assert await asked(**given) == {}


async def test_where_a_page_was_found_does_not_matter():
    found = Request(URL, "parse", priority=2, depth=3, via="http://a.example/", meta={"paging": {"seen": 2}})
    assert "If-None-Match" in await asked(request=found)
    headers = {"Accept-Language": "fr"}
    kept = replace(PAGE, request=pack_request(Request(URL, headers=headers), PAGE.host))
    assert "If-None-Match" in await asked(kept, request=Request(URL, headers=headers))
    assert await asked(request=Request(URL, headers=headers)) == headers


async def test_conditions_of_a_requests_own_stay():
    own = {"if-none-match": '"mine"'}
    assert await asked(request=Request(URL, headers=own)) == own


class ReadPages:
    """A job of a spider whose pages one worker fetches and another one reads."""

    def __init__(self, page=PAGE, job="shop-2"):
        self.store = MemoryKnownPageStore()
        self.store.save_pages("shop", [page])
        made = Job(id=job, name="shop", target="shop", created_at=0.0)
        self.memory = PageMemory(
            self.store,
            made,
            RULES,
            ManualClock(),
            pack_request=pack_request,
            unpack_request=unpack_request,
            asks_conditionally=True,
            leaves_out=True,
        )
        self.entry = Entry(request=Request(URL), fingerprint=5, host="a.example")

    async def visit(self, entry, fetched, verdict=Verdict.SUCCESS, flags=(), at=100.0):
        """What is known of the page after a visit."""
        lease = Lease(entry=entry, token=7, granted_at=0.0, start_by=9.0, deadline=9.0, attempt=1)
        attempt = OpenAttempt(lease, page_entry_of(entry), at, "w1", fetched=fetched, flags=flags)
        await self.memory.load_pages([lease])
        await self.memory.prepare_request(attempt, entry.request)
        result = self.memory.note_visit(attempt, attempt.make_result(verdict))
        self.store.save_pages("shop", result.known)
        return (await self.store.find_pages("shop", [PAGE.fingerprint]))[PAGE.fingerprint]

    async def fetch(self, body=b"new"):
        return await self.visit(self.entry, _answer(body), flags=(DEFERRED,))

    async def read(self, body=b"new", verdict=Verdict.SUCCESS):
        return await self.visit(defer_entry(self.entry, "f:1:1"), _answer(body), verdict, at=200.0)


def _answer(body):
    headers = (("etag", '"2"'), ("last-modified", "Wed, 16 Nov 1994 12:45:26 GMT"))
    return FetchResult(
        url=URL, status=200, headers=headers, body=body, started_at=100.0, latency_s=0.1, elapsed_s=0.1,
        rung="http",
    )  # fmt: skip


async def test_a_page_that_nobody_has_read_yet_stays_due_and_is_asked_for_whole():
    """Its callback may fail, or its job be cancelled before: the next crawl has to get what it says."""
    pages = ReadPages()
    page = await pages.fetch()
    assert (page.checked_at, page.changes, page.has_changed) == (100.0, 1, True)
    assert (page.etag, page.modified, page.due_at) == ("", "", 100.0)
    failed = await pages.read(verdict=Verdict.DEAD)
    assert failed == page


async def test_a_page_that_was_read_is_asked_for_with_its_validators_when_it_is_due():
    pages = ReadPages()
    fetched = await pages.fetch()
    page = await pages.read()
    assert (page.etag, page.modified) == ('"2"', "Wed, 16 Nov 1994 12:45:26 GMT")
    assert page.due_at == page.checked_at + page.interval_s > 100.0
    assert replace(page, etag="", modified="", due_at=100.0) == fetched, "it was one check"


async def test_what_is_read_late_says_nothing_of_a_later_check():
    pages = ReadPages()
    await pages.fetch(b"newer")
    assert (await pages.read(b"new")).etag == ""


async def test_a_page_that_says_where_it_has_gone_was_read():
    pages = ReadPages()
    await pages.fetch()
    page = await pages.read(verdict=Verdict.REDIRECT)
    assert page.etag == ""
    assert page.due_at > 100.0


async def test_a_page_that_one_crawl_fetches_twice_was_checked_once():
    """Its lease was lost between store and frontier; what it says may be another thing at each look."""
    pages = ReadPages(replace(PAGE, body_hash=1))
    once = await pages.visit(pages.entry, _answer(b"one"), at=1000.0)
    assert (once.checks, once.changes, once.has_changed) == (2, 1, True)
    twice = await pages.visit(pages.entry, _answer(b"two"), at=1003.0)
    assert (twice.checks, twice.changes, twice.has_changed) == (2, 1, True)
    assert (twice.rate, twice.interval_s) == (once.rate, once.interval_s)
    assert twice.body_hash != once.body_hash
    assert (twice.checked_at, twice.due_at) == (1003.0, 1003.0 + once.interval_s)


async def test_that_a_budget_was_spent_is_nothing_to_later_crawls():
    """What this crawl has put behind everything else is not there from the beginning of the next one."""
    for priority, kept in ((LAST, 0), (-7, -7)):
        pages = ReadPages()
        entry = replace(pages.entry, request=Request(URL, priority=priority))
        page = await pages.visit(entry, _answer(b"new"))
        assert unpack_request(page.request, page.host).priority == kept


async def test_a_page_that_one_crawl_finds_gone_twice_was_checked_once():
    pages = ReadPages()
    once = await pages.visit(pages.entry, replace(_answer(b""), status=404), at=1000.0)
    twice = await pages.visit(pages.entry, replace(_answer(b""), status=404), at=1003.0)
    assert (once.checks, once.gone_at, once.etag) == (2, 1000.0, "")
    assert twice == replace(once, checked_at=1003.0, due_at=1003.0 + once.interval_s)


def _linked(price, url=URL, depth=1):
    return Request(url, cb_kwargs={"price": price}, depth=depth)


@pytest.mark.parametrize(
    ("changes", "brought", "is_again", "is_noted"),
    [
        ({"due_at": 5.0}, 2, True, True),  # it may be on its way as it was asked for before
        ({"due_at": 5.0}, 1, False, False),
        ({"due_at": 1e12}, 2, False, True),
        ({"due_at": 5.0, "job": "shop-2", "checks": 2}, 2, True, False),  # it was read as before
        ({"due_at": 5.0, "job": "shop-2", "checks": 1}, 2, False, False),  # this crawl has found it
        ({"due_at": 5.0, "request": pack_request(_linked(1, depth=0), PAGE.host)}, 2, False, False),
    ],
)
async def test_what_a_link_brings_to_a_known_page_is_asked_for(changes, brought, is_again, is_noted):
    """Also if another worker has the page, or it becomes a seed only afterwards: as the link has it."""
    page = replace(PAGE, **{"request": pack_request(_linked(1), PAGE.host), **changes})
    pages = ReadPages(page)
    entry = Entry(request=_linked(brought), fingerprint=7, host=PAGE.host)
    lease = Lease(entry=pages.entry, token=7, granted_at=0.0, start_by=9.0, deadline=9.0, attempt=1)
    result = OpenAttempt(lease, pages.entry, 9.0, "w1").make_result(Verdict.SUCCESS)
    result = replace(result, outcome=replace(result.outcome, outlinks=(entry,)))
    (found,) = await pages.memory.note_links([result])
    (followed,) = found.outcome.outlinks
    assert (followed.fingerprint != entry.fingerprint) == is_again
    assert followed.request == entry.request
    noted = [(unpack_request(one.request, one.host), one.etag, one.modified) for one in found.known]
    assert noted == ([(entry.request, "", "")] if is_noted else [])
