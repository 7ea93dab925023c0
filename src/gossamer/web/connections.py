"""Limits on the time for the head of a request and on the number of connections.

A client can hold connections open without a token, and uvicorn itself waits for their requests without end.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.web.errors import error_response

MAX_HEAD = 64 * 1024
"""Maximum bytes of a request's line and headers."""
HEAD_S = 10.0
"""Maximum seconds for a request's line and headers."""
MAX_CONNECTIONS = 500
"""If there are more, the one that has waited longest for a head is closed."""


class TimedProtocol(H11Protocol):
    """A connection that is closed if no request arrives in time."""

    _timer: asyncio.TimerHandle | None = None  # runs while a head is awaited

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the head of the first request."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._close_longest_waiting()
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Handle data; keep the timer only while a head is awaited."""
        super().data_received(data)
        is_answered = self.cycle is not None and self.cycle.response_complete  # though its body still comes
        if is_answered or self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request in the form of all errors."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            said = error_response(
                400,
                "This is not a request.",
                f"it is not well-formed HTTP, or its line and headers have more than {MAX_HEAD:,} bytes",
                "/api/v1/openapi.json lists all requests.",
            )
            headers = [*said.raw_headers, (b"connection", b"close")]
            answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (answer, h11.Data(data=bytes(said.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
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
