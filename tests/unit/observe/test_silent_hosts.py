"""A host that stops answering is told once, and once when it answers again."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.core.events import PageDoneEvent
from gossamer.core.hosts import HostState
from gossamer.core.jobs import HostReport
from gossamer.core.results import Attempt, Verdict
from gossamer.observe import silent_hosts
from gossamer.observe.silent_hosts import HostMonitor, waiting_for

DOWN = (
    "a.example does not answer (Connection refused): it is tried again after pauses that grow, "
    "and its requests wait"
)


def done(at: float, host: str = "a.example", **attempt: Any) -> PageDoneEvent:
    fields = {"verdict": Verdict.SUCCESS, "status": 200, **attempt}
    tried = Attempt(at=at, url=f"https://{host}/", fingerprint=1, **fields)
    return PageDoneEvent(at=at, job="j-1", attempt=tried, host=host)


def silent(at: float, host: str = "a.example", verdict: Verdict = Verdict.RETRY) -> PageDoneEvent:
    detail = "Connection refused\nand more"
    return done(at, host, verdict=verdict, status=0, reason="connect", detail=detail)


def told(*events: PageDoneEvent) -> list[str]:
    hosts = HostMonitor()
    return [text for text in map(hosts.describe_change, events) if text]


def test_an_outage_is_told_when_it_begins_and_when_it_ends() -> None:
    outage = [silent(second) for second in range(10, 20)]
    assert told(done(0), *outage, done(100), done(101)) == [DOWN, "a.example answers again, after 1m 30s"]


def test_a_host_that_never_gave_its_robots_txt_is_told() -> None:
    """A bug it would catch: of a host that was down from the start, nothing was told."""
    detail = "robots.txt: timeout_connect: the connection took too long"
    asked = {"verdict": Verdict.RETRY, "status": 0, "reason": "robots_unreachable", "detail": detail}
    (first,) = told(done(0, **asked))
    (said, again) = told(*[done(second, **asked) for second in range(10)], done(60))
    assert first == said, "at the first time: nothing else may be requested of the host"
    assert said.startswith("a.example gives no robots.txt (timeout_connect: the connection took too long): ")
    assert again == "a.example answers again, after 1m 00s"


def test_a_second_outage_is_told_like_the_first() -> None:
    outage = [silent(0), silent(1), silent(2)]
    assert told(*outage, done(3), *outage).count(DOWN) == 2


@pytest.mark.parametrize("status", [200, 404, 503])
def test_single_failures_between_answers_are_not_worth_a_word(status: int) -> None:
    assert told(*[silent(0), silent(1), done(2, status=status)] * 5) == []


def test_hosts_are_counted_apart() -> None:
    assert (
        told(silent(0), silent(1), silent(2, "b.example"), silent(3, "b.example"), done(4, "c.example")) == []
    )


def test_what_is_given_up_is_told_elsewhere() -> None:
    assert told(*[silent(second, verdict=Verdict.DEAD) for second in range(5)]) == []


def test_no_more_hosts_are_remembered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silent_hosts, "MOST_HOSTS", 1)
    assert told(*[silent(at, host) for at in range(3) for host in ("a.example", "b.example")]) == [DOWN]


def report(host: str, since: float, **state: Any) -> HostReport:
    fields = {"silences": 3, "incidents": 3, "troubled_since": since, **state}
    return HostReport(host=host, pending=5, state=HostState(**fields))


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ([], ""),
        ([report("a.example", 0.0, silences=0)], ""),
        ([report("a.example", 820.0, silences=0)], ""),  # it refuses, which is an answer
        (
            [report("a.example", 820.0, next_at=1040.0)],
            "a.example has not answered for 3m 00s; next try in 40 s",
        ),
        (
            [report("a.example", 820.0, next_at=1010.0, hold_until=1040.0)],
            "a.example has not answered for 3m 00s; next try in 40 s",
        ),
        (
            [report("a.example", 820.0, next_at=1040.0, in_flight=1)],
            "a.example has not answered for 3m 00s; it is being tried now",
        ),
        (
            [report("b.example", 990.0), report("a.example", 820.0), report("c.example", 950.0)],
            "a.example has not answered for 3m 00s; it is being tried now; nor have 2 other hosts",
        ),
    ],
)
def test_views_say_which_host_is_waited_for(reports: list[HostReport], said: str) -> None:
    assert waiting_for(reports, 1000.0) == said
