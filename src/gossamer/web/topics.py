"""Topics of the stream: the answer of each, and the request for it within this process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from fastapi import FastAPI
from starlette.types import Message

from gossamer.core.access import Caller, Role
from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.web.parts import ASKED_WITHIN

MOST = 4
"""Maximum topics of one stream."""
_PLACE = re.compile(r"\{[^}]*\}")
_LONGEST = 2000


class TopicRule(Record, frozen=True):
    """The path of a topic: ``job:ID`` is ``/jobs/ID``, and the rest is its query."""

    path: str
    every_s: float  # between two looks
    role: Role


class TopicQuestion(Record, frozen=True):
    """The request of a topic."""

    name: str  # as it was written
    path: str  # with the query
    rule: TopicRule


def read_topics(text: str, rules: Mapping[str, TopicRule]) -> list[TopicQuestion]:
    """Parse the topics of a stream: ``overview,hosts:shop-1:only=held``. Raises ``UsageError``."""
    names = list(dict.fromkeys(name for name in text.split(",") if name))
    if not 0 < len(names) <= MOST:
        raise UsageError(f"a stream has 1 to {MOST} topics, and this has {len(names)}")
    return [_read_topic(name, rules) for name in names]


def _read_topic(name: str, rules: Mapping[str, TopicRule]) -> TopicQuestion:
    first, *given = name.split(":")
    rule = rules.get(first)
    if rule is None or len(name) > _LONGEST:
        raise UsageError(f"unknown topic {first[:60]!r}; topics: {', '.join(sorted(rules))}")
    places = _PLACE.findall(rule.path)
    if len(given) < len(places):
        raise UsageError(f"{first} is written {':'.join((first, *places))}")
    path = rule.path
    for place, value in zip(places, map(unquote, given), strict=False):
        if "/" in value:  # with it the path would be another one, whose answer may have no end
            raise UsageError(f"{first[:60]} is written {':'.join((first, *places))}, and {place} has no /")
        path = path.replace(place, quote(value, safe=""), 1)
    query = ":".join(given[len(places) :])
    return TopicQuestion(name, f"{path}?{query}" if query else path, rule)


async def ask_within(app: FastAPI, prefix: str, question: TopicQuestion) -> tuple[int, bytes]:
    """Return the status and the body of an answer to a request within this process."""
    path, _, query = f"{prefix}{question.path}".partition("?")
    found: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        found.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [],
        "client": None,
        "server": None,
        "state": {},
        ASKED_WITHIN: Caller(name="stream", role=question.rule.role),
    }
    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in found)
    return found[0]["status"], body


def decode_answer(body: bytes) -> object:
    """Decode an answer to the types of JSON."""
    return msgspec.json.decode(body)
