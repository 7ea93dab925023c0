"""What is said at the end of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.exits import ExitCode, exit_of
from gossamer.core.jobs import AddResult, FrontierStats, JobTotals
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.notes import CrawlNote
from gossamer.crawl.notes import ending_of, notes_of
from gossamer.engine.seeding import SeedingResult
from gossamer.engine.supervisor import RunSummary
from gossamer.policy.sentences.item_notes import callback_notes

FRESH = JobTotals()


def texts_of(notes: Iterable[CrawlNote]) -> list[str]:
    return [note.text for note in notes]


def ran(
    reason: FinishReason = FinishReason.FINISHED,
    *,
    accepted: int = 0,
    refused: dict[str, int] | None = None,
    **stats: Any,
) -> RunSummary:
    return RunSummary(
        reason=reason,
        seeded=SeedingResult(added=AddResult(accepted=accepted), refused=refused or {}, example="x:y"),
        recovered=0,
        started_at=0,
        ended_at=1,
        stats=FrontierStats(state=JobState.FINISHED, **stats),
    )


ROBOTS = JobTotals(by_reason={"robots": 1})
EMPTY = JobTotals(attempts=2, successes=2, by_status={"204": 1, "304": 1})
SAME = JobTotals(attempts=7, successes=7, by_status={"304": 7}, by_reason={"robots": 1})
REFUSED = JobTotals(attempts=1, by_reason={"connect": 1})
UNTAKEN = JobTotals(pages=3, attempts=3, successes=3, dropped={DropKind.ITEM.key_of("missing"): 3})
DONE = JobTotals(pages=3, attempts=3, successes=3, callback_pages={"parse": 3}, callback_items={"parse": 3})


@pytest.mark.parametrize(
    ("run", "before", "after", "said", "code"),
    [
        (ran(), FRESH, FRESH, ["nothing to do: the spider has no start URLs"], ExitCode.OK),
        (
            ran(refused={"offsite": 1}),
            FRESH,
            FRESH,
            [
                "nothing to do: no start URL was accepted (1 offsite), for example x:y: its host is not one "
                "of the spider's allowed_domains, nor below one of them; if it is wanted, add the host there"
            ],
            ExitCode.DEAD_LETTERS,
        ),
        (
            ran(accepted=1),
            FRESH,
            ROBOTS,
            [
                "no page was parsed (1 robots): robots.txt does not allow it; `gossamer explain URL` "
                "says more about one of them"
            ],
            ExitCode.DEAD_LETTERS,
        ),
        (
            ran(),
            ROBOTS,
            ROBOTS,
            ["nothing to do: this crawl is finished, without a page (1 robots); --fresh starts it over"],
            ExitCode.DEAD_LETTERS,
        ),
        (
            ran(accepted=2),
            FRESH,
            EMPTY,
            ["no page was parsed (2 answers without anything to parse: 204, 304)"],
            ExitCode.OK,
        ),
        (
            ran(accepted=2),
            FRESH,
            SAME,
            ["nothing has changed on 7 pages (status 304)"],
            ExitCode.OK,
        ),
        (
            ran(accepted=1, dead=1),
            FRESH,
            REFUSED,
            [
                "no page was parsed (1 connect): its host could not be reached; see `gossamer dead list "
                "shop-1`"
            ],
            ExitCode.DEAD_LETTERS,
        ),
        (ran(), DONE, DONE, ["nothing to do: this crawl is finished; --fresh starts it over"], ExitCode.OK),
        (
            ran(),
            UNTAKEN,
            UNTAKEN,
            [
                "nothing to do: this crawl is finished; --fresh starts it over",
                "every item was dropped (3 items): 3 missing; `gossamer report quality shop-1` shows "
                "examples",
            ],
            ExitCode.DEAD_LETTERS,
        ),
        (ran(accepted=1), FRESH, DONE, [], ExitCode.OK),
        (
            ran(FinishReason.MAX_PAGES, pending=1, budget_spent=True),
            FRESH,
            DONE,
            ["the budget of pages is spent; 1 request waits: raise --max-pages to continue"],
            ExitCode.OK,
        ),
        (
            ran(FinishReason.MAX_PAGES, pending=1),
            FRESH,
            DONE,
            ["1 request waits at hosts whose budget of pages is spent: raise max_pages_per_host to continue"],
            ExitCode.OK,
        ),
        (
            ran(FinishReason.SKIPPED, pending=1),
            FRESH,
            DONE,
            [
                "1 request waits at hosts that are skipped: after `gossamer host shop-1 HOST --take` the "
                "same command continues"
            ],
            ExitCode.OK,
        ),
        (
            ran(FinishReason.SIGNAL, pending=2),
            FRESH,
            DONE,
            ["2 requests wait; the same command continues with them"],
            ExitCode.STOPPED,
        ),
    ],
)
def test_a_run_says_why_it_did_little(
    run: RunSummary, before: JobTotals, after: JobTotals, said: list[str], code: ExitCode
) -> None:
    assert texts_of(notes_of("shop-1", run, before, after)) == said
    ending = ending_of(
        after,
        run.stats.dead,
        is_early=run.reason is FinishReason.SIGNAL,
        refused_seeds=sum(run.seeded.refused.values()),
    )
    assert exit_of(ending) is code


def test_a_note_that_only_says_how_to_continue_is_no_warning() -> None:
    stopped = ran(FinishReason.SIGNAL, pending=2)
    over = ran(FinishReason.MAX_ERRORS, pending=2)
    for run, before, after, is_warning in (
        (stopped, FRESH, DONE, False),
        (ran(), DONE, DONE, False),
        (ran(accepted=7), FRESH, SAME, False),
        (over, FRESH, DONE, True),
        (ran(), FRESH, FRESH, True),
        (ran(), ROBOTS, ROBOTS, True),
    ):
        (note,) = notes_of("shop-1", run, before, after)
        assert note.is_warning is is_warning, note


def test_links_that_were_too_deep_are_told_when_there_is_nothing_else_to_do() -> None:
    deep = JobTotals(pages=1, attempts=1, successes=1, dropped={"link:too_deep": 1})
    assert notes_of("a", ran(), deep, deep)[1].text == "1 link was too deep; --fresh with more depth takes it"


def test_pages_whose_callback_gave_too_much_are_told_of() -> None:
    """How many items are missing nobody knows: the callback was stopped."""
    before = JobTotals(pages=1, dropped={"item:too_many": 1})
    after = JobTotals(pages=4, dropped={"item:too_many": 3}, callback_items={"parse": 4})
    assert texts_of(notes_of("a", ran(), before, after)) == [
        "items are missing of 2 pages: the callback yielded more than parse.max_links, and was stopped "
        "there; --fresh with a larger value takes them"
    ]
    assert notes_of("a", ran(), after, after)[0].text.startswith("nothing to do")


def test_a_callback_that_never_gives_anything_is_named() -> None:
    tally = JobTotals(
        pages=41,
        callback_pages={"parse": 1, "parse_product": 40, "_sitemap": 2},
        callback_requests={"parse": 40},
    )
    assert texts_of(callback_notes(tally)) == [
        "parse_product() gave neither items nor new requests on any of its 40 pages: do its selectors fit?"
    ]
    assert texts_of(callback_notes(JobTotals(pages=1, callback_pages={"parse": 1}))) == [
        "parse() gave neither items nor new requests on its only page: do its selectors fit?"
    ]


def test_callbacks_that_never_give_anything_are_named_in_one_line() -> None:
    pages = {"parse": 1, "parse_product": 40, "_sitemap": 2}
    assert texts_of(callback_notes(JobTotals(pages=41, callback_pages=pages))) == [
        "no callback gave items or new requests on any page: parse_product() on 40 pages, parse() on 1 page; "
        "do their selectors fit?"
    ]
    pages = {"parse": 1, **{f"parse_{n}": 10 + n for n in range(6)}}
    (said,) = callback_notes(JobTotals(pages=76, callback_pages=pages, callback_requests={"parse": 75}))
    assert said.text.startswith(
        "6 callbacks gave neither items nor new requests on any page: parse_5() on 15 pages,"
    )
    assert said.text.endswith("parse_2() on 12 pages, ...; do their selectors fit?")


def test_a_crawl_without_any_item_says_so() -> None:
    pages = {"parse": 1, "parse_list": 9}
    tally = JobTotals(pages=10, callback_pages=pages, callback_requests=pages)
    (note,) = callback_notes(tally)
    assert note.text == "no callback gave an item: parse() on 1 page, parse_list() on 9 pages"
    assert callback_notes(JobTotals(pages=10, callback_pages=pages, callback_requests=pages,
                                callback_items={"parse": 1})) == []  # fmt: skip


def test_a_spider_that_only_counts_needs_no_items() -> None:
    pages = {"parse": 2}
    tally = JobTotals(pages=2, callback_pages=pages, callback_requests={"parse": 1})
    assert len(callback_notes(tally)) == 1
    assert callback_notes(replace(tally, stats={"stat:inc:products": 40000})) == []


@pytest.mark.parametrize("given", [{"items": 30}, {"dropped": {"item:draft": 30}}])
def test_items_of_callbacks_that_failed_later_are_items(given: dict[str, Any]) -> None:
    tally = JobTotals(pages=31, callback_pages={"parse": 1}, callback_requests={"parse": 30}, **given)
    assert callback_notes(tally) == []


def test_a_job_of_an_older_version_that_finished_well_has_not_failed() -> None:
    old = JobTotals(pages=100, attempts=103, by_reason={"server": 3})
    assert exit_of(ending_of(old, 3, is_early=False)) is ExitCode.OK


def test_a_page_whose_callback_failed_later_is_no_success() -> None:
    """As where its worker runs the callback at once: 12 of 23 pages failed."""
    at_once, later = JobTotals(pages=23, successes=11), JobTotals(pages=23, successes=23)
    assert ending_of(later, 12, is_early=False, fetched=12) == ending_of(at_once, 12, is_early=False)
    assert exit_of(ending_of(later, 12, is_early=False, fetched=12)) is ExitCode.DEAD_LETTERS
