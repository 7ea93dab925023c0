"""Why a request is not fetched yet: a time of its own, its job, a budget, or its host. Pure."""

from __future__ import annotations

from gossamer.core.hosts import FREE, FrontierRules, HostState
from gossamer.core.jobs import KnownRequest
from gossamer.core.lifecycle import JobState, RequestState
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.core.text import format_count
from gossamer.policy import politeness, urls
from gossamer.policy.domains import adopt_domain
from gossamer.policy.sentences.errors import words_for
from gossamer.queries.explain.facts import NumberFormatter, UrlFacts, UrlState
from gossamer.queries.explain.hold import hold_on
from gossamer.queries.explain.tries import last_try


def explain_waiting(
    facts: UrlFacts, found: KnownRequest, show: NumberFormatter
) -> tuple[UrlState, list[str]]:
    """Explain a waiting request: its own time, its job, a budget, or its host."""
    hold = hold_on(facts)
    why = [*([hold.line] if hold else []), *([_explain_unfound(found.beyond)] if found.beyond else [])]
    if facts.stats.state is JobState.CANCELLED:
        return UrlState.STOPPED, [*why, *([last_try(facts, show)] if facts.attempts else [])]
    if facts.is_denied and not is_extraction(found):
        line = "robots.txt does not allow it: it will be skipped when its turn comes."
        return UrlState.ROBOTS, [line, *why]
    tries = [last_try(facts, show)] if facts.attempts else []
    if found.state is RequestState.DELAYED:
        return _explain_delayed(facts, found, show, [*tries, *why])
    budget = _host_budget(facts, found)
    if budget:
        return UrlState.OVER_BUDGET, [budget, *why, *tries]
    if hold is not None:
        return hold.state, [*why, *tries]
    turn = [] if found.beyond else _explain_turn(facts, found, show)
    return UrlState.WAITING, [*why, *turn, *tries]


def is_extraction(found: KnownRequest) -> bool:
    """Whether it is about a page that was fetched, and that another worker reads."""
    return found.entry is not None and FREE in found.entry.host


