"""The counters of a store that are not sums: announced numbers, and a spider's own."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.testing.contracts.store_harness import STORE_CHECKS, StoreSubject, make_visit_result
from gossamer.testing.contracts.suite import assert_equal


@STORE_CHECKS.register
async def of_what_pages_announce_the_largest_number_counts(s: StoreSubject) -> None:
    """Within a batch and over batches, in any order; all other counters are added up."""
    job = await s.book.create("shop", "")
    said = [{"a//": 4213, "b//x": 7}, {"a//": 4212}, {"a//": 4215, "b//c.$x": 3}, {"a//": 4000}]
    results = [replace(make_visit_result(number=n), expected=one) for n, one in enumerate(said, 1)]
    for batch in (results[:2], results[2:3], results[3:]):
        await s.store.write(job, batch)
    t = await s.store.read_totals(job)
    assert_equal(t.expected, {"a//": 4215, "b//c.$x": 3, "b//x": 7}, "the largest")
    assert_equal((t.pages, t.attempts), (4, 4), "sums")


@STORE_CHECKS.register
async def a_spiders_own_counters_follow_their_rules(s: StoreSubject) -> None:
    """Sums, the largest, the smallest and the latest, with and without results; also zero and negative
    values.
    """
    job = await s.book.create("shop", "")
    counted = [
        {"stat:inc:a.$b": 2000, "stat:max:m": -5000, "stat:min:n": 7000, "stat:set:s": 9000},
        {"stat:inc:a.$b": 500, "stat:max:m": -6000, "stat:min:n": 0, "stat:set:s": 3000},
        {"stat:inc:a.$b": -100, "stat:max:m": -4000, "stat:min:n": 1000, "stat:set:s": 4000},
        {"stat:inc:none": 0, "stat:set:s": 0},
    ]
    results = [replace(make_visit_result(number=n), stats=one) for n, one in enumerate(counted, 1)]
    await s.store.write(job, results[:2])
    found = (await s.store.read_totals(job)).stats
    expected = {"inc:a.$b": 2500, "max:m": -5000, "min:n": 0, "set:s": 3000}
    assert_equal(found, expected, "within a batch")
    await s.store.write(job, results[2:3])
    await s.store.write(job, results[3:])
    expected = {"inc:a.$b": 2400, "inc:none": 0, "max:m": -4000, "min:n": 0, "set:s": 0}
    assert_equal((await s.store.read_totals(job)).stats, expected, "over batches")
    await s.store.record_attempts(job, (), {"stat:inc:a.$b": 600, "stat:min:n": -1000, "stat:set:s": 1})
    expected |= {"inc:a.$b": 3000, "min:n": -1000, "set:s": 1}
    assert_equal((await s.store.read_totals(job)).stats, expected, "what no result carries")
    other = await s.book.create("shop", "")
    assert_equal((await s.store.read_totals(other)).stats, {}, "each job has its own")
