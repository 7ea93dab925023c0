"""The identities of a crawl at a site, and their lifetimes. Pure: state and ``now`` in, state out.

Cookies, proxy and browser profile belong together: a site that sees one visitor's cookies with the address or
the browser of another recognises a crawler. Together they are an *identity*. It is retired as a whole, by
errors, use and age, and its next generation begins without cookies, with another proxy and another browser.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.hosts import HostSignalKind
from gossamer.core.record import Record
from gossamer.core.results import Verdict
from gossamer.core.routes import BlockKind, RouteReport
from gossamer.policy.faults import NOBODY_ASKED

GOOD_PAGE = 0.5
"""Amount by which a fetched page lowers the error score; one trouble adds 1."""


class SessionRules(Record, frozen=True, kw_only=True):
    """When an identity is retired, and how many there are."""

    per_host: int = 1  # identities that share the requests of one site
    max_uses: int | None = None  # pages that one identity fetches; None: no bound
    max_age_s: float | None = None  # seconds that one lives; None: no bound
    max_errors: float = 3.0  # the score of errors at which it is retired
    profiles: tuple[str, ...] = ()  # browsers to pretend to be, one after the other; none: the rung's own


class SessionKey(Record, frozen=True, kw_only=True):
    """Which of the identities: the same for all of its generations."""

    site: str  # the registrable domain, as for cookies; an address has its port
    name: str = ""  # the request's own session
    kind: str = ""  # the kind of proxy: another address means another identity
    slot: int = 0  # which of ``per_host``


class SessionState(Record, frozen=True, kw_only=True):
    """The state of one identity, shared by all workers."""

    created_at: float
    generation: int = 1  # how many there have been, this one included
    uses: int = 0  # pages that it was used for
    score: float = 0.0  # errors, reduced by pages fetched since then
    proxy: str = ""  # the name of its proxy; empty: none was chosen yet
    profile: str = ""  # the browser that it pretends to be; empty: the rung's own
    former_proxy: str = ""  # that of the one before it


class Identity(Record, frozen=True, kw_only=True):
    """The identity that fetches one request."""

    key: SessionKey
    generation: int
    session: str  # whose cookies: a session of its own for each generation
    proxy: str = ""
    profile: str = ""
    former_proxy: str = ""  # that of the one before it, which another one is to replace


class SessionVerdict(StrEnum):
    """The evidence of one page about its identity."""

    GOOD = "good"  # the page was fetched
    NEUTRAL = "neutral"  # an answer that says nothing of who asked
    TROUBLE = "trouble"  # maybe because of who asked
    REFUSED = "refused"  # certain: the site recognises this identity as a crawler


def judge_report(report: RouteReport, *, keeps_proxy: bool = False) -> SessionVerdict | None:
    """Judge a route's result for its identity; ``None`` if the identity was not used.

    ``keeps_proxy``: the identity has its own proxy, and ends if no answer comes through it.
    """
    block, reason, signal = report.block, report.result.outcome.reason, report.result.outcome.signal
    if block is not None and block.kind is not BlockKind.LOG_IN:
        return SessionVerdict.REFUSED if block.is_certain else SessionVerdict.TROUBLE
    if report.fetched is None:
        is_silent = reason == Fault.ROBOTS_UNREACHABLE and signal.kind is HostSignalKind.UNREACHABLE
        if reason in NOBODY_ASKED and not is_silent:
            return None
        if report.is_probe or is_silent:  # the host was asked just now, though not for the page
            return SessionVerdict.TROUBLE if keeps_proxy else None
        return SessionVerdict.TROUBLE if report.route.proxy is not None else SessionVerdict.NEUTRAL
    is_had = report.result.outcome.verdict in (Verdict.SUCCESS, Verdict.REDIRECT)
    return SessionVerdict.GOOD if is_had else SessionVerdict.NEUTRAL


def is_retired(state: SessionState, rules: SessionRules, now: float) -> bool:
    """Whether an identity is not to be used any more."""
    return (
        state.score >= rules.max_errors
        or (rules.max_uses is not None and state.uses >= rules.max_uses)
        or (rules.max_age_s is not None and now - state.created_at >= rules.max_age_s)
    )


def open_state(state: SessionState | None, key: SessionKey, rules: SessionRules, now: float) -> SessionState:
    """The identity to use: the one that is there, or its next generation."""
    if state is not None and not is_retired(state, rules, now):
        return state
    generation = 1 if state is None else state.generation + 1
    profile = rules.profiles[(generation - 1 + key.slot) % len(rules.profiles)] if rules.profiles else ""
    former = "" if state is None else state.proxy or state.former_proxy
    return SessionState(created_at=now, generation=generation, profile=profile, former_proxy=former)


def count_uses(
    state: SessionState, generation: int, rules: SessionRules, verdict: SessionVerdict, uses: int
) -> SessionState:
    """The identity after ``uses`` pages, the last of which ended so. Late news of a former one is ignored."""
    if state.generation != generation:
        return state
    score = state.score
    if verdict is SessionVerdict.REFUSED:
        score = max(score, rules.max_errors)
    elif verdict is SessionVerdict.TROUBLE:
        score += 1.0
    elif verdict is SessionVerdict.GOOD and score < rules.max_errors:  # who is known for it stays known
        score = max(score - GOOD_PAGE, 0.0)
    return replace(state, uses=state.uses + uses, score=score)


def bind_proxy(state: SessionState, proxy: str) -> SessionState:
    """The identity with its proxy; the first choice counts."""
    return state if state.proxy else replace(state, proxy=proxy)


def retire_state(state: SessionState, generation: int, rules: SessionRules) -> SessionState:
    """The identity, not to be used any more."""
    return count_uses(state, generation, rules, SessionVerdict.REFUSED, 0)


def identity_of(key: SessionKey, state: SessionState) -> Identity:
    """Return the present form of an identity."""
    return Identity(
        key=key,
        generation=state.generation,
        session=cookie_session(key, state.generation),
        proxy=state.proxy,
        profile=state.profile,
        former_proxy=state.former_proxy,
    )


def cookie_session(key: SessionKey, generation: int) -> str:
    """Whose cookies one generation has. The first one has those of the request's own session."""
    slot = f"~{key.slot + 1}" if key.slot else ""
    kind = f"+{key.kind}" if key.kind else ""
    return f"{key.name}{slot}{kind}" + (f"#{generation}" if generation > 1 else "")


def kind_of_rung(rung: str) -> str:
    """The kind of proxy that a rung names; empty for none."""
    return rung.partition("+")[2]
