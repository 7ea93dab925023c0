"""``gossamer top``: what is on its screen at every size, and what keys do."""

from __future__ import annotations

import asyncio
import io
import logging
from logging import NullHandler
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gossamer.cli.commands import top
from gossamer.cli.terminal.keys import split_keys
from gossamer.cli.terminal.top_layout import KEYS, ScreenState, render_top
from gossamer.cli.terminal.top_screen import TopScreen
from gossamer.core.errors import StorageError
from gossamer.core.shifts import WorkerState
from gossamer.policy.troubles import TroubleKind, make_trouble
from gossamer.queries.fleet_view import ShiftView, WorkerView
from gossamer.queries.hosts import HostStatus
from gossamer.queries.overview import JobRow
from gossamer.queries.top import ChosenJob, TopView, WorkerPage

NOW = 1_800_000_000.0


def job(name: str, **fields: Any) -> JobRow:
    known: dict[str, Any] = {
        "target": "https://shop.example/", "state": "running", "state_note": "", "finish_reason": "",
        "created_at": NOW, "finished_at": None, "pages": 1204, "items": 7, "done": 9,
        "waiting": 1207, "pending": 1200, "delayed": 4, "leased": 3, "dead": 2, "pages_per_s": 12.3,
        "allowed_per_s": 20.0, "limit": "", "goals": (),
        "left_s": 200.0, "left_least_s": 180.0, "left_most_s": 230.0, "left_text": "3-4 min",
        "max_pages": None, "hosts_held": 0, "failed_share": None,
        "spark": (), "trouble": "", "trouble_kind": "", "is_fresh": False,
    }  # fmt: skip
    return JobRow(job=name, **{**known, **fields})


def host(name: str, **fields: Any) -> HostStatus:
    known: dict[str, Any] = {
        "pending": 40, "in_flight": 1, "delay_s": 0.5, "next_at": NOW + 3, "pages": 17, "silent_since": None,
    }  # fmt: skip
    return HostStatus(host=name, **{**known, **fields})


def worker(number: int, **fields: Any) -> WorkerView:
    known: dict[str, Any] = {
        "id": f"crawler:{number}:ab", "host": "crawler", "pid": number, "slots": 2, "lanes": ("http", "seed"),
        "state": WorkerState.WORKING, "is_silent": False, "unseen_s": 0.4, "version": "0.1.0", "in_flight": 5,
        "pages_per_s": 6.1, "memory_bytes": 123_000_000, "refuses": (),
        "shifts": (ShiftView(id="s", job="shop-1", lane="http", age_s=2.0, pages=12, in_flight=5),),
    }  # fmt: skip
    return WorkerView(**{**known, **fields})


def view(**fields: Any) -> TopView:
    known: dict[str, Any] = {
        "at": NOW,
        "say": ("One job needs you.", "Pages: 12.3/s on one job; their hosts allow 20.0/s."),
        "jobs": (job("shop-1", trouble_kind="dead"), job("news-2", state="paused", left_s=None)),
        "more_jobs": 0,
        "chosen": ChosenJob(
            job="shop-1",
            say=("shop-1 goes slower than its hosts allow: it lacks workers.", "1,207 requests wait."),
            hosts=(host("shop.example"), host("img.shop.example", silent_since=NOW - 60)),
        ),
        "fleet": WorkerPage(say=("Both workers are there.", ""), workers=(worker(17), worker(18)), more=0),
        "troubles": (
            make_trouble(TroubleKind.DEAD_LETTERS, "shop-1", "40 dead letters.", since=NOW, job="shop-1"),
            make_trouble(TroubleKind.HELD, "shop-1", "Its one host is left alone.", since=NOW, job="shop-1"),
        ),
        "more_troubles": 3,
    }
    return TopView(**{**known, **fields})


def shown(found: TopView, chosen: str = "shop-1", **fields: Any) -> list[str]:
    state = ScreenState(**fields)
    stream = io.StringIO()
    console = Console(file=stream, width=state.width, force_terminal=False, markup=False, highlight=False)
    console.print(render_top(found, state, chosen=chosen))
    return stream.getvalue().splitlines()


def test_a_screen_of_80_by_24_has_everything() -> None:
    lines = shown(view())
    text = "\n".join(lines)
    assert len(lines) == 24
    for part in (
        "One job needs you.", "their hosts allow 20.0/s", "◆ 40 dead letters.",
        "▲ Its one host is left alone.", "and 3 more", "◆ shop-1", "running", "1,204", "12.3/s", "20.0/s",
        "1,207", "3-4 min", "paused", "it lacks workers", "shop.example", "in 3 s", "▲ img.shop.example",
        "crawler:17  shop-1", "1 of 2", "6.1/s", "123 MB", KEYS,
    ):  # fmt: skip
        assert part in text, part
    assert lines[-1].endswith(KEYS)
    heads = [
        number for number, line in enumerate(lines) if line.split()[:1] in (["job"], ["host"], ["worker"])
    ]
    assert len(heads) == 3
    assert all(lines[head][:3] == f"  {lines[head].split()[0][0]}" for head in heads), (
        "above the names, not the marks"
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 300])
@pytest.mark.parametrize("height", [10, 16, 24, 30, 60])
def test_it_fits_every_window(width: int, height: int) -> None:
    many = view(
        jobs=tuple(job(f"a-crawl-with-a-long-name-{n}") for n in range(20)),
        more_jobs=980,
        chosen=ChosenJob(job="x", say=("s" * 300, "t" * 300), hosts=tuple(host(f"h{n}") for n in range(20))),
        fleet=WorkerPage(say=("", ""), workers=tuple(worker(n) for n in range(100)), more=400),
    )
    lines = shown(many, width=width, height=height)
    assert len(lines) == height
    assert all(len(line) <= width for line in lines)
    if width >= 40:
        assert any("a-crawl" in line for line in lines), "there is always a job"


