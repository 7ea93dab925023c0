"""Cookies are saved before what came of their page is committed, and known before a request is made."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from gossamer.wiring.ladder import session_pool_of
from gossamer.wiring.sessions import SessionCommitter, SessionFetcher


class Log(list[Any]):
    """Cookies, a committer and a fetcher in one, which note what happens; saving may fail."""

    touches_network = True
    is_away = False

    async def save_cookies(self) -> None:
        if self.is_away:
            raise StorageError("away")
        self.append("saved")

    async def prepare_cookies(self, session: str, url: str) -> None:
        self.append(("ready", session, url))

    async def commit(self, results: Any) -> list[bool]:
        self.append("committed")
        return [True]

    async def fetch(self, request: Request, route=None) -> Any:
        self.append("fetched")
        return "page"

    async def close(self) -> None:
        self.append("closed")


async def test_cookies_are_saved_first_and_nothing_is_committed_without_them() -> None:
    log: Any = Log()
    committer = SessionCommitter(log, log)
    assert await committer.commit([]) == [True]
    assert log == ["saved", "committed"]
    log.is_away = True
    with pytest.raises(StorageError):
        await committer.commit([])
    assert log == ["saved", "committed"], "the page is done again, its log-in not lost"


async def test_cookies_are_known_before_a_request() -> None:
    log: Any = Log()
    fetcher = SessionFetcher(log, log)
    assert await fetcher.fetch(Request("http://h.example/", session="me")) == "page"
    await fetcher.close()
    assert log == [("ready", "me", "http://h.example/"), "fetched", "closed"]


async def test_identities_are_as_the_settings_say() -> None:
    clock, job = ManualClock(), Job(id="j", name="j", target="j", created_at=0.0, key=b"k")
    sessions = {"per_host": 2, "max_age": 60.0, "profiles": ("chrome", "firefox")}
    settings = Settings.model_validate({"sessions": sessions})
    pool = session_pool_of(settings, MemorySharedState(clock), clock, job)
    request = Request("http://h.example/")
    opened = [await pool.open_session(request, "h.example", "http") for _ in range(2)]
    assert [(one.session, one.profile) for one in opened] == [("", "chrome"), ("~2", "firefox")]
    clock.advance(61)
    opened = [await pool.open_session(request, "h.example", "http") for _ in range(2)]
    assert [(one.session, one.profile) for one in opened] == [("#2", "firefox"), ("~2#2", "chrome")]