def explain_extraction(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    """Its callback has not been run."""
    hold = hold_on(facts)
    who = f"a worker of the lane {EXTRACT_LANE!r}, who runs its callback"
    lines = [f"It was fetched and archived, and waits for {who}."]
    if facts.ahead:
        lines.append(f"Pages of its host that go before it: {facts.ahead:,}.")
    lines += [hold.line] if hold else []
    lines += [last_try(facts, show)] if facts.attempts else []
    return hold.state if hold else UrlState.WAITING, lines


def _explain_delayed(
    facts: UrlFacts, found: KnownRequest, show: NumberFormatter, more: list[str]
) -> tuple[UrlState, list[str]]:
    wait_s = found.due_at - facts.now
    whose = "a worker has time for it" if is_extraction(found) else "its host's turn comes"
    when = f"in {_format_when(wait_s, found.due_at, show)}" if wait_s > 0 else f"as soon as {whose}"
    if not (found.attempts or found.reason or facts.attempts):
        return UrlState.DELAYED, [f"It is not due before a certain time: {when}.", *more]
    why = f", because the last attempt ended with {words_for(found.reason)}" if found.reason else ""
    return UrlState.RETRYING, [f"Its next try is due {when}{why}.", *more]


def _explain_unfound(looked_at: int) -> str:
    return (
        "It is known, and not done as far as the ledger shows. It is none of the "
        f"{format_count(looked_at, 'request')} that were looked at, so where it waits is not said."
    )


def _host_budget(facts: UrlFacts, found: KnownRequest) -> str:
    limit, host = facts.rules.max_pages_per_host, found.host
    if limit is None or host is None or host.pages < limit:
        return ""
    name = _host_name(facts, found)
    return f"The budget of {format_count(limit, 'page')} for the host {name} is spent (max_pages_per_host)."


def _explain_turn(facts: UrlFacts, found: KnownRequest, show: NumberFormatter) -> list[str]:
    """Explain the wait for its host's turn."""
    name, rules = _host_name(facts, found), facts.rules
    host = adopt_domain(found.host or HostState(), name, rules)
    if politeness.is_down(host, rules):
        return [
            f"The host {name} has not answered for so long that its waiting requests are given up untried."
        ]
    wait_s = host.next_at - facts.now
    slots = politeness.slots_for(host, rules)
    if host.is_skipped:
        way = f"`gossamer host {facts.job.id} {name} --take` ends that"
        return [f"The host {name} is skipped by a person's order: {way}."]
    if host.in_flight >= slots:
        busy = f"{host.in_flight} of {format_count(slots, 'request')}"
        lines = [f"It waits for the host {name}, which has {busy} in flight."]
        if wait_s > 0:
            lines.append(f"The host's next turn is in {_format_when(wait_s, host.next_at, show)}.")
    elif wait_s > 0:
        turn = _format_when(wait_s, host.next_at, show)
        lines = [f"It waits for politeness: the next turn of the host {name} is in {turn}."]
    else:
        lines = [f"It may be fetched now: the host {name} can be asked again."]
    if facts.ahead:
        lines.append(f"Requests of this host that go before it: {facts.ahead:,}.")
    return [*lines, *_explain_pace(host, rules, facts.now, show)]


def _format_when(wait_s: float, at: float, show: NumberFormatter) -> str:
    return f"{show.span(wait_s)} ({show.time(at)})"


def _explain_pace(host: HostState, rules: FrontierRules, now: float, show: NumberFormatter) -> list[str]:
    lines = []
    if host.troubled_since:
        what = "has not answered" if host.silences else "has refused every request"
        lines.append(
            f"The host {what} since {show.time(host.troubled_since)}; one request at a time asks again."
        )
    if host.hold_until > now:
        held = show.span(host.hold_until - now)
        why = "A person holds the host" if host.is_held else "The host asked for time, or was in trouble"
        lines.append(f"{why}: it is left alone for {held}.")
    delay_s = politeness.delay_in_force(host, rules)
    whose = _whose_delay(host, rules, delay_s)
    return [*lines, f"Two requests to this host are {show.span(delay_s)} apart ({whose})."]


def _whose_delay(host: HostState, rules: FrontierRules, delay_s: float) -> str:
    if (host.crawl_delay_s or 0.0) >= delay_s > 0:
        return "robots.txt asks for it"
    if host.pace_s >= delay_s > 0:
        return "it refused faster requests"
    return "as set" if politeness.is_delay_set(host, rules) else "it follows the host's response time"


def _host_name(facts: UrlFacts, found: KnownRequest) -> str:
    return found.entry.host if found.entry is not None else urls.host_key(facts.canonical)


def explain_leased(facts: UrlFacts, show: NumberFormatter) -> tuple[UrlState, list[str]]:
    """A worker has it, or had it when it was lost."""
    left_s = facts.deadline - facts.now
    worker = f"A worker of process {facts.process}" if facts.process.isdigit() else "A worker"
    if not facts.is_at_work and facts.job.is_fleet:
        line = "A worker had it when it was lost; it is taken back, and another one tries it again."
    elif not facts.is_at_work:
        line = "A worker had it when its process ended; the same `gossamer crawl` tries it again."
    elif left_s > 0:
        held = show.span(facts.now - facts.since)
        until = f"{show.time(facts.deadline)} (in {show.span(left_s)})"
        line = f"{worker} has had it for {held}, and has it until {until}."
    else:
        late = show.span(-left_s)
        line = f"{worker} had it until {late} ago and is late; it is taken back and tried again."
    if facts.found is not None and is_extraction(facts.found):
        line = f"It was fetched and archived, and its callback runs. {line}"
    return UrlState.LEASED, [line, *([last_try(facts, show)] if facts.attempts else [])]
