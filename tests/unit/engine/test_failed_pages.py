"""A page that came, but on which a browser could not do what it was opened for."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.browsing import PageFailure
from gossamer.core.errors import Fault
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from kit.engine import URL, Kit, virtually


async def crawl_failing(failure: PageFailure, status: int = 200) -> Kit:
    """A crawl of one page with that failure."""
    kit = Kit()
    kit.site.replies[URL] = replace(kit.site.page(URL, status), failure=failure)
    await Supervisor(kit.parts, Worker(kit.parts, kit.shift), drain_s=5.0).run(kit.seeds_of(URL))
    return kit


def rows_of(kit: Kit) -> list[tuple[str, str, int]]:
    rows = [row for result in kit.ledger.results for row in result.attempts]
    return [(row.verdict.value, row.reason, row.status) for row in rows]


def test_what_did_not_appear_is_tried_again_and_no_success() -> None:
    failure = PageFailure(fault=Fault.MISSING, detail="step 1, click '#more': no such element after 10 s")
    kit = virtually(crawl_failing, failure)
    assert rows_of(kit) == [*[("retry", "missing", 200)] * 3, ("dead", "missing", 200)]
    assert kit.ledger.results[-1].attempts[0].detail == failure.detail


def test_the_spiders_own_mistake_is_a_dead_letter_at_once() -> None:
    kit = virtually(crawl_failing, PageFailure(fault=Fault.CALLBACK, detail="LookupError: no menu"))
    assert rows_of(kit) == [("dead", "callback", 200)]


def test_the_status_of_a_page_goes_before_what_failed_on_it() -> None:
    kit = virtually(crawl_failing, PageFailure(fault=Fault.MISSING, detail="no .price"), 404)
    assert rows_of(kit) == [("skipped", "gone", 404)]
