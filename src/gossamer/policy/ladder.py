"""The rung of a host on the ladder, and its moves. Pure: state and ``now`` in, decision out.

A host climbs on one certain refusal, or on several requests in a row that look refused. It climbs once per
incident: reports of requests that began on another rung, or before the latest step, belong to the incident
already handled. A request that is refused repeatedly climbs alone if its host has given no page: other
waiting requests would have been sent by then. Through proxies, a refusal first counts against the proxy, and
against the rung after several in a row. From time to time one request probes the next lower rung; two
successes in a row move the host down, and a failure doubles the time until the next probe.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.record import Record
from gossamer.core.results import Verdict
from gossamer.core.routes import Block, BlockKind, RouteReport
from gossamer.policy.faults import NOBODY_ASKED, OTHER_VERSION

WINS_TO_COME_DOWN = 2
"""Probes that have to succeed in a row."""
PROBE_TTL_S = 120.0
"""Seconds after which an unanswered probe is sent again."""
NEXT_PROBE_S = 60.0
"""After so long another probe follows one that said nothing: it may have been a refusal in disguise."""
DOUBTED_KEPT = 100
"""Refusals that are not certain which are remembered, by their requests."""
SUSPECTS_ON_TOP = 10
"""Number of requests in a row that must look refused on the highest rung before proxies are blamed."""
LOOKS_THROUGH_PROXIES = 2
"""So often a request is tried again that looked refused through proxies: two of them may be refused."""
LOOKS_UNHEARD = 2
"""So often it is tried again while no page has come: on a slow host nothing else may have been asked yet."""
MOST_LOOKS = 12
"""A request that was started more often for each rung up to its own is not tried again for a look: of many,
some are not remembered."""
SECOND_LOOK_S = 5.0
"""Seconds after which a request that looked refused is retried: others show the host's state by then."""
LONGEST_LOOK_S = 300.0
"""After so long at the latest, on a host so slow that the others need more time for that."""


class RungSignal(StrEnum):
    """The evidence of one request about a rung."""

    SUCCESS = "success"  # a page
    REFUSED = "refused"  # a refusal by a certain mark
    DOUBTFUL = "doubtful"  # what looks like a refusal, and may be the page's own
    NOTHING = "nothing"  # a missing page, a redirect: an answer that says nothing about the rung
    SILENT = "silent"  # no answer, or a throttled host
    UNASKED = "unasked"  # no request was sent


_WAITS_S = {RungSignal.UNASKED: 0.0, RungSignal.NOTHING: NEXT_PROBE_S, RungSignal.SILENT: float("inf")}
"""When a probe that says nothing is sent again; never later than the probe after a climb."""


class LadderRules(Record, frozen=True, kw_only=True):
    """The ladder of one host, as the settings and this worker have it."""

    rungs: tuple[str, ...] = ("http",)  # those that can be used, the cheapest first
    climb_after: int = 3
    probe_after_s: float = 3600.0
    longest_probe_s: float = 604_800.0
    order: tuple[str, ...] = ()  # all rungs that there are, with those that this host or worker may not use


class LadderState(Record, frozen=True, kw_only=True):
    """The state of one host. ``LadderState()`` is the state of an unknown host."""

    rung: str = ""  # empty: the lowest
    since: float = 0.0  # when it came there
    why: str = ""  # for people: what led there
    steps: int = 0  # up and down, so far
    suspects: tuple[int, ...] = ()  # the fingerprints of requests that looked refused, in a row
    suspected_at: float = 0.0  # when the latest of them began
    looks_until: float = 0.0  # when the latest look that was granted is due, on whatever rung
    doubted: tuple[int, ...] = ()  # each time that one did on this rung, the latest last
    guises: tuple[str, ...] = ()  # the proxies that were refused, in a row
    probe_at: float = 0.0  # when the next lower rung is tried again; 0: never
    probe_wait_s: float = 0.0  # the time between two probes
    probe_sent_at: float = 0.0  # when the probe that is out began; 0: none is out
    probe_moved_at: float = 0.0  # when a request was sent to the lane of the next lower rung, to be the probe
    probe_wins: int = 0  # probes that succeeded in a row


