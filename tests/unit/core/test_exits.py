"""How a crawl's process ends."""

from __future__ import annotations

import pytest

from gossamer.core.exits import ExitCode, ExitFacts, exit_of

OK, FAILED, STOPPED = ExitCode.OK, ExitCode.DEAD_LETTERS, ExitCode.STOPPED


@pytest.mark.parametrize(
    ("ending", "code", "strict_code"),
    [
        # all is well, or there was nothing to do
        (ExitFacts(pages=9, successes=9), OK, OK),
        (ExitFacts(), OK, OK),
        # some pages, some failures
        (ExitFacts(pages=9, successes=9, failures=3, dead=0), OK, OK),
        (ExitFacts(pages=9, successes=9, failures=3, dead=3), OK, FAILED),
        # links were left out as a trap
        (ExitFacts(pages=9, successes=9, left_out=5), OK, FAILED),
        # answers, but nothing to parse: 204, 304
        (ExitFacts(pages=0, successes=2), OK, OK),
        (ExitFacts(pages=0, successes=2, failures=3, dead=0), OK, OK),
        (ExitFacts(pages=0, successes=2, failures=3, dead=1), FAILED, FAILED),
        # not a single page
        (ExitFacts(pages=0, failures=4, dead=1), FAILED, FAILED),
        (ExitFacts(pages=0, failures=1, dead=0), FAILED, FAILED),  # gone, robots.txt, out of scope
        (ExitFacts(pages=0, dead=1), FAILED, FAILED),
        # every page was parsed, and its callback failed
        (ExitFacts(pages=2, successes=0, failures=2, dead=2), FAILED, FAILED),
        # most requests failed, or as many as did not
        (ExitFacts(pages=30, successes=3, failures=27, dead=27), FAILED, FAILED),
        (ExitFacts(pages=6, successes=3, failures=3, dead=3), OK, FAILED),
        # every item was dropped, or some
        (ExitFacts(pages=9, successes=9, dropped_items=9), FAILED, FAILED),
        (ExitFacts(pages=9, successes=9, dropped_items=8, items=1), OK, OK),
        # a host was lost half-way
        (ExitFacts(pages=9, successes=9, failures=3, dead=3, lost=3), FAILED, FAILED),
        (ExitFacts(is_early=True, pages=9, successes=9, dead=3, lost=3), STOPPED, STOPPED),
        # the spider's own end
        (ExitFacts(pages=9, successes=9, failed_hooks=1), FAILED, FAILED),
        # stopped early: whatever else there is
        (ExitFacts(is_early=True), STOPPED, STOPPED),
        (ExitFacts(is_early=True, pages=9, successes=9, dead=1), STOPPED, STOPPED),
        (ExitFacts(is_early=True, failures=1, dead=1, failed_hooks=1), STOPPED, STOPPED),
    ],
)
def test_the_exit_code_of_a_crawl(ending: ExitFacts, code: ExitCode, strict_code: ExitCode) -> None:
    assert (exit_of(ending), exit_of(ending, strict=True)) == (code, strict_code)
