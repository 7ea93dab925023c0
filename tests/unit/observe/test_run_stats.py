"""Counting a crawl, and what the views make of the counts."""

import io
import logging

import pytest
from rich.console import Console

from gossamer.cli.terminal.panel import render_panel
from gossamer.core.events import (
    JobFinishedEvent,
    JobStartedEvent,
    LeaseLostEvent,
    NoticeEvent,
    PageDoneEvent,
    ProgressEvent,
    TimeLeftEvent,
)
from gossamer.core.hosts import HostState
from gossamer.core.jobs import FrontierStats, HostReport
from gossamer.core.lifecycle import JobState
from gossamer.core.results import Attempt, Verdict
from gossamer.observe.log import LogSink
from gossamer.observe.log_setup import attach_handlers
from gossamer.observe.progress import ProgressSink, progress_line
from gossamer.observe.run_stats import RunStats
from gossamer.observe.units import format_duration, format_rate, format_size, format_statuses

START = 1_800_000_000.0


def page(at=0.0, verdict=Verdict.SUCCESS, status=200, *, items=1, url="https://a.example/", **attempt):
    tried = Attempt(
        at=START + at, url=url, fingerprint=1, verdict=verdict, status=status, size_bytes=100, **attempt
    )
    return PageDoneEvent(at=START + at, job="j-1", attempt=tried, items=items, requests=2)


def progress(at=0.0, **stats):
    return ProgressEvent(at=START + at, job="j-1", stats=FrontierStats(state=JobState.RUNNING, **stats))


def tally(*events):
    tallies = RunStats()
    tallies.emit(JobStartedEvent(at=START, job="j-1"))
    for event in events:
        tallies.emit(event)
    return tallies


def test_attempts_are_counted_by_how_they_ended():
    tallies = tally(
        page(),
        page(verdict=Verdict.RETRY, status=503, reason="server", items=0),
        page(verdict=Verdict.DEAD, status=0, reason="dns", items=0),
        page(verdict=Verdict.REDIRECT, status=301, items=0),
        page(verdict=Verdict.SKIPPED, status=0, reason="robots", items=0),
    )
    assert (tallies.pages, tallies.items, tallies.attempts) == (1, 1, 5)
    assert (tallies.retries, tallies.dead, tallies.bytes) == (1, 1, 500)
    assert tallies.classes == {2: 1, 5: 1, 0: 1, 3: 1}  # what robots.txt forbids was not asked for
    assert tallies.reasons == {"server": 1, "dns": 1, "robots": 1}


def test_the_rate_of_now_forgets_and_the_mean_does_not():
    tallies = tally(*(page(second) for second in range(20) for _ in range(5)))
    assert tallies.current_rate(START + 20) == 5.0
    assert tallies.mean_rate(START + 20) == 5.0
    assert tallies.current_rate(START + 25) == 2.5
    assert tallies.current_rate(START + 60) == 0.0
    assert tallies.mean_rate(START + 100) == 1.0


def test_a_young_crawl_has_a_rate():
    tallies = tally(page(0.1), page(0.2))
    assert tallies.current_rate(START + 2) == 1.0
    assert RunStats().current_rate(START) == 0.0
    assert RunStats().mean_rate(START) == 0.0


def test_the_window_is_bounded():
    tallies = tally(*(page(second) for second in range(1000)))
    assert len(tallies._recent) <= 11


def test_the_time_left_is_that_of_the_latest_estimate():
    tallies = tally(
        progress(9, pending=18), TimeLeftEvent(at=START + 9, job="j-1", text="done in 3 to 5 minutes")
    )
    assert "done in 3 to 5 minutes" in progress_line(tallies, START + 10)
    assert "done in 3 to 5 minutes" in (text := shown(tallies, goals="10 of 100 products"))
    assert "10 of 100 products" in text
    unknown = tally(progress(9, pending=18), TimeLeftEvent(at=START + 9, job="j-1"))
    assert progress_line(unknown, START + 10) == progress_line(tally(progress(9, pending=18)), START + 10)


