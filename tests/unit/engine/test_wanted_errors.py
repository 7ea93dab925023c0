"""Errors whose pages a spider handles itself: at once, or when the request has had all of its tries."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.results import StatusWish
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from kit.engine import CALM, URL, Kit, virtually


async def crawl(wish: StatusWish, *statuses: int) -> list[tuple[str, int]]:
    """The verdict and the status of each try at one page that answers with these statuses."""
    kit = Kit(replace(CALM, max_retries=2))
    kit.pages.wants_status = lambda request, status: wish if status >= 400 else 0  # type: ignore[method-assign]
    kit.site.replies[URL] = [*statuses]
    await Supervisor(kit.parts, Worker(kit.parts, kit.shift), drain_s=5.0).run(kit.seeds_of(URL))
    return [(row.verdict.value, row.status) for result in kit.ledger.results for row in result.attempts]


@pytest.mark.parametrize("status", [500, 503])
def test_one_that_passes_never_reaches_a_callback_that_wants_it_at_last(status: int) -> None:
    tries = virtually(lambda: crawl(StatusWish.AT_LAST, status, 200))
    assert tries == [("retry", status), ("success", 200)]


@pytest.mark.parametrize("status", [500, 503])
def test_one_that_stays_is_the_callbacks_at_the_last_try(status: int) -> None:
    tries = virtually(lambda: crawl(StatusWish.AT_LAST, status))
    assert tries == [("retry", status)] * 2 + [("success", status)]


def test_one_that_is_wanted_at_once_is_never_tried_again() -> None:
    assert virtually(lambda: crawl(StatusWish.AT_ONCE, 500, 200)) == [("success", 500)]
