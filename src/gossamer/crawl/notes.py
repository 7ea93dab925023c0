"""The notes of a run's summary beside its figures: why it did little, and how to continue it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.exits import ExitFacts
from gossamer.core.jobs import JobTotals
from gossamer.core.lifecycle import FinishReason
from gossamer.core.notes import CallbackSource, CrawlNote, NoteKind, make_note
from gossamer.core.routes import BlockKind
from gossamer.core.text import by_reason, format_count
from gossamer.engine.seeding import SeedingResult
from gossamer.engine.supervisor import RunSummary
from gossamer.observe.text import error_headline, shown_url
from gossamer.policy.blocks import find_redirect_block
from gossamer.policy.faults import FAULTS
from gossamer.policy.sentences.item_notes import ReadSource, callback_notes, item_notes
from gossamer.policy.sentences.refusals import explain_refusal
from gossamer.policy.trap_closing import count_left_out

_MORE_ITEMS = DropKind.ITEM.key_of("too_many")


def ending_of(
    tally: JobTotals,
    dead: int,
    *,
    is_early: bool,
    lost: int = 0,
    fetched: int = 0,
    refused_seeds: int = 0,
    failed_hooks: int = 0,
) -> ExitFacts:
    """Return the facts that decide the exit code, from a job's totals.

    ``lost`` of the dead letters are of lost hosts; ``fetched`` of them are pages that counted as successes
    before they were extracted.
    """
    return ExitFacts(
        is_early=is_early,
        pages=tally.pages,
        # Jobs of older versions did not count their successes.
        successes=max(tally.successes - fetched, 0) if tally.successes else max(tally.pages - dead, 0),
        failures=sum(failures_of(tally).values()) + refused_seeds,
        dead=dead,
        items=tally.items,
        dropped_items=DropKind.ITEM.count_in(tally.dropped),
        lost=lost,
        left_out=count_left_out(tally.dropped),
        failed_hooks=failed_hooks,
    )


def failed_hook_note(failure: str) -> CrawlNote:
    """Return a note about code that failed at the end, from its traceback."""
    text = f"{failure.partition(':')[0]}: {error_headline(failure)}; everything else is stored"
    return make_note(NoteKind.HOOK, text)


def log_in_notes(known_target: str) -> list[CrawlNote]:
    """Return a note if most redirects to known pages led to ``known_target``, and that is a log-in page."""
    block = find_redirect_block("", known_target)
    if block is None or block.kind is not BlockKind.LOG_IN:
        return []
    text = (
        f"pages redirect to {shown_url(known_target)}, which looks like a log-in: they are for members, and "
        "a spider with login_url and log_in() gets them"
    )
    return [make_note(NoteKind.LOG_IN, text)]


_UNCHANGED = "304"
_OVER_BUDGET = (FinishReason.BUDGET, FinishReason.MAX_ERRORS)
_CONTINUED = (FinishReason.SIGNAL, FinishReason.MAX_TIME, FinishReason.PAUSED, FinishReason.STOPPED)


def notes_of(
    job: str,
    ran: RunSummary,
    before: JobTotals,
    tally: JobTotals,
    *,
    lost: int = 0,
    is_kept: bool = True,
    read_source: ReadSource = lambda _: CallbackSource(),
) -> list[CrawlNote]:
    """Return notes on why a run did nothing or little, and how to continue it.

    A run that is not kept can neither be continued nor inspected.
    """
    said = _continuation_notes(job, ran, is_kept=is_kept)
    if lost and is_kept:
        text = (
            f"{format_count(lost, 'request')} given up: the host did not come back within host_patience; "
            f"when it is back: `gossamer dead retry {job} --reason host_lost`, then the same command"
        )
        said.append(make_note(NoteKind.LOST_HOST, text))
    if is_kept and (skipped := tally.by_reason.get(Fault.BUDGET, 0)):
        text = (
            f"{format_count(skipped, 'request')} skipped over a budget (`gossamer report budgets {job}`): "
            f"`gossamer attempts {job} --reason budget`"
        )
        said.append(make_note(NoteKind.BUDGET, text))
    seeded = ran.seeded
    if seeded.refused and (seeded.added.accepted or seeded.added.duplicates):
        text = f"some start URLs were not accepted {_format_refused(seeded)}"
        said.append(make_note(NoteKind.START, text))
    stopped = tally.dropped.get(_MORE_ITEMS, 0) - before.dropped.get(_MORE_ITEMS, 0)
    if stopped:
        text = (
            f"items are missing of {format_count(stopped, 'page')}: the callback yielded more than "
            "parse.max_links, and was stopped there; --fresh with a larger value takes them"
        )
        said.append(make_note(NoteKind.MISSING, text))
    if tally.pages > before.pages:
        said += item_notes(job if is_kept else "", tally) + callback_notes(tally, read_source)
    elif ran.reason is FinishReason.FINISHED:
        said += _no_page_notes(job if is_kept else "", ran, before, tally)
    else:
        said += item_notes(job if is_kept else "", tally)
    return said


def _continuation_notes(job: str, ran: RunSummary, *, is_kept: bool) -> list[CrawlNote]:
    """Return a note on the remaining requests of a run that ended early, and on how to continue it."""
    waiting = ran.stats.waiting
    waits = f"{format_count(waiting, 'request')} {'waits' if waiting == 1 else 'wait'}"
    option = ran.reason.value.replace("_", "-")
    said = ""
    if ran.reason is FinishReason.FINISHED:
        pass
    elif not is_kept:
        said = f"{format_count(waiting, 'request')} left, which cannot be continued: memory = true"
    elif ran.reason is FinishReason.MAX_PAGES and not ran.stats.budget_spent:
        said = f"{waits} at hosts whose budget of pages is spent: raise max_pages_per_host to continue"
    elif ran.reason is FinishReason.SKIPPED:
        said = (
            f"{waits} at hosts that are skipped: after `gossamer host {job} HOST --take` the same command "
            "continues"
        )
    elif ran.reason is FinishReason.MAX_PAGES:
        said = f"the budget of pages is spent; {waits}: raise --max-pages to continue"
    elif ran.reason is FinishReason.BUDGET:
        said = f"a budget is spent ({ran.detail}); {waits}: raise it in [budgets] to continue"
    elif ran.reason in (FinishReason.MAX_ITEMS, FinishReason.MAX_ERRORS):
        said = f"a budget is spent ({ran.detail}); {waits}: raise --{option} to continue"
    elif ran.reason in _CONTINUED:
        said = f"{waits}; the same command continues with {'it' if waiting == 1 else 'them'}"
    kind = NoteKind.BUDGET if ran.reason in _OVER_BUDGET else NoteKind.LEFT
    return [make_note(kind, said)] if said else []


def _format_refused(seeded: SeedingResult) -> str:
    why = explain_refusal(seeded.refused)
    example = f"for example {shown_url(seeded.example)}"
    return f"({by_reason(seeded.refused)}), {example}{f': {why}' if why else ''}"


def _no_page_notes(job: str, ran: RunSummary, before: JobTotals, tally: JobTotals) -> list[CrawlNote]:
    """Return notes on why a finished run has no page."""
    seeded = ran.seeded
    failures = failures_of(tally)
    is_tried = bool(tally.attempts or failures)
    if not is_tried and not seeded.added.accepted:
        if seeded.refused:
            text = f"nothing to do: no start URL was accepted {_format_refused(seeded)}"
            return [make_note(NoteKind.START, text)]
        return [make_note(NoteKind.START, "nothing to do: the spider has no start URLs")]
    if tally == before and not seeded.added.accepted:
        without = "" if tally.pages else f", without a page ({_without_page(tally)})"
        kind = NoteKind.NOTHING_TO_DO if tally.pages else NoteKind.NO_PAGE
        text = f"nothing to do: this crawl is finished{without}; --fresh starts it over"
        said = [make_note(kind, text), *item_notes(job, tally)]
        if too_deep := tally.dropped.get(DropKind.LINK.key_of("too_deep")):
            links = f"{format_count(too_deep, 'link')} {'was' if too_deep == 1 else 'were'} too deep"
            text = f"{links}; --fresh with more depth takes {'it' if too_deep == 1 else 'them'}"
            said.append(make_note(kind, text))
        return said
    unchanged = tally.by_status.get(_UNCHANGED, 0)
    if unchanged and unchanged == tally.successes and set(failures) <= {Fault.ROBOTS}:
        text = f"nothing has changed on {format_count(unchanged, 'page')} (status {_UNCHANGED})"
        return [make_note(NoteKind.NOTHING_TO_DO, text)]
    see = f"; see `gossamer dead list {job}`" if ran.stats.dead and job else ""
    if not see and failures and job:
        see = "; `gossamer explain URL` says more about one of them"
    why = f": {words}" if (words := _words_for(failures)) else ""
    return [make_note(NoteKind.NO_PAGE, f"no page was parsed ({_without_page(tally)}){why}{see}")]


def _words_for(failures: Mapping[str, int]) -> str:
    """Return the most common reason in words, if it is a fault."""
    reason = max(failures, key=lambda one: failures[one], default="")
    return FAULTS[Fault(reason)].words if reason in set(Fault) else ""


def _without_page(tally: JobTotals) -> str:
    """Return the results without a page: ``1 robots``, ``2 answers without anything to parse: 204``."""
    parts = [by_reason(failures_of(tally))] if failures_of(tally) else []
    if tally.successes:
        statuses = ", ".join(sorted(code for code in tally.by_status if code < "4"))
        parts.append(f"{format_count(tally.successes, 'answer')} without anything to parse: {statuses}")
    return ", ".join(parts) or "nothing was answered"


def failures_of(tally: JobTotals) -> dict[str, int]:
    """Return the failed attempts by reason, without the reasons that are only remarks in the ledger."""
    return {reason: count for reason, count in tally.by_reason.items() if reason not in set(LedgerReason)}