# --------------------------------------------------------------------------- views


def shown(tallies, now=10.0, width=100, **more):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(render_panel(tallies, START + now, **more))
    return console.file.getvalue()


def test_the_view_says_it_all():
    tallies = tally(
        *(page(second) for second in range(10)),
        page(9, Verdict.DEAD, 500, reason="server", items=0),
        progress(10, pending=1200, delayed=3, leased=4, done=10, dead=1, pages=10, hosts=2),
        TimeLeftEvent(at=START + 9, job="j-1", text="done in 3 to 5 minutes"),
    )
    host = HostReport(
        host="a.example", pending=1199, state=HostState(next_at=START + 12.5, delay_s=0.5, in_flight=1)
    )
    text = shown(tallies, hosts=[host], status="finishing 4 requests")
    for part in (
        "j-1", "10 s", "finishing 4 requests",
        "11 of 1,218 known requests; done in 3 to 5 minutes", "1.0/s now",
        "1.0/s mean", "1,200 pending", "3 delayed", "4 in flight", "2 hosts", "1 dead", "server 1",
        "2xx 10, 5xx 1", "a.example", "1,199", "0.5 s", "in 2.5 s",
    ):  # fmt: skip
        assert part in text, part
    assert len(text.splitlines()) < 15


def test_the_view_says_which_host_does_not_answer():
    silent = HostState(next_at=START + 50, silences=3, incidents=3, troubled_since=START - 170)
    text = shown(RunStats(), hosts=[HostReport(host="shop.example", pending=9, state=silent)])
    assert "shop.example has not answered for 3m 00s; next try in 40 s" in text


def test_the_view_fits_a_narrow_terminal_and_hostile_names():
    tallies = tally(page(reason="x\x1b[2J" * 30, verdict=Verdict.RETRY, status=0), progress(1, pending=5))
    hosts = [HostReport(host="h\x1b]0;" * 40, pending=5, state=HostState())]
    text = shown(tallies, width=40, hosts=hosts)
    assert "\x1b" not in text
    assert all(len(row) <= 40 for row in text.splitlines())


def test_a_page_budget_is_what_the_bar_counts():
    tallies = tally(page(), progress(1, pending=500, pages=1, done=1))
    tallies.max_pages = 50
    assert "1 of 50 pages" in shown(tallies)


def test_lines_come_every_ten_seconds():
    tallies, written = RunStats(), []
    lines = ProgressSink(tallies, written.append, every_s=10)
    for at in range(35):
        event = progress(at, pending=7)
        tallies.emit(event)
        lines.emit(event)
        lines.emit(page(at))
    assert len(written) == 3
    assert "queue 7 pending, 0 delayed, 0 in flight" in written[0]


def test_a_line_has_the_numbers():
    tallies = tally(page(), progress(9, pages=1, dead=2, pending=10))
    assert progress_line(tallies, START + 10) == (
        "10 s; 1 page (6.0/min); 1 item; queue 10 pending, 0 delayed, 0 in flight; 0 retries; 2 dead; 2xx 1"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (0.25, "0.25 s"),
        (59.4, "59 s"),
        (200, "3m 20s"),
        (7500, "2h 05m"),
        (1e12, "years"),
    ],
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


def test_units():
    assert [format_size(n) for n in (0, 999, 1234, 123_456_789, 9.9e14)] == [
        "0 B",
        "999 B",
        "1.23 kB",
        "123 MB",
        "990 TB",
    ]
    assert [format_rate(n) for n in (0, 0.1, 12.34, 12345)] == ["0.0/s", "6.0/min", "12.3/s", "12,345/s"]
    assert format_statuses({2: 1, 0: 3}) == "2xx 1, no answer 3"
    assert format_statuses({}) == "none yet"


# --------------------------------------------------------------------------- the log


@pytest.fixture
def log():
    stream = io.StringIO()
    with attach_handlers("debug", [logging.StreamHandler(stream)]):
        yield stream


