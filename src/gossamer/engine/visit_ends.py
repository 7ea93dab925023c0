"""Ends of a visit without a parsed page: a wait, a retry, no attempt at all, a deferred page."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import HostSignal
from gossamer.core.requests import LAST, Entry, Request
from gossamer.core.results import (
    DEFERRED,
    JAVASCRIPT_SHELL,
    ExtractResult,
    FetchResult,
    ItemRecord,
    Verdict,
    VisitResult,
)
from gossamer.core.routes import Advice, Block, BlockKind, Detour
from gossamer.core.rungs import SCRIPTLESS_WAYS, way_of
from gossamer.engine.attempt import MAX_DETAIL, OpenAttempt
from gossamer.engine.parts import VisitParts
from gossamer.policy.blocks import find_block, find_redirect_block
from gossamer.policy.deferral import defer_entry
from gossamer.policy.shells import find_shell
from gossamer.policy.trap_closing import describe_trap
from gossamer.policy.validators import NOT_MODIFIED, is_question

OWN_WAIT_S = 30.0
"""Seconds that a request waits at least while others of its host do not."""


def take_detour(attempt: OpenAttempt, detour: Detour, now: float) -> VisitResult | HostSignal:
    """Wait for another kind of worker, behind everything else, or for a time, at no cost."""
    if detour.is_last:
        result = attempt.make_result(
            Verdict.REROUTED, detail=detour.why, lane=attempt.lease.entry.request.lane
        )
        return replace(result, outcome=replace(result.outcome, priority=LAST))
    if detour.lane:
        return attempt.make_result(Verdict.REROUTED, detail=detour.why, lane=detour.lane)
    if detour.is_own and detour.wait_s is not None:
        due_at = now + max(detour.wait_s, OWN_WAIT_S)
        return attempt.make_result(
            Verdict.RETRY, Fault.PROXY, detail=detour.why, due_at=due_at, charged=False, is_excused=True
        )
    return HostSignal(retry_after_s=detour.wait_s)


def put_off(result: VisitResult, until: float) -> VisitResult:
    """Return the attempt as put off at no charge, since its host's robots.txt fails."""
    outcome = replace(result.outcome, verdict=Verdict.RETRY, due_at=until, charged=False, is_excused=True)
    (row,) = result.attempts
    return VisitResult(outcome=outcome, attempts=(replace(row, verdict=Verdict.RETRY),))


def follow_advice(result: VisitResult, advice: Advice) -> VisitResult:
    """Return the attempt as retried at no charge."""
    verdict = Verdict.REROUTED if advice.lane else Verdict.RETRY
    outcome = replace(
        result.outcome,
        verdict=verdict,
        due_at=advice.due_at,
        charged=False,
        is_excused=True,
        lane=advice.lane,
        is_page=False,
        outlinks=(),
    )
    (row,) = result.attempts
    detail = "; ".join(filter(None, (advice.detail, row.detail)))[-MAX_DETAIL:]
    return VisitResult(outcome=outcome, attempts=(replace(row, verdict=verdict, detail=detail),))


def end_untried(parts: VisitParts, attempt: OpenAttempt) -> VisitResult | None:
    """Return the end of a dead letter, or of a page of a trap, without a try; ``None``: it is to be tried."""
    if reason := attempt.lease.entry.unreadable:
        return attempt.make_result(Verdict.DEAD, Fault.UNREADABLE, detail=reason)
    if not attempt.lease.host_down:
        return _skip_trap(parts, attempt)
    fault = Fault.HOST_LOST if attempt.lease.host_answered else Fault.HOST_DOWN
    return attempt.make_result(Verdict.DEAD, fault, detail="not tried: the host was in trouble for too long")


def settle_unchanged(attempt: OpenAttempt, fetched: FetchResult) -> VisitResult | None:
    """Return the success of an unchanged page: it counts as a page, although no callback sees it.

    ``None``: it may have changed.
    """
    if not attempt.is_conditional or fetched.status != NOT_MODIFIED:
        return None
    attempt.is_unchanged = True
    return attempt.make_result(Verdict.SUCCESS, signal=attempt.host_signal(), is_page=True)


async def find_any_block(
    parts: VisitParts, request: Request, fetched: FetchResult, is_redirect: bool
) -> Block | None:
    """Return the refusal in a response, if any. Raises ``FetchError`` for a mistake of the spider."""
    if is_redirect:
        return find_way_out(parts, request, fetched.header("location"))
    return await parts.extractor.find_block(request, fetched) or find_block(fetched, parts.blocks)


