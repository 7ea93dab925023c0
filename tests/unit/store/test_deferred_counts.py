"""A page that is fetched by one worker and read by another counts as one that one worker did all of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.results import DEFERRED, EXTRACTED, Verdict, VisitResult
from gossamer.store.totals import count_results
from gossamer.testing.contracts.store_harness import make_item, make_visit_result


def one_visit(status: int, items: int, at: float) -> VisitResult:
    """A page that was fetched and read in one go."""
    found = make_visit_result(*(make_item(str(number)) for number in range(items)))
    row = replace(found.attempts[0], at=at, status=status, size_bytes=900, elapsed_ms=12.0, rung="http")
    return replace(found, attempts=(row,), dropped={"link:scheme": 2, "item:price": 1})


def two_visits(whole: VisitResult, wait_s: float) -> list[VisitResult]:
    """The same page, fetched and then read."""
    (row,) = whole.attempts
    fetched = VisitResult(
        outcome=replace(whole.outcome, is_page=True, outlinks=()),
        attempts=(replace(row, flags=(*row.flags, DEFERRED)),),
    )
    read = replace(row, at=row.at + wait_s, elapsed_ms=0.0, rung="archive", flags=(*row.flags, EXTRACTED))
    return [fetched, replace(whole, outcome=replace(whole.outcome, is_page=False), attempts=(read,))]


@given(st.sampled_from([200, 404]), st.integers(0, 3), st.floats(0.0, 5000.0))
def test_two_visits_count_as_one(status: int, items: int, wait_s: float) -> None:
    """Else a page would count twice, and its host's response times would have zeros among them."""
    whole = one_visit(status, items, 1_700_000_000.0)
    expected, found = count_results([whole]), count_results(two_visits(whole, wait_s))
    assert found.total == expected.total
    assert found.hourly_rows() == expected.hourly_rows()
    busy = [row for row in found.series_rows() if any(row[1:])]
    assert busy == [row for row in expected.series_rows() if any(row[1:])]


def test_an_extraction_that_fails_is_counted_as_that() -> None:
    """Nobody would hear of a callback that breaks."""
    whole = one_visit(200, 0, 1_700_000_000.0)
    fetched, read = two_visits(whole, 1.0)
    (row,) = read.attempts
    failed = replace(row, verdict=Verdict.DEAD, reason="callback")
    found = count_results([fetched, VisitResult(outcome=read.outcome, attempts=(failed,))])
    assert (found.total["attempts"], found.total["reason:callback"]) == (1, 1)
    assert not any(name.startswith("callback_pages") for name in found.total)
    (bucket,) = [counts for counts in found.series.values() if counts["dead"]]
    assert (bucket["dead"], bucket["failed"]) == (1, 1)
