"""When a session logs in, and when it is logged out. Pure: state and ``now`` in, state out."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.record import Record
from gossamer.policy import urls
from gossamer.policy.blocks import find_redirect_block
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.policy.retry import growing_pause_s

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 600.0
"""Longest pause after failed log-ins, in seconds; pauses double, because sites lock out frequent attempts."""
MAX_TIMES = 5
"""How often a page may be for visitors, log-in after log-in, before it is given up."""
MOST_DOUBT = 3
_WAITED_FOR = frozenset({FaultKind.UNANSWERED, FaultKind.THROTTLED, FaultKind.MACHINE})


class LoginState(Record, frozen=True, kw_only=True):
    """The log-in state of one session at one site, shared by all workers."""

    serial: int = 0  # how often it has logged in
    logged_in_at: float = 0.0  # 0: it is not logged in
    failures: int = 0  # log-ins that failed since the last one that did not
    retry_at: float = 0.0  # no other before this, after one that failed
    why: str = ""  # why the last one failed, without secrets
    refused_pages: int = 0  # pages given up: they were for visitors though others were not


def is_behind_log_in(url: str, login_url: str) -> bool:
    """Whether a page is one for those who are logged in: any of the site, but the log-in page itself."""
    if not login_url:
        return False
    here, there = urls.parse_origin(url), urls.parse_origin(login_url)
    if here.hostname != there.hostname and urls.registrable_domain(here.hostname) != urls.registrable_domain(
        there.hostname
    ):
        return False
    return not is_log_in_page(url, login_url)


def is_log_in_page(url: str, login_url: str) -> bool:
    """Whether a URL is that of the page where one logs in, whatever its query is."""
    return urls.hostname_of(url) == urls.hostname_of(login_url) and _path_of(url) == _path_of(login_url)


def find_log_out(url: str, login_url: str, status: int, location: str) -> str:
    """Return the evidence that an answer is for visitors who are not logged in; empty without any."""
    if status == 401:
        return "status 401"
    target = urls.join_url(url, location) if location and 300 <= status < 400 else None
    if target is None:
        return ""
    if is_log_in_page(target, login_url) or find_redirect_block(url, location) is not None:
        return f"redirects to {_path_of(target)[:100]}"
    return ""


def fails_log_in(fault: Fault) -> bool:
    """Whether a fault of one step means that the log-in has failed; others are waited for, as with pages.

    It is never the fault of the page that needs the log-in: all pages behind a log-in that is broken would be
    given up.
    """
    return FAULTS[fault].kind not in _WAITED_FOR


def succeed_log_in(state: LoginState, now: float) -> LoginState:
    """The session after a log-in."""
    return LoginState(serial=state.serial + 1, logged_in_at=now, refused_pages=state.refused_pages)


def fail_log_in(state: LoginState, now: float, why: str) -> LoginState:
    """The session after a log-in that failed."""
    failures = state.failures + 1
    pause_s = growing_pause_s(failures, FIRST_PAUSE_S, LONGEST_PAUSE_S, 1.0)
    return replace(state, logged_in_at=0.0, failures=failures, retry_at=now + pause_s, why=why)


def end_log_in(state: LoginState, serial: int) -> LoginState:
    """The session when it was found logged out; ``serial``: since which log-in. Late news is ignored."""
    return replace(state, logged_in_at=0.0) if state.serial == serial else state


def refuse_page(state: LoginState) -> LoginState:
    """The session when one more page was given up that was for visitors though others were not."""
    return replace(state, refused_pages=state.refused_pages + 1)


def proves_log_out(state: LoginState, in_a_row: int) -> bool:
    """Whether this many visitors' pages in a row, without a members' page, prove that a session is over.

    One is enough until some page turns out to look like that for members as well.
    """
    return in_a_row > min(state.refused_pages, MOST_DOUBT)


def _path_of(url: str) -> str:
    start = url.find("/", url.find("//") + 2)
    path = url[start:].partition("#")[0].partition("?")[0] if start >= 0 else ""
    return path.rstrip("/") or "/"