def note_shell(
    parts: VisitParts, attempt: OpenAttempt, fetched: FetchResult, result: ExtractResult
) -> ExtractResult:
    """Return the parsed page, flagged if it needs its scripts to show more.

    If the request may climb to a rung that runs scripts, this is a doubtful refusal. A page with links is not
    a shell, and is not examined.
    """
    if result.requests or attempt.block is not None or way_of(fetched.rung) not in SCRIPTLESS_WAYS:
        return result
    sign = find_shell(fetched, is_heard=not attempt.lease.host_unheard)
    if not sign:
        return result
    if parts.blocks.is_detected and parts.router.may_render(attempt.entry.request, attempt.lease.entry.host):
        attempt.block = Block(kind=BlockKind.SHELL, detail=sign, is_certain=False)
    dropped = {**result.dropped, DropKind.PAGE.key_of(JAVASCRIPT_SHELL): 1}
    return replace(result, flags=(*result.flags, JAVASCRIPT_SHELL), dropped=dropped)


def find_way_out(parts: VisitParts, request: Request, location: str) -> Block | None:
    """Return the refusal in a redirect, if any."""
    return find_redirect_block(request.url, location) if parts.blocks.is_detected else None


def check_refusal(parts: VisitParts, attempt: OpenAttempt) -> None:
    """Raise ``FetchError`` for a redirect that refuses the visitor, where another rung may be let in.

    The page behind it is not the one that was asked for: with a ladder it is never taken for a success.
    """
    block = attempt.block
    if block is None or attempt.log_in:
        return
    if block.is_certain or parts.router.has_ladder(attempt.entry.request, attempt.lease.entry.host):
        raise FetchError(Fault.BLOCKED, f"{block.kind}: {block.detail}")


def check_not_modified(request: Request, fetched: FetchResult) -> None:
    """Raise ``FetchError`` for a 304 that answers an unconditional request.

    Requests with conditional headers of their own get the response.
    """
    if fetched.status != NOT_MODIFIED or request.saves is not None:
        return
    if not is_question(request.headers):
        raise FetchError(Fault.PROTOCOL, "status 304 for an unconditional request")


def settle_errback(
    result: VisitResult,
    extracted: ExtractResult,
    items: tuple[ItemRecord, ...],
    entries: tuple[Entry, ...],
    dropped: dict[str, int],
) -> VisitResult:
    """Return the result of a failed request, with the results of its errback."""
    row, outcome = result.attempts[0], result.outcome
    if extracted.fault:  # then it is a dead letter, even where the page itself was only skipped
        detail = f"{row.detail}\nin the errback: {extracted.error}"[-MAX_DETAIL:]
        reason = outcome.reason if outcome.verdict is Verdict.DEAD else extracted.fault
        row = replace(row, verdict=Verdict.DEAD, reason=reason, detail=detail)
    outcome = replace(outcome, verdict=row.verdict, reason=row.reason, outlinks=entries)
    return replace(
        result, outcome=outcome, attempts=(row,), items=items, dropped=dropped, samples=extracted.samples
    )


def _skip_trap(parts: VisitParts, attempt: OpenAttempt) -> VisitResult | None:
    """Return the result of a URL in a trap that was found while the URL waited; ``None`` outside traps."""
    meter, request = parts.admission.meter, attempt.lease.entry.request
    if meter is None or not meter.has_traps or parts.is_extracting or request.saves is not None:
        return None
    if request.is_trap_probe:
        return None
    trap = meter.refuse_url(request.url, request.via)
    if trap is None:
        return None
    dropped = {DropKind.LINK.key_of(trap.counts.rule): 1}
    detail = describe_trap(trap.name, trap.counts)
    return attempt.make_result(Verdict.SKIPPED, Fault.TRAP, detail=detail, dropped=dropped)


def defer_page(attempt: OpenAttempt, place: str, signal: HostSignal) -> VisitResult:
    """Defer a page to another worker: it counts, and its extraction is a request of its own."""
    attempt.flags = (*attempt.flags, DEFERRED)
    extraction = defer_entry(attempt.lease.entry, place)
    return attempt.make_result(Verdict.SUCCESS, signal=signal, outlinks=(extraction,), is_page=True)


async def keep_file(
    parts: VisitParts, attempt: OpenAttempt, request: Request, fetched: FetchResult, signal: HostSignal
) -> VisitResult:
    """Keep a response as a file, which becomes an item. Raises ``FetchError``, and ``StorageError``."""
    item, dropped = await parts.open_files().keep_file(request, fetched)
    attempt.flags = tuple(DropKind.FILE.select_from(dropped))
    return attempt.make_result(Verdict.SUCCESS, signal=signal, items=(item,), dropped=dropped)
