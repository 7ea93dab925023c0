"""The contract of a page examiner, as named checks.

Use: ``await check_page_examiner(make)``, or one by one from ``PAGE_EXAMINER_CHECKS``; ``make(clock)`` is an
async context manager that gives a :class:`~gossamer.ports.page_examiner.PageExaminer`.
"""

from __future__ import annotations

import asyncio

from gossamer.ports.page_examiner import PARSE_TRUNCATED, PageExaminer
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["PAGE_EXAMINER_CHECKS", "check_page_examiner"]

HTML = "text/html"
HARMLESS = b"<title>One</title>" + b"<p>some <b>text</b> and a <a href=/x>link</a></p>" * 2000
DEEP = b"<title>Two</title>" + b"<div>" * 100_000 + b"<p>the end"

PAGE_EXAMINER_CHECKS: ContractSuite[PageExaminer] = ContractSuite()
"""The checks by name."""


async def check_page_examiner(make: Make[PageExaminer]) -> None:
    """Run every check on a fresh examiner each. Raises ``AssertionError`` for a broken promise."""
    await PAGE_EXAMINER_CHECKS.run(make)


@PAGE_EXAMINER_CHECKS.register
async def a_harmless_page_is_left_as_it_is(examiner: PageExaminer) -> None:
    """However large."""
    assert_equal(await examiner.examine(HARMLESS, HTML), None, "it may be parsed as it is")
    assert_equal(await examiner.examine(b"", HTML), None, "and so may an empty one")


@PAGE_EXAMINER_CHECKS.register
async def a_page_that_is_too_much_is_cut_and_says_so(examiner: PageExaminer) -> None:
    """The rest is UTF-8, harmless, and flagged."""
    cut = await examiner.examine(DEEP, HTML)
    assert cut is not None, "the page is cut"
    assert_holds(PARSE_TRUNCATED in cut.flags and cut.cuts, f"it is flagged: {cut.flags}")
    assert_holds("Two" in cut.body.decode(), "the beginning is kept")
    assert_holds(len(cut.body) < len(DEEP), "less is left")
    assert_equal(await examiner.examine(cut.body, HTML), None, "the rest may be parsed as it is")


@PAGE_EXAMINER_CHECKS.register
async def equal_pages_are_treated_equally(examiner: PageExaminer) -> None:
    """One after the other, and beside others."""
    alone = await examiner.examine(DEEP, HTML)
    beside = await asyncio.gather(
        *(examiner.examine(body, HTML) for body in (HARMLESS, DEEP, HARMLESS, DEEP))
    )
    assert_equal(beside, [None, alone, None, alone], "the same page is the same page")


@PAGE_EXAMINER_CHECKS.register
async def a_cancelled_examination_disturbs_nobody(examiner: PageExaminer) -> None:
    """The next page gets its own answer."""
    task = asyncio.create_task(examiner.examine(DEEP, HTML))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert_equal(await examiner.examine(HARMLESS, HTML), None, "it is the answer to this page")
