"""Pages that an archive gave: as old as they are, and no news of their hosts."""

from __future__ import annotations

import pytest

from gossamer.core.archive import ARCHIVE_RUNG
from gossamer.core.errors import MissingServiceError
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.fixed_router import FixedRouter

URL = "http://a.example/1"


def attempt_by(rung: str) -> OpenAttempt:
    entry = Entry(request=Request(URL), fingerprint=1, host="a.example")
    lease = Lease(entry=entry, token=1, granted_at=99.0, start_by=101.0, deadline=200.0, attempt=1)
    fetched = FetchResult(
        url=URL,
        status=200,
        headers=(),
        body=b"",
        started_at=10.0,
        latency_s=1.0,
        elapsed_s=1.0,
        rung=rung,
    )
    return OpenAttempt(lease=lease, entry=lease.entry, started_at=100.0, worker="w1", fetched=fetched)


@pytest.mark.parametrize(("rung", "at"), [(ARCHIVE_RUNG, 10.0), ("http", 100.0)])
def test_a_page_was_seen_when_it_was_fetched(rung: str, at: float) -> None:
    """Else an old page that is parsed late would take the place of what newer ones say."""
    assert attempt_by(rung).make_page(ExtractResult(), 1).at == at


@pytest.mark.parametrize("kind", list(HostSignalKind))
def test_an_archived_answer_says_nothing_of_its_host(kind: HostSignalKind) -> None:
    """An archived 503 would else hold the host, with nobody there to hold back from."""
    assert attempt_by(ARCHIVE_RUNG).host_signal(kind, 60.0) == HostSignal()
    assert attempt_by("http").host_signal(kind, 60.0) == HostSignal(
        kind=kind, started_at=100.0, latency_s=1.0, retry_after_s=60.0
    )


async def test_where_there_is_one_way_requests_that_name_another_take_it() -> None:
    asked = Request(URL, fetch="http+residential")
    assert (await FixedRouter(is_only=True).choose_route(asked, "a.example")).rung == "http"
    with pytest.raises(MissingServiceError):
        await FixedRouter().choose_route(asked, "a.example")
