"""How long the head of a request may take to arrive, and how many connections there may be.

Whoever holds connections open without asking anything is not known yet, and needs no token for it: uvicorn
itself waits for them without end.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.web.errors import error_response

MAX_HEAD = 64 * 1024
"""Bytes of a request's line and headers."""
HEAD_S = 10.0
"""Seconds in which a request's line and headers have to be there."""
MAX_CONNECTIONS = 500
"""Where there are more, the one that has waited longest for a head is closed."""


class TimedProtocol(H11Protocol):
    """One connection, which is closed where nothing is asked on it in time."""

    _timer: asyncio.TimerHandle | None = None  # runs while a head is awaited

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the head of the first request."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._close_longest_waiting()
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Whatever was waited for before is there, or goes on being waited for."""
        super().data_received(data)
        is_answered = self.cycle is not None and self.cycle.response_complete  # though its body still comes
        if is_answered or self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with a request that cannot be read, as with any other."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            said = error_response(
                400,
                "This is no request.",
                f"it is not well-formed HTTP, or its line and headers have more than {MAX_HEAD:,} bytes",
                "/api/v1/openapi.json says what can be asked.",
            )
            headers = [*said.raw_headers, (b"connection", b"close")]
            answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (answer, h11.Data(data=bytes(said.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """There is nothing to wait for any more."""
        self._stop_timer()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._timer is None and self.timeout_keep_alive_task is None:
            self._timer = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_longest_waiting(self) -> None:
        waiting = [
            (other._timer.when(), id(other), other)
            for other in self.connections
            if isinstance(other, TimedProtocol) and other._timer is not None
        ]
        if waiting:
            min(waiting)[2].timeout_keep_alive_handler()
