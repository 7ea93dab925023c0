"""What a pipeline or a store refuses costs its page, in sight of everybody, and never the crawl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.hosts import HostSignalKind
from gossamer.core.lifecycle import FinishReason
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, VisitResult
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.items.pipeline import DefaultPipeline
from gossamer.policy.faults import may_pass
from kit.engine import CALM, URL, Kit, virtually

PAGE = ExtractResult(items=({"a": 1},), requests=(Request(URL + "next"),))


class Away:
    """A step whose database is away for the first ``times`` calls."""

    def __init__(self, times: int) -> None:
        self.times = times

    def process_item(self, item: Any, spider: Any) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise ConnectionError("the database is away")
        return item


def crawl(yields: dict[str, ExtractResult], *, step: Any = None, replies: Any = None, **seed: Any) -> Any:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        kit.pages.yields = yields
        kit.site.replies = replies or {}
        parts = kit.with_parts(pipeline=DefaultPipeline(steps=[step] if step else []))
        worker = Worker(parts, kit.shift)
        return kit, await Supervisor(parts, worker).run(kit.seeds_of(URL, **seed))

    return virtually(main)


def test_a_page_whose_step_fails_is_tried_again_and_nothing_of_it_is_lost() -> None:
    made, ran = crawl({URL: PAGE}, step=Away(2))
    assert made.ledger.verdicts == [
        (URL, "retry", "pipeline"),
        (URL, "retry", "pipeline"),
        (URL, "success", ""),
        (URL + "next", "success", ""),
    ]
    assert made.ledger.items == [b'{"a":1}']
    assert (ran.stats.dead, ran.stats.pages) == (0, 2)
    times = [at for at, url in made.site.log if url == URL]
    assert times[1] - times[0] >= CALM.backoff_base_s / 2
    assert times[2] - times[1] >= CALM.backoff_base_s


def test_a_page_whose_step_goes_on_failing_is_a_dead_letter_of_which_nothing_is_stored() -> None:
    made, ran = crawl({URL: PAGE}, step=Away(99))
    assert [verdict for _, verdict, _ in made.ledger.verdicts] == ["retry"] * CALM.max_retries + ["dead"]
    assert made.ledger.items == []
    for result in made.ledger.results:
        assert (result.page, result.outcome.outlinks, result.outcome.is_page) == (None, (), False)
        assert result.outcome.signal.kind is HostSignalKind.OK  # the host did its part
        detail = result.attempts[0].detail
        assert "in the pipeline step Away" in detail
        assert detail.rstrip().endswith("ConnectionError: the database is away")
    assert ran.stats.dead == 1


class Mistaken:
    """A step that fails on items of some kind, whatever is tried."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def process_item(self, item: Any, spider: Any) -> Any:
        if "bad" in item:
            raise self.error
        return item


@pytest.mark.parametrize(
    "error", [KeyError("price"), ZeroDivisionError(), RuntimeError("no"), FileNotFoundError()]
)
def test_a_mistake_in_a_step_costs_its_item_and_no_second_fetch(error: Exception) -> None:
    """The other items of the page are stored, and its links are followed."""
    page = ExtractResult(items=({"a": 1}, {"bad": 2}, {"c": 3}), requests=(Request(URL + "next"),))
    made, ran = crawl({URL: page}, step=Mistaken(error))
    assert made.ledger.verdicts == [(URL, "dead", "pipeline"), (URL + "next", "success", "")]
    assert made.ledger.items == [b'{"a":1}', b'{"c":3}']
    assert "in the pipeline step Mistaken" in made.ledger.results[0].attempts[0].detail
    assert [url for _, url in made.site.log if "robots" not in url] == [URL, URL + "next"]
    assert (ran.stats.dead, ran.stats.pages) == (1, 2)


def test_an_error_may_pass_if_it_says_that_something_is_away() -> None:
    """The classes of drivers are known by their names: none of them is imported here."""
    away = [type("OperationalError", (Exception,), {}), type("ServerSelectionTimeoutError", (Exception,), {})]
    away += [type("Own", (type("PoolTimeout", (Exception,), {}),), {}), ConnectionResetError, TimeoutError]
    assert all(may_pass(kind()) for kind in away)
    assert may_pass(OSError(28, "No space left on device"))
    assert not any(map(may_pass, (ValueError(), TypeError(), Exception("timeout"), PermissionError())))


@pytest.mark.parametrize("status", [403, 404])
def test_items_of_an_errback_are_tried_again_too(status: int) -> None:
    errback = {"errback": ExtractResult(items=({"failed": True},))}
    made, ran = crawl(errback, step=Away(1), replies={URL: status}, errback="failed")
    assert made.ledger.items == [b'{"failed":true}']
    assert made.ledger.verdicts[0] == (URL, "retry", "pipeline")
    assert f"{status}" in made.ledger.results[0].attempts[0].detail or status == 404
    made, ran = crawl(errback, step=Away(99), replies={URL: status}, errback="failed")
    assert (made.ledger.items, ran.stats.dead) == ([], 1)
    assert len(made.pages.errbacks) == 1 + CALM.max_retries


def test_an_errback_that_raises_makes_a_dead_letter_of_a_page_that_is_gone() -> None:
    errback = {"errback": ExtractResult(items=({"a": 1},), error="Traceback: boom", fault="callback")}
    made, ran = crawl(errback, replies={URL: 404}, errback="failed")
    assert made.ledger.verdicts == [(URL, "dead", "callback")]
    assert "boom" in made.ledger.results[0].attempts[0].detail
    assert made.ledger.items == [b'{"a":1}']
    assert ran.stats.dead == 1


def test_an_item_that_cannot_be_stored_is_a_fault_of_the_callback_and_the_others_are_kept() -> None:
    made, ran = crawl({URL: ExtractResult(items=({"a": 1}, {"b": float("nan")}, {"c": 3}))})
    assert made.ledger.verdicts == [(URL, "dead", "callback")]
    assert made.ledger.items == [b'{"a":1}', b'{"c":3}']
    assert "item.b: not a finite number" in made.ledger.results[0].attempts[0].detail
    assert ran.stats.dead == 1


class Picky:
    """A committer that cannot encode what some page gave."""

    def __init__(self, kit: Kit, error: Exception) -> None:
        self._kit = kit
        self._error = error

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        for result in results:
            if any(b"bad" in item.data for item in result.items):
                raise self._error
        return await self._kit.parts.committer.commit(results)


def with_committer(error: Exception) -> tuple[Kit, RunSummary]:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit()
        kit.pages.yields = {URL: ExtractResult(items=({"a": "bad"},), requests=(Request(URL + "lost"),))}
        parts = kit.with_parts(committer=Picky(kit, error))
        worker = Worker(parts, kit.shift)
        return kit, await Supervisor(parts, worker).run(kit.seeds_of(URL, URL + "b", URL + "c"))

    return virtually(main)


def test_what_a_store_cannot_encode_costs_its_page_and_not_the_turn() -> None:
    made, ran = with_committer(UnicodeEncodeError("utf-8", "x", 0, 1, "surrogates not allowed"))
    assert sorted(made.ledger.verdicts) == [
        (URL, "dead", "callback"),
        (URL + "b", "success", ""),
        (URL + "c", "success", ""),
    ]
    (dead,) = [h for h in made.ledger.results if h.outcome.verdict == "dead"]
    assert "surrogates not allowed" in dead.attempts[0].detail
    assert (ran.reason, ran.stats.dead) == (FinishReason.FINISHED, 1)


def test_a_store_that_is_away_still_ends_the_run() -> None:
    with pytest.raises(StorageError, match="full"):
        with_committer(StorageError("full"))
