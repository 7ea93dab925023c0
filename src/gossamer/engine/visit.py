"""The visit of one leased request.

In order: *host down?* (give up) - *route* (or another lane) - *robots* - *log-in* - *late?* (give back) -
*fetch* - *classify* - *extract* (or another worker does) - *pipeline* - *learn* (another route may be worth a
try). A :class:`VisitResult` ends a request; a :class:`HostSignal` gives the lease back at no cost (late, or
robots.txt had to be fetched first).
"""

from __future__ import annotations

import asyncio
import traceback

from msgspec.structs import replace

from gossamer.core.errors import (
    Fault,
    FetchError,
    MissingServiceError,
    OperatorError,
    PipelineError,
    UsageError,
)
from gossamer.core.hooks import HookError
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.requests import Lease, Request
from gossamer.core.results import (
    TRUNCATED,
    ExtractResult,
    FetchResult,
    ItemRecord,
    RobotsDecision,
    StatusWish,
    Verdict,
    VisitResult,
)
from gossamer.core.routes import Detour, Route
from gossamer.engine.attempt import MAX_DETAIL, OpenAttempt
from gossamer.engine.callback_gate import CallbackGate
from gossamer.engine.log_ins import check_log_in, settle_log_out
from gossamer.engine.page_results import admit_links, keep_items
from gossamer.engine.parts import ShiftOptions, VisitParts
from gossamer.engine.pictures import keep_picture
from gossamer.engine.visit_ends import (
    check_not_modified,
    check_refusal,
    defer_page,
    end_untried,
    find_any_block,
    find_way_out,
    follow_advice,
    keep_file,
    note_shell,
    put_off,
    settle_errback,
    settle_unchanged,
    take_detour,
)
from gossamer.policy import redirects, retry
from gossamer.policy.deferral import page_entry_of
from gossamer.ports.login_gate import LoginGate
from gossamer.runtime.user_code import ends_task

_NOT_THE_HOSTS = frozenset({Fault.LOGGED_OUT, Fault.PARSE_INTERRUPTED, Fault.HOOK, Fault.IGNORED})
"""Faults of a fetched page that do not count against its host."""
_SPIDERS_OWN = frozenset({Fault.CALLBACK, Fault.CALLBACK_TIMEOUT, Fault.PIPELINE})