class RungReport(Record, frozen=True, kw_only=True):
    """The result of one request for the ladder."""

    rung: str  # that it took
    started_at: float
    signal: RungSignal
    fingerprint: int = 0  # tells requests apart
    why: str = ""  # for people: how it was refused
    attempt: int = 1  # how often the request was started
    guise: str = ""  # the proxy that it went through, which another one may replace; empty: none
    is_unheard: bool = False  # no page of the host has come in its job so far


class LadderDecision(Record, frozen=True, kw_only=True):
    """The consequences of a report."""

    state: LadderState
    is_again: bool = False  # the request is worth another try, at no charge
    wait_s: float = 0.0  # not before so long
    step: str = ""  # for people, if the host changed its rung: ``climbs from http to browser: ...``


def read_report(report: RouteReport) -> RungReport:
    """Convert a route's result for the ladder."""
    (row,) = report.result.attempts
    signal, why = _read_signal(report)
    return RungReport(
        rung=report.route.rung,
        started_at=row.at,
        signal=signal,
        fingerprint=row.fingerprint,
        why=why,
        attempt=row.attempt,
        guise=report.route.proxy.name if report.route.proxy and not _wants_other_version(report) else "",
        is_unheard=report.result.outcome.lease.host_unheard,
    )


def _wants_other_version(report: RouteReport) -> bool:
    """Whether a host refuses this version of HTTP, or this connection (RFC 9110, 15.5.20, 15.5.22, 15.6.6).

    A host that asks for a protocol other than HTTP, such as WebSocket, has no page there.
    """
    if report.fetched is None or report.fetched.status not in OTHER_VERSION:
        return False
    upgrade = report.fetched.header("upgrade").lower()
    return not upgrade or any(part.strip().startswith(("http", "h2")) for part in upgrade.split(","))


def _read_signal(report: RouteReport) -> tuple[RungSignal, str]:
    (row,) = report.result.attempts
    if report.fetched is None and row.reason in NOBODY_ASKED:
        return RungSignal.UNASKED, ""
    if report.fetched is None or row.reason == Fault.THROTTLED or report.fetched.header("retry-after"):
        return RungSignal.SILENT, ""
    if report.block is not None:
        return _read_block(report.block)
    if _wants_other_version(report):
        return RungSignal.REFUSED, f"status {report.fetched.status} asks for another version of HTTP"
    if row.reason == Fault.MISSING:
        return RungSignal.DOUBTFUL, "an element that the spider requires is not on the page"
    is_page = 200 <= report.fetched.status < 300 and row.verdict is not Verdict.REDIRECT
    is_success = is_page and row.reason != Fault.LOGGED_OUT
    return RungSignal.SUCCESS if is_success else RungSignal.NOTHING, ""


def _read_block(block: Block) -> tuple[RungSignal, str]:
    kind = "" if block.kind is BlockKind.STATUS else block.kind.value.replace("_", " ")
    why = ": ".join(filter(None, (kind, block.detail)))
    return RungSignal.REFUSED if block.is_certain else RungSignal.DOUBTFUL, why


def present_rung(state: LadderState, rules: LadderRules) -> str:
    """The rung of a host, of those that can be used: its own, else the next one above, else the highest."""
    if state.rung in rules.rungs:
        return state.rung
    if state.rung not in rules.order:
        return rules.rungs[0]
    above = rules.order[rules.order.index(state.rung) :]
    return next((rung for rung in above if rung in rules.rungs), rules.rungs[-1])


def lower_rung(state: LadderState, rules: LadderRules) -> str:
    """The rung below a host's own; empty: it is on the lowest."""
    place = rules.rungs.index(present_rung(state, rules))
    return rules.rungs[place - 1] if place else ""


