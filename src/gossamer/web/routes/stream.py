"""The stream of events: changes of answers."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from gossamer.core.access import Caller, Role
from gossamer.core.errors import AccessError, StorageError
from gossamer.web.errors import AGAIN_S, error_response
from gossamer.web.monitors import MAX_STREAMS, MAX_STREAMS_EACH, MonitorPool, StreamBuffer, StreamEvent
from gossamer.web.parts import WebParts, WhoAsks, call_of, parts_of, require_role
from gossamer.web.route_group import RouteGroup, described_errors
from gossamer.web.topics import MOST, TopicQuestion, read_topics

ROUTES = RouteGroup("Stream")
BEAT_S = 5.0
"""Seconds between two signs of life."""
RETRY_MS = 2000

Topics = Annotated[
    str,
    Query(
        max_length=8000,
        description=f"1 to {MOST} topics with commas between them: `overview`, `job:ID`, `hosts:ID:QUERY`.",
    ),
]
LastId = Annotated[str, Header(alias="Last-Event-ID", max_length=100, description="That of the last event.")]


ABOUT = """Server-sent events, of at most 4 topics; a topic is the answer of a path, and its query may follow.

- `snapshot` {topic, at, data}: the whole answer;
- `delta` {topic, at, set, drop}: its changes, values by their paths;
- `error` {topic, at, error}: an answer is not available now;
- `reset` {topic, at}: missed events are no longer known, and a snapshot follows.

A comment every 5 s shows that the stream is alive. Events missed during a lost connection are sent again for
60 s. Needs the role `read`.
"""


@ROUTES.router.get(
    "/stream",
    summary="Stream changes of answers.",
    description=ABOUT,
    operation_id="stream_changes",
    response_model=None,
    dependencies=[Depends(require_role(Role.READ))],
    responses=described_errors()
    | {200: {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_changes(request: Request, caller: WhoAsks, topics: Topics, last_id: LastId = "") -> Response:
    """Tell what changes."""
    pool: MonitorPool = request.app.state.monitors
    questions = read_topics(topics, request.app.state.topics)
    _check_roles(caller, questions)
    if not pool.has_room_for(caller.name):
        return error_response(
            503,
            "There are too many streams.",
            f"{MAX_STREAMS} may be open, and {MAX_STREAMS_EACH} of one token",
            "Ask for the answers themselves, every 5 s.",
            wait_s=AGAIN_S,
        )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _tell(request, pool, questions, last_id, caller.name), headers=headers, media_type="text/event-stream"
    )


def _check_roles(caller: Caller, questions: Sequence[TopicQuestion]) -> None:
    for question in questions:
        if not caller.role.covers(question.rule.role):
            raise AccessError(
                f"the topic {question.name[:100]!r} needs the role {question.rule.role}",
                way="leave it out, or use another token",
                status=403,
            )


async def _tell(
    request: Request, pool: MonitorPool, questions: Sequence[TopicQuestion], last_id: str, who: str
) -> AsyncIterator[bytes]:
    parts = parts_of(request)
    buffer = StreamBuffer()
    yield f"retry: {RETRY_MS}\n\n".encode()
    try:
        await pool.open_stream(buffer, questions, last_id, who)
        checked_at = time.monotonic()
        while True:
            events = await buffer.take_events(BEAT_S)
            for event in events:
                yield format_event(event, pool.counter.epoch)
            if not events:
                yield b": here\n\n"
            if time.monotonic() >= checked_at + BEAT_S:
                if not await _may_still_ask(request, parts):
                    return
                checked_at = time.monotonic()
    finally:
        pool.close_stream(buffer)


async def _may_still_ask(request: Request, parts: WebParts) -> bool:
    """Whether the token was not revoked meanwhile; a store that is away says nothing about that."""
    try:
        await parts.gate.identify_caller(call_of(request))
    except AccessError:
        return False
    except StorageError:
        return True
    return True


def format_event(event: StreamEvent, epoch: str) -> bytes:
    """An event as it is sent."""
    return b"event: %s\nid: %s-%d\ndata: %s\n\n" % (
        event.kind.encode(),
        epoch.encode(),
        event.number,
        event.data,
    )
