"""The tries at fetching that fit a filter."""

from __future__ import annotations

from gossamer.core.errors import Fault
from gossamer.core.jobs import Job
from gossamer.core.results import AttemptFilter, Verdict
from gossamer.queries.ledger import find_attempts, spellings_of
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.suite import assert_equal

FAILED = {
    3: (Verdict.RETRY, Fault.SERVER.value),
    4: (Verdict.RETRY, Fault.CONNECT.value),
}


async def _make_ledger(s: QueryHarness) -> Job:
    """Two pages of one host, then two failures of another."""
    entries = [make_entry(number, "a.example" if number < 3 else "b.example") for number in (1, 2, 3, 4)]
    job = await s.make_job("shop", *entries)
    await s.end_visits(job, dict.fromkeys((1, 2), (Verdict.SUCCESS, "")))
    await s.end_visits(job, FAILED, status=500)
    return job


@register_check
async def attempts_are_bounded_and_newest_first(s: QueryHarness) -> None:
    """With a word when there are more."""
    job = await _make_ledger(s)
    page = await find_attempts(s.backends, job, AttemptFilter(), 3)
    assert_equal([tried.fingerprint for tried in page.attempts], [4, 3, 2], "the newest come first")
    assert_equal(page.has_more, True, "there is an older one")
    whole = await find_attempts(s.backends, job, AttemptFilter(), 4)
    assert_equal((len(whole.attempts), whole.has_more), (4, False), "a full page may be all")


@register_check
async def attempts_fit_the_whole_filter(s: QueryHarness) -> None:
    """Each field alone, several at once, and whatever the spelling."""
    job = await _make_ledger(s)
    await s.make_job("other", make_entry(1))
    for which, expected in (
        (AttemptFilter(host="A.example"), [2, 1]),
        (AttemptFilter(status=500), [3]),
        (AttemptFilter(status=0), [4]),
        (AttemptFilter(verdict=Verdict.RETRY), [4, 3]),
        (AttemptFilter(reason=Fault.SERVER), [3]),
        (AttemptFilter(method="get", fingerprint=2), [2]),
        (AttemptFilter(method="POST"), []),
        (AttemptFilter(flag="truncated"), []),
        (AttemptFilter(urls=spellings_of("HTTP://a.example:80/1")), [1]),
        (AttemptFilter(urls=("http://a.example/1",), status=500), []),
    ):
        page = await find_attempts(s.backends, job, which, 10)
        found = [tried.fingerprint for tried in page.attempts]
        assert_equal((found, page.has_more), (expected, False), f"what fits {which!r}")