def is_probe_due(state: LadderState, rules: LadderRules, now: float) -> bool:
    """Whether one request shall try the next lower rung."""
    is_out = state.probe_sent_at > 0 and now < state.probe_sent_at + PROBE_TTL_S
    return 0 < state.probe_at <= now and not is_out and bool(lower_rung(state, rules))


def send_probe(state: LadderState, rules: LadderRules, now: float) -> LadderState:
    """The state while a probe is out; unchanged if none is due."""
    is_due = is_probe_due(state, rules, now)
    return replace(state, probe_sent_at=now, probe_moved_at=0.0) if is_due else state


def move_probe(state: LadderState, rules: LadderRules, now: float) -> LadderState:
    """The state while one request is on its way to the lane where it is to be the probe; else unchanged."""
    is_under_way = state.probe_moved_at > 0 and now < state.probe_moved_at + PROBE_TTL_S
    is_due = is_probe_due(state, rules, now) and not is_under_way
    return replace(state, probe_moved_at=now) if is_due else state


def release_probe(state: LadderState, rules: LadderRules, rung: str) -> LadderState:
    """The state when a request by ``rung`` was given back: if it was the probe, another one may be."""
    is_probe = state.probe_sent_at > 0 and rung == lower_rung(state, rules)
    return replace(state, probe_sent_at=0.0) if is_probe else state


def learn_from_report(
    state: LadderState, rules: LadderRules, report: RungReport, now: float
) -> LadderDecision:
    """Decide about a host and the request by the request's result."""
    is_refused = report.signal in (RungSignal.REFUSED, RungSignal.DOUBTFUL)
    if _is_probe(state, rules, report):
        return _learn_from_probe(state, rules, report, now)
    if report.rung != present_rung(state, rules) or report.started_at < state.since:
        return LadderDecision(state=state, is_again=is_refused)
    if report.signal is RungSignal.SUCCESS and (state.suspects or state.guises):
        return LadderDecision(state=replace(state, suspects=(), guises=()))
    if not is_refused:
        return LadderDecision(state=state)
    judge = _doubt if report.signal is RungSignal.DOUBTFUL else _blame
    return judge(state, rules, report, now)


# --------------------------------------------------------------------------- refusals


def _doubt(state: LadderState, rules: LadderRules, report: RungReport, now: float) -> LadderDecision:
    """Count a doubtful refusal once per request; only several in a row count against the host.

    A single request counts when its attempts are spent and the host has given no page: other requests go
    first.

    On the highest rung many are needed before proxies are rested: otherwise a few pages closed to everyone
    would delay all others.
    """
    is_top = _is_top(state, rules)
    if is_top and not report.guise:
        return LadderDecision(state=state)
    enough = max(rules.climb_after, SUSPECTS_ON_TOP) if is_top else rules.climb_after
    is_again = _is_worth_a_look(state, rules, report)
    is_alone = report.is_unheard and not is_again and report.fingerprint in state.suspects
    wait_s = _look_wait_s(state, enough, report, now)
    if is_again:
        state = replace(state, looks_until=max(state.looks_until, now + wait_s))
    state = replace(state, doubted=(*state.doubted, report.fingerprint)[-DOUBTED_KEPT:])
    if report.fingerprint not in state.suspects:
        state = replace(state, suspects=(*state.suspects, report.fingerprint)[-enough:])
    state = replace(state, suspected_at=max(state.suspected_at, report.started_at))
    if is_alone and len(state.suspects) < enough:
        return climb(state, rules, report.why, now)
    if len(state.suspects) < enough:
        return LadderDecision(state=state, is_again=is_again, wait_s=wait_s)
    decision = _blame(state, rules, report, now)
    return decision if decision.is_again else replace(decision, is_again=is_again, wait_s=wait_s)


