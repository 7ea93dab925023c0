"""The admission: what it refuses, what it remembers, and that memory changes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gossamer.core.files import Saving
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import VisitResult
from gossamer.engine import admission
from gossamer.engine.admission import Admission
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.trap_counts import TrapCountStore
from gossamer.engine.trap_meter import TrapMeter
from gossamer.engine.visit_ends import end_untried
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy import urls
from gossamer.policy.content_memory import ContentMemory
from gossamer.policy.scope import Scope
from gossamer.policy.trap_budgets import TrapBudgetRules, TrapCounts
from gossamer.policy.urls import UrlOptions
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

PAGE = Request("http://a.example/", depth=2)


@pytest.fixture
def gate() -> Admission:
    return Admission(Scope(["a.example"]), UrlOptions(), b"key")


def test_entries_are_canonical_and_placed(gate: Admission) -> None:
    entry = gate.admit_request(Request("HTTP://A.example:80/x?utm_source=y#f"))
    assert isinstance(entry, Entry)
    assert (entry.request.url, entry.host) == ("http://a.example/x", "a.example")
    assert entry.fingerprint == gate.fingerprint_of(Request("http://a.example/x"))


def test_refusals_say_why(gate: Admission) -> None:
    assert gate.admit_request(Request("http://b.example/")) == "offsite"
    assert gate.admit_request(Request("non:sense")) == "bad_url"
    assert gate.fingerprint_of(Request("non:sense")) is None


def test_links_of_a_page_are_unique_deeper_and_counted(gate: Admission) -> None:
    dropped: dict[str, int] = {}
    links = [Request(f"http://a.example/{n % 3}") for n in range(9)] + [Request("http://b.example/")] * 2
    entries = gate.admit_links(PAGE, links, dropped)
    assert [entry.request.url[-1] for entry in entries] == ["0", "1", "2"]
    assert {(entry.request.depth, entry.request.via) for entry in entries} == {(3, PAGE.url)}
    assert dropped == {"link:offsite": 2}


def test_what_is_inside_is_not_offered_again_but_dont_filter_is(gate: Admission) -> None:
    links = [Request("http://a.example/1"), Request("http://a.example/2")]
    gate.remember_entries(gate.admit_links(PAGE, links[:1], {}))
    assert [entry.request.url for entry in gate.admit_links(PAGE, links, {})] == ["http://a.example/2"]
    again = [links[0].replace(dont_filter=True)] * 2
    assert len(gate.admit_links(PAGE, again, {})) == 2


def test_what_is_asked_for_on_purpose_is_not_inside(gate: Admission) -> None:
    links = [Request("http://a.example/1", dont_filter=True)]
    gate.remember_entries(gate.admit_links(PAGE, links, {}))
    assert len(gate.admit_links(PAGE, [Request("http://a.example/1")], {})) == 1


@pytest.mark.parametrize("changes", [{}, {"method": "POST", "body": b"x"}, {"saves": Saving()}])
def test_a_page_is_another_one_in_each_session(gate: Admission, changes: dict[str, Any]) -> None:
    """That of the usual session is what it ever was; who names a key says all about what is the same."""
    requests = [Request("http://a.example/1", session=name, **changes) for name in ("", "a", "b", "")]
    usual, first, second, again = (gate.fingerprint_of(request) for request in requests)
    assert len({usual, first, second}) == 3
    assert again == usual
    assert len(gate.admit_links(PAGE, requests, {})) == 3
    known = urls.fingerprint_of(
        changes.get("method", "GET"), "http://a.example/1", changes.get("body", b""), b"key"
    )
    assert usual == (urls.file_twin_of(known) if "saves" in changes else known)


def test_a_key_is_the_same_in_all_sessions(gate: Admission) -> None:
    keyed = [Request("http://a.example/1", session=name, unique_key="one") for name in ("", "a")]
    assert len({gate.fingerprint_of(request) for request in keyed}) == 1


def test_a_delay_is_counted_from_when_the_request_is_made() -> None:
    clock = ManualClock()
    gate = Admission(Scope(["a.example"]), UrlOptions(), b"key", now=clock.now)
    seed = gate.admit_request(Request("http://a.example/1", delay=60))
    (link,) = gate.admit_links(PAGE, [Request("http://a.example/2", delay=5)], {})
    assert isinstance(seed, Entry)
    assert (seed.due_at, link.due_at) == (clock.now() + 60, clock.now() + 5)
    assert seed.request.delay is link.request.delay is None, "it does not wait again when it is tried again"


def test_method_and_body_tell_requests_apart(gate: Admission) -> None:
    url = "http://a.example/form"
    requests = [Request(url), Request(url, method="POST"), Request(url, method="POST", body=b"a=1")]
    assert len({gate.fingerprint_of(request) for request in requests}) == 3


def test_a_key_stands_for_the_url_and_scope_has_exceptions(gate: Admission) -> None:
    """Of a key that is a URL its page is known; any other text makes a request nobody else's duplicate."""
    plain = gate.fingerprint_of(Request("http://a.example/x?a=1&b=2"))
    assert gate.fingerprint_of(Request("http://a.example/x?b=2&a=1")) != plain
    swapped = Request("http://a.example/x?b=2&a=1", unique_key="http://a.example/x?a=1&b=2")
    assert gate.fingerprint_of(swapped) == plain
    again = [Request("http://a.example/", unique_key=key) for key in ("one", "one", "two")]
    links = gate.admit_links(PAGE, [Request("http://a.example/"), *again], {})
    assert [link.request.unique_key for link in links] == ["", "one", "two"]
    elsewhere = Request("http://b.example/", is_anywhere=True)
    assert isinstance(gate.admit_request(elsewhere), Entry)
    assert gate.admit_request(Request("http://b.example/")) == "offsite"
    assert gate.admit_request(Request("non:sense", is_anywhere=True)) == "bad_url"


