"""Routes as ``routes/`` has them: everything that every route needs is added here."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from fastapi import APIRouter, Depends, Request, Response

from gossamer.core.access import Role
from gossamer.web.answers import FRESH_S, ReadyAnswer, encode_answer
from gossamer.web.errors import ErrorAnswer
from gossamer.web.parts import parts_of, require_role
from gossamer.web.topics import TopicRule

Question = Callable[..., Awaitable[Any]]

ERRORS = {
    400: "The request cannot be answered.",
    401: "The token is missing or unknown.",
    403: "The token's role does not allow it.",
    404: "The subject of the request does not exist.",
    409: "The state differs from the one that the caller saw, or the action already runs: nothing was done.",
    422: "A parameter is invalid.",
    429: "Too many wrong tokens came from this address.",
    503: "A service is away, or took longer than 5 s.",
}
"""Errors of any route."""


class RouteGroup:
    """The routes of one file. ``title`` is their heading in the OpenAPI document."""

    def __init__(self, title: str) -> None:
        self.router = APIRouter(tags=[title])
        self.topics: dict[str, TopicRule] = {}
        self.records: list[type[msgspec.Struct]] = []

    def read(
        self,
        path: str,
        *,
        answer: type[msgspec.Struct],
        role: Role = Role.READ,
        topic: str = "",
        every_s: float = 1.0,
        fresh_s: float = FRESH_S,
        is_shared: bool = True,
    ) -> Callable[[Question], Question]:
        """Add a route that answers ``GET path`` with a record.

        ``topic``: its name in the stream, where it is read every ``every_s`` seconds; ``fresh_s``: seconds
        for which an answer is reused; ``is_shared``: all permitted callers get the same answer.
        """

        def register(question: Question) -> Question:
            async def give(*, request: Request, **given: Any) -> Response:
                async def ask() -> Any:
                    return await question(**given)

                parts = parts_of(request)
                who = "" if is_shared else f"{request.state.caller.name} {request.state.caller.role} "
                ready = await parts.cache.give_answer(who + question_of(request), ask, fresh_s)
                return ready_response(request, ready)

            self._add_route(path, question, give, answer=answer, role=role)
            return question

        if topic:
            self.topics[topic] = TopicRule(path, every_s, role)
        return register

    def change(
        self,
        path: str,
        *,
        answer: type[msgspec.Struct],
        role: Role = Role.OPERATE,
        method: str = "POST",
        status: int = 200,
    ) -> Callable[[Question], Question]:
        """Add a route that changes something for ``METHOD path``, and answers with a record."""

        def register(question: Question) -> Question:
            async def give(*, request: Request, **given: Any) -> Response:
                try:
                    body = encode_answer(await question(**given))
                finally:  # the caller sees the effect at once
                    parts_of(request).cache.forget_answers()
                    request.app.state.monitors.look_soon()
                return Response(body, status, {"Cache-Control": "no-store"}, media_type="application/json")

            self._add_route(path, question, give, answer=answer, role=role, method=method, status=status)
            return question

        return register

    def _add_route(
        self,
        path: str,
        question: Question,
        give: Callable[..., Awaitable[Response]],
        *,
        answer: type[msgspec.Struct],
        role: Role,
        method: str = "GET",
        status: int = 200,
    ) -> None:
        asked = inspect.signature(question, eval_str=True)
        request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in asked.parameters.values()]
        give.__signature__ = inspect.Signature([request, *own])  # type: ignore[attr-defined]
        give.__name__, give.__doc__ = question.__name__, question.__doc__
        self.records += [answer, ErrorAnswer]
        first, _, rest = inspect.cleandoc(question.__doc__ or "").partition("\n")
        self.router.add_api_route(
            path,
            give,
            methods=[method],
            dependencies=[Depends(require_role(role))],
            response_model=None,
            status_code=status,
            summary=first,
            description=f"{rest.strip()}\n\nNeeds the role `{role}`.".strip(),
            operation_id=question.__name__,
            responses=described_responses(answer, status),
        )


def described_responses(answer: type[msgspec.Struct], status: int) -> dict[int | str, dict[str, Any]]:
    """Return the answers of a route, for the OpenAPI document."""
    return described_errors() | {
        status: {"description": inspect.getdoc(answer) or "", "content": _content_of(answer)}
    }


def described_errors() -> dict[int | str, dict[str, Any]]:
    """Return the error answers of any route."""
    return {
        number: {"description": text, "content": _content_of(ErrorAnswer)} for number, text in ERRORS.items()
    }


def _content_of(record: type[msgspec.Struct]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{record.__name__}"}}}


def question_of(request: Request) -> str:
    """Return the path and parameters of a request in one spelling; headers do not matter."""
    asked = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return f"{quote(request.scope['path'])}?{urlencode(sorted(asked))}"


def ready_response(request: Request, ready: ReadyAnswer) -> Response:
    """Return an answer, or 304 if the caller has it."""
    headers = {"ETag": ready.etag, "Cache-Control": "private, no-cache"}
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if ready.etag in known:
        return Response(status_code=304, headers=headers)
    return Response(ready.body, headers=headers, media_type="application/json")
