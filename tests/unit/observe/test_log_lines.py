"""Lines of the log as JSON: one record is one line, with fields that stay what they are."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gossamer
from gossamer.core import events
from gossamer.core.events import (
    JobFinishedEvent,
    JobStartedEvent,
    LeaseLostEvent,
    NoticeEvent,
    PageDoneEvent,
    TimeLeftEvent,
)
from gossamer.core.logs import LogEvent, LogLine
from gossamer.core.requests import Request
from gossamer.core.results import Attempt, Verdict
from gossamer.observe.log import LogSink
from gossamer.observe.log_lines import LONGEST, LONGEST_VALUE, JsonFormatter, LineFormatter
from gossamer.observe.log_setup import attach_handlers
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.runtime.log_context import describe_lines, describe_page, line_details

ALWAYS = {"at", "level", "event", "text", "process", "logger"}
HOSTILE = 'https://me:hunter2@a.example/\r\n{"level": "error"}\x1b[31m\u2028\u202e\ud800' + "x" * 10_000
TRACEBACK = "Traceback (most recent call last):\n  File \"x.py\", line 3, in parse\nKeyError: 'a'\n"


class Lines(io.StringIO):
    """What was logged."""

    def read_back(self) -> list[dict[str, Any]]:
        """Each line, which must be a line and an object."""
        text = self.getvalue()
        assert text.replace("\n", "").isprintable()
        assert text.splitlines() == text.split("\n")[:-1]
        return [json.loads(line) for line in text.splitlines()]

    def one(self) -> dict[str, Any]:
        """The only one."""
        (line,) = self.read_back()
        return line


@pytest.fixture
def log() -> Iterator[Lines]:
    stream = Lines()
    with attach_handlers("debug", [logging.StreamHandler(stream)], "json"):
        yield stream


def page(**fields: Any) -> PageDoneEvent:
    known: dict[str, Any] = {
        "at": 1.0, "url": "https://a.example/", "fingerprint": 1, "verdict": Verdict.SUCCESS, "status": 200,
        "elapsed_ms": 31.4, "size_bytes": 1204, "rung": "http", "worker": "w7",
    }  # fmt: skip
    attempt = Attempt(**{**known, **fields})
    return PageDoneEvent(at=1.0, job="j-1", attempt=attempt, items=2, requests=3, host="a.example")


def test_every_event_is_one_line_with_its_name_and_its_fields(log: Lines) -> None:
    sink = LogSink()
    failed = {"verdict": Verdict.RETRY, "status": 0, "reason": "connect", "detail": "no\nanswer"}
    for event in (
        JobStartedEvent(at=1.0, job="j-1"),
        page(url=HOSTILE),
        PageDoneEvent(at=1.0, job="j-1", attempt=page().attempt, dropped={"item:price": 1}),
        *(page(**failed) for _ in range(3)),
        page(),
        page(verdict=Verdict.DEAD, reason="callback", detail=TRACEBACK),
        TimeLeftEvent(at=1.0, job="j-1", text="done in 3 to 5 minutes"),
        TimeLeftEvent(at=1.0, job="j-1"),
        LeaseLostEvent(at=1.0, job="j-1", url=HOSTILE),
        NoticeEvent(at=1.0, level="warning", text="disk\nlow"),
        JobFinishedEvent(at=1.0, job="j-1", reason="finished"),
    ):
        sink.emit(event)
    lines = log.read_back()
    assert [line["event"] for line in lines] == [
        "job_started", "page_done", "page_done", "item_dropped", *["page_done"] * 3, "host_silent",
        "page_done", "host_answers", "page_done", "time_left", "lease_lost", "notice", "job_finished",
    ]  # fmt: skip
    assert all(line.keys() >= ALWAYS and line.keys() <= set(LogLine.__struct_fields__) for line in lines)
    assert all(line["job"] == "j-1" for line in lines if line["event"] != "notice")
    assert "hunter2" not in log.getvalue()
    done = lines[8]
    told = {"url": "https://a.example/", "host": "a.example", "verdict": "success", "status": 200}
    numbers = {"attempt": 1, "elapsed_s": 0.031, "size_bytes": 1204, "items": 2, "requests": 3}
    assert done.items() >= {**told, **numbers, "rung": "http", "worker": "w7", "level": "debug"}.items()
    dead = lines[10]
    assert (dead["level"], dead["reason"]) == ("error", "callback")
    assert dead["text"].endswith("KeyError: 'a'")
    assert dead["detail"] == TRACEBACK.rstrip()


def test_each_event_of_a_crawl_has_a_line_of_its_own() -> None:
    names = {name for name in vars(events) if name.endswith("Event") and name != "Event"}
    plain = {"".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:-6] for name in names}
    assert plain <= set(LogEvent), "an event of the crawl has no name in the log"


@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters()))
def test_whatever_is_said_is_one_line(text: str, url: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "%s", (text,), None)
    record.__dict__.update(line_details(url=url))
    line = JsonFormatter().format(record)
    assert line.replace("\u00a0", "").replace("\u200c", "").replace("\u200d", "").isprintable()
    assert len(line.splitlines()) == 1
    line.encode()
    assert json.loads(line)["level"] == "info"


def test_values_are_bounded_and_what_is_no_field_is_left_out(log: Lines) -> None:
    logging.getLogger("gossamer.crawl").info("x" * 100_000, extra=line_details(url=HOSTILE, fields=1))
    line = log.one()
    assert len(line["text"]) < 30_000
    assert len(line["url"]) <= LONGEST_VALUE
    assert "fields" not in line


def test_what_users_and_libraries_do_wrong_is_a_line_too(log: Lines) -> None:
    users = logging.getLogger("gossamer.spiders.spider.mine")
    users.warning("%d pages", "many")
    users.info("one\ntwo\x1b")
    try:
        raise KeyError("sku")
    except KeyError:
        logging.getLogger("aiohttp").exception("it\nfailed")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old\nand\x1b[1m bad", DeprecationWarning, stacklevel=1)
    thread = threading.Thread(target=lambda: {}["sku"], name="mine")
    thread.start()
    thread.join()
    sys.unraisablehook(
        type("Args", (), {"err_msg": None, "object": "x\ny", "exc_value": ValueError("z"), "exc_type": None})
    )
    lines = log.read_back()
    assert [line["logger"] for line in lines] == [
        "gossamer.spiders.spider.mine", "gossamer.spiders.spider.mine", "aiohttp", "py.warnings",
        "gossamer.crawl", "gossamer.crawl",
    ]  # fmt: skip
    assert "'%d pages' cannot be written" in lines[0]["text"]
    assert (lines[1]["text"], lines[1]["detail"]) == ("one", "two\x1b")
    assert "KeyError: 'sku'" in lines[2]["detail"]
    assert "DeprecationWarning: old" in lines[3]["text"]
    assert "the thread mine" in lines[4]["text"]
    assert "KeyError" in lines[4]["detail"]
    assert "ValueError: z" in lines[5]["detail"]


def test_hooks_are_put_back() -> None:
    before = (threading.excepthook, sys.unraisablehook, warnings.showwarning, warnings.formatwarning)
    with attach_handlers("info", [logging.StreamHandler(io.StringIO())], "json"):
        pass
    assert (threading.excepthook, sys.unraisablehook, warnings.showwarning, warnings.formatwarning) == before


async def test_a_line_is_about_the_job_and_the_page_that_are_in_hand(log: Lines) -> None:
    spider = logging.getLogger("gossamer.spiders.spider.mine")

    async def visit(url: str) -> None:
        describe_page(Request(url))
        await asyncio.sleep(0)
        spider.info("seen", extra=line_details(status=200))

    describe_lines(job="j-1")
    describe_lines(worker="w-1")
    await asyncio.gather(visit("https://a.example/"), visit("https://me:hunter2@b.example/"))
    spider.info("over", extra=line_details(job="j-2"))
    assert [
        (line["job"], line["worker"], line.get("url"), line.get("status")) for line in log.read_back()
    ] == [
        ("j-1", "w-1", "https://a.example/", 200),
        ("j-1", "w-1", "https://***@b.example/", 200),
        ("j-2", "w-1", None, None),
    ]


def test_a_secret_at_the_end_of_what_is_written_is_not_cut_and_missed(log: Lines) -> None:
    remember_secrets(["hunter22hunter22"])
    text = "x" * (LONGEST - 8) + "hunter22hunter22"
    logging.getLogger("gossamer.crawl").warning("%s", text)
    url = "y" * (LONGEST_VALUE - 8) + "hunter22hunter22"
    logging.getLogger("gossamer.crawl").warning("fine", extra=line_details(url=url))
    assert "hunter" not in log.getvalue()


def test_passwords_in_urls_are_hidden_in_text_too() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "no answer of http://me:hunter2@proxy:1/", (), None)
    assert LineFormatter().format(record).endswith("INFO    no answer of http://***@proxy:1/")


def test_whoever_names_an_event_or_a_field_names_one_that_is_documented() -> None:
    """The calls of ``line_details`` and ``describe_lines`` in the code."""
    found = set()
    texts = [file.read_text() for file in Path(gossamer.__file__).parent.rglob("*.py")]
    for text in (text for text in texts if "line_details" in text or "describe_lines" in text):
        for node in ast.walk(ast.parse(text)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("line_details", "describe_lines"):
                found |= {word.arg for word in node.keywords if word.arg}
    assert {"event", "job"} <= found
    assert found <= set(LogLine.__struct_fields__)
