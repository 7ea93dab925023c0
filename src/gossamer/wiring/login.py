"""Assembles the log-in of a job's sessions; imported only if a spider logs in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.callbacks.login import SpiderLogin
from gossamer.config.settings import Settings
from gossamer.engine.parts import VisitParts
from gossamer.fetch.sessions.login import LoginOptions, SharedLoginGate
from gossamer.fetch.sessions.login_steps import StepParts
from gossamer.ports.login_gate import LoginGate
from gossamer.ports.shared_state import SharedState
from gossamer.targets.discovery import CrawlTarget


def open_login_gate(
    settings: Settings,
    target: CrawlTarget,
    extractor: SpiderExtractor,
    parts: VisitParts,
    shared: SharedState,
    *,
    job: str,
    save_cookies: Callable[[], Awaitable[None]] | None,
    is_alone: bool,
    is_fleet: bool,
) -> LoginGate:
    """See :func:`gossamer.wiring.sessions.login_gate_of`."""
    wanted = settings.sessions
    steps = StepParts(
        fetcher=parts.fetcher,
        robots=parts.robots,
        clock=parts.clock,
        rules=parts.rules,
        max_redirects=settings.http.max_redirects,
    )
    return SharedLoginGate(
        SpiderLogin(target.choose, extractor.read_response),
        steps,
        shared,
        job,
        save_cookies=save_cookies,
        options=LoginOptions(max_failures=wanted.max_login_failures, timeout_s=wanted.login_timeout),
        is_alone=is_alone,
        waits_at_first=is_fleet,
    )
