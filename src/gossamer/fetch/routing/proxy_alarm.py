"""Tells once when no proxy is left, and once when there is one again, however many workers notice."""

from __future__ import annotations

from gossamer.core.events import NoticeEvent
from gossamer.core.text import format_count
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState
from gossamer.ports.sink import Sink

SPACE = "proxies-out"
REMINDER_S = 3600.0
"""Seconds after which an incident is reported again if no worker has seen its end."""
MAX_INCIDENTS = 1000
_OPEN, _OVER = b"open", b""


class ProxyAlarm:
    """The incidents without a usable proxy: of one kind of proxies, at one host or altogether.

    ``is_alone``: no other process reports them, so an incident from before a resumed crawl is reported
    again.
    """

    def __init__(
        self, shared: SharedState, clock: Clock, sink: Sink | None, *, is_alone: bool = False
    ) -> None:
        self._is_alone = is_alone
        self._shared = shared
        self._clock = clock
        self._sink = sink
        self._incidents: set[tuple[str, str]] = set()  # by kind and host ("": all)
        self._checked: set[str] = set()  # the kinds of which earlier incidents are known
        self._last_failure = ""  # what went wrong with the last proxy that failed

    def note_failure(self, detail: str) -> None:
        """Note a proxy's failure for the report that none is left."""
        self._last_failure = detail

    async def begin(self, kind: str, host: str, count: int, wait_s: float) -> str:
        """Begin an incident: none of ``count`` proxies is usable. Return the reason for the wait, in
        words."""
        why = f"no proxy{_describe(kind, host)} may be used now"
        incident = (kind, host)
        if incident in self._incidents or len(self._incidents) >= MAX_INCIDENTS:
            return why
        self._incidents.add(incident)
        is_new = await self._shared.compare_and_swap(SPACE, _key(incident), None, _OPEN, REMINDER_S)
        if is_new or self._is_alone:
            proxies = format_count(count, "proxy is", "proxies are")
            text = f"{why}: {proxies} in quarantine; requests wait, and the next try is in {wait_s:,.0f} s"
            failure = f"; the last failure was: {self._last_failure}" if self._last_failure else ""
            self.tell("warning" if host else "error", text + failure)
        return why

    async def end(self, kind: str, host: str) -> None:
        """End an incident: a proxy of this kind is usable for this host."""
        if kind not in self._checked:
            self._checked.add(kind)
            if await self._shared.get(SPACE, _key((kind, ""))) == _OPEN:
                self._incidents.add((kind, ""))
        if not self._incidents:
            return
        for incident in ((kind, ""), (kind, host)):
            if incident not in self._incidents:
                continue
            self._incidents.discard(incident)
            if await self._shared.compare_and_swap(SPACE, _key(incident), _OPEN, _OVER, 0.0):
                self.tell("info", f"a proxy{_describe(*incident)} may be used again")

    def tell(self, level: str, text: str) -> None:
        """Report to the operator of the crawl."""
        if self._sink is not None:
            self._sink.emit(NoticeEvent(at=self._clock.now(), level=level, text=text))


def _describe(kind: str, host: str) -> str:
    return (f" of the kind {kind}" if kind else "") + (f" for {host}" if host else "")


def _key(incident: tuple[str, str]) -> str:
    return " ".join(incident)