def test_at_40_columns_each_job_has_its_whole_id() -> None:
    """Other columns are left out; only an id that is longer than the line is cut, in its middle."""
    names = ["shop-1", "books-toscrape-com-catalogue-12", "a" * 60 + "-345"]
    lines = shown(view(jobs=tuple(map(job, names))), width=40)
    assert any("shop-1" in line for line in lines)
    assert any("books-toscrape-com-catalogue-12" in line for line in lines)
    assert any("…" in line and line.rstrip().endswith("-345") for line in lines)


def test_a_table_says_what_it_leaves_out() -> None:
    many = view(jobs=tuple(job(f"shop-{n}") for n in range(20)), more_jobs=980, fleet=None, troubles=())
    lines = shown(many, height=24)
    count = sum(line.strip().startswith("shop-") and "running" in line for line in lines)
    assert f"{count} of 1,000 jobs are shown" in "\n".join(lines)


def test_a_place_without_jobs() -> None:
    empty = view(jobs=(), chosen=None, fleet=None, troubles=(), more_troubles=0)
    assert len(shown(empty)) == 24


@given(st.text(alphabet=st.characters(), max_size=200))
def test_what_strangers_wrote_moves_no_cursor(name: str) -> None:
    hostile = view(
        say=(name, name),
        jobs=(job(name),),
        chosen=ChosenJob(job=name, say=(name, name), hosts=(host(name),)),
        troubles=(make_trouble(TroubleKind.HELD, "x", name, since=NOW),),
    )
    lines = shown(hostile, chosen=name)
    assert len(lines) == 24
    assert all(line.isprintable() for line in lines)


def test_keys_of_a_terminal() -> None:
    assert split_keys(b"jk\x1b[A\x1b[Bq\x1bOA\x1b[5~\x03\xff\x1b[") == ["j", "k", "up", "down", "q", "up"]
    assert split_keys(b"") == []


class Looks:
    """Somebody who looks, and whom the test lets look."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.fails = False

    async def __call__(self, chosen: str) -> TopView:
        self.asked.put_nowait(chosen)
        if self.fails:
            raise StorageError("Redis is away")
        return view()


async def test_keys_choose_a_job_hold_and_end() -> None:
    looks = Looks()
    screen = TopScreen(looks, view())
    looking = asyncio.create_task(screen._keep_looking())
    try:
        for key, chosen in (("j", "news-2"), ("down", "news-2"), ("k", "shop-1"), ("up", "shop-1")):
            screen.press_key(key)
            assert screen._chosen == chosen
            assert await looks.asked.get() == chosen, "at once, not after a second"
    finally:
        looking.cancel()
    screen.press_key("p")
    assert screen._state.is_held
    assert any("paused: p resumes" in line for line in _lines(screen))
    screen.press_key("p")
    assert not screen._state.is_held
    screen.press_key("x")
    assert not screen._is_over
    screen.press_key("q")
    assert screen._is_over


async def test_a_look_that_fails_leaves_what_was_seen() -> None:
    looks = Looks()
    screen = TopScreen(looks, view())
    looks.fails = True
    await screen._look_once()
    lines = _lines(screen)
    assert any("out of date: Redis is away" in line for line in lines)
    assert any("shop.example" in line for line in lines)
    looks.fails = False
    await screen._look_once()
    assert not any("older" in line for line in _lines(screen))


async def test_it_ends_although_a_driver_takes_the_end_for_its_own_time_out() -> None:
    is_looking = asyncio.Event()

    async def look(_chosen: str) -> TopView:
        is_looking.set()
        try:
            return await asyncio.Event().wait()  # type: ignore[return-value]
        except asyncio.CancelledError:
            return view()

    screen = TopScreen(look, view())
    screen.press_key("j")
    looking = asyncio.create_task(screen._keep_looking())
    await is_looking.wait()
    screen.press_key("q")
    looking.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({looking})


def test_what_is_logged_does_not_stand_across_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    def run(_settings: Any, work: Any, *, limit_s: float) -> None:
        found.append(limit_s)
        asyncio.run(work(None))

    async def read(*_: Any) -> TopView:
        return view()

    async def show(_screen: TopScreen) -> None:
        found.append([handler for handler in logging.getLogger().handlers if type(handler) is NullHandler])

    monkeypatch.setattr(top, "run_with_backends", run)
    monkeypatch.setattr(top, "read_top", read)
    monkeypatch.setattr(TopScreen, "run", show)
    monkeypatch.setattr("sys.stdout", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})())
    top.show_top()
    limit_s, (handler,) = found
    assert 1 <= limit_s <= 10, "a server that is away is not waited for as a crawl waits"
    assert handler not in logging.getLogger().handlers


def test_one_look_on_a_narrow_terminal_is_told_in_full() -> None:
    told = " ".join(" ".join(shown(view(), width=40, height=10_000, is_screen=False)).split())
    assert "shop-1 goes slower than its hosts allow: it lacks workers." in told
    assert "gossamer dead list shop-1" in told


def test_a_pace_that_nobody_knows_yet_is_not_said_to_be_none() -> None:
    young = job("shop-1", left_s=None, left_text="too early", pages_per_s=None)
    assert " 0.0/s" not in "\n".join(shown(view(jobs=(young,), chosen=None, fleet=None, say=("", ""))))


def _lines(screen: TopScreen) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=80, markup=False, highlight=False).print(screen._render(80, 24))
    return stream.getvalue().splitlines()
