"""How a crawl's process ends."""

from __future__ import annotations

import pytest

from gossamer.core.exits import Ending, Exit, exit_of

OK, FAILED, STOPPED = Exit.OK, Exit.DEAD_LETTERS, Exit.STOPPED


@pytest.mark.parametrize(
    ("ending", "code", "strict_code"),
    [
        # all is well, or there was nothing to do
        (Ending(pages=9, successes=9), OK, OK),
        (Ending(), OK, OK),
        # some pages, some failures
        (Ending(pages=9, successes=9, failures=3, dead=0), OK, OK),
        (Ending(pages=9, successes=9, failures=3, dead=3), OK, FAILED),
        # answers, but nothing to parse: 204, 304
        (Ending(pages=0, successes=2), OK, OK),
        (Ending(pages=0, successes=2, failures=3, dead=0), OK, OK),
        (Ending(pages=0, successes=2, failures=3, dead=1), FAILED, FAILED),
        # not a single page
        (Ending(pages=0, failures=4, dead=1), FAILED, FAILED),
        (Ending(pages=0, failures=1, dead=0), FAILED, FAILED),  # gone, robots.txt, out of scope
        (Ending(pages=0, dead=1), FAILED, FAILED),
        # every page was parsed, and its callback failed
        (Ending(pages=2, successes=0, failures=2, dead=2), FAILED, FAILED),
        # a host was lost half-way
        (Ending(pages=9, successes=9, failures=3, dead=3, lost=3), FAILED, FAILED),
        (Ending(is_early=True, pages=9, successes=9, dead=3, lost=3), STOPPED, STOPPED),
        # the spider's own end
        (Ending(pages=9, successes=9, failed_hooks=1), FAILED, FAILED),
        # stopped early: whatever else there is
        (Ending(is_early=True), STOPPED, STOPPED),
        (Ending(is_early=True, pages=9, successes=9, dead=1), STOPPED, STOPPED),
        (Ending(is_early=True, failures=1, dead=1, failed_hooks=1), STOPPED, STOPPED),
    ],
)
def test_the_exit_code_of_a_crawl(ending: Ending, code: Exit, strict_code: Exit) -> None:
    assert (exit_of(ending), exit_of(ending, strict=True)) == (code, strict_code)