class Visitor:
    """Carries one leased request to its end. Only that it was answered is kept for later ones."""

    def __init__(self, parts: VisitParts, options: ShiftOptions) -> None:
        self._parts = parts
        self._options = options
        self._gate = CallbackGate()
        self.rules = parts.rules  # of retries, as they are now

    def open_attempt(self, lease: Lease) -> OpenAttempt:
        """Return the attempt that a visit will make of this lease."""
        return OpenAttempt(lease, page_entry_of(lease.entry), self._parts.clock.now(), self._options.worker)

    async def visit(self, attempt: OpenAttempt) -> VisitResult | HostSignal:
        """Return the result to record, or a signal to give the lease back with.

        Raises only storage trouble, which is not the request's, and cancellation.
        """
        try:
            result = await self._process_lease(attempt)
            if self._parts.memory is not None and isinstance(result, VisitResult):
                result = self._parts.memory.note_visit(attempt, result)
            if isinstance(result, VisitResult) and attempt.entry.request.errback:
                result = await self._with_errback(attempt, result)
            if attempt.picture and isinstance(result, VisitResult) and self._parts.screenshots is not None:
                result = await keep_picture(self._parts.screenshots, result, attempt.picture, attempt.fetched)
        except UsageError as error:  # a request that was changed after it was yielded
            detail, signal = str(error)[-MAX_DETAIL:], attempt.unfinished_signal()
            return attempt.make_result(Verdict.DEAD, Fault.CALLBACK, detail=detail, signal=signal)
        except OperatorError:
            raise
        except (
            Exception,
            SystemExit,
            asyncio.CancelledError,
        ) as error:  # our boundary: one request, not the crawl
            if ends_task(error):
                raise
            detail = "".join(traceback.format_exception(error))[-MAX_DETAIL:]
            return attempt.make_result(
                Verdict.DEAD, Fault.INTERNAL, detail=detail, signal=attempt.unfinished_signal()
            )
        return result

    async def _with_errback(self, attempt: OpenAttempt, result: VisitResult) -> VisitResult:
        """Return the result after the spider's errback for a request that failed for good."""
        outcome, request = result.outcome, attempt.entry.request
        if outcome.verdict not in (Verdict.DEAD, Verdict.SKIPPED) or outcome.reason in _SPIDERS_OWN:
            return result
        detail = result.attempts[0].detail
        extracted = await self._parts.extractor.give_up(request, outcome.reason, detail, attempt.fetched)
        if extracted is None:
            return result
        dropped = dict(extracted.dropped)
        try:
            items, extracted = await self._keep_items(attempt, extracted, request.url, dropped)
        except PipelineError as error:
            failed = FetchError(Fault.PIPELINE, f"{detail}\nin the errback: {error}"[-MAX_DETAIL:])
            return self._handle_failure(attempt, failed, outcome.signal)
        entries = self._parts.admission.admit_links(request, extracted.requests, dropped)
        return settle_errback(result, extracted, items, entries, dropped)

    async def _keep_items(
        self, attempt: OpenAttempt, result: ExtractResult, url: str, dropped: dict[str, int]
    ) -> tuple[tuple[ItemRecord, ...], ExtractResult]:
        parts = self._parts
        return await keep_items(
            parts.pipeline, result, url, dropped, sampler=parts.samples, at=attempt.started_at
        )

    async def _process_lease(self, attempt: OpenAttempt) -> VisitResult | HostSignal:
        """Process a lease: return a result to record, or a signal to give it back with."""
        parts, lease = self._parts, attempt.lease
        request = lease.entry.request
        if (untried := end_untried(parts, attempt)) is not None:
            return untried
        if parts.is_extracting:
            return await self._fetch_page(attempt, attempt.entry.request)
        try:
            route = await parts.router.choose_route(request, lease.entry.host)
        except FetchError as error:  # it is not to be fetched at all
            return self._handle_failure(attempt, error, HostSignal())
        if isinstance(route, Detour):
            return take_detour(attempt, route, parts.clock.now())
        attempt.route = route
        if not parts.router.is_fixed:
            attempt.started_at = parts.clock.now()  # a trial by this route is claimed by now
        try:
            end = await self._fetch_if_allowed(attempt, request, route)
        except MissingServiceError as error:
            if not parts.router.skip_rung(request, lease.entry.host, route, error):
                raise
            end = HostSignal()  # no request was sent: it takes another rung
        if attempt.is_by_hook or not isinstance(end, VisitResult):  # the route says nothing
            if not parts.router.is_fixed:
                await parts.router.release_route(request, route, lease.entry.host)
            return end
        if parts.login is not None and attempt.log_in:
            end = await settle_log_out(parts.login, attempt, end, parts.clock.now())
        return end if parts.router.is_fixed else await self._learn_from(attempt, end)

    async def _fetch_if_allowed(
        self, attempt: OpenAttempt, request: Request, route: Route
    ) -> VisitResult | HostSignal:
        parts, lease = self._parts, attempt.lease
        answer = await parts.robots.check_request(request, route)
        if answer.signal is not None and (answer.allowed or answer.reason == Fault.ROBOTS):
            return answer.signal  # robots.txt was this turn's request; the page has the next one
        if not answer.allowed:
            return self._handle_refusal(attempt, answer)
        attempt.started_at = parts.clock.now()
        if parts.login is not None and (end := await self._log_in(attempt, parts.login)) is not None:
            return end
        if attempt.started_at > lease.start_by:
            return HostSignal()
        attempt.is_asked = True
        if lease.asks_known and (known := parts.answers.choose(lease)) is not None:
            return await self._probe_host(attempt, known)
        return await self._fetch_page(attempt, request)

    async def _log_in(self, attempt: OpenAttempt, login: LoginGate) -> VisitResult | HostSignal | None:
        """Return ``None`` if the session is logged in, or needs no log-in; else the end of this visit."""
        try:
            answer = await login.prepare_session(attempt.lease.entry.request, attempt.route)
        except FetchError as error:
            attempt.rung = error.rung
            return self._handle_failure(attempt, error)
        attempt.started_at = self._parts.clock.now()
        if isinstance(answer, HostSignal):
            return answer  # logging in was this turn's work; the page has the next one
        attempt.log_in = answer
        return None

    async def _learn_from(
        self, attempt: OpenAttempt, result: VisitResult, *, is_probe: bool = False
    ) -> VisitResult:
        """Return the result, or a retry if another route is worth it."""
        advice = await self._parts.router.learn_from(attempt.make_report(result, is_probe=is_probe))
        return result if advice is None else follow_advice(result, advice)

    async def _fetch_page(self, attempt: OpenAttempt, request: Request) -> VisitResult:
        try:
            # In an extraction, the leased request names the place of the archived response.
            wanted = attempt.lease.entry.request
            fetcher = self._parts.fetcher if wanted.saves is None else self._parts.open_files()
            if self._parts.memory is not None:
                wanted = await self._parts.memory.prepare_request(attempt, wanted)
            fetched = await fetcher.fetch(wanted, attempt.route)
        except HookError as error:
            attempt.note_hook(error.fetched)
            if error.request is None:
                return self._handle_failure(attempt, error)
            return self._settle_replacement(attempt, error.request)
        except FetchError as error:
            attempt.rung, attempt.proxy, attempt.picture = error.rung, error.proxy, error.screenshot
            attempt.failure_cost = error.cost
            return self._handle_failure(attempt, error)
        attempt.note_answer(fetched)
        self._parts.answers.note_answer(attempt.lease.entry.host, wanted, fetched)
        unchanged = settle_unchanged(attempt, fetched)
        return unchanged or await self._classify_response(attempt, request, fetched)

    async def _probe_host(self, attempt: OpenAttempt, known: Request) -> HostSignal:
        """Probe the host with a request that it has answered before, instead of a page that may fail.

        The page itself may be the cause of the trouble: then the host would never recover. The probe costs
        the page nothing, and the page has the host's next turn after an answer. The cache must not answer:
        the question is whether the host does.
        """
        try:
            attempt.fetched = fetched = await self._parts.fetcher.fetch(
                known.replace(headers={**known.headers, "Cache-Control": "no-cache"}), attempt.route
            )
        except FetchError as error:  # it may be the proxy, or who asks
            self._parts.answers.forget(attempt.lease.entry.host)
            if not self._parts.router.is_fixed:
                failed = attempt.make_result(Verdict.RETRY, error.fault)
                await self._learn_from(attempt, failed, is_probe=True)
            return attempt.host_signal(retry.signal_kind(error.fault))
        fault = retry.fault_of_status(fetched.status)
        if fault in (None, Fault.GONE):
            return attempt.host_signal()
        # Pages must be probes as well: if this URL were requested repeatedly, its answers would only show
        # that the rate is allowed now, the next page would be refused, and nearly all good pages would be
        # given up.
        # rate is allowed now, the next page would be refused, and nearly all good pages would be given up.
        self._parts.answers.forget(attempt.lease.entry.host)
        retry_after_s = retry.parse_retry_after(fetched.header("retry-after"), self._parts.clock.now())
        return attempt.host_signal(retry.signal_kind(fault), retry_after_s)

    async def _classify_response(
        self, attempt: OpenAttempt, request: Request, fetched: FetchResult
    ) -> VisitResult:
        """Classify a response: a redirect, a fault by its status, or a page for the spider."""
        is_wanted = wish = self._parts.extractor.wants_status(request, fetched.status)
        is_redirect = fetched.status in redirects.STATUSES and not is_wanted
        try:
            check_not_modified(request, fetched)
            attempt.block = block = await find_any_block(self._parts, request, fetched, is_redirect)
            if attempt.log_in and block is None and not is_wanted:
                check_log_in(self._parts.login, attempt, fetched.status, "")
        except FetchError as error:
            return self._handle_failure(attempt, error, attempt.host_signal())
        if block is not None and block.is_certain and not is_wanted:
            return self._handle_failure(attempt, FetchError(Fault.BLOCKED, f"{block.kind}: {block.detail}"))
        if is_redirect:
            return self._handle_redirect(attempt, fetched.status, fetched.header("location"))
        fault = retry.fault_of_status(fetched.status)
        if fault is None:
            return await self._extract_page(attempt, request, fetched, attempt.host_signal())
        retry_after_s = retry.parse_retry_after(fetched.header("retry-after"), self._parts.clock.now())
        failed = FetchError(fault, f"status {fetched.status}", retry_after_s=retry_after_s)
        if not is_wanted:
            return self._handle_failure(attempt, failed)
        at_last = wish == StatusWish.AT_LAST
        return await self._extract_wanted(attempt, request, fetched, failed, at_last=at_last)

    async def _extract_wanted(
        self,
        attempt: OpenAttempt,
        request: Request,
        fetched: FetchResult,
        failed: FetchError,
        *,
        at_last: bool,
    ) -> VisitResult:
        """Pass an error page to a spider that wants it: at once, or after the last retry."""
        lease = attempt.lease
        if at_last and lease.attempt <= retry.most_retries(lease.entry, self.rules):
            again = self._try_again(attempt, failed)
            if again is not None:
                return again
        # The host's own answer stands.
        signal = attempt.host_signal(retry.signal_kind(failed.fault), failed.retry_after_s)
        return await self._extract_page(attempt, request, fetched, signal)

    def _handle_refusal(self, attempt: OpenAttempt, answer: RobotsDecision) -> VisitResult | HostSignal:
        """robots.txt says no, or could not be fetched: just now, or when it was last tried."""
        lease, fault = attempt.lease, Fault(answer.reason)
        if answer.is_final:
            signal = answer.signal or HostSignal()
            return attempt.make_result(Verdict.DEAD, fault, detail=answer.detail, signal=signal)
        wait_s = None if answer.retry_at is None else answer.retry_at - self._parts.clock.now()
        if answer.signal is not None:
            attempt.started_at = answer.signal.started_at
        elif lease.is_probe and wait_s is not None and retry.is_unanswered(fault, lease):
            return HostSignal(retry_after_s=wait_s)  # not sent: it is due when robots.txt may be fetched
        error = FetchError(fault, answer.detail, retry_after_s=wait_s)
        result = self._handle_failure(attempt, error, answer.signal or HostSignal())
        return put_off(result, answer.retry_at) if answer.is_answered and answer.retry_at else result

    def _handle_failure(
        self, attempt: OpenAttempt, error: FetchError, signal: HostSignal | None = None
    ) -> VisitResult:
        now = self._parts.clock.now()
        decision = retry.decide_retry(
            error.fault,
            attempt.lease,
            self.rules,
            now=now,
            jitter=self._options.random(),
            retry_after_s=error.retry_after_s,
        )
        if signal is None:
            kind = retry.signal_kind(error.fault)
            if kind is HostSignalKind.UNUSED and attempt.fetched is not None:
                kind = HostSignalKind.OK  # the host did its part; the fault is in where the answer leads
            signal = attempt.host_signal(
                kind, error.retry_after_s if kind is HostSignalKind.THROTTLED else None
            )
        return attempt.make_result(
            decision.verdict,
            error.fault,
            detail=error.detail,
            signal=signal,
            due_at=decision.due_at,
            charged=decision.charged,
            is_excused=decision.is_excused,
        )

    def _handle_redirect(self, attempt: OpenAttempt, status: int, location: str) -> VisitResult:
        request = attempt.entry.request
        try:
            check_log_in(self._parts.login, attempt, status or 302, location)
            check_refusal(self._parts, attempt)
            loops = None if self._options.follows_loops else int(attempt.sets_cookie)
            target = redirects.follow_redirect(
                request, request.url, status, location, limit=self._options.max_redirects, loops=loops
            )
        except FetchError as error:
            return self._handle_failure(attempt, error)
        return self._settle_target(attempt, target, loops=loops)

    def _settle_replacement(self, attempt: OpenAttempt, wanted: Request) -> VisitResult:
        """Settle an attempt after which a hook wants another request."""
        try:
            target = redirects.replace_request(
                attempt.entry.request, wanted, limit=self._options.max_redirects
            )
        except FetchError as error:
            return self._handle_failure(attempt, error)
        return self._settle_target(attempt, target)

    def _settle_target(
        self, attempt: OpenAttempt, target: Request, *, loops: int | None = None
    ) -> VisitResult:
        entry = self._parts.admission.admit_request(target)
        if isinstance(entry, str):
            return self._handle_failure(
                attempt, FetchError(Fault.OUT_OF_SCOPE, f"redirects to {target.url[:300]} ({entry})")
            )
        if redirects.goes_round(entry.request.url, target.redirects, loops):  # in its canonical form
            entry = replace(entry, request=entry.request.replace(dont_filter=True))
        return attempt.make_result(
            Verdict.REDIRECT, detail=entry.request.url, signal=attempt.host_signal(), outlinks=(entry,)
        )

    async def _extract_page(
        self, attempt: OpenAttempt, request: Request, fetched: FetchResult, signal: HostSignal
    ) -> VisitResult:
        parts = self._parts
        if request.saves is not None:
            try:
                return await keep_file(parts, attempt, request, fetched, signal)
            except FetchError as error:
                return self._handle_failure(attempt, error, signal)
        if failed := fetched.failure:
            return self._handle_failure(attempt, FetchError(failed.fault, failed.detail[-MAX_DETAIL:]))
        if TRUNCATED in fetched.flags:
            cut = FetchError(Fault.INCOMPLETE, "its compressed body ends before its compression does")
            if (again := self._try_again(attempt, cut)) is not None:
                return again
        if parts.defers_page is not None and fetched.archived and parts.defers_page(request, fetched):
            return defer_page(attempt, fetched.archived, signal)
        return await self._run_callback(attempt, request, fetched, signal)

    def _try_again(self, attempt: OpenAttempt, error: FetchError) -> VisitResult | None:
        """Another try at a page that came, but not as it should; ``None``: this was the last one."""
        if attempt.is_archived:
            return None
        again = self._handle_failure(attempt, error)
        return again if again.outcome.verdict is Verdict.RETRY else None

    async def _run_callback(
        self, attempt: OpenAttempt, request: Request, fetched: FetchResult, signal: HostSignal
    ) -> VisitResult:
        parts = self._parts
        await self._gate.wait_for_turn()
        result = note_shell(parts, attempt, fetched, await parts.extractor.extract(request, fetched))
        attempt.flags = result.flags
        if result.refresh_to:
            attempt.block = find_way_out(parts, request, result.refresh_to) or attempt.block
            return self._handle_redirect(attempt, redirects.BY_PAGE, result.refresh_to)
        if result.fault == Fault.MISSING:
            return self._handle_failure(attempt, FetchError(Fault.MISSING, result.error))
        if result.fault in _NOT_THE_HOSTS:
            return self._handle_failure(attempt, FetchError(Fault(result.fault), result.error), signal)
        dropped = dict(result.dropped)
        try:
            items, result = await self._keep_items(attempt, result, fetched.url, dropped)
        except PipelineError as error:
            return self._handle_failure(attempt, FetchError(Fault.PIPELINE, str(error)[-MAX_DETAIL:]), signal)
        entries = await admit_links(parts, request, fetched, result, dropped)
        parts.admission.count_page(request, fetched, items, entries, result.read_text)
        return attempt.make_result(
            Verdict.DEAD if result.fault else Verdict.SUCCESS,
            Fault(result.fault) if result.fault else None,
            detail=result.error[-MAX_DETAIL:],
            signal=signal,
            outlinks=entries,
            items=items,
            is_page=not parts.is_extracting,  # then it was counted when it was fetched
            page=attempt.make_page(result, len(items)) if result.is_parsed else None,
            dropped=dropped,
            samples=result.samples,
            expected=result.expected,
            stop=result.stop,
        )