def _is_worth_a_look(state: LadderState, rules: LadderRules, report: RungReport) -> bool:
    """Whether a request that looked refused is tried again on its rung."""
    if report.guise:
        most = LOOKS_THROUGH_PROXIES
    else:
        most = LOOKS_UNHEARD if report.fingerprint in state.suspects else 1
    most_starts = MOST_LOOKS * (1 + rules.rungs.index(report.rung))
    return state.doubted.count(report.fingerprint) < most and report.attempt <= most_starts


def _look_wait_s(state: LadderState, enough: int, report: RungReport, now: float) -> float:
    """How long until the next look: so long that as many others as it takes can be asked before.

    The last look of a request comes after those that others wait for, also since a lower rung.
    """
    gap_s = report.started_at - state.suspected_at if state.suspects else 0.0
    wait_s = max(SECOND_LOOK_S, gap_s * enough)
    if report.fingerprint in state.doubted:
        wait_s = max(wait_s, state.looks_until - now + SECOND_LOOK_S)
    return min(wait_s, LONGEST_LOOK_S)


def _blame(state: LadderState, rules: LadderRules, report: RungReport, now: float) -> LadderDecision:
    """It is the proxy that is refused; or, if several were, the rung. On the highest others may be let in."""
    if report.guise:
        if report.guise not in state.guises:
            state = replace(state, guises=(*state.guises, report.guise)[-rules.climb_after :])
        is_last_resort = _is_top(state, rules) and report.signal is RungSignal.REFUSED
        if is_last_resort or len(state.guises) < rules.climb_after:
            return LadderDecision(state=state, is_again=True)
    return climb(state, rules, report.why, now)


def climb(state: LadderState, rules: LadderRules, why: str, now: float) -> LadderDecision:
    """One rung up; from the highest the request is not worth another try."""
    if _is_top(state, rules):
        return LadderDecision(state=state)
    here = present_rung(state, rules)
    to = rules.rungs[rules.rungs.index(here) + 1]
    wait_s = min(state.probe_wait_s * 2 or rules.probe_after_s, rules.longest_probe_s)
    step = f"climbs from {here} to {to}: {why}"
    state = LadderState(
        rung=to,
        since=now,
        why=step,
        steps=state.steps + 1,
        looks_until=state.looks_until,
        probe_at=now + wait_s,
        probe_wait_s=wait_s,
    )
    return LadderDecision(state=state, is_again=True, step=step)


def _is_top(state: LadderState, rules: LadderRules) -> bool:
    return present_rung(state, rules) == rules.rungs[-1]


# --------------------------------------------------------------------------- probes


def _is_probe(state: LadderState, rules: LadderRules, report: RungReport) -> bool:
    is_of_this_time = 0 < state.probe_sent_at <= report.started_at
    return is_of_this_time and report.rung == lower_rung(state, rules)


def _learn_from_probe(
    state: LadderState, rules: LadderRules, report: RungReport, now: float
) -> LadderDecision:
    wait_s = _WAITS_S.get(report.signal)
    if wait_s is not None:
        wait_s = min(wait_s, rules.probe_after_s)
        return LadderDecision(state=replace(state, probe_sent_at=0.0, probe_at=now + wait_s))
    if report.signal is not RungSignal.SUCCESS:
        wait_s = min(state.probe_wait_s * 2 or rules.probe_after_s, rules.longest_probe_s)
        state = replace(state, probe_sent_at=0.0, probe_wins=0, probe_at=now + wait_s, probe_wait_s=wait_s)
        return LadderDecision(state=state, is_again=True)
    wins = state.probe_wins + 1
    if wins < WINS_TO_COME_DOWN:
        return LadderDecision(state=replace(state, probe_sent_at=0.0, probe_wins=wins, probe_at=now))
    step = f"comes down from {present_rung(state, rules)} to {report.rung}: it answers there again"
    is_lowest = report.rung == rules.rungs[0]
    down = LadderState(
        rung=report.rung,
        since=now,
        why=step,
        steps=state.steps + 1,
        probe_at=0.0 if is_lowest else now + rules.probe_after_s,
        probe_wait_s=state.probe_wait_s,
    )
    return LadderDecision(state=down, step=step)