def test_one_event_is_one_line(log):
    sink = LogSink()
    hostile = "https://a.example/\r\n2026-01-01T00:00:00Z ERROR fake\x1b[31m%s{}" + "x" * 1_000_000
    events = [
        JobStartedEvent(at=START, job="j-1", resumed=True, recovered=3),
        page(url=hostile),
        page(verdict=Verdict.DEAD, status=0, reason="dns", detail="no\nsuch host", url=hostile, attempt=4),
        LeaseLostEvent(at=START, job="j-1", url=hostile),
        NoticeEvent(at=START, level="warning", text="disk\nlow"),
        JobFinishedEvent(at=START, job="j-1", reason="finished"),
    ]
    for event in events:
        sink.emit(event)
    rows = log.getvalue().splitlines()
    assert len(rows) == len(events)
    levels = [row.split(" ")[1] for row in rows]
    assert levels == ["INFO", "DEBUG", "WARNING", "INFO", "WARNING", "INFO"]
    assert all(row.isprintable() and len(row) < 500 for row in rows)
    assert "3 requests of the last run taken back" in rows[0]
    assert "dns (attempt 4): no" in rows[2]


def test_a_spiders_traceback_is_logged_once(log):
    sink = LogSink()
    detail = "Traceback (most recent call last):\n  File \"x.py\", line 3, in parse\n    f()\nKeyError: 'a'\n"
    for _ in range(3):
        sink.emit(page(verdict=Verdict.DEAD, reason="callback", detail=detail))
    text = log.getvalue()
    assert text.count("ERROR   dead https://a.example/ callback 200: KeyError: 'a'") == 1
    assert text.count("DEBUG   dead https://a.example/ callback 200: KeyError: 'a'") == 2
    assert text.count('File "x.py", line 3') == 1
    assert all(row.startswith(("2", "    ")) for row in text.splitlines())


def test_an_error_that_many_pages_meet_is_logged_now_and_then_with_the_count(log):
    sink = LogSink()
    for number in range(1234):
        frames = 'Traceback (most recent call last):\n  File "x.py", line 3, in parse\n    f()\n'
        sink.emit(page(verdict=Verdict.DEAD, reason="callback", detail=f"{frames}KeyError: '{number}'\n"))
    sink.emit(page(verdict=Verdict.DEAD, reason="callback", detail="a str is not an item"))
    rows = [row for row in log.getvalue().splitlines() if " ERROR " in row]
    assert [row.partition("callback 200: ")[2] for row in rows] == [
        "KeyError: '0'",
        "KeyError: '99' (100 times so far)",
        "KeyError: '999' (1,000 times so far)",
        "a str is not an item",
    ]


def test_a_host_that_stops_answering_is_a_warning(log):
    sink = LogSink()
    for second in range(5):
        sink.emit(page(second, Verdict.RETRY, status=0, reason="connect", detail="Connection refused"))
    sink.emit(page(60))
    rows = [row.split(" ", 1)[1] for row in log.getvalue().splitlines() if "DEBUG" not in row]
    assert [row.split()[0] for row in rows] == ["WARNING", "INFO"]
    assert "does not answer (Connection refused)" in rows[0]
    assert rows[1].endswith("answers again, after 1m 00s")


def test_levels_are_obeyed_and_everything_is_put_back():
    stream = io.StringIO()
    root, own = logging.getLogger(), logging.getLogger("gossamer")
    before = (list(root.handlers), own.level)
    with attach_handlers("warning", [logging.StreamHandler(stream)]):
        sink = LogSink()
        sink.emit(page())
        sink.emit(JobStartedEvent(at=START, job="j-1"))
        logging.getLogger("gossamer.spiders.spider.x").info("quiet")
        logging.getLogger("aiohttp").warning("from a library\x1b[1m")
        sink.emit(NoticeEvent(at=START, level="error", text="loud"))
    assert [row.split(" ", 1)[1] for row in stream.getvalue().splitlines()] == [
        "WARNING from a library\\x1b[1m",
        "ERROR   loud",
    ]
    assert (list(root.handlers), own.level) == before