def test_memory_is_bounded(gate: Admission, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "REMEMBERED", 10)
    for n in range(100):
        gate.remember_entries(gate.admit_links(PAGE, [Request(f"http://a.example/{n}")], {}))
    assert len(gate._inside) <= 12
    assert len(gate._places) <= 12
    assert "12 known" not in repr(gate)


def test_a_file_belongs_to_the_page_that_names_it_wherever_it_is(gate: Admission) -> None:
    gate.max_depth = 2
    dropped: dict[str, int] = {}
    links = [Request("http://a.example/x"), Request("http://cdn.example/x.PDF?utm_source=y", saves=Saving())]
    (entry,) = gate.admit_links(PAGE, links * 2, dropped)
    assert (entry.request.url, entry.request.depth, entry.host) == (
        "http://cdn.example/x.PDF",
        2,
        "cdn.example",
    )
    assert dropped == {"link:too_deep": 2}
    page, file = (Request("http://a.example/x", saves=saves) for saves in (None, Saving()))
    assert gate.fingerprint_of(page) != gate.fingerprint_of(file), "one may be wanted as both"
    bad = Request("http://a.example:x/", saves=Saving())
    assert gate.admit_links(PAGE, [bad], dropped) == ()
    assert dropped["link:bad_url"] == 1
    closed = Admission(Scope(["a.example"]), UrlOptions(), b"key", takes_files=False)
    assert closed.admit_request(file) == "file", "as for a replay: an archive has none"


async def test_a_trap_refuses_pages_and_not_the_files_of_good_ones() -> None:
    clock = ManualClock()
    store = TrapCountStore(MemorySharedState(clock), "job")
    await store.add_closed({"http://a.example/product/*": TrapCounts(rule="trap_soft_404")})
    meter = TrapMeter(store, clock, TrapBudgetRules(), ContentMemory())
    await meter.load()
    gate = Admission(Scope(["a.example"]), UrlOptions(), b"key", meter=meter)
    dropped: dict[str, int] = {}
    picture = Request("http://a.example/product/oak.jpg", saves=Saving())
    (entry,) = gate.admit_links(PAGE, [Request("http://a.example/product/oak"), picture], dropped)
    assert entry.request.saves is not None
    assert dropped == {"link:trap_soft_404": 1}


async def test_a_probe_of_a_trap_is_fetched_by_any_worker() -> None:
    """A bug it would catch: only the worker that has read the link knows that it is a probe."""
    clock = ManualClock()
    store = TrapCountStore(MemorySharedState(clock), "job")
    await store.add_closed({"http://a.example/x/#?": TrapCounts(rule="trap_near_duplicate")})
    reader, other = (TrapMeter(store, clock, TrapBudgetRules(), ContentMemory()) for _ in range(2))
    for meter in (reader, other):
        await meter.load()
    gate = Admission(Scope(["a.example"]), UrlOptions(), b"key", meter=reader)
    links = [Request(f"http://a.example/x/{number}", is_trap_probe=True) for number in range(40)]
    dropped: dict[str, int] = {}
    entry, good = gate.admit_links(PAGE, [*links, Request("http://a.example/y", is_trap_probe=True)], dropped)
    assert dropped == {"link:trap_near_duplicate": 39}
    assert not good.request.is_trap_probe, "a spider cannot say so"
    stored = unpack_request(pack_request(entry.request, entry.host), entry.host)
    assert _skips(other, stored) is None
    assert _skips(other, stored.replace(is_trap_probe=False)) is not None


def _skips(meter: TrapMeter, request: Request) -> VisitResult | None:
    """How a visit of a worker with this meter ends before anything is fetched; ``None``: it goes on."""
    entry = Entry(request=request.replace(via="http://a.example/"), fingerprint=1, host="a.example")
    lease = Lease(entry=entry, token=1, granted_at=0.0, start_by=1.0, deadline=1.0, attempt=1)
    parts: Any = SimpleNamespace(admission=SimpleNamespace(meter=meter), is_extracting=False)
    return end_untried(parts, OpenAttempt(lease, entry, 0.0, "w"))
