"""Settles pages that were served for visitors although their session is logged in."""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.core.results import Verdict, VisitResult
from gossamer.engine.attempt import OpenAttempt
from gossamer.policy.log_in import MAX_TIMES
from gossamer.ports.login_gate import LoginGate


async def settle_log_out(
    login: LoginGate, attempt: OpenAttempt, result: VisitResult, now: float
) -> VisitResult:
    """Return the result; a page for visitors is retried at no charge, or given up."""
    outcome, lease, route = result.outcome, attempt.lease, attempt.route
    request = lease.entry.request
    if outcome.reason != Fault.LOGGED_OUT:
        if outcome.verdict is Verdict.SUCCESS:
            login.confirm_log_in(request, route)
        return result
    attempt.block = None  # a refusal of visitors: a new log-in solves it, not another way to fetch
    is_again = await login.handle_log_out(request, route, attempt.log_in, lease.entry.fingerprint)
    detail = result.attempts[0].detail
    if is_again:
        return attempt.make_result(
            Verdict.RETRY,
            Fault.LOGGED_OUT,
            detail=detail,
            signal=outcome.signal,
            due_at=now,
            charged=False,
            is_excused=True,
        )
    detail = f"{detail}, {MAX_TIMES + 1} times after as many log-ins or pages for members"
    return attempt.make_result(Verdict.DEAD, Fault.LOGGED_OUT, detail=detail, signal=outcome.signal)


def check_log_in(login: LoginGate | None, attempt: OpenAttempt, status: int, location: str) -> None:
    """Raise ``FetchError`` if an answer to a session that is logged in is for visitors."""
    if login is not None and attempt.log_in:
        why = login.find_log_out(attempt.lease.entry.request, status, location)
        if why:
            raise FetchError(Fault.LOGGED_OUT, why)
